package codec_test

import (
	"bytes"
	"encoding"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

// TestMakeLooksAtNothing makes filters of outlines in arrays that are not empty, which nobody may notice: to look through
// a large array takes long, and clients wait for a filter that is emptied.
func TestMakeLooksAtNothing(t *testing.T) {
	for _, k := range codec.Kinds() {
		name := k.Name
		if k.New == nil || name == "growing" {
			continue // which has no such arrays
		}
		f, err := k.New(100_000, 0.01, hashing.Seeded(7))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o := outlineOf(t, f)
		var arrays [][]byte
		g, err := codec.Config{Alloc: func(n int) ([]byte, error) {
			array := make([]byte, n)
			for i := n / 4; i < n/2; i++ {
				array[i] = 0x55
			}
			arrays = append(arrays, array)
			return array, nil
		}}.Make(&o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, array := range arrays {
			if i := len(array) / 3; array[i] != 0x55 {
				t.Errorf("%s: an array of %d bytes is written to", name, len(array))
			}
		}
		if w, ok := g.(interface{ Added() uint64 }); ok && w.Added() != 0 {
			t.Errorf("%s: %d keys are counted", name, w.Added())
		}
	}
}

// TestMakeOfDamaged makes filters of outlines with a bit that is wrong: that fails, or gives a filter.
func TestMakeOfDamaged(t *testing.T) {
	for _, k := range codec.Kinds() {
		if k.New == nil {
			continue
		}
		f, err := k.New(20_000, 0.01, hashing.Seeded(7))
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		data, err := codec.AppendOutline(nil, f)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		for i := range min(8*len(data), 8*800) {
			data[i/8] ^= 1 << (i % 8)
			o, err := codec.ParseOutline(data)
			if err == nil {
				_, err = codec.Config{Limits: codec.Limits{Bytes: 1 << 20}}.Make(&o)
			}
			if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Errorf("%s: bit %d: %v", k.Name, i, err)
			}
			data[i/8] ^= 1 << (i % 8)
		}
	}
}

// TestMakeOfManySegments makes a growing filter for many keys: its segments have memory when keys come.
func TestMakeOfManySegments(t *testing.T) {
	f := quotient.NewGrowing(3_000_000, 0.01)
	o := outlineOf(t, f)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, err := codec.Config{}.Make(&o)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || n > o.Bytes()/20 || g.Stats() != f.Stats() {
		t.Fatalf("%v: %d bytes are made of a filter of %d: %v, want %v", err, n, o.Bytes(), g, f)
	}
	for _, n := range []int{1, 100_000} {
		for _, f := range []bloomery.Hashed{f, g} {
			if _, err := f.(*quotient.Growing).InsertHashes(hashes(n, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(marshalled(t, f), marshalled(t, g)) {
			t.Errorf("with %d keys it is another filter", n)
		}
		if n == 1 { // one that is not new
			o := outlineOf(t, f)
			if g, err = (codec.Config{}).Make(&o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func outlineOf(t *testing.T, f bloomery.Hashed) codec.Outline {
	t.Helper()
	data, err := codec.AppendOutline(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	o, err := codec.ParseOutline(data)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOutline asks that a filter made from an outline is, to the byte, the one
// that the outline was taken from, for every kind that can be empty.
func TestOutline(t *testing.T) {
	for _, k := range codec.Kinds() {
		if k.New == nil {
			continue
		}
		for _, n := range []int{1, 100, 200_000} {
			f, err := k.New(n, 0.01, hashing.Seeded(7))
			if err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
			data, err := codec.AppendOutline([]byte("x"), f)
			if err != nil {
				t.Fatalf("%s for %d: %v", k.Name, n, err)
			}
			o, err := codec.ParseOutline(data[1:])
			if err != nil || o.Kind().Name != k.Name {
				t.Fatalf("%s for %d: %s, %v", k.Name, n, o.Kind().Name, err)
			}
			asked := uint64(0)
			g, err := codec.Config{Alloc: func(n int) ([]byte, error) { asked += uint64(n); return make([]byte, n), nil }}.Make(&o)
			if err != nil {
				t.Fatalf("%s for %d: %v", k.Name, n, err)
			}
			if asked > o.Bytes() {
				t.Errorf("%s for %d: Bytes() = %d, %d were asked for", k.Name, n, o.Bytes(), asked)
			}
			if !bytes.Equal(marshalled(t, f), marshalled(t, g)) {
				t.Errorf("%s for %d: made from an outline it is another filter", k.Name, n)
			}
			for cut := range min(len(data), 200) {
				if _, err := codec.ParseOutline(data[1 : 1+cut]); cut < len(data)-1 && !errors.Is(err, bloomery.ErrCorrupt) {
					t.Fatalf("%s: outline cut at %d: %v, want ErrCorrupt", k.Name, cut, err)
				}
			}
		}
	}
}

// TestOutlineOfMembers makes quorums, part after part, of members whose arrays are not all zeros when they are empty.
func TestOutlineOfMembers(t *testing.T) {
	q, err := compose.NewQuorum(1, bloom.NewScalable(100, 0.01), quotient.NewGrowing(100, 0.01), quotient.NewGrowing(100_000, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	o, want := outlineOf(t, q), marshalled(t, q)
	for part := range 2 {
		if g, err := (codec.Config{}).Make(&o); err != nil || !bytes.Equal(marshalled(t, g), want) {
			t.Errorf("part %d is another filter: %v", part, err)
		}
	}
}

func marshalled(t *testing.T, f bloomery.Hashed) []byte {
	t.Helper()
	b, err := f.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOutlineRefuses has filters with keys and such without an encoding.
func TestOutlineRefuses(t *testing.T) {
	f := bloom.New(1_000_000, 0.01)
	f.AddHashes(nil, hashes(500_000, 1))
	if _, err := codec.AppendOutline(nil, f); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("a filter with keys: %v, want ErrTooLarge", err)
	}
	type bare struct{ bloomery.Hashed }
	if _, err := codec.AppendOutline(nil, bare{f}); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a filter without an encoding: %v, want ErrIncompatible", err)
	}
}

// pieces writes an encoding in pieces of a length.
type pieces struct {
	*bloom.Filter
	length int
}

func (p pieces) WriteTo(w io.Writer) (n int64, err error) {
	var buf bytes.Buffer
	if n, err = p.Filter.WriteTo(&buf); err != nil {
		return n, err
	}
	for buf.Len() > 0 {
		if _, err := w.Write(buf.Next(p.length)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestOutlineOfPieces checks that an outline does not depend on how its filter is
// written.
func TestOutlineOfPieces(t *testing.T) {
	f := bloom.New(10_000, 0.01)
	f.AddHashes(nil, hashes(20, 1))
	want, err := codec.AppendOutline(nil, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{1, 3, 8, 13, 64, 65, 1000} {
		if got, err := codec.AppendOutline(nil, pieces{f, length}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("pieces of %d: another outline, %v", length, err)
		}
	}
}
