package readers

import (
	"fmt"
	"slices"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

// encoder is what a filter is to the files that are made of it.
type encoder interface{ MarshalBinary() ([]byte, error) }

// made asks for filters that are larger than golden files, in shapes that those do not have, plain
// and in the transport form.
func (w *writer) made() {
	w.t.Helper()
	const n = 5000
	seeded := hashing.Seeded(0xfedcba9876543210)
	for name, f := range map[string]func(h hashing.Hasher, hs []uint64) (encoder, error){
		"bloom-of-9-MiBit": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return filled(bloom.Config{Bits: 9 << 20, Hashes: 5, Hasher: h}.New())(hs)
		},
		"bloom-of-12": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return filled(bloom.Config{Bits: 160 * 512, Hashes: 12, Hasher: h}.New())(hs)
		},
		"standard-of-64": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return filled(bloom.Config{Bits: 500_009, Hashes: 64, Hasher: h}.NewStandard())(hs)
		},
		"partitioned": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return filled(bloom.Config{Capacity: n, ErrorRate: 0.02, Hasher: h}.NewPartitioned())(hs)
		},
		"split": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return filled(bloom.Config{Capacity: n, ErrorRate: 0.1, Hasher: h}.NewSplit())(hs)
		},
		"fuse8-4-shards": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return fuse.Config[uint8]{Arity: 4, Shards: 8, Hasher: h}.Build(w.t.Context(), hs)
		},
		"fuse16": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return fuse.Config[uint16]{Hasher: h}.Build(w.t.Context(), hs)
		},
		"fuse32": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return fuse.Config[uint32]{Shards: 2, Hasher: h}.Build(w.t.Context(), hs)
		},
		"ribbon-64-coarse": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return ribbon.Config{ErrorRate: 0.3, Width: 64, Hasher: h}.Build(w.t.Context(), hs)
		},
		"ribbon-128-shards": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return ribbon.Config{ErrorRate: 0.003, Width: 128, Shards: 4, Hasher: h}.Build(w.t.Context(), hs)
		},
		"ribbon-32-columns": func(h hashing.Hasher, hs []uint64) (encoder, error) {
			return ribbon.Config{ErrorRate: 1.0 / (1 << 32), Hasher: h}.Build(w.t.Context(), hs)
		},
	} {
		filter, err := f(seeded, w.members(n, seeded))
		if err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
		data, err := filter.MarshalBinary()
		if err != nil {
			w.t.Fatal(err)
		}
		packed, err := codec.Compress(nil, data)
		if err != nil {
			w.t.Fatal(err)
		}
		w.save(name, data)
		w.save(name+".pak", packed)
		plain, small := w.expect(&check{File: name}, data, hashing.Hasher{}), w.expect(&check{File: name + ".pak"}, packed, hashing.Hasher{})
		if plain.Error != "" || small.Error != "" {
			w.t.Errorf("%s is not opened: %s%s", name, plain.Error, small.Error)
		}
		w.m.Cases = append(w.m.Cases, plain, small)
	}
}

// filled adds hashes to a new filter.
func filled[F interface {
	encoder
	AddHashes(dst []bool, hs []uint64)
}](f F, err error) func(hs []uint64) (encoder, error) {
	return func(hs []uint64) (encoder, error) {
		if err == nil {
			f.AddHashes(nil, hs)
		}
		return f, err
	}
}

// members returns the hashes of n keys and more: "key 0" and so on, and every second of those that
// are asked for and are no such text.
func (w *writer) members(n int, h hashing.Hasher) []uint64 {
	var hs []uint64
	for i := range n {
		hs = append(hs, h.HashString(fmt.Sprintf("key %d", i)))
	}
	for i, k := range w.m.Keys {
		if i >= 200 && i%2 == 0 {
			hs = append(hs, h.Hash(k.bytes()))
		}
	}
	slices.Sort(hs)
	return slices.Compact(hs)
}
