package follow_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/follow"
	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// figures has the tests of this file measure what docs/follow.md promises; without it they are
// small, and hold what does not depend on the machine.
var figures = flag.Bool("figures", false, "measure the figures of docs/follow.md")

// sized returns how large a figure is to be measured.
func sized(small, full int) int {
	if *figures {
		return full
	}
	return small
}

// quantile returns what so large a part of values is at most.
func quantile[T int | float64 | time.Duration](values []T, q float64) T {
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

// TestFigureOfDelay waits for adds to be seen in a copy that waits for news.
func TestFigureOfDelay(t *testing.T) {
	s := serving(t, server.Config{})
	s.line(fmt.Sprint("FILTER.CREATE f bloom CAPACITY ", sized(10_000, 1_000_000)))
	changed := make(chan struct{}, 1)
	f := must(follow.Open(t.Context(), follow.Config{Address: "redis://" + s.addr, Filter: "f", Changed: func(follow.Version) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}}))
	defer f.Close()
	delays := make([]time.Duration, sized(20, 2000))
	for i := range delays {
		key := fmt.Sprint("key ", i)
		for !strings.Contains(string(s.do("INFO", "clients").Text), "blocked_clients:1\r\n") {
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		s.do("FILTER.ADD", "f", key)
		for !f.ContainsString(key) {
			<-changed
		}
		delays[i] = time.Since(began)
	}
	t.Logf("from an add to its answer in a copy that waits: median %v, p99 %v", quantile(delays, 0.5), quantile(delays, 0.99))
}

// wire is a connection that counts what comes.
type wire struct {
	net.Conn
	bytes int
}

func (c *wire) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes += n
	return n, err
}

// TestFigureOfSteps holds the news of deletes and inserts of a cuckoo filter to 9 bytes each.
func TestFigureOfSteps(t *testing.T) {
	n := sized(10_000, 100_000) // of which a quarter of the filter has place for their changes
	s := serving(t, server.Config{})
	s.line(fmt.Sprint("FILTER.CREATE f cuckoo CAPACITY ", 60*n))
	const batch = 1000
	keys := func(from int) (words []string) {
		for i := range batch {
			words = append(words, fmt.Sprint("key ", from+i))
		}
		return words
	}
	for i := 0; i < n; i += batch {
		s.do(append([]string{"FILTER.ADD", "f"}, keys(i)...)...)
	}
	w := &wire{Conn: s.nc}
	s.r.Reset(w)
	token := string(s.do("FILTER.NEWS", "f").Array[0].Text)
	for i := 0; i < n/2; i += batch {
		s.do(append([]string{"FILTER.DEL", "f"}, keys(i)...)...)
		s.do(append([]string{"FILTER.ADD", "f"}, keys(n+i)...)...)
	}
	before, pieces := w.bytes, []resp.Reply(nil)
	for more := true; more; {
		r := s.do("FILTER.NEWS", "f", "SINCE", token)
		token, more, pieces = string(r.Array[0].Text), r.Array[1].Int == 1, append(pieces, r.Array[2].Array...)
	}
	for _, p := range pieces {
		if form := string(p.Array[1].Text); form != "steps" {
			t.Fatalf("the ring has turned: news are %s", form)
		}
	}
	each := float64(w.bytes-before) / float64(n)
	t.Logf("%d deletes and inserts of a cuckoo filter: %.3f bytes each", n, each)
	if each > 9 {
		t.Errorf("news of a delete or an insert take %.3f bytes, want at most 9", each)
	}
}

// TestFigureOfADay holds 24 updates of a published filter, by 1% in all, to 7% of its bytes.
func TestFigureOfADay(t *testing.T) {
	n, dir := sized(200_000, 10_000_000), t.TempDir()
	source, err := bloom.Config{Capacity: n + n/100, ErrorRate: 0.01}.New()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(32, 2))
	add := func(n int) {
		hs := make([]uint64, n)
		for i := range hs {
			hs[i] = rng.Uint64()
		}
		source.AddHashes(nil, hs)
	}
	web := served(t, dir)
	add(n)
	whole := published(t, dir, must(source.MarshalBinary()), follow.PublishConfig{}).Whole
	f := opened(t, follow.Config{Address: web.URL})
	web.sent.Store(0)
	for hour := range 24 {
		add((hour+1)*n/2400 - hour*n/2400)
		data := must(source.MarshalBinary())
		published(t, dir, data, follow.PublishConfig{})
		if changed, err := f.Update(t.Context()); err != nil || !changed {
			t.Fatal(changed, err)
		}
	}
	share := float64(web.sent.Load()) / float64(whole)
	t.Logf("24 updates of %d keys by 1%%: %d bytes for a client, the filter has %d: %.4f", n, web.sent.Load(), whole, share)
	if most := 0.07; *figures && share > most { // the index is much of a small filter
		t.Errorf("a day of updates is %.4f of the filter, want at most %g", share, most)
	}
}

// TestFigureOfLookups compares lookups in a copy with those in the same filter alone, in turns.
func TestFigureOfLookups(t *testing.T) {
	dir, n := t.TempDir(), sized(1000, 1_000_000)
	published(t, dir, encoded(t, n, n), follow.PublishConfig{})
	f := opened(t, follow.Config{Address: dir})
	bare := f.View()
	const batch = 1000
	rng := rand.New(rand.NewPCG(32, 3))
	hs, found := make([]uint64, sized(batch, 100*batch)), make([]bool, batch)
	keys := make([]string, len(hs))
	for i := range hs {
		hs[i] = rng.Uint64()
		keys[i] = fmt.Sprintf("https://%016x", hs[i])
	}
	sum := 0
	count := func(yes bool) {
		if yes {
			sum++
		}
	}
	singles := overBare(func() {
		for _, k := range keys {
			count(bare.ContainsString(k))
		}
	}, func() {
		for _, k := range keys {
			count(f.ContainsString(k))
		}
	})
	hashes := overBare(func() {
		for _, h := range hs {
			count(bare.ContainsHash(h))
		}
	}, func() {
		for _, h := range hs {
			count(f.ContainsHash(h))
		}
	})
	batches := overBare(func() {
		for part := range slices.Chunk(hs, batch) {
			bare.ContainsHashes(found, part)
		}
	}, func() {
		for part := range slices.Chunk(hs, batch) {
			f.ContainsHashes(found, part)
		}
	})
	t.Logf("lookups in a copy over those in the filter: keys %.3f, hashes %.3f, batches of hashes %.3f (%d found)", singles, hashes, batches, sum)
}

// overBare returns how long the second pass takes over the first: the median of rounds that
// begin with one and the other in turn, behind a pass that is not timed.
func overBare(bare, followed func()) float64 {
	var ratios []float64
	for round := range sized(3, 401) {
		passes := [2]func(){bare, followed}
		var took [2]time.Duration
		passes[round%2]()
		for i := range passes {
			at := (round + i) % 2
			began := time.Now()
			passes[at]()
			took[at] = time.Since(began)
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	return quantile(ratios, 0.5)
}
