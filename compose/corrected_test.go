package compose_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

// correct returns a Corrected over f with room for so many reports.
func correct(t testing.TB, reports int, f bloomery.Hashed) *compose.Corrected {
	t.Helper()
	c, err := compose.NewCorrected(reports, f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// certain is a filter that contains everything, and takes keys.
type certain struct{ *bloom.Concurrent }

func newCertain() certain { return certain{bloom.NewConcurrent(1, 0.5)} }

func (certain) Contains([]byte) bool     { return true }
func (certain) ContainsHash(uint64) bool { return true }
func (certain) ContainsHashes(dst []bool, hs []uint64) {
	copy(dst, slices.Repeat([]bool{true}, len(hs)))
}

// plain is a filter that has no encoding.
type plain struct{ bloomery.Hashed }

func (p plain) Hasher() hashing.Hasher { return p.Hashed.(certain).Hasher() }

// TestCorrectedInAnyOrder goes through every order of what a writer and two reporters of
// one key do: whatever comes first, the key is there as soon as it was stored and inserted.
func TestCorrectedInAnyOrder(t *testing.T) {
	const h = 42
	type world struct {
		c       *compose.Corrected
		stored  bool
		present bool
		found   [2]bool
		moment  [2]compose.Moment
	}
	steps := [][]func(w *world){{
		func(w *world) { w.stored = true },
		func(w *world) {
			if err := w.c.InsertHash(h); err != nil {
				t.Fatal(err)
			}
			w.present = true
		},
	}}
	for i := range 2 {
		steps = append(steps, []func(w *world){
			func(w *world) { w.found[i], w.moment[i] = w.c.AskHash(h) },
			func(w *world) { w.found[i] = w.found[i] && !w.stored },
			func(w *world) {
				if w.found[i] {
					w.c.Report(w.moment[i])
				}
			},
		})
	}
	orders, denied := 0, 0
	var all func(order []int, left [3]int)
	all = func(order []int, left [3]int) {
		if len(order) == 8 {
			orders++
			w, at := &world{c: correct(t, 4, newCertain())}, [3]int{}
			for _, who := range order {
				steps[who][at[who]](w)
				at[who]++
				if !w.c.ContainsHash(h) {
					denied++
				}
				if w.present && !w.c.ContainsHash(h) {
					t.Fatalf("the key is denied after %v", order)
				}
			}
		}
		for who, n := range left {
			if n > 0 {
				next := left
				next[who]--
				all(append(slices.Clone(order), who), next)
			}
		}
	}
	all(nil, [3]int{2, 3, 3})
	if orders != 560 || denied == 0 {
		t.Errorf("%d orders, the key was denied after %d steps; want 560, and some", orders, denied)
	}
}

// TestCorrectedRace lets an insert and a report of one key meet, again and again, a few
// nanoseconds earlier or later: the insert wins.
func TestCorrectedRace(t *testing.T) {
	rounds := int64(30_000)
	if testing.Short() { // the race detector, with one processor, sees no such moments, but all accesses
		rounds = 1000
	}
	c := correct(t, 4096, newCertain())
	moments := make([]compose.Moment, rounds)
	var round, arrived, reported atomic.Int64
	await := func(n *atomic.Int64, want int64) {
		for spins := 0; n.Load() < want; spins++ {
			if spins > 1000 { // there may be one processor
				runtime.Gosched()
			}
		}
	}
	linger := func(n int) {
		for range n {
			round.Load()
		}
	}
	taken := 0
	var reporter sync.WaitGroup
	reporter.Go(func() {
		for r := range rounds {
			await(&round, r+1)
			arrived.Store(r + 1)
			linger(int(r % 211))
			if c.Report(moments[r]) {
				taken++
			}
			reported.Store(r + 1)
		}
	})
	for r := range rounds {
		h := uint64(r + 10)
		_, moments[r] = c.AskHash(h)
		round.Store(r + 1)
		await(&arrived, r+1)
		linger(int(r % 53))
		if err := c.InsertHash(h); err != nil {
			t.Error(err)
		}
		if !c.ContainsHash(h) {
			t.Errorf("round %d: the key is denied after its insert", r)
		}
		await(&reported, r+1)
		if !c.ContainsHash(h) {
			t.Errorf("round %d: the key is denied in the end", r)
		}
		if t.Failed() {
			break
		}
	}
	round.Store(rounds)
	reporter.Wait()
	t.Logf("%d of %d reports taken", taken, rounds)
}

// TestCorrectedLaw is the law with many goroutines: after any order of insert, ask and
// report, on a set of reports that is often full, no key that was inserted is denied, and none
// is in a copy that is written meanwhile.
func TestCorrectedLaw(t *testing.T) {
	const keys = 1500
	stripes, err := compose.StripedConfig{Capacity: 2 * keys, Stripes: 4, Make: func(n int) (bloomery.Hashed, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: 0.3}.New()
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]bloomery.Hashed{"concurrent": bloom.NewConcurrent(keys/8, 0.3), "striped": stripes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := correct(t, 100, f)
			hs := hashes(keys, 9)
			var stored, inserted [keys]atomic.Bool
			var writers, others sync.WaitGroup
			var over atomic.Bool
			for w := range 3 {
				writers.Go(func() {
					for i := w; i < keys; i += 3 {
						stored[i].Store(true)
						if err := c.InsertHash(hs[i]); err != nil {
							t.Error(err)
						}
						inserted[i].Store(true)
						if i%64 == 0 {
							runtime.Gosched()
						}
					}
				})
			}
			for r := range 4 {
				others.Go(func() {
					random := rand.New(rand.NewPCG(uint64(r), 1))
					var late []compose.Moment
					for !over.Load() {
						i := random.IntN(keys)
						was := inserted[i].Load()
						found, m := c.AskHash(hs[i])
						if was && !found {
							t.Error("a key that was inserted is denied")
							return
						}
						if !found || stored[i].Load() {
							continue
						}
						if late = append(late, m); len(late) > r*8 { // some report at once, some later
							c.Report(late[0])
							late = late[1:]
						}
					}
				})
			}
			others.Go(func() {
				for !over.Load() {
					before := [keys]bool{}
					for i := range before {
						before[i] = inserted[i].Load()
					}
					copied := recoded(t, c)
					for i, in := range before {
						if in && !copied.ContainsHash(hs[i]) {
							t.Error("a key that was inserted is denied by a copy")
							return
						}
					}
				}
			})
			writers.Wait()
			over.Store(true)
			others.Wait()
			for _, h := range hs {
				if !c.ContainsHash(h) {
					t.Fatal("a key is denied in the end")
				}
			}
			t.Logf("%+v", c.Counts())
		})
	}
}

