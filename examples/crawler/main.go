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
	"strconv"
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
	key         = "crawler:seen"
)

// crawl is how much is crawled.
type crawl struct{ pages, days, links int } // links of a day

var (
	sample = crawl{pages: 60_000, days: 10, links: 40_000}
	full   = crawl{pages: 2_000_000, days: 10, links: 2_000_000}
)

// worker crawls some of the domains.
type worker struct {
	seen    *compose.Window
	waiting []string // addresses that it has not seen, for the next message to the server
	inbox   int      // addresses that other workers have sent since their last message
}

// crawler is all workers, the shared filter and the exact store.
type crawler struct {
	crawl
	workers [workers]*worker
	server  *served.Client
	store   map[string]int // the day of the last visit
	day     int
	f       figures
}

type figures struct {
	links, visits, pages    int
	local, known, lost      int // links that a worker's filter has stopped, the store, a crash
	skipped, late           int // by mistake, and for up to a week too long
	messages, server, store int // network calls: between workers, to the server, to the store
	localBytes, sharedBytes int
	exactBytes              int // of a map of the pages
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	size := demo.Pick(o, sample, full)
	urls, err := demo.URLs(ctx, o, size.pages)
	if err != nil {
		return figures{}, err
	}
	var clock atomic.Int64 // days, for the windows of the server
	clock.Store(20_000)
	now := func() time.Time { return time.Unix(clock.Load()*86400+1, 0) }
	client, err := served.Connect(ctx, o.Addr, now)
	if err != nil {
		return figures{}, err
	}
	defer client.Close()
	c := &crawler{crawl: size, server: client, store: map[string]int{}}
	if err := c.create(); err != nil {
		return figures{}, err
	}
	rng := rand.New(rand.NewPCG(11, 12))
	popular := rand.NewZipf(rng, 1.05, 50, uint64(size.pages-1))
	for c.day = range size.days {
		clock.Add(1)
		if err := c.crawlDay(ctx, rng, func() string { return urls[popular.Uint64()] }); err != nil {
			return figures{}, err
		}
	}
	replies, err := client.Pipe([]string{"MEMORY", "USAGE", key}, []string{"DEL", key})
	if err != nil {
		return figures{}, err
	}
	c.f.sharedBytes = int(replies[0].Int)
	for _, w := range c.workers {
		c.f.localBytes += int(w.seen.Stats().Bytes)
	}
	c.f.pages, c.f.exactBytes = len(c.store), demo.Set(slices.Collect(maps.Keys(c.store)))
	return c.f, nil
}

// create makes the filters. What a server has under the name is replaced.
func (c *crawler) create() error {
	for i := range c.workers {
		if err := c.restart(i); err != nil {
			return err
		}
	}
	_, err := c.server.Pipe(
		[]string{"DEL", key},
		[]string{"FILTER.CREATE", key, "window", "CAPACITY", strconv.Itoa(c.pages), "ERROR", fmt.Sprint(sharedRate), "SPAN", fmt.Sprintf("%dh", 24*span), "GENERATIONS", strconv.Itoa(span), "BURST", strconv.Itoa(burst)})
	return err
}

// restart gives a worker an empty filter, as after a crash. Domains differ in size: each worker
// has room for twice its share.
func (c *crawler) restart(i int) error {
	w, err := compose.WindowConfig{Capacity: 2 * c.pages / workers, ErrorRate: rate, Generations: span, Burst: burst}.New()
	c.workers[i] = &worker{seen: w}
	if err == nil {
		w.Advance(uint64(c.day))
	}
	return err
}

// crawlDay finds the links of a day. On the third, a worker crashes.
func (c *crawler) crawlDay(ctx context.Context, rng *rand.Rand, next func() string) error {
	for _, w := range c.workers {
		w.seen.Advance(uint64(c.day))
	}
	for i := range c.links {
		if c.day == 2 && i == c.links/2 {
			c.f.lost = len(c.workers[0].waiting)
			if err := c.restart(0); err != nil {
				return err
			}
		}
		if err := c.link(rng.IntN(workers), next()); err != nil {
			return err
		}
	}
	for _, w := range c.workers {
		if err := c.ask(w); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// link takes a link that a worker has found to the worker of its domain (https://DOMAIN/…), who
// alone asks whether it is new.
func (c *crawler) link(finder int, url string) error {
	c.f.links++
	owner := bloomery.Route(hashing.Hasher{}.HashString(strings.Split(url, "/")[2]), workersLog2)
	w := c.workers[owner]
	if owner != finder {
		if w.inbox++; w.inbox%batch == 0 {
			c.f.messages++
		}
	}
	if w.seen.ContainsString(url) { // and is not added again: it would stay for another week
		c.f.local++
		last, visited := c.store[url]
		if !visited && !slices.Contains(w.waiting, url) {
			c.f.skipped++
		}
		if visited && c.day-last > span {
			c.f.late++
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
	c.f.server++
	reply, err := c.server.Do(append([]string{"FILTER.ADD", key}, w.waiting...)...)
	if err != nil {
		return err
	}
	for i, url := range w.waiting {
		if reply.Array[i].Int == 0 {
			c.f.store++
			if last, ok := c.store[url]; ok && c.day-last <= span {
				c.f.known++
				continue
			}
		}
		c.f.visits++
		c.store[url] = c.day
	}
	w.waiting = w.waiting[:0]
	return nil
}

func (f figures) calls() int { return f.messages + f.server + f.store }

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("links found", f.links)
	t.Count("pages", f.pages)
	t.Count("visits", f.visits)
	t.Percent("links that a worker's own filter stops", float64(f.local)/float64(f.links))
	t.Count("messages between workers", f.messages)
	t.Count("messages to the server", f.server)
	t.Count("lookups in the store", f.store)
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
