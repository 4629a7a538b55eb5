package cuckoo

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
)

// TestFarIsForFullFilters counts the keys that find no room near, for each half percent of
// the load: none while the filter is not nearly full, and of two neighbours the lower has
// less than half as many, within 4σ. So at 27/32 it is less than one in 10^9.
func TestFarIsForFullFilters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var far [200]float64
	for _, width := range []int{7, 12} {
		f, err := Config{Buckets: 1 << 18, Width: width}.New()
		if err != nil {
			t.Fatal(err)
		}
		slots := f.shape.Slots()
		for f.items < slots*190/200 {
			i, fingerprint := f.buckets.Place(r.Uint64())
			if j := f.buckets.Other(i, fingerprint); f.buckets.Replace(i, 0, fingerprint) || f.buckets.Replace(j, 0, fingerprint) ||
				makeRoomNear(&f.buckets, i, j, fingerprint) {
				f.items++
				continue
			}
			far[f.items*200/slots]++
			if f.items < f.shape.NearlyFull() {
				t.Errorf("width %d: a key needs a long search with %d of %d slots taken", width, f.items, slots)
			}
			f.items++ // or it would not end
		}
	}
	for load := 186; load < 190; load++ {
		less, more := far[load-1], far[load]
		if sigma := math.Sqrt(4*less + more); 2*less > more+4*sigma {
			t.Errorf("%g keys need a long search at %.1f%%, %g at half a percent more", less, float64(load-1)/2, more)
		}
	}
	if far[189] < 50 {
		t.Errorf("%g keys need a long search at 94.5%%: nothing is shown", far[189])
	}
}

// TestCopiesSearchFar inserts every key twice: that takes more than 80% of the slots before one
// finds no room, and 70% with short searches alone.
func TestCopiesSearchFar(t *testing.T) {
	f, err := Config{Buckets: 1 << 16, Width: 12}.New()
	if err != nil {
		t.Fatal(err)
	}
	for r := rand.New(rand.NewPCG(1, 2)); ; {
		h := r.Uint64()
		if errors.Join(f.InsertHash(h), f.InsertHash(h)) != nil {
			break
		}
	}
	if load := float64(f.items) / float64(f.shape.Slots()); load < 0.8 {
		t.Errorf("full at a load of %.3f", load)
	}
}

// TestAimedAtBuckets inserts keys of some buckets only, which are full soon: they are
// refused, and the filter is as it was.
func TestAimedAtBuckets(t *testing.T) {
	f, err := Config{Buckets: 1 << 12, Width: 16}.New()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 1))
	const some = 256 // buckets that both buckets of a key are among
	var in []uint64
	refused := 0
	for refused < 1000 {
		h := r.Uint64()
		if i, fingerprint := f.buckets.Place(h); i >= some || f.buckets.Other(i, fingerprint) >= some {
			continue
		}
		if err := f.InsertHash(h); err == nil {
			in = append(in, h)
		} else if refused++; !errors.Is(err, bloomery.ErrFull) {
			t.Fatal(err)
		}
	}
	if len(in) < some*3 || len(in) > some*4 {
		t.Errorf("%d keys are in %d buckets", len(in), some)
	}
	for _, h := range in {
		if !f.ContainsHash(h) {
			t.Fatal("a key is lost")
		}
	}
	if err := f.check(); err != nil {
		t.Error(err)
	}
}
