package server_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/follow"
)

// followersOfNodes changes filters at any node, while ten followers come and go that ask any node:
// whoever has caught up answers as the node that has changed the filter last, for all keys ever seen.
func followersOfNodes(t *testing.T, addrs []string) {
	t.Helper()
	clients := make([]*client, len(addrs))
	for i, addr := range addrs {
		clients[i] = dial(t, addr)
	}
	awake(t, clients[0], "FLUSHALL")
	for _, f := range []struct{ create, add, del, has string }{
		{"FILTER.CREATE bits bloom CAPACITY 2000", "FILTER.ADD", "", "FILTER.HAS"},
		{"FILTER.CREATE steps cuckoo CAPACITY 2000 PARTS 2", "FILTER.ADD", "FILTER.DEL", "FILTER.HAS"},
		{"BF.RESERVE bf 0.01 100", "BF.ADD", "", "BF.MEXISTS"},
		{"CF.RESERVE cf 100", "CF.ADD", "CF.DEL", "CF.MEXISTS"},
	} {
		rng := rand.New(rand.NewPCG(32, uint64(len(f.create))))
		key, dir := strings.Fields(f.create)[1], t.TempDir()
		if got := awake(t, clients[0], strings.Fields(f.create)...); got != "+OK\r\n" {
			t.Fatalf("%s = %q", f.create, got)
		}
		followers := make([]*follow.Filter, 10)
		keys := []string{"never added"}
		for range 50 {
			at := clients[rng.IntN(len(clients))]
			for range 1 + rng.IntN(4) {
				if n := rng.IntN(8); n < 2 && f.del != "" {
					at.do(f.del, key, keys[rng.IntN(len(keys))])
				} else {
					keys = append(keys, fmt.Sprint("key ", len(keys)))
					at.do(f.add, key, keys[len(keys)-1])
				}
			}
			i := rng.IntN(len(followers))
			if followers[i] != nil && rng.IntN(4) == 0 {
				if err := followers[i].Close(); err != nil {
					t.Fatal(err)
				}
				followers[i] = nil
			}
			var err error
			if followers[i] == nil { // it begins with another node
				first := rng.IntN(len(addrs))
				all := strings.Join(append(slices.Clone(addrs[first:]), addrs[:first]...), ",")
				c := follow.Config{Address: "redis://" + all, Filter: key, File: filepath.Join(dir, fmt.Sprint(i)), Every: -1}
				followers[i], err = follow.Open(t.Context(), c)
			} else {
				_, err = followers[i].Update(t.Context())
			}
			switch {
			case err != nil && wasPaused(err.Error()): // all nodes were, on a busy machine
				continue
			case err != nil:
				t.Fatal(err)
			}
			for j, v := range strings.Split(awake(t, at, append([]string{f.has, key}, keys...)...), "\r\n")[1 : len(keys)+1] {
				if got := followers[i].ContainsString(keys[j]); got != (v == ":1") {
					t.Fatalf("%s: %q is %t in a copy that has caught up, and %s at the source", key, keys[j], got, v)
				}
			}
		}
		for _, g := range followers {
			if g != nil {
				_ = g.Close()
			}
		}
	}
}
