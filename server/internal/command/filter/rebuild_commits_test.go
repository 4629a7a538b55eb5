package filter_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

var storms = flag.Int("storms", 6, "rounds of TestRebuildStorm")

// TestCommitsAtOnce sends COMMIT and COMMIT FORCE at the same time for a rebuild of which
// the first is refused once it is built, while another client adds. If one of them
// replaces the filter, all that was answered since BEGIN is in it.
func TestCommitsAtOnce(t *testing.T) {
	for range 5 {
		b := newBench(t, 1<<30)
		b.OK(t, "FILTER.CREATE f bloom CAPACITY 40000")
		b.add("f", "a", 0, 20_000)
		b.OK(t, "FILTER.REBUILD f BEGIN fuse8 CAPACITY 40000")
		b.feed(t, "f", "a", 0, 10_000)
		b.feed(t, "f", "a", 0, 10_000) // enough to begin with, and too few in the end
		var answered []string
		var wg sync.WaitGroup
		left := b.Engine.Budget.Left()
		b.State.Names.Lock() // neither of them seals before the other has looked
		for id, commit := range []string{"FILTER.REBUILD f COMMIT", "FILTER.REBUILD f COMMIT", "FILTER.REBUILD f COMMIT", "FILTER.REBUILD f COMMIT FORCE"} {
			c := b.Client(10 + id)
			wg.Go(func() { c.Do(strings.Fields(commit)...) })
			for b.Engine.Budget.Left() == left { // until it has memory for what it builds
				runtime.Gosched()
			}
			left = b.Engine.Budget.Left()
		}
		b.State.Names.Unlock()
		done := make(chan struct{})
		go func() {
			wg.Wait()
			close(done)
		}()
		c := b.Client(20)
		for i, open := 0, true; open; i++ {
			select {
			case <-done:
				open = false
			default:
			}
			item := fmt.Sprint("w", i)
			if got := c.Do("FILTER.ADD", "f", item); got == "[true]" || got == "[false]" {
				answered = append(answered, item)
			}
		}
		lost := 0
		for _, item := range answered {
			if b.Do("FILTER.HAS", "f", item) != "[true]" {
				lost++
			}
		}
		if lost > 0 {
			t.Fatalf("%d of %d items that were answered are lost", lost, len(answered))
		}
		b.Crash(t)
	}
}

// storm is a filter that several clients use and rebuild at once, and what it must hold.
type storm struct {
	t *testing.T
	b *bench

	// phase is held by whoever adds or takes a copy of the folder: FILTER.CLEAR, which
	// forgets all, comes between two of them.
	phase sync.RWMutex

	mu    sync.Mutex
	noted map[string]bool // before they are added, and until they are deleted
	held  map[string]bool // answered and durable
	next  int
}

// stormItems is how many items there are at most: no rebuild is ever full. So many take milliseconds to build, in which
// others add.
const stormItems = 24_000

// stormNames are those that the filter has in turn.
var stormNames = []string{"f", "g"}

// any runs a command on whichever name the filter has, in the place of the second word.
func (s *storm) any(c *commandtest.Client, words ...string) (got string) {
	for range 100 {
		for _, name := range stormNames {
			now := slices.Clone(words)
			now[1] = name
			if got = c.Do(now...); got != "-ERR not found" && got != "-"+textNoRebuild {
				return got
			}
		}
	}
	return got
}

const textNoRebuild = "ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one"

// add adds an item, and holds it once it is answered.
func (s *storm) add(c *commandtest.Client) {
	s.phase.RLock()
	defer s.phase.RUnlock()
	s.mu.Lock()
	s.next++
	item, full := fmt.Sprint("item", s.next), len(s.noted) > stormItems
	if !full {
		s.noted[item] = true
	}
	s.mu.Unlock()
	if full {
		runtime.Gosched()
		return
	}
	// Twice, and fed twice: a cuckoo filter has both, and a static one that is built of them has one,
	// so that COMMIT is refused when all the work is done.
	if got := s.any(c, "FILTER.ADD", "", item, item); strings.HasPrefix(got, "[") && !strings.Contains(got, "-") {
		if err := s.b.Door.Sync(); err != nil {
			s.t.Error(err)
		}
		s.mu.Lock()
		s.held[item] = true
		s.mu.Unlock()
	}
}

