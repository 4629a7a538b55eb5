package quotient_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/quotient"
)

// refusedAsCrowded asks that an insert is refused for keys that are much alike, and
// changes nothing.
func refusedAsCrowded(t *testing.T, f *quotient.Filter, h uint64) {
	t.Helper()
	before := marshal(t, f)
	err := f.InsertHash(h)
	if !errors.Is(err, bloomery.ErrFull) || !strings.Contains(err.Error(), "too much alike") {
		t.Errorf("error %v, want one that says that hashes are too much alike", err)
	}
	if !bytes.Equal(marshal(t, f), before) {
		t.Error("a refused insert has changed the filter")
	}
}

// fillAimed inserts hashes until one is refused, and returns those before. All of
// them are found, the filter is sound, and it goes no farther than it says.
func fillAimed(t *testing.T, f *quotient.Filter, next func(i int) uint64) (in []uint64) {
	t.Helper()
	for i := 0; ; i++ {
		h := next(i)
		if f.InsertHash(h) != nil {
			refusedAsCrowded(t, f, h)
			break
		}
		in = append(in, h)
	}
	for _, h := range in {
		if !f.ContainsHash(h) {
			t.Fatal("a key is lost")
		}
	}
	if err := quotient.Check(f); err != nil {
		t.Fatal(err)
	}
	run, stretch := f.Reach()
	if mostRun, mostStretch := f.MaxReach(0); run > mostRun || stretch > mostStretch {
		t.Errorf("a run of %d slots and a stretch of %d blocks, at most %d and %d are possible", run, stretch, mostRun, mostStretch)
	}
	return in
}

// TestAimedAtARun inserts keys of one quotient: a lookup would compare all of them.
func TestAimedAtARun(t *testing.T) {
	f := quotient.New(1_000_000, 1e-6)
	one := math.MaxUint64 / (f.Shape().Blocks * 64)
	in := fillAimed(t, f, func(i int) uint64 { return 1<<62 + one/2 + uint64(i)<<36 })
	if len(in) != 64 {
		t.Errorf("%d keys of one quotient fit, want 64", len(in))
	}
	if err := f.InsertHash(1 << 61); err != nil {
		t.Errorf("a key of another quotient: %v", err)
	}
	for _, h := range in {
		if !f.DeleteHash(h) {
			t.Fatal("a key cannot be deleted")
		}
	}
	if err := f.InsertHash(in[0]); err != nil {
		t.Errorf("after the keys were deleted: %v", err)
	}
}

// TestAimedAtAStretch inserts keys of some quotients in a row: an insert or a delete would move
// all of them. It does so from the front, so that each insert moves little itself, from the
// back, and at random.
func TestAimedAtAStretch(t *testing.T) {
	const region = 1 << 58 // a 64th of all hashes
	r := rand.New(rand.NewPCG(7, 7))
	for name, next := range map[string]func(i int) uint64{
		"from the front": func(i int) uint64 { return 1<<62 + uint64(i)*(region>>14) },
		"from the back":  func(i int) uint64 { return 1<<62 + region - uint64(i)*(region>>14) },
		"at random":      func(int) uint64 { return 1<<62 + r.Uint64N(region) },
	} {
		f := quotient.New(100_000, 1e-6)
		in := fillAimed(t, f, next)
		if quotients := int(f.Shape().Blocks); len(in) > 4*quotients {
			t.Errorf("%s: %d keys are in a 64th of %d blocks", name, len(in), quotients)
		}
	}
}

// TestMaxReach inserts keys that are much alike, some of them several times: the filter goes no
// farther than MaxReach has said before, and than it says now.
func TestMaxReach(t *testing.T) {
	const keys, n = 20_000, 3000
	for _, rate := range []float64{0.05, 0.001, 1e-6} {
		for _, filled := range []int{0, keys / 2, keys * 4 / 5} {
			for _, copies := range []uint64{1, 2, 3, 4, 40} {
				for _, quotients := range []uint64{1, 200} {
					r := rand.New(rand.NewPCG(copies, quotients))
					f := quotient.New(keys, rate)
					for range filled {
						if err := f.InsertHash(r.Uint64()); err != nil {
							t.Fatal(err)
						}
					}
					mostRun, mostStretch := f.MaxReach(n)
					one := math.MaxUint64 / (f.Shape().Blocks * 64)
					refused := 0
					for i := 0; i < n && refused < 100; {
						h := 1<<62 + r.Uint64N(one*quotients)
						for range min(copies, uint64(n-i)) {
							if f.InsertHash(h) != nil {
								refused++
								break
							}
							i++
						}
					}
					run, stretch := f.Reach()
					if run > mostRun || stretch > mostStretch {
						t.Errorf("rate %g, %d keys, %d copies in %d quotients: a run of %d slots and a stretch of %d blocks, at most %d and %d were possible",
							rate, filled, copies, quotients, run, stretch, mostRun, mostStretch)
					}
					if nowRun, nowStretch := f.MaxReach(0); run > nowRun || stretch > nowStretch {
						t.Errorf("a run of %d slots and a stretch of %d blocks, at most %d and %d are possible", run, stretch, nowRun, nowStretch)
					}
				}
			}
		}
	}
}

