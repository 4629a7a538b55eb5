package bloom_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

func Example() {
	f := bloom.New(1_000_000, 0.01) // a million keys, 1% false positives
	f.AddString("alice")
	f.AddString("bob")
	fmt.Println(f.ContainsString("alice")) // always true
	fmt.Println(f.ContainsString("carol")) // false, or true with probability 1%
	// Output:
	// true
	// false
}

func ExampleNew() {
	f := bloom.New(10_000, 0.001)
	fmt.Println("first time:", f.AddString("alice"))
	fmt.Println("second time:", f.AddString("alice"))
	// Output:
	// first time: true
	// second time: false
}

func ExampleConfig_New() {
	_, err := bloom.Config{Capacity: -3, ErrorRate: 0.01}.New()
	fmt.Println(err)
	f, err := bloom.Config{
		Capacity:  10_000,
		ErrorRate: 0.01,
		Hasher:    hashing.Keyed([16]byte([]byte("sixteen byte key"))),
	}.New()
	fmt.Println(f.Shape().Bits, err)
	// Output:
	// bloom: new: bad parameter: capacity -3 is not at least 1
	// 99328 <nil>
}

func ExampleNewStandard() {
	s := bloom.NewStandard(1_000_000, 0.01)
	fmt.Println(s.Shape().Bits, "bits,", s.Shape().K, "per key")
	// Output: 9592957 bits, 7 per key
}

func ExampleNewPartitioned() {
	p := bloom.NewPartitioned(1_000_000, 0.01)
	k := p.Shape().K
	fmt.Println(k, "slices of", p.Shape().Bits/uint64(k), "bits")
	// Output: 7 slices of 1370423 bits
}

func ExampleNewScalable() {
	s := bloom.NewScalable(1000, 0.01) // a guess: it may become more
	for i := range uint64(20_000) {
		s.AddHash(s.Hasher().HashUint64(i))
	}
	stats := s.Stats()
	fmt.Println(s.Layers(), "layers for", stats.Capacity, "keys")
	fmt.Println("rate kept:", stats.Predicted <= stats.Asked)
	// Output:
	// 5 layers for 31000 keys
	// rate kept: true
}

func ExampleConfig_NewScalable() {
	s, err := bloom.Config{Capacity: 1000, ErrorRate: 0.01, Growth: 4}.NewScalable()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range uint64(20_000) {
		s.AddHash(s.Hasher().HashUint64(i))
	}
	fmt.Println(s.Layers(), "layers")
	// Output: 3 layers
}

func ExampleScalable_Union() {
	a, b := bloom.NewScalable(100, 0.01), bloom.NewScalable(5000, 0.01)
	a.AddString("alice")
	b.AddString("bob")
	if err := a.Union(b); err != nil {
		fmt.Println(err)
	}
	fmt.Println(a.ContainsString("alice"), a.ContainsString("bob"))
	fmt.Println(a.Layers(), "layers, error rate up to", a.Stats().Asked)
	// Output:
	// true true
	// 2 layers, error rate up to 0.02
}

func ExampleFilter_ContainsHashes() {
	f := bloom.New(1000, 0.001)
	ids := []uint64{7, 42, 1001}
	h := f.Hasher()
	f.AddHash(h.HashUint64(42))

	hashes := make([]uint64, len(ids))
	for i, id := range ids {
		hashes[i] = h.HashUint64(id)
	}
	found := make([]bool, len(ids))
	f.ContainsHashes(found, hashes)
	fmt.Println(found)
	// Output: [false true false]
}

func ExampleFilter_AddSeq() {
	lines := [][]byte{[]byte("one"), []byte("two"), []byte("three")}
	f := bloom.New(100, 0.01)
	f.AddSeq(slices.Values(lines))
	fmt.Println(f.EstimateCount())
	// Output: 3
}

func ExampleFilter_Union() {
	monday, tuesday := bloom.New(1000, 0.01), bloom.New(1000, 0.01)
	monday.AddString("alice")
	tuesday.AddString("bob")
	if err := monday.Union(tuesday); err != nil {
		fmt.Println(err)
	}
	fmt.Println(monday.ContainsString("alice"), monday.ContainsString("bob"))

	fmt.Println(monday.Union(bloom.New(5000, 0.01)))
	// Output:
	// true true
	// bloom: union: incompatible: 10240 bits and 49664 bits
}

