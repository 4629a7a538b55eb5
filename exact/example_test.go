package exact_test

import (
	"context"
	"fmt"

	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
)

func ExampleBuild() {
	hash := func(keys ...string) (hs []uint64) {
		for _, k := range keys {
			hs = append(hs, hashing.Hasher{}.HashString(k))
		}
		return hs
	}
	f, err := exact.Build(hash("mallory", "trudy"), hash("alice", "bob", "carol"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.ContainsString("mallory"), f.ContainsString("alice"), f.ContainsString("bob"))
	// Output: true false false
}

// Certificates by issuer: the first has revoked one of three, the second none, the
// third all.
func ExampleConfig_BuildGroups() {
	h := hashing.Hasher{}
	cert := func(issuer, serial int) uint64 { return h.HashString(fmt.Sprint(issuer, "/", serial)) }
	f, err := exact.Config{}.BuildGroups(context.Background(), []exact.Group{
		{In: []uint64{cert(0, 7)}, Out: []uint64{cert(0, 8), cert(0, 9)}},
		{Out: []uint64{cert(1, 7)}},
		{In: []uint64{cert(2, 7)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.ContainsIn(0, cert(0, 7)), f.ContainsIn(0, cert(0, 8)), f.ContainsIn(1, cert(1, 7)), f.ContainsIn(2, cert(2, 7)))
	// Output: true false false true
}
