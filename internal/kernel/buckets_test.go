package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bucketWidths are all widths that there are.
func bucketWidths() []int {
	var widths []int
	for w := 4; w <= 32; w++ {
		if w != 31 {
			widths = append(widths, w)
		}
	}
	return widths
}

// The two buckets of a key differ in parity and follow from each other,
// whatever their number is.
func TestBucketsPairUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 50))
	for _, width := range bucketWidths() {
		for _, n := range []uint64{2, 4, 6, 10, 100, 1 << 16, 262_146} {
			b := NewBuckets(make([]uint64, 1), n, width)
			for range 200 {
				i, fingerprint := b.Place(r.Uint64())
				j := b.Other(i, fingerprint)
				if i >= n || j >= n || (i+j)%2 == 0 || b.Other(j, fingerprint) != i {
					t.Fatalf("width %d, %d buckets: fingerprint %d has buckets %d and %d", width, n, fingerprint, i, j)
				}
				if fingerprint == 0 || fingerprint>>width != 0 {
					t.Fatalf("width %d: fingerprint %d", width, fingerprint)
				}
			}
		}
	}
}

// slots is the plain form of Buckets.
type slots [][Slots]uint64

func (s slots) count(i, fingerprint uint64) (n int) {
	for _, x := range s[i] {
		if x == fingerprint {
			n++
		}
	}
	return n
}

func (s slots) replace(i, old, fingerprint uint64) bool {
	for k, x := range s[i] {
		if x == old {
			s[i][k] = fingerprint
			return true
		}
	}
	return false
}

// A random history leaves packed buckets as it leaves plain ones. Fingerprints
// are few, so that many are equal or differ in one bit.
func TestBucketsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 50))
	for _, width := range bucketWidths() {
		const n = 26
		b, want := NewBuckets(make([]uint64, BucketWords(n, width)), n, width), make(slots, n)
		most := uint64(1)<<width - 1
		draw := func() uint64 {
			return []uint64{1, 2, 3, most, most - 1, most / 2, most/2 + 1, r.Uint64N(most) + 1}[r.IntN(8)]
		}
		for range 3000 {
			i, s, x := r.Uint64N(n), r.Uint64N(Slots), draw()
			switch r.IntN(4) {
			case 0:
				b.SetSlot(i, s, x)
				want[i][s] = x
			case 1:
				old := want[i][s]
				if got, should := b.Replace(i, old, x), want.replace(i, old, x); got != should {
					t.Fatalf("width %d: Replace = %v, want %v", width, got, should)
				}
			case 2:
				if got, should := b.Replace(i, x, 0), want.replace(i, x, 0); got != should {
					t.Fatalf("width %d: Replace by nothing = %v, want %v", width, got, should)
				}
			}
			if got, should := b.Count(i, x), want.count(i, x); got != should {
				t.Fatalf("width %d: Count = %d, want %d in %x", width, got, should, want[i])
			}
		}
		used := uint64(n * Slots)
		for i := range want {
			used -= uint64(want.count(uint64(i), 0))
			for s, x := range want[i] {
				if got := b.Slot(uint64(i), uint64(s)); got != x {
					t.Fatalf("width %d: slot %d of bucket %d is %d, want %d", width, s, i, got, x)
				}
			}
		}
		if got, rest := b.Used(), b.Rest(); got != used || rest {
			t.Errorf("width %d: Used() = %d, Rest() = %v, want %d and false", width, got, rest, used)
		}
		agreeOnKeys(t, r, &b, want)
		b.words[len(b.words)-1] |= 1 << 63
		if !b.Rest() {
			t.Errorf("width %d: a bit behind the array is not seen", width)
		}
	}
}