func ExampleFilter_WriteTo() {
	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	var file bytes.Buffer
	n, err := f.WriteTo(&file)
	fmt.Println(n, err)

	g, err := bloom.Config{}.Read(&file)
	fmt.Println(g.Contains([]byte("alice")), err)
	// Output:
	// 1352 <nil>
	// true <nil>
}

func ExampleConfig_View() {
	f := bloom.New(1000, 0.01)
	f.AddString("alice")
	data, _ := f.MarshalBinary() // or a mapped file

	v, err := bloom.Config{}.View(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.ContainsString("alice"), v.Verify())

	data[100] ^= 1
	fmt.Println(v.Verify())
	// Output:
	// true <nil>
	// bloom: verify: corrupt: payload at offset 64 to 1344: checksum is 256898b3, should be c6291f15
}

func ExampleConfig_NewSliced() {
	// 100 days, 1000 visitors each
	s, err := bloom.Config{Columns: 100, Capacity: 1000, ErrorRate: 0.001}.NewSliced()
	if err != nil {
		panic(err)
	}
	for _, visitors := range [][]string{{"alice", "bob"}, {"carol"}, {"alice", "carol"}} {
		day, _ := s.AddColumn()
		for _, name := range visitors {
			_, _ = s.AddHash(day, s.Hash([]byte(name)))
		}
	}

	days := make([]uint64, s.Words())
	s.Which(days, s.Hash([]byte("alice")))
	fmt.Printf("%b\n", days)
	// Output: [101 0]
}

func ExampleSliced_ReplaceColumn() {
	s, err := bloom.Config{Columns: 64, Capacity: 1000, ErrorRate: 0.01}.NewSliced()
	if err != nil {
		panic(err)
	}
	day, _ := s.AddColumn()

	built := bloom.NewStandard(1000, 0.01) // somewhere else
	built.AddString("alice")
	fmt.Println(s.ReplaceColumn(day, built))
	fmt.Println(s.ContainsHash(day, s.Hash([]byte("alice"))))

	fmt.Println(s.ReplaceColumn(day+1, built))
	// Output:
	// <nil>
	// true <nil>
	// bloom: replace column: bad parameter: column 1 is not in use
}

func ExampleFilter_Stats() {
	f := bloom.New(1000, 0.01)
	for i := range uint64(1000) {
		f.AddHash(f.Hasher().HashUint64(i))
	}
	s := f.Stats()
	fmt.Printf("%s: %d of %d keys, %.0f%% full, asked %.2f%%, now %.2f%%\n",
		s.Kind, s.Items, s.Capacity, s.Saturation*100, s.Asked*100, s.Predicted*100)
	// Output: bloom: 1003 of 1000 keys, 50% full, asked 1.00%, now 0.89%
}

// How many keys come is known when all have come: a Builder sizes the filter then.
func ExampleBuilder() {
	b, err := bloom.Config{Max: 10_000_000, ErrorRate: 0.01}.NewBuilder()
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		b.AddString(strconv.Itoa(i))
	}
	f, err := b.Build()
	if err != nil {
		panic(err)
	}
	fmt.Println(f.ContainsString("999"), f.Stats().Capacity, f.Stats().Bytes == bloom.New(1000, 0.01).Stats().Bytes)
	// Output: true 1000 true
}

// A filter that turned out too large is folded: no key is lost.
func ExampleSplit_Fold() {
	f, err := bloom.Config{Capacity: 100_000, ErrorRate: 0.01, Foldable: true}.NewSplit()
	if err != nil {
		panic(err)
	}
	f.AddString("alice")
	small, err := f.Fold(8)
	if err != nil {
		panic(err)
	}
	fmt.Println(small.ContainsString("alice"), f.Stats().Bytes/small.Stats().Bytes)
	// Output: true 8
}

// A filter that turned out too small becomes the first layer of one that grows.
func ExampleFilter_Scalable() {
	f := bloom.New(100, 0.01)
	f.AddString("alice")
	s, err := f.Scalable(0.02)
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		s.AddString(strconv.Itoa(i))
	}
	fmt.Println(s.ContainsString("alice"), s.Layers() > 1, s.Stats().Predicted <= 0.02)
	// Output: true true true
}