// fill adds items until there are many, unless the filter is of a static kind.
func (s *storm) fill(c *commandtest.Client) {
	var items []string
	s.mu.Lock()
	for len(s.noted) < stormItems*5/6 {
		s.next++
		item := fmt.Sprint("item", s.next)
		s.noted[item] = true
		items = append(items, item, item) // as add does
	}
	s.mu.Unlock()
	if len(items) == 0 {
		return
	}
	if got := s.any(c, append([]string{"FILTER.ADD", ""}, items...)...); !strings.HasPrefix(got, "[") || strings.Contains(got, "-") {
		return
	}
	if err := s.b.Door.Sync(); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range items {
		s.held[item] = true
	}
}

// del deletes an item that is held.
func (s *storm) del(c *commandtest.Client) {
	s.phase.RLock()
	defer s.phase.RUnlock()
	s.mu.Lock()
	var item string
	for item = range s.held {
		break
	}
	delete(s.held, item)
	delete(s.noted, item)
	s.mu.Unlock()
	if item != "" {
		s.any(c, "FILTER.DEL", "", item)
	}
}

// clear removes all items, unless that is refused.
func (s *storm) clear(c *commandtest.Client) {
	s.phase.Lock()
	defer s.phase.Unlock()
	if s.any(c, "FILTER.CLEAR", "") == "+OK" {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.noted)
		clear(s.held)
	}
}

// all returns what is noted, for FEED.
func (s *storm) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.noted))
}

// check asks for items. Those that are held all the while must be there.
func (s *storm) check(when string, c *commandtest.Client, items []string) {
	if len(items) == 0 {
		return
	}
	got := s.any(c, append([]string{"FILTER.HAS", ""}, items...)...)
	found := strings.Fields(strings.Trim(got, "[]"))
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := 0
	for i, item := range items {
		if s.held[item] && (len(found) != len(items) || found[i] != "true") {
			lost++
		}
	}
	if lost > 0 {
		s.t.Errorf("%s: %d of %d items that were answered are denied (%.80s)", when, lost, len(items), got)
	}
}

// some returns up to n of the items that are held.
func (s *storm) some(n int) (items []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for item := range s.held {
		if items = append(items, item); len(items) == n {
			break
		}
	}
	return items
}

// crash starts a server from the folder as it is, commits the rebuild that it may have,
// and asks for all that was answered before.
func (s *storm) crash() {
	s.phase.RLock()
	held := s.some(math.MaxInt)
	files := s.b.Files.Copy()
	s.phase.RUnlock()
	again := openBench(s.t, files, s.b.Now, nil)
	c := again.Client(1)
	s.check("after a crash", c, held)
	got := s.any(c, "FILTER.REBUILD", "", "COMMIT", "FORCE")
	if got != "+OK" && got != "-"+textNoRebuild && got != "-ERR there are no items: FEED some first" {
		s.t.Errorf("COMMIT after a crash: %s", got)
	}
	s.check("after a crash and COMMIT", c, held)
	if err := again.Door.Close(); err != nil {
		s.t.Error(err)
	}
}

// TestRebuildStorm rebuilds a filter as one of another kind, again and again. Once all
// items are fed, several clients commit, abort, feed, add, delete, rename and clear at
// once, and servers are started from what a crash would leave: an item that was answered
// is never denied.
func TestRebuildStorm(t *testing.T) {
	s := &storm{t: t, b: newBench(t, 1<<30), noted: map[string]bool{}, held: map[string]bool{}}
	s.b.OK(t, "FILTER.CREATE f cuckoo CAPACITY 100000")
	leader := s.b.Client(1)
	rng := rand.New(rand.NewPCG(1, 27))
	kinds := []string{"fuse8", "cuckoo", "fuse16", "cuckoo", "ribbon", "bloom", "fuse8", "counting", "ribbon", "scalable"}
	for round := range *storms {
		kind := kinds[round%len(kinds)]
		if round%2 == 0 {
			s.fill(leader)
		}
		leader.Do("RENAMENX", "g", "f") // BEGIN of a name without a filter would make another
		if got := leader.Do("FILTER.REBUILD", "f", "BEGIN", kind, "CAPACITY", "100000"); got != "+OK" {
			t.Fatalf("BEGIN %s: %s", kind, got)
		}
		if all := slices.Repeat(s.all(), 2); len(all) > 0 {
			if got := s.any(leader, append([]string{"FILTER.REBUILD", "", "FEED"}, all...)...); !strings.HasPrefix(got, ":") {
				t.Fatalf("FEED: %s", got)
			}
		}
		s.round(rng, round%2 == 0)
		s.any(leader, "FILTER.REBUILD", "", "COMMIT", "FORCE")
		s.any(leader, "FILTER.REBUILD", "", "ABORT")
		s.check("after the round of "+kind, leader, s.some(math.MaxInt))
		if t.Failed() {
			return
		}
	}
	s.b.Crash(t)
}