// agreeOnKeys asks for keys of which many are there, one by one and in batches
// of all lengths.
func agreeOnKeys(t *testing.T, r *rand.Rand, b *Buckets, want slots) {
	t.Helper()
	hs, should := make([]uint64, 3*touched), make([]bool, 3*touched)
	for k := range hs {
		hs[k] = r.Uint64()
		i, fingerprint := b.Place(hs[k])
		j := b.Other(i, fingerprint)
		switch r.IntN(4) {
		case 0:
			b.SetSlot(i, r.Uint64N(Slots), fingerprint)
		case 1:
			b.SetSlot(j, r.Uint64N(Slots), fingerprint)
		}
	}
	for i := range want {
		for s := range want[i] {
			want[i][s] = b.Slot(uint64(i), uint64(s))
		}
	}
	for k, h := range hs {
		i, fingerprint := b.Place(h)
		j := b.Other(i, fingerprint)
		should[k] = want.count(i, fingerprint)+want.count(j, fingerprint) > 0
		if got := b.Has(h); got != should[k] {
			t.Fatalf("width %d: Has = %v, want %v", b.width, got, should[k])
		}
	}
	for _, tier := range tiers() {
		use(t, tier)
		for n := range len(hs) + 1 {
			got := make([]bool, len(hs)+1)
			got[n] = true
			b.HasAll(got, hs[:n])
			if !slices.Equal(got[:n], should[:n]) || !got[n] {
				t.Fatalf("%s, width %d: HasAll of %d keys = %v, want %v", tier, b.width, n, got[:n], should[:n])
			}
		}
	}
}

// The arithmetic of the assembly is that of the Go code for numbers of buckets
// of all lengths, and an array of more than one chunk of keys.
func TestBucketsAgreeOnPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 50))
	for _, width := range bucketWidths() {
		for _, n := range []uint64{2, 4, 1000, 65_534, 200_002} {
			b := NewBuckets(make([]uint64, BucketWords(n, width)), n, width)
			for i := range b.words {
				b.words[i] = r.Uint64() & r.Uint64()
			}
			hs := make([]uint64, 1000)
			if n == 1000 {
				hs = make([]uint64, 2*chunk+13)
			}
			want, got := make([]bool, len(hs)), make([]bool, len(hs))
			for i := range hs {
				hs[i] = r.Uint64()
				if i < 2 {
					hs[i] = -uint64(i) // the first and the last bucket
				}
				want[i] = b.Has(hs[i])
			}
			for _, tier := range tiers() {
				use(t, tier)
				clear(got)
				b.HasAll(got, hs)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, width %d, %d buckets: HasAll differs from Has", tier, width, n)
				}
			}
		}
	}
}

// Words are read and written at every byte as by plain shifts.
func TestBucketsLoadAndStore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 50))
	b := Buckets{words: make([]uint64, 9)}
	want := make([]uint64, 9)
	for i := range want {
		want[i] = r.Uint64()
		b.words[i] = want[i]
	}
	for range 1000 {
		at, x := r.Uint64N(64), r.Uint64()
		if got, should := b.load(at), goLoad(want, at); got != should {
			t.Fatalf("load(%d) = %#x, want %#x", at, got, should)
		}
		b.store(at, x)
		goStore(want, at, x)
		if !slices.Equal(b.words, want) {
			t.Fatalf("store(%d, %#x): %#x, want %#x", at, x, b.words, want)
		}
	}
}

func TestBucketsPanic(t *testing.T) {
	b := NewBuckets(make([]uint64, BucketWords(2, 8)), 2, 8)
	var zero Buckets
	for name, run := range map[string]func(){
		"zero, many": func() { zero.HasAll(make([]bool, 9), make([]uint64, 9)) },
		"short dst":  func() { b.HasAll(make([]bool, 1), make([]uint64, 2)) },
		"zero":       func() { zero.Has(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			run()
		}()
	}
}

// TestBucketWords checks the words of arrays that fill them and that do not: there is
// one more, for loads that begin in the last.
func TestBucketWords(t *testing.T) {
	for _, c := range []struct {
		n     uint64
		width int
		want  uint64
	}{{2, 8, 2}, {2, 6, 2}, {2, 9, 3}, {16, 32, 33}, {100, 7, 45}} {
		if got := BucketWords(c.n, c.width); got != c.want {
			t.Errorf("BucketWords(%d, %d) = %d, want %d", c.n, c.width, got, c.want)
		}
	}
}
