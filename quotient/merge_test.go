package quotient_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
)

// config returns a filter made by Config.
func config(t *testing.T, c quotient.Config) *quotient.Filter {
	t.Helper()
	f, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func insertAll(t *testing.T, f *quotient.Filter, hs []uint64) {
	t.Helper()
	for i, h := range hs {
		if err := f.InsertHash(h); err != nil {
			t.Fatalf("key %d: %v", i, err)
		}
	}
}

// Two filters put together are the filter of all keys, to the byte; also if one
// of them has grown before, or has finer fingerprints.
func TestMerge(t *testing.T) {
	const n = 5000
	hs := hashes(n, 1)
	c := quotient.Config{Capacity: n, ErrorRate: 1e-3, Doublings: 2}
	want := config(t, c)
	insertAll(t, want, hs)
	for name, other := range map[string]func() *quotient.Filter{
		"same shape": func() *quotient.Filter { return config(t, c) },
		"grown": func() *quotient.Filter {
			f := config(t, c)
			if err := f.Resize(4 * n); err != nil {
				t.Fatal(err)
			}
			return f
		},
	} {
		a, b := config(t, c), other()
		insertAll(t, a, hs[:n/3])
		insertAll(t, b, hs[n/3:])
		if err := a.Merge(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(marshal(t, a), marshal(t, want)) {
			t.Errorf("%s: the merged filter is not that of all keys", name)
		}
		if err := b.Resize(4 * n); err != nil { // keys that come twice take two slots
			t.Fatal(err)
		}
		if err := b.Merge(a); err != nil {
			t.Fatalf("%s, the other way round: %v", name, err)
		}
		for i, h := range hs {
			if got := b.CountHash(h); got < 1 || i >= n/3 && got < 2 {
				t.Fatalf("%s, the other way round: count %d of key %d", name, got, i)
			}
		}
	}
	// The same blocks with longer remainders, if sizes happen to agree.
	coarse, fine := quotient.New(1200, 0.01), quotient.New(1200, 1e-4)
	for p := 1e-4; fine.Shape().Blocks != coarse.Shape().Blocks; p *= 0.99 {
		fine = quotient.New(1200, p)
	}
	insertAll(t, coarse, hs[:500])
	insertAll(t, fine, hs[500:1000])
	before := marshal(t, fine)
	if err := fine.Merge(coarse); !errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), "the other way round") {
		t.Errorf("coarse into fine: %v", err)
	}
	if !bytes.Equal(before, marshal(t, fine)) {
		t.Error("a refused merge changed the filter")
	}
	if err := coarse.Merge(fine); err != nil {
		t.Fatalf("fine into coarse: %v", err)
	}
	for _, h := range hs[:1000] {
		if !coarse.ContainsHash(h) {
			t.Fatal("a key is forgotten")
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	c := quotient.Config{Capacity: 1000, ErrorRate: 0.01}
	seeded, keyed, larger := c, c, c
	seeded.Hasher, keyed.Hasher, larger.Capacity = hashing.Seeded(3), hashing.Keyed([16]byte{1}), 1400
	full := config(t, c)
	insertAll(t, full, hashes(1000, 9))
	for name, x := range map[string]struct {
		other *quotient.Filter
		want  error
		say   string
	}{
		"seed":   {config(t, seeded), bloomery.ErrIncompatible, "seed 0 and seed 3"},
		"hash":   {config(t, keyed), bloomery.ErrIncompatible, "siphash"},
		"shape":  {config(t, larger), bloomery.ErrIncompatible, "quotients"},
		"a full": {full, bloomery.ErrFull, "slots"},
	} {
		f := config(t, c)
		insertAll(t, f, hashes(500, 8))
		before := marshal(t, f)
		if err := f.Merge(x.other); !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.say) {
			t.Errorf("%s: %v, want %v and %q", name, err, x.want, x.say)
		}
		if !bytes.Equal(before, marshal(t, f)) {
			t.Errorf("%s: a refused merge changed the filter", name)
		}
	}
	other := config(t, quotient.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: hashing.Keyed([16]byte{2})})
	if err := config(t, keyed).Merge(other); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("another key: %v, want ErrIncompatible", err)
	}
}

// A filter grows with its keys; the rate stays what Doublings promise, and what
// comes after that is told.
func TestResize(t *testing.T) {
	const n, p = 2000, 1e-3
	f := config(t, quotient.Config{Capacity: n, ErrorRate: p, Doublings: 3})
	hs := hashes(64*n, 1)
	from, width := 0, f.Shape().Remainder
	for i := range 6 {
		size := n << i
		if err := f.Resize(size); err != nil {
			t.Fatalf("resize to %d: %v", size, err)
		}
		insertAll(t, f, hs[from:size])
		from = size
		for _, h := range hs[:size] {
			if !f.ContainsHash(h) {
				t.Fatalf("resized to %d: a key is forgotten", size)
			}
		}
		s, limit := f.Stats(), p
		if i > 3 {
			limit = p * float64(int(1)<<(i-3))
		}
		if s.Predicted > limit || s.Capacity != uint64(size) || s.Asked != p || f.Shape().Remainder != width-i {
			t.Errorf("resized to %d: %+v with remainders of %d bits, want a rate of %g", size, s, f.Shape().Remainder, limit)
		}
		wrong := 0
		for _, h := range hashes(200_000, 2) {
			if f.ContainsHash(h) {
				wrong++
			}
		}
		// 200 or more are expected, 1 sigma is at most 14% of that.
		if got := float64(wrong) / 200_000; got > s.Predicted*1.45 || i > 2 && got < s.Predicted*0.55 {
			t.Errorf("resized to %d: rate %g, predicted %g", size, got, s.Predicted)
		}
		if err := quotient.Check(f); err != nil {
			t.Fatal(err)
		}
	}
	// The same keys in a filter that was large from the start.
	whole := config(t, quotient.Config{Capacity: n, ErrorRate: p, Doublings: 3})
	if err := whole.Resize(n << 5); err != nil {
		t.Fatal(err)
	}
	insertAll(t, whole, hs[:n<<5])
	if whole.Shape() == f.Shape() && !bytes.Equal(marshal(t, whole), marshal(t, f)) {
		t.Error("growing step by step gives another array than growing at once")
	}
}

