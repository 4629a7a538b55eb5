package fuse_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
)

// hashesOf returns the hashes of some words.
func hashesOf(h hashing.Hasher, words ...string) []uint64 {
	hs := make([]uint64, len(words))
	for i, w := range words {
		hs[i] = h.HashString(w)
	}
	return hs
}

func ExampleBuild() {
	var h hashing.Hasher // XXH3 with seed 0
	f, err := fuse.Build[uint8](hashesOf(h, "alice", "bob", "carol"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.ContainsString("alice"), f.ContainsString("mallory"))
	// Output: true false
}

func ExampleConfig_Build() {
	h := hashing.Keyed([16]byte([]byte("sixteen byte key")))
	f, err := fuse.Config[uint16]{Arity: 4, ErrorRate: 1e-4, Hasher: h}.Build(context.Background(), hashesOf(h, "alice", "bob", "alice"))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := f.Stats()
	fmt.Printf("%s: %d keys, asked %g, predicted %.2g\n", s.Kind, s.Items, s.Asked, s.Predicted)

	_, err = fuse.Config[uint8]{ErrorRate: 1e-4}.Build(context.Background(), nil)
	fmt.Println(err)
	// Output:
	// fuse16: 2 keys, asked 0.0001, predicted 1.5e-05
	// fuse: build: bad parameter: error rate 0.0001 is below the 0.0039 of 8-bit fingerprints: take 16 bits
}

func ExampleBuilder() {
	var b fuse.Builder[uint8] // keeps its buffers
	var h hashing.Hasher
	for _, day := range [][]string{{"alice", "bob"}, {"carol"}} {
		f, err := b.Build(context.Background(), fuse.Config[uint8]{}, hashesOf(h, day...))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(f.Stats().Items, f.ContainsString("carol"))
	}
	// Output:
	// 2 false
	// 1 true
}

// A set that need not fit into memory becomes a file, all or nothing.
func ExampleConfig_Stream() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	scratch, err := file.NewScratch(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scratch.Close()

	var h hashing.Hasher
	numbers := func(yield func(uint64) bool) {
		for i := range uint64(100_000) {
			if !yield(h.HashUint64(i)) {
				return
			}
		}
	}
	c := fuse.Config[uint8]{Scratch: scratch, Memory: 1 << 20}
	name := filepath.Join(dir, "numbers.fuse8")
	if err := file.WriteFile(name, c.Stream(context.Background(), numbers)); err != nil {
		fmt.Println(err)
		return
	}
	m, err := file.Map(name, codec.Config{Hasher: h})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	fmt.Println(m.Stats().Items, m.ContainsHash(h.HashUint64(7)), m.Verify())
	// Output: 100000 true <nil>
}

func ExampleConfig_View() {
	var h hashing.Hasher
	f, _ := fuse.Build[uint8](hashesOf(h, "alice", "bob"))
	data, _ := f.MarshalBinary() // or a mapped file

	v, err := fuse.Config[uint8]{}.View(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.ContainsString("alice"), v.Verify())

	for i := 128; i < len(data); i++ {
		data[i] = 1 // nobody looks at the array before Verify
	}
	v, err = fuse.Config[uint8]{}.View(data)
	fmt.Println(v.ContainsString("alice"), err, v.Verify() != nil)
	// Output:
	// true <nil>
	// false <nil> true
}
