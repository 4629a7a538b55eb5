package server_test

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// waits has TestFigureOfWaits measure how long clients wait for commands of others.
var waits = flag.Bool("waits", false, "print how long SET, FILTER.HAS and FILTER.ADD wait at most while long commands of another client run")

// longCommands are what TestFigureOfWaits runs, on the keys that fillWaits makes. The first
// one is none, for a second.
var longCommands = []string{
	"",
	"COPY bloom copied",
	"COPY quotient copied2",
	"FILTER.UNION united bloom bloom2",
	"FILTER.INTERSECT both bloom bloom2",
	"FILTER.SIMILAR bloom bloom2",
	"FILTER.FOLD united",
	"CMS.MERGE merged 16 " + strings.Join(numbered("cms", 16), " "),
	"TDIGEST.MERGE digest 50 " + strings.Join(numbered("digest", 50), " "),
	"TOPK.ADD topk " + strings.Join(numbered("item", 20_000), " "),
	"TDIGEST.QUANTILE digest0 " + strings.Join(numbered("0.", 999), " "),
	"FILTER.WHERE small* " + strings.Join(numbered("item", 5000), " "),
	"FILTER.LIST SORT probed",
	"FILTER.HEALTH COUNT 100000",
}

// numbered returns n words, each with its number behind it.
func numbered(word string, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint(word, i)
	}
	return words
}

// fillWaits makes the keys of longCommands: filters of 240 MB with something in every page,
// and sketches as large as a user may well have them.
func fillWaits(t *testing.T, c *client) {
	t.Helper()
	ok := func(line string) {
		t.Helper()
		c.expect("+OK\r\n", strings.Fields(line)...)
	}
	ok("FILTER.CREATE quotient quotient CAPACITY 200000000")
	for _, name := range []string{"bloom", "bloom2"} {
		ok("FILTER.CREATE " + name + " bloom CAPACITY 200000000")
	}
	for i := range 100 {
		items := numbered(fmt.Sprint("key", i, ":"), 20_000)
		for _, name := range []string{"bloom", "bloom2", "quotient"} {
			c.do(append([]string{"FILTER.ADD", name}, items...)...)
		}
	}
	for _, name := range append(numbered("cms", 16), "merged") {
		ok("CMS.INITBYDIM " + name + " 2000000 5")
	}
	for i, name := range numbered("digest", 50) {
		ok("TDIGEST.CREATE " + name + " COMPRESSION 10000")
		for range 4 {
			c.do(append([]string{"TDIGEST.ADD", name}, numbered(fmt.Sprint(i), 20_000)...)...)
		}
	}
	ok("TOPK.RESERVE topk 100000 200000 7 0.9")
	for _, name := range numbered("small", 3000) {
		ok("FILTER.CREATE " + name + " bloom CAPACITY 1000")
	}
}

// TestFigureOfWaits prints how long other clients wait at most while a long command runs,
// outside of a transaction: with -waits, for it measures and holds nothing. Behind it stands how long the machine itself let
// a processor stand still: of a wait about as long, that is the cause.
func TestFigureOfWaits(t *testing.T) {
	if !*waits {
		t.Skip("prints figures: -waits")
	}
	addr := start(t, server.Config{})
	patient := func() *client { // the machine may be slow
		c := dial(t, addr)
		_ = c.nc.SetDeadline(time.Time{})
		return c
	}
	c := patient()
	fillWaits(t, c)
	still := startHalts(t)
	probes := [][]string{{"SET", "text", "x"}, {"FILTER.HAS", "bloom", "key"}, {"FILTER.ADD", "bloom", "key"}}
	t.Logf("%-26s %9s %10s %10s %10s %10s", "command", "took", "SET", "FILTER.HAS", "FILTER.ADD", "machine")
	for _, line := range longCommands {
		most, clients := make([]time.Duration, len(probes)), make([]*client, len(probes))
		for i := range clients {
			clients[i] = patient()
			clients[i].do(probes[i]...)
		}
		var done atomic.Bool
		var others sync.WaitGroup
		for i, other := range clients {
			others.Go(func() {
				for !done.Load() {
					began := time.Now()
					other.do(probes[i]...)
					most[i] = max(most[i], time.Since(began))
					time.Sleep(500 * time.Microsecond) // as clients that have something else to do
				}
			})
		}
		began, reply := time.Now(), ""
		if words := strings.Fields(line); len(words) > 0 {
			reply = c.do(words...)
		} else {
			time.Sleep(time.Second)
		}
		took := time.Since(began)
		done.Store(true)
		others.Wait()
		most = append(most, still.most(began, time.Now()))
		text := fmt.Sprintf("%-26.26s %9v", cmp.Or(line, "nothing"), took.Round(time.Millisecond))
		for _, v := range most {
			text += fmt.Sprintf(" %10v", v.Round(10*time.Microsecond))
		}
		t.Log(text)
		if strings.HasPrefix(reply, "-") {
			t.Errorf("%.60s: %.200s", line, reply)
		}
	}
}
