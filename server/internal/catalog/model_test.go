package catalog_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/server/internal/catalog"
)

// TestKindNumbers holds the numbers that stand in logs.
func TestKindNumbers(t *testing.T) {
	if catalog.String != 1 || catalog.Bloom != 2 || catalog.Cuckoo != 3 {
		t.Errorf("kinds are %d, %d, %d, and logs have 1, 2, 3", catalog.String, catalog.Bloom, catalog.Cuckoo)
	}
}

// model is a catalogue beside the plain map that it must agree with.
type model struct {
	t     *testing.T
	c     *catalog.Catalog
	names map[string]*catalog.Entry
	when  map[string]int64
	id    uint64
}

// agrees compares every question that can be asked.
func (m *model) agrees(now int64) {
	m.t.Helper()
	timed, due := 0, []uint64{}
	for name, e := range m.names {
		deadline := m.when[name]
		past := deadline != 0 && deadline <= now
		if deadline != 0 {
			timed++
		}
		if past {
			due = append(due, e.ID)
		}
		got, when := m.c.Deadline([]byte(name), now)
		if past && (got != nil || when != 0 || m.c.Lookup([]byte(name), now) != nil) {
			m.t.Fatalf("%s is past its deadline, and found", name)
		}
		if !past && (got != e || when != deadline || m.c.Lookup([]byte(name), now) != e) {
			m.t.Fatalf("%s has deadline %d, not %d, or another entry", name, when, deadline)
		}
		if m.c.Get([]byte(name)) != e || m.c.ByID(e.ID) != e || e.Name() != name || e.When() != deadline || e.Expired(now) != past {
			m.t.Fatalf("%s is not what it was made: %+v", name, e)
		}
	}
	all := m.c.All()
	if m.c.Len() != len(m.names) || m.c.Timed() != timed || len(all) != len(m.names)+len(m.c.Unnamed()) {
		m.t.Fatalf("Len %d, Timed %d, All %d; want %d, %d", m.c.Len(), m.c.Timed(), len(all), len(m.names), timed)
	}
	if !slices.IsSortedFunc(all, func(a, b *catalog.Entry) int { return int(a.ID) - int(b.ID) }) {
		m.t.Fatal("All is not in the order of ids")
	}
	got := m.c.Due(now, math.MaxInt)
	slices.Sort(got)
	slices.Sort(due)
	if !slices.Equal(got, due) {
		m.t.Fatalf("Due(%d) = %v, want %v", now, got, due)
	}
	if got, when := m.c.Deadline([]byte("never"), now); got != nil || when != 0 {
		m.t.Fatalf("a name that never was: %v, %d", got, when)
	}
}

func (m *model) set(name string, e *catalog.Entry, deadline int64) {
	m.names[name], m.when[name] = e, deadline
}

func (m *model) drop(name string) {
	delete(m.names, name)
	delete(m.when, name)
}

// step changes catalogue and map in the same way. Names are few, so that most
// changes meet a name that is there.
func (m *model) step(rng *rand.Rand) {
	name, other := fmt.Sprint("n", rng.IntN(300)), fmt.Sprint("n", rng.IntN(300))
	e, deadline := m.names[name], rng.Int64N(4)
	m.id++
	switch op := rng.IntN(6); {
	case op == 0 && e != nil:
		m.c.Remove(e)
		m.drop(name)
	case op == 1 && e != nil:
		m.c.SetDeadline(e, deadline)
		m.when[name] = deadline
	case op == 2 && e != nil && name != other:
		m.c.Rename(e, m.names[other], other)
		m.set(other, e, m.when[name])
		m.drop(name)
	case op == 4 && e != nil:
		fresh := m.c.Revalue(e, m.id)
		if fresh == e || fresh.Value != m.id || fresh.Kind != e.Kind || fresh.ID != e.ID {
			m.t.Fatalf("%+v with another value: %+v", e, fresh)
		}
		m.set(name, fresh, m.when[name])
	case op == 3:
		staged := m.c.Stage(m.id, catalog.Cuckoo, "later")
		if !staged.Staged() || !staged.Expired(0) || m.c.ByID(m.id) != staged || len(m.c.Unnamed()) != 1 {
			m.t.Fatalf("staged: %+v", staged)
		}
		if rng.IntN(4) == 0 {
			if staged = m.c.Revalue(staged, "other"); !staged.Staged() || m.c.ByID(m.id) != staged || len(m.c.Unnamed()) != 1 {
				m.t.Fatalf("staged, with another value: %+v", staged)
			}
		}
		if rng.IntN(2) == 0 {
			m.c.Remove(staged)
		} else {
			m.set(name, m.c.Reveal(staged, e, name, deadline), deadline)
		}
		if len(m.c.Unnamed()) != 0 {
			m.t.Fatal("an entry without a name stays")
		}
	default:
		m.set(name, m.c.Replace(e, name, m.id, catalog.Bloom, deadline, nil), deadline)
	}
}

// TestAgainstMap makes random changes to a catalogue and to a map.
func TestAgainstMap(t *testing.T) {
	m := &model{t: t, c: catalog.New(), names: map[string]*catalog.Entry{}, when: map[string]int64{}}
	rng := rand.New(rand.NewPCG(5, 5))
	m.c.Lock()
	defer m.c.Unlock()
	for i := range 20_000 {
		m.step(rng)
		if i%50 == 0 {
			m.agrees(int64(i / 50 % 4))
		}
	}
}

// TestScanCounts asks that a call visits as many as were asked for, unless it is
// the last, and not many more, and that cursors stay in range.
func TestScanCounts(t *testing.T) {
	const names, shards, chain = 3000, 256, 12
	for seed := range uint64(8) {
		c := catalog.New()
		c.Lock()
		c.Reseed(seed)
		for i := range uint64(names) {
			c.Insert(fmt.Sprint("name", i), i+1, catalog.String, 0, nil)
		}
		for _, count := range []int{1, 7, 100} {
			all := 0
			for cursor := uint64(0); ; {
				seen := 0
				cursor = c.Scan(cursor, count, 0, func(catalog.View) { seen++ })
				all += seen
				if cursor == 0 {
					break
				}
				if seen < count || seen > count+chain || cursor>>32 >= shards {
					t.Fatalf("asked for %d: %d visited, cursor %#x", count, seen, cursor)
				}
			}
			if all != names {
				t.Errorf("%d at a time: %d of %d visited", count, all, names)
			}
		}
		c.Unlock()
	}
}

// TestRandomFindsAll draws from one name, and from many until each should have
// come up: those alone in their buckets and those in chains.
func TestRandomFindsAll(t *testing.T) {
	for i := range 20 {
		c := catalog.New()
		c.Lock()
		name := fmt.Sprint("only", i)
		c.Insert(name, 1, catalog.String, 0, nil)
		c.Unlock()
		if got, _ := c.Random(0); got != name {
			t.Fatalf("Random of one name = %q, want %q", got, name)
		}
	}
	c := catalog.New()
	c.Lock()
	for i := range uint64(512) {
		c.Insert(fmt.Sprint("name", i), i+1, catalog.String, 0, nil)
	}
	c.Unlock()
	counts := map[string]int{}
	for range 50 * 512 {
		name, _ := c.Random(0)
		counts[name]++
	}
	// A name alone in its bucket comes up about twice as often as one in a chain
	// of two, and none is left out.
	if len(counts) != 512 {
		t.Errorf("%d of 512 names come up in 50 draws for each", len(counts))
	}
}
