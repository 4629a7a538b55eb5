package bloom_test

import (
	"bytes"
	"encoding"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
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

// A frozen filter is written as it was, byte for byte, whatever is added meanwhile: keys of
// one and of many at a time, new ones and others, with new layers, and of two that freeze it
// at different moments each gets its own.
func TestFrozen(t *testing.T) {
	full := bloom.NewScalable(1000, 0.01)
	full.AddHashes(nil, hashes(500_000, 8))
	united := bloom.NewScalable(100_000, 0.01)
	if err := united.Union(full); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]interface {
		bloomery.Hashed
		bloomery.Adder
	}{
		"filter": bloom.New(200_000, 0.01), "filter of more bits": bloom.New(200_000, 1e-4), "standard": bloom.NewStandard(200_000, 0.001),
		"partitioned": bloom.NewPartitioned(200_000, 0.01), "split": bloom.NewSplit(200_000, 0.01),
		"scalable": bloom.NewScalable(200_000, 0.01), "scalable of flat layers": bloom.NewScalable(200_000, 1e-8),
		"scalable of several layers": full, "scalable of a union": united,
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			keys := hashes(600_000, 3)
			open := map[*bloom.Frozen]bool{}
			add := func(n int) {
				n = min(n, len(keys))
				for z := range open {
					z.Before(keys[:n])
				}
				if n == 1 {
					f.AddHash(keys[0])
				} else {
					f.AddHashes(nil, keys[:n])
				}
				keys = keys[n:]
			}
			add(50_000)
			want := encoded(t, f)
			first := bloom.Freeze(f)
			open[first] = true
			if first.Size() != int64(len(want)) || first.Saved() != 0 {
				t.Errorf("Size() = %d of %d bytes, Saved() = %d", first.Size(), len(want), first.Saved())
			}
			add(10_000)
			if first.Saved() == 0 {
				t.Error("nothing was noted")
			}
			later := encoded(t, f)
			second := bloom.Freeze(f)
			open[second] = true
			for z, want := range map[*bloom.Frozen][]byte{first: want, second: later} {
				w := &between{do: func() {
					if add(1 + rng.IntN(300)); rng.IntN(3) == 0 {
						add(1)
					}
				}}
				if n, err := z.WriteTo(w); err != nil || n != int64(len(want)) || !bytes.Equal(w.Bytes(), want) {
					t.Errorf("%d bytes were written, want %d, and they may differ: %v", n, len(want), err)
				}
				delete(open, z)
			}
		})
	}
}

// What is put aside takes no more than the filter, however much is added; and words that are changed in any way are
// written as they were.
func TestFrozenBound(t *testing.T) {
	f := bloom.New(1_000_000, 0.01)
	keys := hashes(1_500_000, 9)
	f.AddHashes(nil, keys[:1000])
	want := encoded(t, f)
	z := bloom.Freeze(f)
	most := 0
	add := func(hs []uint64) {
		z.Before(hs)
		f.AddHashes(nil, hs)
		most = max(most, z.Saved())
	}
	add(keys[1000:1_000_000])
	if most < len(want)/2 || most > len(want) {
		t.Errorf("%d bytes are aside of %d", most, len(want))
	}
	o := bloom.New(1_000_000, 0.01)
	o.AddHashes(nil, keys[1_000_000:])
	w := &between{}
	w.do = func() {
		if w.Len() == 0 {
			return
		}
		z.BeforeWords(0, len(want)/8)
		if err := f.Union(o); err != nil {
			t.Error(err)
		}
		most = max(most, z.Saved())
	}
	if _, err := z.WriteTo(w); err != nil || !bytes.Equal(w.Bytes(), want) || z.Saved() != 0 || most > len(want)+64<<10 {
		t.Errorf("the filter of before was not written: %v; %d bytes were aside, and %d are at the end", err, most, z.Saved())
	}
	z.Before(keys) // does nothing any more
	z.BeforeWords(0, len(want)/8)
	if z.Saved() != 0 {
		t.Errorf("%d bytes are put aside of what was written", z.Saved())
	}
}

// What is detached does not change with the filter, whatever is done to that.
func TestFrozenDetached(t *testing.T) {
	f := bloom.NewScalable(100_000, 0.01)
	keys := hashes(300_000, 4)
	f.AddHashes(nil, keys[:150_000])
	want := encoded(t, f)
	z := bloom.Freeze(f)
	z.Before(keys[150_000:])
	f.AddHashes(nil, keys[150_000:])
	w := &between{}
	cleared := false
	w.do = func() {
		if !cleared && w.Len() > len(want)/2 {
			cleared = true
			z.Detach()
			if n := testing.AllocsPerRun(1, z.Detach); n > 0 {
				t.Errorf("it is copied again, with %v allocations", n)
			}
			f.Clear()
			f.AddHashes(nil, keys)
		}
	}
	if _, err := z.WriteTo(w); err != nil || !cleared || !bytes.Equal(w.Bytes(), want) {
		t.Errorf("cleared: %v, the filter of before was not written: %v", cleared, err)
	}
}

// Other kinds, and zero filters, are not frozen; an error of the writer is returned.
func TestFreezeOther(t *testing.T) {
	for _, f := range []bloomery.Hashed{new(bloom.Filter), new(bloom.Standard), new(bloom.Split), new(bloom.Partitioned), new(bloom.Scalable), bloom.New(10, 0.1).Concurrent()} {
		if bloom.Freeze(f) != nil {
			t.Errorf("a %T is frozen", f)
		}
	}
	r, w := io.Pipe()
	_ = r.Close()
	if _, err := bloom.Freeze(bloom.New(10, 0.1)).WriteTo(w); err == nil {
		t.Error("an error of the writer is not returned")
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
