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
	c.Rename(e, "z")
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
	gone := 0
	c.Clear(func(*catalog.Entry) { gone++ })
	c.Unlock()
	if c.Len() != 0 || gone != 1 || c.Timed() != 0 {
		t.Errorf("after Clear: Len %d, gone %d, Timed %d, want 0, 1, 0", c.Len(), gone, c.Timed())
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
