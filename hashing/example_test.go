package hashing_test

import (
	"fmt"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

// Integers are hashed as they are, by the hasher of the filter; its methods for
// hashes take the result.
func ExampleHasher_HashUint64() {
	f := bloom.New(1000, 0.01)
	h := f.Hasher()
	f.AddHash(h.HashUint64(42))
	fmt.Println(f.ContainsHash(h.HashUint64(42)), f.ContainsHash(h.HashUint64(43)))
	// Output: true false
}

// Many keys are hashed at once; static filters are built from such hashes.
func ExampleHasher_HashKeys() {
	keys := [][]byte{[]byte("alice"), []byte("bob")}
	hashes := make([]uint64, len(keys))
	var h hashing.Hasher // the default of all filters
	n := h.HashKeys(hashes, keys)
	fmt.Println(n, hashes[1] == h.HashString("bob"))
	// Output: 2 true
}
