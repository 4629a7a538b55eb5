// Command diskcache asks memory before the disk: which of eight caches has this object, if one
// has it? A ribbon Map answers with the number of the cache in one lookup; a filter for each
// cache, and no filter, are beside it.
//
//	go run ./examples/diskcache
package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

func main() { demo.Main(run) }

const (
	disks     = 8
	valueBits = 3 // of the number of a disk
	rate      = 0.01
	churn     = 50 // one object in so many was evicted, and one added, since the map was built
)

// cache is the disks, and what is known of them in memory.
type cache struct {
	on      [disks]map[string]struct{} // the disks; a lookup in one is what is to be saved
	lookups int
	where   *ribbon.Map          // which disk had an object when the map was built
	since   map[string]uint32    // which disk has got an object since
	filters [disks]*bloom.Filter // the other way: a filter for each disk
}

// disk looks an object up on a disk.
func (c *cache) disk(i int, object string) bool {
	c.lookups++
	_, found := c.on[i][object]
	return found
}

// byMap asks one disk at most.
func (c *cache) byMap(object string) bool {
	i, known := c.since[object]
	if !known {
		i, known = c.where.GetString(object)
	}
	return known && c.disk(int(i), object)
}

// byFilters asks the disks whose filter may have it.
func (c *cache) byFilters(object string) bool {
	h := c.filters[0].Hash([]byte(object)) // the same for all
	for i, f := range c.filters {
		if f.ContainsHash(h) && c.disk(i, object) {
			return true
		}
	}
	return false
}

// byDisks asks one disk after the other.
func (c *cache) byDisks(object string) bool {
	for i := range c.on {
		if c.disk(i, object) {
			return true
		}
	}
	return false
}

// figures is how often disks were asked.
type figures struct {
	objects, queries, present         int
	byDisks, byFilters, byMap         int // lookups on disks
	missed                            int // objects that are there and were not found: none
	absent, vain                      int // queries for absent objects, and those that the map sent to a disk
	mapBytes, filterBytes, exactBytes int
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	var objects []string
	if o.Full {
		var err error
		if objects, err = demo.Paths(ctx, 1_000_000); err != nil {
			return figures{}, err
		}
	} else {
		for i := range 60_000 {
			objects = append(objects, fmt.Sprintf("/img/%d/large.webp", i))
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	stored := objects[:len(objects)/2] // the other half was never stored
	c, err := fill(stored, rng)
	if err != nil {
		return figures{}, err
	}
	f := figures{objects: len(stored), queries: 4 * len(stored), mapBytes: int(c.where.Stats().Bytes)}
	for _, filter := range c.filters {
		f.filterBytes += int(filter.Stats().Bytes)
	}
	for range f.queries {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		object := objects[len(stored)+rng.IntN(len(objects)-len(stored))]
		if rng.IntN(5) < 2 {
			object = stored[rng.IntN(len(stored))]
		}
		f.ask(c, object)
	}
	f.exactBytes = demo.Set(stored)
	return f, nil
}

// fill stores objects, each on some disk, builds the map and the filters, and then evicts some
// objects and stores others in their place.
func fill(stored []string, rng *rand.Rand) (*cache, error) {
	c := &cache{since: map[string]uint32{}}
	late := len(stored) / churn
	early := stored[late:]
	hashes, values := make([]uint64, len(early)), make([]uint32, len(early))
	hashing.Hasher{}.HashStrings(hashes, early)
	for i := range c.on {
		c.on[i] = map[string]struct{}{}
		f, err := bloom.Config{Capacity: len(stored)/disks + 1, ErrorRate: rate, Headroom: 10}.New()
		if err != nil {
			return nil, err
		}
		c.filters[i] = f
	}
	for i, object := range early {
		values[i] = rng.Uint32N(disks)
		c.on[values[i]][object] = struct{}{}
		c.filters[values[i]].AddString(object)
	}
	var err error
	if c.where, err = ribbon.BuildMap(hashes, values, valueBits, rate); err != nil {
		return nil, err
	}
	for i, object := range stored[:late] {
		at := rng.Uint32N(disks)
		c.since[object] = at
		c.on[at][object] = struct{}{}
		c.filters[at].AddString(object)
		delete(c.on[values[i]], early[i])
	}
	return c, nil
}

// ask looks an object up in all three ways.
func (f *figures) ask(c *cache, object string) {
	c.lookups = 0
	there := c.byDisks(object)
	f.byDisks += c.lookups
	c.lookups = 0
	byFilters := c.byFilters(object)
	f.byFilters += c.lookups
	c.lookups = 0
	byMap := c.byMap(object)
	f.byMap += c.lookups
	if there {
		f.present++
	} else {
		f.absent++
		f.vain += c.lookups
	}
	if byMap != there || byFilters != there {
		f.missed++
	}
}

func (f figures) saved(lookups int) float64 { return 1 - float64(lookups)/float64(f.byDisks) }

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("objects on 8 disks", f.objects)
	t.Count("queries", f.queries)
	t.Count("for objects that are there", f.present)
	t.Count("not found though there", f.missed)
	t.Count("disk lookups, disk after disk", f.byDisks)
	t.Count("with a filter for each disk", f.byFilters)
	t.Count("with the map", f.byMap)
	t.Percent("saved by filters", f.saved(f.byFilters))
	t.Percent("saved by the map", f.saved(f.byMap))
	t.Percent("absent objects that the map sends to a disk", float64(f.vain)/float64(f.absent))
	t.Bytes("filters", f.filterBytes)
	t.Bytes("map", f.mapBytes)
	t.Varying("exact set", demo.Bytes(f.exactBytes))
	return t
}