// wrongs returns hashes that f contains though nobody inserted them.
func wrongs(f bloomery.Hashed, n int, seed uint64) (hs []uint64) {
	for ; len(hs) < n; seed++ {
		for _, h := range hashes(10_000, seed) {
			if len(hs) < n && f.ContainsHash(h) {
				hs = append(hs, h)
			}
		}
	}
	return hs
}

// report reports hashes that nobody inserted, and asks that all are taken.
func report(t testing.TB, c *compose.Corrected, hs []uint64) {
	t.Helper()
	for _, h := range hs {
		if found, m := c.AskHash(h); !found || !c.Report(m) {
			t.Fatalf("%x: found %v, or its report was refused", h, found)
		}
	}
}

// TestCorrectedMemory asks for 12 bytes a report at most, however many there are from 1,000 on.
func TestCorrectedMemory(t *testing.T) {
	c := correct(t, 20_000, newCertain())
	for i, h := range hashes(60_000, 5) {
		_, m := c.AskHash(h)
		c.Report(m)
		if st := c.Counts(); i > 1000 && st.Bytes > 12*st.Held {
			t.Fatalf("%d bytes for %d reports", st.Bytes, st.Held)
		}
	}
	if st := c.Counts(); st.Held+st.Dropped != 60_000 || st.Held < 10_000 || st.Held > 20_000 {
		t.Errorf("counts: %+v", st)
	}
}