// round has several clients do what they like, after COMMITs that come together: no one of a static kind seals before the others
// have looked, and the one that is not refused comes last.
func (s *storm) round(rng *rand.Rand, static bool) {
	var wg sync.WaitGroup
	var commits sync.WaitGroup // what follows would end the rebuild under the last of them
	var left atomic.Int64      // clients that rebuild
	s.b.State.Names.Lock()
	for id := range 4 {
		left.Add(1)
		commits.Add(1)
		rng, c, answered := rand.New(rand.NewPCG(rng.Uint64(), 1)), s.b.Client(10+id), make(chan struct{})
		free := s.b.Engine.Budget.Left()
		wg.Go(func() {
			defer left.Add(-1)
			s.any(c, append([]string{"FILTER.REBUILD", "", "COMMIT"}, []string{"FORCE"}[:id/3]...)...)
			close(answered)
			commits.Done()
			commits.Wait()
			for range 10 {
				s.meddle(c, rng)
			}
		})
		for waits := static; waits && s.b.Engine.Budget.Left() == free; { // until it has memory for what it builds
			select {
			case <-answered:
				waits = false
			default:
				runtime.Gosched()
			}
		}
	}
	s.b.State.Names.Unlock()
	for id := range 2 {
		c := s.b.Client(20 + id)
		wg.Go(func() {
			for left.Load() > 0 {
				s.add(c)
				if id == 0 {
					s.phase.RLock()
					s.check("in the storm", c, s.some(300))
					s.phase.RUnlock()
				}
			}
		})
	}
	wg.Go(func() {
		for range 2 {
			s.crash()
		}
	})
	wg.Wait()
}

// meddle sends a command that has to do with a rebuild.
func (s *storm) meddle(c *commandtest.Client, rng *rand.Rand) {
	switch n := rng.IntN(100); {
	case n < 20:
		s.any(c, "FILTER.REBUILD", "", "COMMIT")
	case n < 35:
		s.any(c, "FILTER.REBUILD", "", "COMMIT", "FORCE")
	case n < 38:
		s.any(c, "FILTER.REBUILD", "", "ABORT")
	case n < 50:
		if all := s.all(); len(all) > 0 {
			s.any(c, append([]string{"FILTER.REBUILD", "", "FEED"}, all[:min(50, len(all))]...)...)
		}
	case n < 65:
		from := rng.IntN(2)
		c.Do("RENAMENX", stormNames[from], stormNames[1-from])
	case n < 75:
		s.del(c)
	case n < 78:
		s.clear(c)
	case n < 85:
		_ = s.b.Door.Snapshot() // another one may be on its way
	default:
		s.add(c)
	}
}

// TestRefusedCommitGoesOn commits a rebuild whose key was made meanwhile: once that is
// gone, it takes items and can be committed.
func TestRefusedCommitGoesOn(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, c := range [][2]string{
		{"FILTER.REBUILD f BEGIN bloom CAPACITY 100", "+OK"}, {"FILTER.REBUILD f FEED a", ""}, {"FILTER.CREATE f bloom", "+OK"},
		{"FILTER.REBUILD f COMMIT", "-"}, {"DEL f", ":1"}, {"FILTER.REBUILD f FEED b", ""}, {"FILTER.REBUILD f COMMIT", "+OK"},
		{"FILTER.HAS f a b c", "[true true false]"},
	} {
		if got := b.Line(c[0]); !strings.HasPrefix(got, c[1]) || c[1] == "" && strings.HasPrefix(got, "-") {
			t.Errorf("%s = %s, want %s", c[0], got, c[1])
		}
	}
}
