// Command cdn has four caches before an origin. What is asked for once is not stored, and each
// cache knows from a digest what the others have.
//
//	go run ./examples/cdn
//	go run ./examples/cdn -data full
package main

import (
	"container/list"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/bloomery/bloomery/contrib/admission"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	caches   = 4
	rate     = 0.01 // of digests, and of objects that are stored though they are new
	question = 80   // bytes of a question to another cache and its answer, if there were no digests
)

// size is how much is asked for. Each cache holds so many objects, and sends its digest after so
// many requests; after as many, an object changes at the origin.
type size struct{ requests, objects, exchange, change int }

var (
	sample = size{requests: 300_000, objects: 2_000, exchange: 10_000, change: 100}
	full   = size{requests: 2_000_000, objects: 2_000, exchange: 5_000, change: 1_000}
)

// outcome is what a set-up of the caches has come to.
type outcome struct {
	hits, writes, fetches int // fetches of the origin
	neighbours, inVain    int // objects that another cache had, and had not although its digest said so
	absent, wrong         int // questions to digests that do not hold an object, and false positives
	exchanged, whole      int // bytes of digests sent, and if they were sent whole
	stale, changed        int // stale objects were served after they had changed at the origin
}

type figures struct {
	size
	objects              int // different ones
	plain, door, digests outcome
	digestsBytes         int
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	s := demo.Pick(o, sample, full)
	names, draw, err := demo.Requested(ctx, o)
	if err != nil {
		return figures{}, err
	}
	f := figures{size: s, objects: len(names)}
	for _, setUp := range []struct {
		outcome         *outcome
		admit, exchange bool
	}{{&f.plain, false, false}, {&f.door, true, false}, {&f.digests, true, true}} {
		edges, err := s.edges(setUp.admit, setUp.exchange)
		if err != nil {
			return figures{}, err
		}
		rng := rand.New(rand.NewPCG(17, 18)) // the same requests for all
		if err := s.serve(edges, func() string { return names[draw(rng)] }, rng, setUp.outcome); err != nil {
			return figures{}, err
		}
		f.digestsBytes = 0
		for _, e := range edges {
			f.digestsBytes += len(e.published)
		}
	}
	return f, ctx.Err()
}

// edges makes the caches.
func (s size) edges(admit, exchange bool) ([]*edge, error) {
	edges := make([]*edge, caches)
	for i := range edges {
		edges[i] = &edge{room: s.objects, places: map[string]*list.Element{}, home: counting.New(s.objects, rate)}
		if !admit {
			continue
		}
		door, err := admission.Config{Requests: 10 * s.objects, ErrorRate: rate}.New()
		if err != nil {
			return nil, err
		}
		edges[i].door = door
	}
	for i, e := range edges {
		if exchange {
			e.others = slices.Concat(edges[:i], edges[i+1:])
		}
	}
	return edges, nil
}

// serve sends requests to any of the caches. An object that changes is dropped by all of them:
// they are all told, since digests may lack what was stored lately.
func (s size) serve(edges []*edge, next func() string, rng *rand.Rand, o *outcome) error {
	versions := map[string]int{} // at the origin
	for i := range s.requests {
		if i%s.exchange == 0 {
			for _, e := range edges {
				if err := e.publish(o); err != nil {
					return err
				}
			}
		}
		name := next()
		if err := edges[rng.IntN(caches)].request(object{name, versions[name]}, o); err != nil {
			return err
		}
		if i%s.change != 0 {
			continue
		}
		changed := next()
		versions[changed]++
		for _, e := range edges {
			if e.drop(changed) {
				o.changed++
			}
		}
	}
	return nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	share := func(n int) string { return demo.Percent(float64(n) / float64(f.requests)) }
	t.Count("requests", f.requests)
	t.Text("objects, and room for them in each cache", demo.Count(f.objects)+", "+demo.Count(f.size.objects))
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
	t.Percent("measured", float64(f.digests.wrong)/float64(f.digests.absent))
	t.Count("objects that changed, and were dropped", f.digests.changed)
	t.Count("old versions served", f.digests.stale)
	t.Bytes("digests of all caches", f.digestsBytes)
	t.Bytes("bytes exchanged, patches", f.digests.exchanged)
	t.Bytes("if digests were sent whole", f.digests.whole)
	t.Bytes("if neighbours were asked each time", (f.requests-f.digests.hits)*(caches-1)*question)
	return t
}