// TestLongestRun ends the longest run that Insert takes keys for with one that needs a slot and a
// digit: the third copy of the lowest remainder.
func TestLongestRun(t *testing.T) {
	f := quotient.New(100_000, 0.0005)
	one := math.MaxUint64/(f.Shape().Blocks*64) + 1
	lowest := 1000 * one
	insert := func(h uint64) {
		if err := f.InsertHash(h); err != nil {
			t.Fatal(err)
		}
	}
	insert(lowest)
	insert(lowest)
	run, _ := f.Reach()
	most, _ := f.MaxReach(0)
	for h := lowest + one/100; run < most-2; h += one / 6100 {
		insert(h)
		run, _ = f.Reach()
	}
	insert(lowest)
	run, _ = f.Reach()
	if now, _ := f.MaxReach(0); run != most || now != most {
		t.Errorf("a run of %d slots, at most %d are possible, and were before: %d", run, now, most)
	}
}

// TestReachIsNoticed asks after random changes that a filter knows its own reach, or more,
// and that a copy that is read or made in another way has the same.
func TestReachIsNoticed(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 7))
	f := quotient.New(20_000, 0.05)
	var in []uint64
	for range 60_000 {
		h := r.Uint64()
		switch {
		case len(in) > 0 && r.IntN(4) == 0:
			f.DeleteHash(in[len(in)-1])
			in = in[:len(in)-1]
		case len(in) > 0 && r.IntN(4) == 0:
			h = in[r.IntN(len(in))]
			fallthrough
		default:
			if f.InsertHash(h) == nil {
				in = append(in, h)
			}
		}
	}
	run, stretch := f.Reach()
	var copied quotient.Filter
	if err := copied.UnmarshalBinary(marshal(t, f)); err != nil {
		t.Fatal(err)
	}
	trueRun, trueStretch := copied.Reach()
	if run < trueRun || stretch < trueStretch || trueStretch < 5 {
		t.Errorf("a run of %d slots and a stretch of %d blocks, in truth they are %d and %d", run, stretch, trueRun, trueStretch)
	}
	v, err := quotient.Config{}.View(marshal(t, f))
	if err != nil {
		t.Fatal(err)
	}
	cloned, err := v.Clone()
	if err != nil {
		t.Fatal(err)
	}
	type reacher interface{ Reach() (run, stretch int) }
	for name, o := range map[string]reacher{"view": v.(reacher), "clone of a view": cloned.(reacher), "clone": copied.Clone()} {
		if run, stretch := o.Reach(); run != trueRun || stretch != trueStretch {
			t.Errorf("%s: a run of %d slots and a stretch of %d blocks, want %d and %d", name, run, stretch, trueRun, trueStretch)
		}
	}
	f.Clear()
	if run, stretch := f.Reach(); run != 1 || stretch != 1 {
		t.Errorf("an empty filter: a run of %d slots and a stretch of %d blocks", run, stretch)
	}
}

// TestChanceIsNotRefused fills filters with random keys as far as they can be filled, some of
// them with counts: only a full one refuses a key.
func TestChanceIsNotRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 7))
	for _, c := range []struct {
		rate   float64
		copies uint64
	}{{0.01, 1}, {1e-6, 1}, {0.3, 1}, {0.01, 3}, {0.01, 2000}, {0.3, 300}} {
		f := quotient.New(30_000, c.rate)
		var err error
		for err == nil {
			h := r.Uint64()
			for range r.Uint64N(c.copies) + 1 {
				if err = f.InsertHash(h); err != nil {
					break
				}
			}
		}
		if strings.Contains(err.Error(), "too much alike") || f.Stats().Saturation < 0.96 {
			t.Errorf("rate %g, up to %d copies: %v", c.rate, c.copies, err)
		}
		run, stretch := f.Reach()
		mostRun, mostStretch := f.MaxReach(0)
		t.Logf("rate %g, up to %d copies: a run of %d slots of %d, a stretch of %d blocks of %d", c.rate, c.copies, run, mostRun, stretch, mostStretch)
	}
}

