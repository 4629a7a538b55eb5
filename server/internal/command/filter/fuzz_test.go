package filter_test

import (
	"encoding"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
)

// FuzzFilterLoad asks that hostile bytes are refused and change nothing, or become a
// filter that answers, takes items and dumps to what loads again.
func FuzzFilterLoad(f *testing.F) {
	for _, k := range codec.Kinds() {
		var v bloomery.Hashed
		var err error
		if k.Features.Static {
			v, err = k.Build([]uint64{1, 2, 3, 1 << 60}, 0.01, hashing.Hasher{})
		} else {
			v, err = k.New(20, 0.1, hashing.Keyed([16]byte{9}))
		}
		if err != nil {
			f.Fatal(err)
		}
		data, err := v.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBench(t, 1<<20)
		defer b.Door.Close() // its tasks keep all of its memory
		if got := b.Do("FILTER.LOAD", "k", "1", string(data)); got != "+OK" {
			if b.State.Names.Len() != 0 || b.State.Bytes() != 0 {
				t.Fatalf("refused with %s, and there is a key of %d bytes", got, b.State.Bytes())
			}
			return
		}
		for _, line := range []string{"FILTER.HAS k a b", "FILTER.ADD k a b", "FILTER.DEL k a", "FILTER.COUNT k b", "FILTER.INFO k", "FILTER.HASHASH k 5", "FILTER.CARD k"} {
			if got := b.Line(line); got == "none" {
				t.Fatalf("%s has no reply", line)
			}
		}
		r := b.Exec([][]byte{[]byte("FILTER.DUMP"), []byte("k"), []byte("0")})[0]
		if got := b.Do("FILTER.LOAD", "l", "1", r.Elems[1].Text); got != "+OK" {
			t.Fatalf("LOAD of what DUMP returned = %s", got)
		}
		b.Crash(t)
	})
}
