package codec_test

import (
	"bytes"
	"encoding"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

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

func marshalled(t *testing.T, f bloomery.Hashed) []byte {
	t.Helper()
	b, err := f.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