// TestStretchesAreRare holds the law that the bound of stretches comes from to random keys:
// with a share of a of the slots in use, n slots in a row are a stretch from a given one
// on with probability e^-n(a-1-ln a) at most. More than so many, and 4σ, fail it. With n as
// large as the bound that is e^-65.
func TestStretchesAreRare(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 7))
	f := quotient.New(1_500_000, 0.01)
	all := float64(f.Shape().Blocks * uint64(f.Shape().Slots))
	for _, load := range []float64{0.8, 0.9, 0.95, 31.0 / 32} {
		for f.Stats().Saturation < load && f.InsertHash(r.Uint64()) == nil {
		}
		a := f.Stats().Saturation
		decay := a - 1 - math.Log(a)
		for _, expected := range []float64{1000, 100, 10} {
			n := math.Log(all/expected) / decay
			seen := 0
			for _, blocks := range quotient.Stretches(f) {
				if float64((blocks-1)*f.Shape().Slots) >= n {
					seen++
				}
			}
			if float64(seen) > expected+4*math.Sqrt(expected) {
				t.Errorf("load %.3f: %d stretches of %.0f slots, at most %.0f expected", a, seen, n, expected)
			}
		}
		// The bound is at least where the law says e^-65.
		if _, most := f.MaxReach(0); float64(most*f.Shape().Slots) < 65/decay {
			t.Errorf("load %.3f: stretches of %d blocks are refused, e^-65 is at %.0f slots", a, most, 65/decay)
		}
	}
}

// merged returns a filter with keys that inserts would not take: those of several filters
// in which they are not too much alike.
func merged(t *testing.T, filters int, next func() uint64) *quotient.Filter {
	t.Helper()
	all := quotient.New(100_000, 1e-6)
	for range filters {
		f := quotient.New(100_000, 1e-6)
		for f.InsertHash(next()) == nil {
		}
		if err := all.Merge(f); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestDecodedReach asks that filters which go farther than inserts allow can be read, say so, and
// forget nothing.
func TestDecodedReach(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 7))
	for name, next := range map[string]func() uint64{
		"run":     func() uint64 { return 1<<62 + r.Uint64N(1<<46) },
		"stretch": func() uint64 { return 1<<62 + r.Uint64N(1<<58) },
	} {
		f := merged(t, 3, next)
		for range 2 {
			run, stretch := f.Reach()
			mostRun, mostStretch := f.MaxReach(0)
			if run <= mostRun && stretch <= mostStretch {
				t.Fatalf("%s: a run of %d slots and a stretch of %d blocks are not too far", name, run, stretch)
			}
			for h := range f.All() {
				if !f.ContainsHash(h) {
					t.Fatalf("%s: a key is lost", name)
				}
			}
			back, err := quotient.Config{}.Decode(marshal(t, f))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			f = back
		}
		for h := range f.Clone().All() {
			if !f.DeleteHash(h) {
				t.Fatalf("%s: a key cannot be deleted", name)
			}
		}
	}
}

// TestGrowingAimed inserts keys of one quotient into a filter that grows: they are refused
// before a lookup has to compare many of them.
func TestGrowingAimed(t *testing.T) {
	g := quotient.NewGrowing(1000, 1e-9)
	var in []uint64
	var err error
	for i := 0; err == nil; i++ {
		h := uint64(1)<<62 + uint64(i)<<24
		if err = g.InsertHash(h); err == nil {
			in = append(in, h)
		}
	}
	if !errors.Is(err, bloomery.ErrFull) || len(in) < 64 || len(in) > 50_000 {
		t.Errorf("%d keys: %v", len(in), err)
	}
	for _, h := range in {
		if !g.ContainsHash(h) {
			t.Fatal("a key is lost")
		}
	}
	if err := quotient.CheckGrowing(g); err != nil {
		t.Fatal(err)
	}
	run, stretch := g.Reach()
	if mostRun, mostStretch := g.MaxReach(0); run > mostRun || stretch > mostStretch {
		t.Errorf("a run of %d slots and a stretch of %d blocks, at most %d and %d are possible", run, stretch, mostRun, mostStretch)
	}
}