// Whatever fits into a filter fits after Resize, as long as remainders have a
// bit to give: counts take more slots in narrower remainders, and may run over
// the last block.
func TestResizeKeepsCounts(t *testing.T) {
	tries := 0
	for _, p := range []float64{0.4, 0.25, 0.12, 0.06, 0.03, 0.015, 1e-3} {
		for _, copies := range []int{2, 3, 4, 8, 9, 10, 12, 17, 18, 40, 1000} {
			for _, order := range []string{"random", "last"} {
				f := quotient.New(300, p)
				if f.Shape().Remainder < 2 {
					continue // it has no bit to give
				}
				fillWithCopies(f, copies, order == "last")
				tries++
				counts := maps.Collect(f.All())
				if err := f.Resize(2 * 300); err != nil {
					t.Errorf("rate %v, %d copies, %s: %v", p, copies, order, err)
					continue
				}
				if err := quotient.Check(f); err != nil {
					t.Errorf("rate %v, %d copies, %s: %v", p, copies, order, err)
				}
				for h, n := range counts {
					if got := f.CountHash(h); got != n {
						t.Fatalf("rate %v, %d copies, %s: a count was %d and is %d", p, copies, order, n, got)
					}
				}
				if got := f.Stats().Saturation; got > 31./32 {
					t.Errorf("rate %v, %d copies, %s: %v of the slots are in use after Resize", p, copies, order, got)
				}
			}
		}
	}
	if tries < 100 {
		t.Errorf("%d filters were resized", tries)
	}
}

// fillWithCopies inserts keys so many times each until the filter is full. With
// last their quotients are among the last ones.
func fillWithCopies(f *quotient.Filter, copies int, last bool) {
	for _, h := range hashes(10_000, uint64(copies)) {
		if last {
			h |= 0xc << 60
		}
		for range copies {
			if f.InsertHash(h) != nil {
				return
			}
		}
	}
}

// Counts of a few keys cost no doubling more, and Resize within the room there
// is only changes the capacity.
func TestResizeNoMoreThanNeeded(t *testing.T) {
	f := quotient.New(1000, 1e-3)
	insertAll(t, f, hashes(950, 3))
	insertAll(t, f, hashes(10, 3)) // again
	want, err := f.Shape().Grown(2000)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Resize(2000); err != nil || f.Shape() != want {
		t.Errorf("Resize(2000): %v, shape %+v, want %+v", err, f.Shape(), want)
	}
	for _, c := range []struct{ n, want int }{{1, 2000}, {2001, 2001}, {1999, 2001}} {
		if err := f.Resize(c.n); err != nil || f.Shape() != want || f.Stats().Capacity != uint64(c.want) {
			t.Errorf("Resize(%d): %v, shape %+v, capacity %d, want %d", c.n, err, f.Shape(), f.Stats().Capacity, c.want)
		}
	}
}

func TestResizeRefuses(t *testing.T) {
	f := quotient.New(1000, 0.1)
	insertAll(t, f, hashes(1000, 1))
	before := marshal(t, f)
	for _, c := range []struct {
		n    int
		want error
	}{{0, bloomery.ErrParameter}, {-1, bloomery.ErrParameter}, {1 << 20, bloomery.ErrFull}, {1<<31 - 1, bloomery.ErrFull}} {
		if err := f.Resize(c.n); !errors.Is(err, c.want) {
			t.Errorf("Resize(%d): %v, want %v", c.n, err, c.want)
		}
	}
	if !bytes.Equal(before, marshal(t, f)) {
		t.Error("a refused resize changed the filter")
	}
	if err := f.Resize(10); err != nil || f.Stats().Capacity != 1000 {
		t.Errorf("Resize(10): %v, capacity %d", err, f.Stats().Capacity)
	}
}

// Hashes are in rising order, stop when asked to, and stand for the keys.
func TestHashes(t *testing.T) {
	f := filled(t, hashes(3000, 1), 1e-4)
	last, n := uint64(0), 0
	for h, count := range f.All() {
		if n > 0 && h <= last || count < 1 || f.CountHash(h) != count {
			t.Fatalf("hash %#x after %#x, %d times, counted %d", h, last, count, f.CountHash(h))
		}
		if q, r := quotient.Split(f, h); h > 0 {
			if q2, r2 := quotient.Split(f, h-1); q == q2 && r == r2 {
				t.Fatalf("%#x is not the smallest hash of its fingerprint", h)
			}
		}
		last, n = h, n+1
	}
	if n < 2990 {
		t.Errorf("%d fingerprints of 3000 keys", n)
	}
	for range f.All() {
		break // must not panic
	}
	for range quotient.New(10, 0.1).All() {
		t.Error("an empty filter has a hash")
	}
}