// TestCorrectedForgets asks that the older half goes when there is no room.
func TestCorrectedForgets(t *testing.T) {
	for _, room := range []int{2, 3, 10, 101} {
		c := correct(t, room, newCertain())
		hs, half := hashes(3*room, 6), (room+1)/2
		for i, h := range hs {
			report(t, c, []uint64{h})
			denied := 0
			for _, h := range hs[:i+1] {
				if !c.ContainsHash(h) {
					denied++
				}
			}
			kept := i + 1
			if kept > 2*half {
				kept = half + (i-2*half)%half + 1
			}
			for _, h := range hs[i+1-kept : i+1] {
				if c.ContainsHash(h) {
					t.Fatalf("room %d: one of the last %d of %d reports is forgotten", room, kept, i+1)
				}
			}
			if st := c.Counts(); denied != kept || st.Held != uint64(kept) || st.Dropped != uint64(i+1-kept) {
				t.Fatalf("room %d: %d of %d reports count, %+v; want %d", room, denied, i+1, st, kept)
			}
		}
		for _, h := range hs { // out of both halves
			if err := c.InsertHash(h); err != nil || !c.ContainsHash(h) {
				t.Fatalf("room %d: a key is denied after its insert (%v)", room, err)
			}
		}
	}
}

// TestCorrectedChurn reports and inserts the same few keys for long: marks of what was taken out
// neither fill the table nor hide what is in it.
func TestCorrectedChurn(t *testing.T) {
	c := correct(t, 64, newCertain())
	model, hs := map[uint64]bool{}, hashes(40, 8)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		h := hs[random.IntN(len(hs))]
		if found, m := c.AskHash(h); found == model[h] {
			t.Fatalf("found: %v, reported: %v", found, model[h])
		} else if found {
			if !c.Report(m) {
				t.Fatal("a report was refused")
			}
			model[h] = true
			continue
		}
		if err := c.InsertHash(h); err != nil {
			t.Fatal(err)
		}
		delete(model, h)
	}
	if st := c.Counts(); st.Dropped != 0 || int(st.Held) != len(model) || st.Bytes > 64*64 {
		t.Errorf("%d keys are reported, counts: %+v", len(model), st)
	}
}

// TestCorrectedRefuses asks that a moment counts with the Corrected that made it, as long as
// nothing of its counter was inserted.
func TestCorrectedRefuses(t *testing.T) {
	c, other := correct(t, 8, newCertain()), correct(t, 8, newCertain())
	_, m := c.AskHash(7)
	_, theirs := other.AskHash(7)
	refused := 0
	refuse := func(what string, m compose.Moment) {
		t.Helper()
		refused++
		if c.Report(m) || !c.ContainsHash(7) {
			t.Errorf("a report of %s was taken", what)
		}
		if st := c.Counts(); st.Refused != uint64(refused) || st.Held != 0 {
			t.Errorf("after a report of %s: %+v", what, st)
		}
	}
	refuse("no moment", compose.Moment{})
	refuse("another's", theirs)
	for _, h := range []uint64{0, 1} { // what tables are made of
		_, m := c.AskHash(h)
		refuse("a hash that cannot be held", m)
	}
	if err := c.InsertHash(7 + 1<<20); err != nil { // the same counter
		t.Fatal(err)
	}
	refuse("a moment before an insert", m)
	_, m = c.AskHash(7)
	if err := c.Merge(correct(t, 8, newCertain())); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("merge of what cannot be united: %v", err)
	}
	c.Clear()
	refuse("a moment before Clear", m)

	set := correct(t, 8, bloom.New(10, 0.5))
	if err := set.InsertHash(7); err != nil {
		t.Fatal(err)
	}
	_, m = set.AskHash(7)
	if recoded(t, set).Report(m) {
		t.Error("a moment of another life was taken")
	}
	if err := set.Merge(correct(t, 8, bloom.New(10, 0.5))); err != nil {
		t.Fatal(err)
	}
	if set.Report(m) {
		t.Error("a moment before Merge was taken")
	}
	if found, m := correct(t, 8, bloom.New(10, 0.5)).AskHash(7); found || m != (compose.Moment{}) {
		t.Errorf("an empty filter says %v, %v", found, m)
	}
	for name, c := range map[string]struct {
		reports int
		f       bloomery.Hashed
	}{
		"nil": {0, nil}, "negative": {-1, bloom.New(1, 0.5)}, "one": {1, bloom.New(1, 0.5)}, "huge": {compose.MaxReports + 1, bloom.New(1, 0.5)},
		"twice": {0, set},
	} {
		if _, err := compose.NewCorrected(c.reports, c.f); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
}

