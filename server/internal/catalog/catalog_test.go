package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/server/internal/catalog"
)

func TestCatalog(t *testing.T) {
	c := catalog.New()
	c.Lock()
	e := c.Insert("a", 1, catalog.Bloom, 0, "value")
	c.Insert("b", 2, catalog.String, 100, nil)
	c.Unlock()

	if got := c.Lookup([]byte("a"), 50); got != e {
		t.Errorf("Lookup(a) = %v, want the entry", got)
	}
	if got := c.Lookup([]byte("b"), 99); got == nil || got.ID != 2 {
		t.Errorf("Lookup(b) before its deadline = %v, want id 2", got)
	}
	if got := c.Lookup([]byte("b"), 100); got != nil {
		t.Errorf("Lookup(b) at its deadline = %v, want nil", got)
	}
	if got := c.ByID(1); got != e {
		t.Errorf("ByID(1) = %v, want the entry", got)
	}

	c.Lock()
	c.Rename(e, nil, "z")
	c.SetDeadline(e, 70)
	c.Unlock()
	if got := c.Lookup([]byte("a"), 50); got != nil {
		t.Errorf("Lookup(a) after Rename = %v, want nil", got)
	}
	if got, when := c.Deadline([]byte("z"), 50); got != e || when != 70 {
		t.Errorf("Deadline(z) = %v, %d, want the entry, 70", got, when)
	}
	if got, want := c.Due(100, 10), []uint64{1, 2}; !slices.Equal(got, want) {
		t.Errorf("Due(100) = %v, want %v", got, want)
	}

	c.Lock()
	c.Remove(e)
	staged := c.Stage(9, catalog.Bloom, nil)
	gone := c.Clear()
	c.Unlock()
	if c.Len() != 0 || len(gone) != 1 || c.Timed() != 0 {
		t.Errorf("after Clear: Len %d, gone %d, Timed %d, want 0, 1, 0", c.Len(), len(gone), c.Timed())
	}
	if c.ByID(9) != staged || len(c.Unnamed()) != 1 {
		t.Error("Clear removes an entry that has no name yet")
	}
	c.Lock()
	revealed := c.Reveal(staged, nil, "r", 0)
	c.Unlock()
	if c.ByID(9) != revealed || len(c.Unnamed()) != 0 || len(c.Unsorted()) != 1 {
		t.Error("an entry that has got its name counts as one without")
	}
}

// TestScanWhileChanging asks that names that stay are always found, while other
// names come and go and tables grow and shrink.
func TestScanWhileChanging(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		c := catalog.New()
		id := uint64(0)
		insert := func(name string) *catalog.Entry {
			id++
			return c.Insert(name, id, catalog.String, 0, nil)
		}
		c.Lock()
		for i := range 500 {
			insert(fmt.Sprint("stay", i))
		}
		var others []*catalog.Entry
		seen := map[string]bool{}
		cursor, steps := uint64(0), 0
		for {
			cursor = c.Scan(cursor, 1+rng.IntN(20), 0, func(v catalog.View) { seen[v.Name] = true })
			if steps++; cursor == 0 {
				break
			}
			if round%2 == steps/100%2 {
				for range rng.IntN(300) {
					others = append(others, insert(fmt.Sprint("other", id)))
				}
			} else if n := min(len(others), rng.IntN(400)); n > 0 {
				for _, e := range others[:n] {
					c.Remove(e)
				}
				others = others[n:]
			}
		}
		for i := range 500 {
			if name := fmt.Sprint("stay", i); !seen[name] {
				t.Fatalf("round %d: %s was not visited", round, name)
			}
		}
	}
}

func TestRandom(t *testing.T) {
	c := catalog.New()
	if _, e := c.Random(0); e != nil {
		t.Errorf("Random of an empty catalogue = %v, want nil", e)
	}
	c.Lock()
	c.Insert("gone", 1, catalog.String, 5, nil)
	c.Insert("here", 2, catalog.String, 0, nil)
	c.Unlock()
	for range 20 {
		if name, _ := c.Random(10); name != "here" {
			t.Fatalf("Random = %q, want here", name)
		}
	}
}

// TestDueIsNotForgotten asks that what is due is named until it is removed: the
// record that removes it may not be kept.
func TestDueIsNotForgotten(t *testing.T) {
	c := catalog.New()
	c.Lock()
	defer c.Unlock()
	entries := make([]*catalog.Entry, 10)
	for i := range entries {
		entries[i] = c.Insert(fmt.Sprint(i), uint64(i+1), catalog.String, int64(100-i), nil)
	}
	c.SetDeadline(entries[9], 500)
	c.SetDeadline(entries[9], 91) // as at first: it is in the heap twice
	for range 3 {
		if got, want := c.Due(94, 3), []uint64{10, 9, 8}; !slices.Equal(got, want) {
			t.Fatalf("Due = %v, want %v again and again", got, want)
		}
	}
	c.Remove(entries[8])
	c.SetDeadline(entries[7], 0)
	if got, want := c.Due(94, 10), []uint64{10, 7}; !slices.Equal(got, want) {
		t.Errorf("Due = %v, want %v", got, want)
	}
}

// TestReseed asks that equal seeds give equal cursors, whatever the history.
func TestReseed(t *testing.T) {
	order := func(seed uint64, late bool) (names []string) {
		c := catalog.New()
		c.Lock()
		defer c.Unlock()
		if !late {
			c.Reseed(seed)
		}
		for i := range uint64(1000) {
			c.Insert(fmt.Sprint("name", i), i+1, catalog.String, 0, nil)
		}
		if late {
			c.Reseed(seed)
		}
		if c.Lookup([]byte("name7"), 0) == nil || c.Lookup([]byte("nokey"), 0) != nil || c.Seed() != seed {
			t.Error("lookups fail after Reseed")
		}
		for cursor := uint64(0); ; {
			at := len(names)
			cursor = c.Scan(cursor, 1, 0, func(v catalog.View) { names = append(names, v.Name) })
			slices.Sort(names[at:]) // the chain of one bucket has no order
			if cursor == 0 {
				return names
			}
		}
	}
	if !slices.Equal(order(7, true), order(7, false)) {
		t.Error("one seed, two orders")
	}
	if slices.Equal(order(7, true), order(8, true)) {
		t.Error("two seeds, one order")
	}
}

func TestTimersForgetStaleDeadlines(t *testing.T) {
	c := catalog.New()
	c.Lock()
	defer c.Unlock()
	e := c.Insert("a", 1, catalog.String, 0, nil)
	for i := range int64(10_000) {
		c.SetDeadline(e, i+1)
	}
	if got := c.Due(9_999, 10); len(got) != 0 {
		t.Errorf("Due before the last deadline = %v, want none", got)
	}
	if got := c.Due(10_000, 10); len(got) != 1 {
		t.Errorf("Due at the last deadline = %v, want one", got)
	}
}
