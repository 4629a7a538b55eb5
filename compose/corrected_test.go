package compose_test

import (
	"bytes"
	"encoding/binary"
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
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/golden"
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
	const rounds = 30_000
	c := correct(t, 4096, newCertain())
	var moments [rounds]compose.Moment
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
		for r := range int64(rounds) {
			await(&round, r+1)
			arrived.Store(r + 1)
			linger(int(r % 211))
			if c.Report(moments[r]) {
				taken++
			}
			reported.Store(r + 1)
		}
	})
	for r := range int64(rounds) {
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

// openAnyCorrected opens the filters of these tests.
func openAnyCorrected(data []byte) (bloomery.Hashed, error) {
	if len(data) < 12 {
		return openBloom(data)
	}
	switch binary.LittleEndian.Uint16(data[10:]) {
	case 1:
		return openBloom(data)
	case 19:
		return compose.StripedConfig{Open: openCuckoo}.Decode(data)
	case 12:
		return fuse.Config[uint8]{}.Decode(data)
	}
	return openCuckoo(data)
}

// recoded returns what comes back from the encoding of c.
func recoded(t testing.TB, c *compose.Corrected) *compose.Corrected {
	t.Helper()
	data, err := c.MarshalBinary()
	if err != nil {
		t.Error(err)
		return c
	}
	got, err := compose.CorrectedConfig{Open: openAnyCorrected}.Decode(data)
	if err != nil {
		t.Error(err)
		return c
	}
	return got
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

// TestCorrectedReplay reports 10,000 false positives of filters of several families: none
// comes again, one by one or in batches, and every key is still there.
func TestCorrectedReplay(t *testing.T) {
	keys := hashes(50_000, 1)
	static, err := fuse.Config[uint8]{}.Build(t.Context(), slices.Clone(keys))
	if err != nil {
		t.Fatal(err)
	}
	full, err := cuckoo.Config{Capacity: len(keys), ErrorRate: 0.03}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := full.InsertHashes(keys); err != nil {
		t.Fatal(err)
	}
	set := bloom.New(len(keys), 0.03)
	set.AddHashes(nil, keys)
	for name, f := range map[string]bloomery.Hashed{"bloom": set, "cuckoo": full, "fuse8": static} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := correct(t, 0, f)
			bad := wrongs(c, 10_000, 100)
			report(t, c, bad)
			for _, c := range []*compose.Corrected{c, recoded(t, c)} {
				found := make([]bool, len(bad))
				c.ContainsHashes(found, bad)
				for i, h := range bad {
					if found[i] || c.ContainsHash(h) || c.CountHash(h) != 0 || c.DeleteHash(h) {
						t.Fatal("a false positive that was reported comes again")
					}
				}
				for _, h := range keys {
					if !c.ContainsHash(h) || c.CountHash(h) == 0 {
						t.Fatal("a key is denied")
					}
				}
				if st := c.Counts(); st.Held != 10_000 || st.Dropped != 0 || st.Refused != 0 || st.Room != compose.DefaultReports {
					t.Errorf("counts: %+v", st)
				}
			}
			n, err := c.InsertHashes(bad[1:100])
			if takes := name != "fuse8"; takes != (n == 99 && err == nil) || takes != c.ContainsHash(bad[1]) || takes != c.ContainsHash(bad[99]) {
				t.Errorf("insert of reported keys: %d, %v", n, err)
			}
			err = c.InsertHash(bad[0])
			if takes := name != "fuse8"; takes != (err == nil) || takes != c.ContainsHash(bad[0]) {
				t.Errorf("insert of a reported key: %v, found %v", err, c.ContainsHash(bad[0]))
			}
			if name == "fuse8" && !errors.Is(err, bloomery.ErrIncompatible) {
				t.Errorf("insert into a static filter: %v, want ErrIncompatible", err)
			}
		})
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

// TestCorrectedMerge unites two, each with reports of which the other contains some.
func TestCorrectedMerge(t *testing.T) {
	make := func(seed uint64) (*compose.Corrected, []uint64) {
		c, keys := correct(t, 0, bloom.New(2000, 0.1)), hashes(2000, seed)
		if _, err := c.InsertHashes(keys); err != nil {
			t.Fatal(err)
		}
		return c, keys
	}
	a, keysA := make(1)
	b, keysB := make(2)
	badA, badB := wrongs(a, 500, 50), wrongs(b, 500, 70)
	var inB []uint64 // a key of b that a has reported
	for _, h := range keysB {
		if a.ContainsHash(h) {
			inB = append(inB, h)
		}
	}
	if len(inB) == 0 {
		t.Fatal("no key of b is a false positive of a")
	}
	report(t, a, append(badA, inB...))
	report(t, b, badB)
	kept := 0
	for _, h := range badA {
		if !b.ContainsHash(h) {
			kept++
		}
	}
	for _, h := range badB {
		if !a.ContainsHash(h) {
			kept++
		}
	}
	var yes []bool
	for _, h := range slices.Concat(badA, badB) {
		yes = append(yes, a.ContainsHash(h) || b.ContainsHash(h))
	}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	for _, h := range slices.Concat(keysA, keysB) {
		if !a.ContainsHash(h) {
			t.Fatal("a key is denied by the union")
		}
	}
	for i, h := range slices.Concat(badA, badB) {
		if a.ContainsHash(h) != yes[i] {
			t.Fatalf("the union says %v to what one of them had reported, both together %v", !yes[i], yes[i])
		}
	}
	if st := a.Counts(); st.Held != uint64(kept) {
		t.Errorf("%d reports, want %d", st.Held, kept)
	}
	if err := a.Merge(a); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("merge with itself: %v", err)
	}
	if err := a.Merge(correct(t, 0, bloom.New(10, 0.1))); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("merge with another shape: %v", err)
	}
}