// TestCorrectedConcurrentFilter asks that a Corrected over a Concurrent is written, and may come
// back over one.
func TestCorrectedConcurrentFilter(t *testing.T) {
	c := correct(t, 0, bloom.NewConcurrent(100, 0.1))
	if err := c.InsertString("alice"); err != nil {
		t.Fatal(err)
	}
	data, err := c.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	back, err := compose.CorrectedConfig{Open: func(data []byte) (bloomery.Hashed, error) {
		f, err := bloom.Config{}.Decode(data)
		if err != nil {
			return nil, err
		}
		return f.Concurrent(), nil
	}}.Decode(data)
	if err != nil || !back.ContainsString("alice") {
		t.Fatalf("alice is gone: %v", err)
	}
	if _, ok := back.Filter().(*bloom.Concurrent); !ok {
		t.Errorf("it came back over a %T", back.Filter())
	}
	if _, err := correct(t, 0, plain{newCertain()}).MarshalBinary(); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("encoding of a filter without one: %v", err)
	}
}

func ExampleCorrected() {
	f, _ := bloom.Config{Capacity: 1000, ErrorRate: 0.01, Hasher: hashing.Keyed([16]byte([]byte("a secret of ours")))}.New()
	users, err := compose.NewCorrected(10_000, f)
	if err != nil {
		panic(err)
	}
	store := map[string]bool{"alice": true}             // stored first,
	if err := users.InsertString("alice"); err != nil { // inserted then
		panic(err)
	}

	for i := range 100_000 {
		name := fmt.Sprint("visitor ", i)
		if found, moment := users.AskString(name); found && !store[name] {
			users.Report(moment)
		}
	}
	wrong := 0
	for i := range 100_000 {
		if users.ContainsString(fmt.Sprint("visitor ", i)) {
			wrong++
		}
	}
	fmt.Println(wrong, users.ContainsString("alice"))
	// Output: 0 true
}

func BenchmarkCorrected(b *testing.B) {
	const n = 1_000_000
	bare := bloom.New(n, 0.01)
	keys := hashes(n, 1)
	bare.AddHashes(nil, keys)
	empty, some := correct(b, 0, bare), correct(b, 0, bare)
	report(b, some, wrongs(some, 10_000, 40))
	asked := append(hashes(1<<15, 77), keys[:1<<15]...)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	for _, c := range []struct {
		name string
		f    bloomery.Hashed
	}{{"bare", bare}, {"corrected", empty}, {"10000 reports", some}} {
		b.Run("one by one/"+c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				c.f.ContainsHash(asked[i%len(asked)])
			}
		})
		b.Run("batches/"+c.name, func(b *testing.B) {
			found := make([]bool, 256)
			for i := 0; b.Loop(); i += 256 {
				c.f.ContainsHashes(found, asked[i%len(asked):][:256])
			}
		})
	}
}
