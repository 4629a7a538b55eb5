package ribbon_test

import (
	"context"
	"fmt"
	"math"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

func ExampleBuild() {
	var h hashing.Hasher
	var hashes []uint64
	for _, name := range []string{"alice", "bob", "carol"} {
		hashes = append(hashes, h.HashString(name))
	}
	f, err := ribbon.Build(hashes, 0.01)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.ContainsString("alice"), f.ContainsString("dave"))
	// Output: true false
}

// A filter with a secret key, of which nobody else can find the false positives,
// in the least space.
func ExampleConfig_Build() {
	secret := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	hashes := make([]uint64, 100_000)
	for i := range hashes {
		hashes[i] = secret.HashUint64(uint64(i))
	}
	f, err := ribbon.Config{ErrorRate: 0.001, Width: 128, Hasher: secret}.Build(context.Background(), hashes)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := f.Stats()
	fmt.Printf("%.1f bits per key, at least %.1f\n", float64(s.Bits)/float64(s.Items), math.Log2(1/0.001))
	// Output: 10.0 bits per key, at least 10.0
}

func ExampleConfig_View() {
	f, _ := ribbon.Build([]uint64{hashing.Hasher{}.HashString("alice")}, 0.01)
	data, _ := f.MarshalBinary() // or a mapped file
	v, err := ribbon.Config{}.View(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Verify(), v.ContainsString("alice"))
	// Output: <nil> true
}

// A map says which of 256 blocks has a key, and needs neither keys nor pointers.
func ExampleBuildMap() {
	var h hashing.Hasher
	blockOf := map[string]uint32{"alice": 17, "bob": 203, "carol": 17}
	var hashes []uint64
	var blocks []uint32
	for name, block := range blockOf {
		hashes = append(hashes, h.HashString(name))
		blocks = append(blocks, block)
	}
	m, err := ribbon.BuildMap(hashes, blocks, 8, 1.0/256)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.GetString("bob"))
	fmt.Println(m.GetString("dave"))
	// Output:
	// 203 true
	// 0 false
}