// TestCorrectedDamage asks that bytes that are not those of a Corrected are refused, sound
// checksums or not.
func TestCorrectedDamage(t *testing.T) {
	c := correct(t, 8, bloom.New(100, 0.3))
	if _, err := c.InsertHashes(hashes(100, 1)); err != nil {
		t.Fatal(err)
	}
	report(t, c, wrongs(c, 7, 3))
	data, err := c.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	open := compose.CorrectedConfig{Open: openBloom}
	refuseDamage(t, "corrected", data, func(data []byte) error {
		_, err := open.Decode(data)
		return err
	})
	le := binary.LittleEndian
	reports := len(data) - 8 - 7*8
	for name, change := range map[string]func(d []byte){
		"order":     func(d []byte) { le.PutUint64(d[reports:], 1<<63); le.PutUint64(d[reports+8:], 1<<62) },
		"equal":     func(d []byte) { copy(d[reports:reports+8], d[reports+8:]) },
		"both":      func(d []byte) { copy(d[reports+4*8:], d[reports:reports+8]) },
		"free":      func(d []byte) { le.PutUint64(d[reports:], 0) },
		"mark":      func(d []byte) { le.PutUint64(d[reports:], 1) },
		"filter":    func(d []byte) { le.PutUint64(d[64:], 1<<63) },
		"long":      func(d []byte) { le.PutUint64(d[64:], le.Uint64(d[64:])+64) },
		"no room":   func(d []byte) { le.PutUint64(d[72:], 1) },
		"huge room": func(d []byte) { le.PutUint64(d[72:], 1<<63) },
		"over half": func(d []byte) { le.PutUint64(d[80:], 5); le.PutUint64(d[88:], 2) },
		"wraps":     func(d []byte) { le.PutUint64(d[80:], 1<<61); le.PutUint64(d[88:], 7) },
		"reserved":  func(d []byte) { d[64+40] = 1 },
		"capacity":  func(d []byte) { d[24]++ },
		"members":   func(d []byte) { d[56]++ },
	} {
		bad := bytes.Clone(data)
		change(bad)
		reseal(bad)
		if _, err := open.Decode(bad); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if v, err := open.View(bad); err == nil {
			for _, h := range hashes(1000, 1) {
				v.ContainsHash(h)
			}
			if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: Verify: %v, want ErrCorrupt", name, err)
			}
		}
	}
	if _, err := (compose.CorrectedConfig{}).Decode(data); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("without Open: %v", err)
	}
}

// TestGoldenCorrected reads reports of both halves, over a filter and over stripes.
func TestGoldenCorrected(t *testing.T) {
	stripes, err := compose.StripedConfig{Capacity: 80, Stripes: 2, Make: func(n int) (bloomery.Hashed, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: 0.1, Hasher: hashing.Seeded(5)}.New()
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]bloomery.Hashed{
		"v1-corrected-bloom": bloom.New(80, 0.1), "v1-corrected-empty": bloom.New(80, 0.1), "v1-corrected-striped": stripes,
	} {
		t.Run(name, func(t *testing.T) {
			c := correct(t, 10, f)
			for i := range 80 {
				if err := c.InsertString(fmt.Sprintf("key %d", i)); err != nil {
					t.Fatal(err)
				}
			}
			var bad []uint64
			if name != "v1-corrected-empty" {
				bad = wrongs(c, 8, 1)
			}
			report(t, c, bad)
			data, err := c.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			got, err := compose.CorrectedConfig{Open: openAnyCorrected}.Decode(golden.File(t, name, data))
			if err != nil {
				t.Fatalf("the golden file is not read any more: %v", err)
			}
			for i := range 80 {
				if key := fmt.Sprintf("key %d", i); !got.ContainsString(key) {
					t.Errorf("%q is missing", key)
				}
			}
			for _, h := range bad {
				if got.ContainsHash(h) {
					t.Errorf("the report of %x is lost", h)
				}
			}
			if got.Stats() != c.Stats() {
				t.Errorf("Stats of the file: %+v, want %+v", got.Stats(), c.Stats())
			}
		})
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
	if _, err := correct(t, 0, newCertain()).MarshalBinary(); !errors.Is(err, bloomery.ErrIncompatible) {
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
