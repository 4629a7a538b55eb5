// Command crawler is the "URL seen?" of a crawl by many workers: each has a filter of its own, all
// share one on a server, and an exact store behind them is hardly asked. Windows forget addresses
// after a week, so that pages are visited again.
//
//	go run ./examples/crawler
//	go run ./examples/crawler -data full
package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/examples/internal/served"
	"github.com/bloomery/bloomery/hashing"
)

func main() { demo.MainServer(run) }

const (
	workersLog2 = 3
	workers     = 1 << workersLog2
	span        = 7    // days until a page is visited again
	rate        = 1e-4 // of new addresses that a worker takes for old ones, and skips
	sharedRate  = 0.01 // of those for which the store is asked
	burst       = 3    // times the mean of a day that the first one may bring
	batch       = 200  // addresses in a message
	days        = 10
	key         = "crawler:seen"
)

// crawler is all workers, each with the domains that it crawls, the shared filter and the exact store.
type crawler struct {
	figures
	pages, daily int // that exist, and links that are found in a day
	workers      [workers]worker
	server       *served.Client
	store        map[string]int // the day of the last visit
	day          int
}

type worker struct {
	seen    *compose.Window
	waiting []string // addresses that it has not seen, for the next message to the server
	inbox   int      // addresses that other workers have sent since their last message
}

// link takes a link that a worker has found to the worker of its domain (https://DOMAIN/…), who
// alone asks whether it is new.
func (c *crawler) link(finder int, url string) error {
	c.links++
	owner := bloomery.Route(hashing.Hasher{}.HashString(strings.Split(url, "/")[2]), workersLog2)
	w := &c.workers[owner]
	if owner != finder {
		if w.inbox++; w.inbox%batch == 0 {
			c.messages++
		}
	}
	if w.seen.ContainsString(url) { // and is not added again: it would stay for another week
		c.local++
		switch last, visited := c.store[url]; { // to count what the worker cannot know
		case !visited && !slices.Contains(w.waiting, url):
			c.skipped++
		case visited && c.day-last > span:
			c.late++
		}
		return nil
	}
	w.seen.AddString(url)
	if w.waiting = append(w.waiting, url); len(w.waiting) == batch {
		return c.ask(w)
	}
	return nil
}

// ask sends the addresses that a worker has not seen to the server, in one message. Those that
// the server has seen are looked up in the store: the worker may have been restarted, or they
// are false positives.
func (c *crawler) ask(w *worker) error {
	if len(w.waiting) == 0 {
		return nil
	}
	c.asked++
	reply, err := c.server.Do(append([]string{"FILTER.ADD", key}, w.waiting...)...)
	if err != nil {
		return err
	}
	for i, url := range w.waiting {
		if reply.Array[i].Int == 0 {
			c.lookups++
			if last, ok := c.store[url]; ok && c.day-last <= span {
				c.known++
				continue
			}
		}
		c.visits++
		c.store[url] = c.day
	}
	w.waiting = w.waiting[:0]
	return nil
}

type figures struct {
	links, visits, visited   int // visited pages, some of them more than once
	local, known, lost       int // links that a worker's filter has stopped, the store, a crash
	skipped, late            int // by mistake, and for up to a week too long
	messages, asked, lookups int // network calls: between workers, to the server, to the store
	localBytes, sharedBytes  int
	exactBytes               int // of a map of the pages
}

func run(ctx context.Context, o demo.Options) (f figures, err error) {
	c := &crawler{pages: demo.Pick(o, 60_000, 2_000_000), daily: demo.Pick(o, 40_000, 2_000_000), store: map[string]int{}}
	urls, err := demo.URLs(ctx, o, c.pages)
	if err != nil {
		return f, err
	}
	var clock atomic.Int64 // days, for the windows of the server
	now := func() time.Time { return time.Unix((20_000+clock.Load())*86400+1, 0) }
	if c.server, err = served.Connect(ctx, o.Addr, now); err != nil {
		return f, err
	}
	defer c.server.Close()
	if err := c.create(); err != nil {
		return f, err
	}
	rng := rand.New(rand.NewPCG(11, 12))
	popular := rand.NewZipf(rng, 1.05, 50, uint64(c.pages-1))
	for c.day = range days {
		clock.Add(1)
		if err := c.crawlDay(ctx, rng, func() string { return urls[popular.Uint64()] }); err != nil {
			return f, err
		}
	}
	replies, err := c.server.Pipe([]string{"MEMORY", "USAGE", key}, []string{"DEL", key})
	if err != nil {
		return f, err
	}
	c.localBytes, c.sharedBytes = workers*int(c.workers[0].seen.Stats().Bytes), int(replies[0].Int)
	c.visited, c.exactBytes = len(c.store), demo.Set(slices.Collect(maps.Keys(c.store)))
	return c.figures, nil
}

// create makes the filters. Domains differ in size: each worker has room for twice its share.
func (c *crawler) create() (err error) {
	for i := range c.workers {
		c.workers[i].seen, err = compose.WindowConfig{Capacity: 2 * c.pages / workers, ErrorRate: rate, Generations: span, Burst: burst}.New()
		if err != nil {
			return err
		}
	}
	create := fmt.Sprintf("FILTER.CREATE %s window CAPACITY %d ERROR %g SPAN %dh GENERATIONS %d BURST %d", key, c.pages, sharedRate, 24*span, span, burst)
	_, err = c.server.Pipe([]string{"DEL", key}, strings.Fields(create)) // an earlier run may have left one
	return err
}

// crawlDay finds the links of a day. On the third, a worker crashes, and forgets.
func (c *crawler) crawlDay(ctx context.Context, rng *rand.Rand, next func() string) error {
	for i := range c.workers {
		c.workers[i].seen.Advance(uint64(c.day))
	}
	for i := range c.daily {
		if w := &c.workers[0]; c.day == 2 && i == c.daily/2 {
			c.lost, w.waiting, w.inbox = len(w.waiting), nil, 0
			w.seen.Clear()
		}
		if err := c.link(rng.IntN(workers), next()); err != nil {
			return err
		}
	}
	for i := range c.workers {
		if err := c.ask(&c.workers[i]); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f figures) calls() int { return f.messages + f.asked + f.lookups }

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("links found", f.links)
	t.Count("pages", f.visited)
	t.Count("visits", f.visits)
	t.Percent("links that a worker's own filter stops", float64(f.local)/float64(f.links))
	t.Count("messages between workers", f.messages)
	t.Count("messages to the server", f.asked)
	t.Count("lookups in the store", f.lookups)
	t.Number("network calls a link", float64(f.calls())/float64(f.links), 4)
	t.Percent("network calls saved", 1-float64(f.calls())/float64(f.links))
	t.Percent("false positive rate asked, of a worker", rate)
	t.Percent("measured: new pages wrongly skipped", float64(f.skipped)/float64(f.visits+f.skipped))
	t.Count("links lost in a crash", f.lost)
	t.Count("links skipped too long, after the crash", f.late)
	t.Bytes("filters of all workers", f.localBytes)
	t.Varying("filter on the server", demo.Bytes(f.sharedBytes))
	t.Varying("exact set of the pages", demo.Bytes(f.exactBytes))
	return t
}
