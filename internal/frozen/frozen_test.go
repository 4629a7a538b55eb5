package frozen_test

import (
	"bytes"
	"encoding"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/quotient"
)

// between is a Writer that calls do behind every piece.
type between struct {
	bytes.Buffer
	do func()
}

func (w *between) Write(b []byte) (int, error) {
	defer w.do()
	return w.Buffer.Write(b)
}

// freeze returns the copy of a filter of any family.
func freeze(f bloomery.Hashed) frozen.Copy {
	switch f := f.(type) {
	case *compose.Quorum:
		return f.Freeze(freeze)
	case interface{ Freeze() *frozen.Pages }:
		return f.Freeze()
	}
	return bloom.Freeze(f)
}

// kind is a filter to be frozen, and how many keys it has before.
type kind struct {
	make func(t *testing.T) bloomery.Hashed
	keys int
	more int // inserted again and again
}

func must[F bloomery.Hashed](f F, err error) func(*testing.T) bloomery.Hashed {
	return func(t *testing.T) bloomery.Hashed {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

func kinds() map[string]kind {
	secret := hashing.Keyed([16]byte{1, 2, 3})
	return map[string]kind{
		"cuckoo":                      {must(cuckoo.Config{Capacity: 40_000, ErrorRate: 0.001}.New()), 20_000, 0},
		"cuckoo that is nearly full":  {must(cuckoo.Config{Capacity: 40_000, ErrorRate: 0.001}.New()), 40_000, 0},
		"cuckoo of wide fingerprints": {must(cuckoo.Config{Capacity: 40_000, ErrorRate: 1e-7}.New()), 40_000, 0},
		"counting":                    {must(counting.Config{Capacity: 40_000, ErrorRate: 0.01}.New()), 20_000, 3},
		"spectral":                    {must(counting.Config{Capacity: 10_000, ErrorRate: 0.01}.NewSpectral()), 20_000, 3},
		"stable":                      {must(counting.Config{Capacity: 5_000, ErrorRate: 0.01}.NewStable()), 20_000, 0},
		"stable of few keys":          {must(counting.Config{Capacity: 50, Bits: 1 << 20, Hashes: 6}.NewStable()), 200, 0},
		"quotient":                    {must(quotient.Config{Capacity: 40_000, ErrorRate: 0.001}.New()), 20_000, 0},
		"quotient that is full":       {must(quotient.Config{Capacity: 40_000, ErrorRate: 0.001}.New()), 40_000, 0},
		"quotient with counts":        {must(quotient.Config{Capacity: 40_000, ErrorRate: 0.001}.New()), 10_000, 10},
		"quotient of few bits":        {must(quotient.Config{Capacity: 40_000, ErrorRate: 0.3}.New()), 4000, 12},
		"window":                      {must(compose.WindowConfig{Capacity: 40_000, ErrorRate: 0.01, Generations: 6}.New()), 20_000, 0},
		"window of whole lines":       {must(compose.WindowConfig{Capacity: 40_000, ErrorRate: 1e-5, Generations: 6}.New()), 20_000, 0},
		"window with secrets":         {must(compose.WindowConfig{Capacity: 40_000, ErrorRate: 0.01, Generations: 6, Hasher: secret, Rotate: true}.New()), 20_000, 0},
		"quorum": {func(t *testing.T) bloomery.Hashed {
			t.Helper()
			q, err := compose.NewQuorum(2, cuckoo.New(40_000, 0.01), bloom.New(40_000, 0.01), quotient.New(40_000, 0.01), bloom.NewScalable(1000, 0.01))
			if err != nil {
				t.Fatal(err)
			}
			return q
		}, 20_000, 0},
	}
}

// put adds or inserts a key. A filter may have no room for it.
func put(f bloomery.Hashed, h uint64) {
	if a, ok := f.(bloomery.Adder); ok {
		a.AddHash(h)
		return
	}
	_ = f.(bloomery.Inserter).InsertHash(h)
}

// A copy is the filter of its moment, byte for byte, whatever is inserted and deleted while it is
// written, key by key; and of two that were made at different moments each is its own.
func TestCopies(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			f := k.make(t)
			rng := rand.New(rand.NewPCG(5, 6))
			keys := make([]uint64, k.keys)
			for i := range keys {
				keys[i] = rng.Uint64()
				for range 1 + rng.IntN(k.more+1) {
					put(f, keys[i])
				}
			}
			open := map[frozen.Copy]bool{}
			change := func() {
				h := keys[rng.IntN(len(keys))]
				d, deletes := f.(bloomery.Deleter)
				deletes = deletes && rng.IntN(2) == 0
				if !deletes && rng.IntN(2) == 0 {
					h = rng.Uint64()
				}
				for z := range open {
					z.Before([]uint64{h})
				}
				if deletes {
					d.DeleteHash(h)
				} else {
					put(f, h)
				}
			}
			copies := map[frozen.Copy][]byte{}
			for range 2 {
				z, want := freeze(f), encoded(t, f)
				if z.Size() != int64(len(want)) || z.Saved() != 0 {
					t.Errorf("Size() = %d of %d bytes, Saved() = %d", z.Size(), len(want), z.Saved())
				}
				copies[z], open[z] = want, true
				for range 500 {
					change()
				}
				if z.Saved() == 0 || z.Saved() > len(want)+64<<10 {
					t.Errorf("%d bytes are aside of %d", z.Saved(), len(want))
				}
			}
			for z, want := range copies {
				w := &between{do: func() {
					for range rng.IntN(200) {
						change()
					}
				}}
				if n, err := z.WriteTo(w); err != nil || n != int64(len(want)) || !bytes.Equal(w.Bytes(), want) {
					t.Errorf("%d bytes were written, want %d, and they may differ: %v", n, len(want), err)
				}
				if z.Saved() != 0 {
					t.Errorf("%d bytes are aside at the end", z.Saved())
				}
				delete(open, z)
			}
		})
	}
}

