package compose_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/quotient"
)

// twoLayers returns Layers of two families with 500 keys.
func twoLayers(t testing.TB, exact func([]byte) bool) *compose.Layers {
	t.Helper()
	l, err := compose.NewLayers(exact, bloom.New(500, 0.2), cuckoo.New(500, 0.1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if err := l.InsertString(fmt.Sprint("key ", i)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestLayersBatches asks that batches of hashes, keys and strings answer and count as single
// lookups do, with an exact function and without.
func TestLayersBatches(t *testing.T) {
	stored := map[string]bool{}
	for i := range 400 { // the last 100 were inserted, and are not stored
		stored[fmt.Sprint("key ", i)] = true
	}
	var strings []string
	var keys [][]byte
	var hs []uint64
	for i := range 3000 {
		strings = append(strings, fmt.Sprint("key ", i))
		keys = append(keys, []byte(strings[i]))
	}
	for name, exact := range map[string]func([]byte) bool{"none": nil, "exact": func(key []byte) bool { return stored[string(key)] }} {
		one, batches, texts := twoLayers(t, exact), twoLayers(t, exact), twoLayers(t, exact)
		want, got := make([]bool, len(keys)), make([]bool, len(keys))
		for i, key := range keys {
			want[i] = one.Contains(key)
			hs = append(hs, one.Hash(key))
		}
		batches.ContainsKeys(got, keys)
		if !slices.Equal(got, want) {
			t.Errorf("%s: ContainsKeys answers other than Contains", name)
		}
		texts.ContainsStrings(got, strings)
		if !slices.Equal(got, want) {
			t.Errorf("%s: ContainsStrings answers other than Contains", name)
		}
		for _, l := range []*compose.Layers{batches, texts} {
			if a, b := fmt.Sprint(l.Counts()), fmt.Sprint(one.Counts()); a != b {
				t.Errorf("%s: counts %s, one by one %s", name, a, b)
			}
		}
		c := one.Counts()
		if c.Queries != 3000 || c.Found+c.Stopped[0]+c.Stopped[1]+c.Exact != 3000 || c.Stopped[0] < 1500 || c.Stopped[1] == 0 || exact != nil && c.Exact < 100 {
			t.Errorf("%s: counts %+v", name, c)
		}
		single := twoLayers(t, exact)
		for i, h := range hs[:len(keys)] {
			want[i] = single.ContainsHash(h)
		}
		hashed := twoLayers(t, exact)
		hashed.ContainsHashes(got, hs[:len(keys)])
		if !slices.Equal(got, want) || fmt.Sprint(hashed.Counts()) != fmt.Sprint(single.Counts()) || single.Counts().Exact != 0 {
			t.Errorf("%s: ContainsHashes answers other than ContainsHash, or counts %+v", name, hashed.Counts())
		}
	}
}

// TestLayersRoundTrip writes Layers, without their function, and reads them with it.
func TestLayersRoundTrip(t *testing.T) {
	l := twoLayers(t, nil)
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	open := compose.LayersConfig{Open: openAnyCorrected, Exact: func(key []byte) bool { return string(key) != "key 1" }}
	got, err := open.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !got.ContainsString("key 0") || got.ContainsString("key 1") || got.Counts().Exact != 1 {
		t.Errorf("the exact function is not asked: %+v", got.Counts())
	}
	again, err := got.MarshalBinary()
	if err != nil || !slices.Equal(again, data) {
		t.Errorf("what was read is written with other bytes (%v)", err)
	}
	refuseDamage(t, "layers", data, func(data []byte) error {
		_, err := open.Decode(data)
		return err
	})
	if _, err := (compose.LayersConfig{}).Decode(data); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("without Open: %v", err)
	}
	static, err := fuse.Config[uint8]{}.Build(t.Context(), hashes(10, 1))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]bloomery.Hashed{"static": static, "striped": newStriped(t, 2, 10)} {
		l, err := compose.NewLayers(nil, bloom.New(10, 0.1), f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.MarshalBinary(); !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("%s: %v, want ErrIncompatible", name, err)
		}
	}
}

// TestLayersGiveBack asks that a key that the second layer has no room for is not left in the first, and
// that a key which one layer denies is deleted from none.
func TestLayersGiveBack(t *testing.T) {
	first, second := quotient.New(1000, 0.1), quotient.New(50, 0.1)
	l, err := compose.NewLayers(nil, first, second)
	if err != nil {
		t.Fatal(err)
	}
	in, refused := uint64(0), 0
	for _, h := range hashes(200, 1) {
		switch err := l.InsertHash(h); {
		case err == nil:
			in++
		case errors.Is(err, bloomery.ErrFull):
			refused++
		default:
			t.Fatal(err)
		}
		if a, b := first.Stats().Items, second.Stats().Items; a != in || b != in {
			t.Fatalf("%d and %d items after %d inserts", a, b, in)
		}
	}
	if refused == 0 {
		t.Error("the second layer was never full")
	}
	denied := 0
	for _, h := range hashes(2000, 2) {
		if first.ContainsHash(h) && !l.ContainsHash(h) {
			denied++
			if l.DeleteHash(h) || first.Stats().Items != in {
				t.Fatal("a key that the second layer denies was deleted from the first")
			}
		}
	}
	if denied == 0 {
		t.Error("the second layer stopped nothing")
	}
}

// TestGoldenLayers reads layers of two families.
func TestGoldenLayers(t *testing.T) {
	l := twoLayers(t, nil)
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	got, err := compose.LayersConfig{Open: openAnyCorrected}.Decode(golden.File(t, "v1-layers", data))
	if err != nil {
		t.Fatalf("the golden file is not read any more: %v", err)
	}
	for i := range 500 {
		if key := fmt.Sprint("key ", i); !got.ContainsString(key) {
			t.Errorf("%q is missing", key)
		}
	}
	if got.Stats() != l.Stats() {
		t.Errorf("Stats of the file: %+v, want %+v", got.Stats(), l.Stats())
	}
}
