// Command cdn has four caches before an origin. What is asked for once is not stored, and each
// cache knows from a digest what the others have.
//
//	go run ./examples/cdn
//	go run ./examples/cdn -data full
package main

import (
	"container/list"
	"context"
	"maps"
	"math/rand/v2"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/contrib/admission"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	caches   = 4
	room     = 2_000 // objects that a cache holds
	rate     = 0.01  // of digests, and of objects that are stored though they are new
	question = 80    // bytes of a question to another cache and its answer, if there were no digests
)

// cache holds the objects that were asked for last. It counts them in a filter from which they can be
// deleted; others get the bits of that, without the counters.
type cache struct {
	byAge  list.List
	places map[string]*list.Element
	home   *counting.Filter
	door   *admission.Door

	digest []byte                   // the bits that others have
	abroad bloomery.View            // the digest, opened
	holds  map[string]*list.Element // what is in it, to count false positives
}

// network is the caches, and what they have come to.
type network struct {
	caches                [caches]*cache
	all, digests          bool       // store all objects, send digests
	hits, writes, fetches int        // fetches of the origin
	neighbours, inVain    int        // objects that another cache had, and had not although its digest said so
	absent                demo.Share // questions to digests that do not hold an object, and false positives
	exchanged, whole      int        // bytes of digests sent, and if they were sent whole
	changed               int        // objects that were dropped because they changed at the origin
}

// request answers for an object: from the cache, from a neighbour whose digest has it, or from the
// origin.
func (n *network) request(c *cache, name string) error {
	seen := c.door.Seen([]byte(name))
	if at := c.places[name]; at != nil {
		n.hits++
		c.byAge.MoveToFront(at)
		return nil
	}
	if n.neighbour(c, name) {
		n.neighbours++
	} else {
		n.fetches++
	}
	if !seen && !n.all {
		return nil
	}
	n.writes++
	if c.byAge.Len() == room {
		c.drop(c.byAge.Back().Value.(string))
	}
	c.places[name] = c.byAge.PushFront(name)
	return c.home.InsertString(name)
}

// neighbour asks the other caches whose digests have an object.
func (n *network) neighbour(c *cache, name string) bool {
	for _, other := range n.caches {
		if other == c || other.abroad == nil {
			continue
		}
		found := other.abroad.Contains([]byte(name))
		if other.holds[name] == nil {
			n.absent.Count(found)
		}
		if found && other.places[name] != nil {
			return true
		}
		if found {
			n.inVain++ // a false positive, or gone since the digest was sent
		}
	}
	return false
}

// drop removes an object if it is there, and reports whether it was.
func (c *cache) drop(name string) bool {
	at := c.places[name]
	if at == nil {
		return false
	}
	c.byAge.Remove(at)
	delete(c.places, name)
	c.home.DeleteString(name)
	return true
}

// publish sends the digest of a cache to all others: what has changed since the last one.
func (n *network) publish(c *cache) error {
	digest := c.home.Bloom()
	whole, err := codec.Compress(nil, digest)
	if err != nil {
		return err
	}
	sent := whole
	if c.digest != nil {
		if sent, err = codec.Diff(c.digest, digest); err != nil {
			return err
		}
		if digest, err = codec.Patch(c.digest, sent); err != nil { // as the others do
			return err
		}
	}
	n.whole += len(whole) * (caches - 1)
	n.exchanged += len(sent) * (caches - 1)
	c.digest, c.holds = digest, maps.Clone(c.places)
	c.abroad, err = codec.Config{}.View(digest)
	return err
}

// traffic is how many requests there are, after how many caches send their digests, and after how many
// an object changes at the origin.
type traffic struct{ requests, exchange, change int }

type figures struct {
	traffic
	objects              int
	plain, door, digests *network // all admitted, those seen before, and these with digests
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	names, draw, err := demo.Requested(ctx, o)
	if err != nil {
		return figures{}, err
	}
	t := demo.Pick(o, traffic{300_000, 10_000, 100}, traffic{2_000_000, 5_000, 1_000})
	f := figures{t, len(names), &network{all: true}, &network{}, &network{digests: true}}
	for _, n := range []*network{f.plain, f.door, f.digests} {
		rng := rand.New(rand.NewPCG(17, 18)) // the same requests for all
		if err := n.serve(t, func() string { return names[draw(rng)] }, rng); err != nil {
			return figures{}, err
		}
	}
	return f, ctx.Err()
}

// serve sends requests to any of the caches. An object that changes is dropped by all of them:
// they are all told, since digests may lack what was stored lately.
func (n *network) serve(t traffic, next func() string, rng *rand.Rand) error {
	for i := range n.caches {
		door, err := admission.Config{Requests: 10 * room, ErrorRate: rate}.New()
		if err != nil {
			return err
		}
		n.caches[i] = &cache{places: map[string]*list.Element{}, home: counting.New(room, rate), door: door}
	}
	for i := range t.requests {
		if n.digests && i%t.exchange == 0 {
			for _, c := range n.caches {
				if err := n.publish(c); err != nil {
					return err
				}
			}
		}
		name := next()
		if err := n.request(n.caches[rng.IntN(caches)], name); err != nil {
			return err
		}
		if i%t.change != 0 {
			continue
		}
		changed := next()
		for _, c := range n.caches {
			if c.drop(changed) {
				n.changed++
			}
		}
	}
	return nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	share := func(n int) string { return demo.Percent(float64(n) / float64(f.requests)) }
	t.Count("requests", f.requests)
	t.Text("objects, and room for them in each cache", demo.Count(f.objects)+", "+demo.Count(room))
	t.Text("hit rate, all admitted", share(f.plain.hits))
	t.Text("hit rate, seen before", share(f.door.hits))
	t.Text("hit rate, with digests of neighbours", share(f.digests.hits+f.digests.neighbours))
	t.Count("cache writes, all admitted", f.plain.writes)
	t.Count("cache writes, seen before", f.door.writes)
	t.Percent("cache writes saved", 1-float64(f.door.writes)/float64(f.plain.writes))
	t.Count("fetches of the origin, all admitted", f.plain.fetches)
	t.Count("fetches of the origin, with digests", f.digests.fetches)
	t.Count("asked of a neighbour in vain", f.digests.inVain)
	t.Percent("false positive rate asked, of a digest", rate)
	t.Percent("measured", f.digests.absent.Rate())
	t.Count("objects that changed, and were dropped", f.digests.changed)
	t.Bytes("digests of all caches", caches*len(f.digests.caches[0].digest))
	t.Bytes("bytes exchanged, patches", f.digests.exchanged)
	t.Bytes("if digests were sent whole", f.digests.whole)
	t.Bytes("if neighbours were asked each time", (f.requests-f.digests.hits)*(caches-1)*question)
	return t
}