// What is detached does not change with the filter, whatever is done to that.
func TestDetach(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			f := k.make(t)
			rng := rand.New(rand.NewPCG(7, 8))
			for range k.keys / 2 {
				put(f, rng.Uint64())
			}
			want := encoded(t, f)
			z := freeze(f)
			change := func() {
				for range 100 {
					h := rng.Uint64()
					z.Before([]uint64{h})
					put(f, h)
				}
			}
			change()
			w := &between{}
			detached := false
			w.do = func() {
				if detached {
					return
				}
				if w.Len() < len(want)/2 {
					change()
					return
				}
				detached = true
				z.Detach()
				z.Detach()
				for range 1000 {
					put(f, rng.Uint64())
				}
			}
			if _, err := z.WriteTo(w); err != nil || !detached || !bytes.Equal(w.Bytes(), want) || z.Saved() != 0 {
				t.Errorf("detached: %v, the filter of before was not written: %v; %d bytes are aside", detached, err, z.Saved())
			}
		})
	}
}

// Zero filters are not frozen; an error of the writer is returned, and Before does nothing behind the end.
func TestNothingToFreeze(t *testing.T) {
	for _, f := range []interface{ Freeze() *frozen.Pages }{new(cuckoo.Filter), new(counting.Filter), new(counting.Spectral), new(counting.Stable), new(quotient.Filter), new(compose.Window)} {
		if f.Freeze() != nil {
			t.Errorf("a zero %T is frozen", f)
		}
	}
	if new(compose.Quorum).Freeze(freeze) != nil {
		t.Error("a zero Quorum is frozen")
	}
	q, err := compose.NewQuorum(1, cuckoo.New(10, 0.1))
	if err != nil {
		t.Fatal(err)
	}
	if q.Freeze(func(bloomery.Hashed) frozen.Copy { return nil }) != nil {
		t.Error("a quorum is frozen without its member")
	}
	r, w := io.Pipe()
	_ = r.Close()
	z := q.Freeze(freeze)
	if _, err := z.WriteTo(w); err == nil {
		t.Error("an error of the writer is not returned")
	}
	f := cuckoo.New(10, 0.1)
	z = f.Freeze()
	if _, err := z.WriteTo(io.Discard); err != nil {
		t.Error(err)
	}
	if z.Before([]uint64{1}); z.Saved() != 0 {
		t.Errorf("%d bytes are put aside of what was written", z.Saved())
	}
}

func encoded(t *testing.T, f bloomery.Hashed) []byte {
	t.Helper()
	data, err := f.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
