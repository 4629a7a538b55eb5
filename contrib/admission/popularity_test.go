package admission_test

import (
	"container/list"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery/contrib/admission"
)

// lru is a cache of the objects that were asked for last.
type lru struct {
	size   int
	byAge  list.List
	places map[string]*list.Element
}

// get reports whether the cache has an object.
func (c *lru) get(key string) bool {
	e := c.places[key]
	if e != nil {
		c.byAge.MoveToFront(e)
	}
	return e != nil
}

func (c *lru) put(key string) {
	c.places[key] = c.byAge.PushFront(key)
	if c.byAge.Len() > c.size {
		delete(c.places, c.byAge.Remove(c.byAge.Back()).(string))
	}
}

// stream asks a cache of 2,000 objects for a million objects, some of which are popular (Zipf,
// 1.01), and stores those that admit lets in. Every second request is for an object that nobody
// asks for again.
func stream(admit func(key []byte) bool) (hits, writes int) {
	c := lru{size: 2000, places: map[string]*list.Element{}}
	rng := rand.New(rand.NewPCG(1, 1))
	popular := rand.NewZipf(rng, 1.01, 1, 1<<20)
	for i := range 1_000_000 {
		key := "once " + strconv.Itoa(i)
		if i%2 == 0 {
			key = strconv.FormatUint(popular.Uint64(), 10)
		}
		switch {
		case c.get(key):
			hits++
		case admit([]byte(key)):
			writes++
			c.put(key)
		}
	}
	return hits, writes
}

// With a door the cache writes less than a third and hits more often. The figures are in
// README.md; the stream is the same in every run.
func TestPopularity(t *testing.T) {
	hits, writes := stream(func([]byte) bool { return true })
	door := made(t, admission.Config{Requests: 100_000})
	better, fewer := stream(door.Seen)
	t.Logf("all admitted: %d hits, %d writes; seen before: %d hits, %d writes", hits, writes, better, fewer)
	if better <= hits || 3*fewer > writes {
		t.Errorf("%d hits and %d writes with a door, %d and %d without: want more, and at most a third", better, fewer, hits, writes)
	}
}
