package filter_test

import (
	"encoding"
	"testing"

	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

// TestFilterGet loads a map and a filter without errors, and asks them.
func TestFilterGet(t *testing.T) {
	b := newBench(t, 1<<30)
	hash := func(items ...string) (hs []uint64) {
		for _, item := range items {
			hs = append(hs, hashing.Hasher{}.HashString(item))
		}
		return hs
	}
	m, err := ribbon.BuildMap(hash("a", "b", "c"), []uint32{7, 0, 255}, 8, 1.0/256)
	if err != nil {
		t.Fatal(err)
	}
	f, err := exact.Build(hash("a", "b"), hash("c", "d", "e"))
	if err != nil {
		t.Fatal(err)
	}
	for key, f := range map[string]encoding.BinaryMarshaler{"m": m, "x": f} {
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Do("FILTER.LOAD", key, "1", string(data)); got != "+OK" {
			t.Fatalf("FILTER.LOAD %s = %s", key, got)
		}
	}
	const built = "-ERR kind map is built from more than its keys: bloomery build makes one, FILTER.LOAD takes it"
	for _, c := range [][2]string{
		{"FILTER.GET m a b c nobody", "[:7 :0 :255 nil]"},
		{"FILTER.HAS m a nobody", "[true false]"},
		{"FILTER.CARD m", ":3"},
		{"FILTER.GET x a", "-ERR FILTER.GET is not for kind exact; it is for map"},
		{"FILTER.GET nokey a", "-ERR not found"},
		{"FILTER.HAS x a b c d e", "[true true false false false]"},
		{"FILTER.ADD m a", "-ERR FILTER.ADD is not for kind map; it is for bloom, standard, partitioned, split, scalable, counting, spectral, stable, cuckoo, quotient, growing, window, quorum"},
		{"FILTER.CREATE y map", built},
		{"FILTER.REBUILD m BEGIN map", built},
		{"FILTER.GROW m", "-ERR FILTER.GROW is for kind bloom, not for map; bloomery build makes a larger one, FILTER.LOAD takes it"},
		{"COPY m copy", ":1"},
		{"FILTER.GET copy c", "[:255]"},
		{"FILTER.REBUILD copy BEGIN ribbon CAPACITY 10", "+OK"},
		{"FILTER.REBUILD copy ABORT", "+OK"},
	} {
		if got := b.Line(c[0]); got != c[1] {
			t.Errorf("%s = %s, want %s", c[0], got, c[1])
		}
	}
	for _, key := range []string{"m", "x"} {
		for _, p := range piecesOf(t, b, key) {
			if got := b.Do(append([]string{"FILTER.LOAD", "again" + key}, p...)...); got != "+OK" {
				t.Errorf("FILTER.LOAD of the dump of %s = %s", key, got)
			}
		}
	}
	if got := b.Line("FILTER.GET againm a"); got != "[:7]" {
		t.Errorf("FILTER.GET of a map that was dumped and loaded = %s", got)
	}
	if got := b.Line("FILTER.HAS againx a c"); got != "[true false]" {
		t.Errorf("FILTER.HAS of a filter that was dumped and loaded = %s", got)
	}
}
