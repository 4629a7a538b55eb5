package bloom_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
)

// What is no kind of codec's table, and so not in the fuzz target of all kinds.
// Whatever comes in: no panic, an error of a known cause, and what is accepted
// comes out as it went in.

func FuzzBitset(f *testing.F) {
	x := bloom.NewSplit(20, 0.1)
	x.AddString("a")
	f.Add(x.AppendBitset(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := (bloom.Config{}).NewSplitFromBitset(data); err == nil {
			s.ContainsString("b")
			if !bytes.Equal(s.AppendBitset(nil), data) {
				t.Error("the bitset does not come out as it went in")
			}
		} else if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("bitset of %d bytes: %v, want ErrCorrupt", len(data), err)
		}
	})
}

func FuzzSlicedUnmarshal(f *testing.F) {
	x := sliced(3, 20, 0.1)
	if _, err := x.AddColumn(); err != nil {
		f.Fatal(err)
	}
	seed(f, x)
	f.Fuzz(func(t *testing.T, data []byte) {
		var x bloom.Sliced
		err := x.UnmarshalBinary(data)
		_, err2 := bloom.Config{}.ReadSliced(bytes.NewReader(data))
		if err == nil {
			if again, _ := x.MarshalBinary(); !bytes.Equal(again, data) {
				t.Error("accepted bytes do not come out as they went in")
			}
			x.Which(make([]uint64, x.Words()), 42)
			x.Stats()
		}
		checkCauses(t, err, err2)
		if v, err := (bloom.Config{}).ViewSliced(data); err == nil {
			v.Which(make([]uint64, v.Words()), 42)
			v.Stats()
			_, _ = v.Clone()
		}
	})
}

func seed(f *testing.F, x interface{ MarshalBinary() ([]byte, error) }) {
	data, _ := x.MarshalBinary()
	f.Add(data)
	f.Add(data[:64])
	f.Add([]byte{})
}

func checkCauses(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
			!errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("error without a known cause: %v", err)
		}
	}
}
