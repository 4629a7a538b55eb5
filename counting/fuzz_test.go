package counting_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
)

// Whatever comes in: no panic, an error of a known cause, and what is accepted
// comes out as it went in.

func FuzzFilterUnmarshal(f *testing.F) {
	x := counting.New(20, 0.1)
	insert(f, x, hashes(30, 1))
	seed(f, x)
	f.Fuzz(func(t *testing.T, data []byte) {
		var x, y counting.Filter
		err := x.UnmarshalBinary(data)
		_, err2 := y.ReadFrom(bytes.NewReader(data))
		checkDecoded(t, data, err, err2, &x)
		if err == nil {
			x.DeleteHash(42)
			x.CountHash(42)
		}
		if v, err := (counting.Config{}).View(data); err == nil {
			v.CountHash(42)
			v.Stats()
			if c, err := v.Clone(); err == nil {
				c.DeleteHash(42)
			}
		}
	})
}

func FuzzSpectralUnmarshal(f *testing.F) {
	x, err := counting.Config{Capacity: 20, ErrorRate: 0.1, CounterBits: 8}.NewSpectral()
	if err != nil {
		f.Fatal(err)
	}
	insert(f, x, append(hashes(30, 1), hashes(10, 1)...))
	seed(f, x)
	f.Fuzz(func(t *testing.T, data []byte) {
		var x, y counting.Spectral
		err := x.UnmarshalBinary(data)
		_, err2 := y.ReadFrom(bytes.NewReader(data))
		checkDecoded(t, data, err, err2, &x)
		if v, err := (counting.Config{}).ViewSpectral(data); err == nil {
			v.CountHash(42)
			v.Stats()
			v.Excess()
			if c, err := v.Clone(); err == nil {
				_ = c.InsertHash(42) // full or not
			}
		}
	})
}

func FuzzStableUnmarshal(f *testing.F) {
	x := counting.NewStable(20, 0.1)
	insert(f, x, hashes(50, 1))
	seed(f, x)
	f.Fuzz(func(t *testing.T, data []byte) {
		var x, y counting.Stable
		err := x.UnmarshalBinary(data)
		_, err2 := y.ReadFrom(bytes.NewReader(data))
		checkDecoded(t, data, err, err2, &x)
		if v, err := (counting.Config{}).ViewStable(data); err == nil {
			v.Forgotten(42)
			v.Stats()
			c, err := v.Clone()
			if err != nil {
				return
			}
			if err := c.InsertHash(42); err != nil {
				t.Error(err)
			}
		}
	})
}

func seed(f *testing.F, x interface{ MarshalBinary() ([]byte, error) }) {
	f.Helper()
	data := encoded(f, x)
	f.Add(data)
	f.Add(data[:64])
	f.Add([]byte{})
}

func checkDecoded(t *testing.T, data []byte, err, readErr error, x interface {
	bloomery.Hashed
	bloomery.Inserter
	MarshalBinary() ([]byte, error)
},
) {
	t.Helper()
	if err == nil {
		x.ContainsHash(42)
		x.Stats()
		if !bytes.Equal(encoded(t, x), data) {
			t.Error("accepted bytes do not come out as they went in")
		}
		if readErr != nil {
			t.Errorf("UnmarshalBinary accepts, ReadFrom says %v", readErr)
		}
		if err := x.InsertHash(42); err != nil && !errors.Is(err, bloomery.ErrFull) {
			t.Error(err)
		}
		return
	}
	for _, err := range []error{err, readErr} {
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
			!errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("error without a known cause: %v", err)
		}
	}
}
