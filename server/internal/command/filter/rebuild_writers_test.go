package filter_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestRebuildWithWriters rebuilds a filter again and again while others add to it and
// ask it. Every item is noted before it is added, as in a store whose filter this is:
// none that was answered is ever denied, and the log replays to the same state.
func TestRebuildWithWriters(t *testing.T) {
	b := openBench(t, nil, newBench(t, 1).Now, commandtest.Keys())
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 2000 PARTS 4")
	var mu sync.Mutex
	var noted []string // before they are added
	answered := map[string]bool{}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for id := range 3 {
		wg.Go(func() {
			c := b.Client(10 + id)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				words := []string{"FILTER.ADD", "f"}
				for j := range 1 + i%7 {
					words = append(words, fmt.Sprintf("w%d-%d-%d", id, i, j))
				}
				mu.Lock()
				full := len(noted) > 20_000
				noted = append(noted, words[2:]...)
				mu.Unlock()
				if full {
					return
				}
				if got := c.Do(words...); !strings.HasPrefix(got, "[") {
					t.Errorf("ADD: %s", got)
					return
				}
				mu.Lock()
				for _, w := range words[2:] {
					answered[w] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Go(func() { // what was answered is there, whichever filter answers
		c := b.Client(20)
		for {
			select {
			case <-stop:
				return
			default:
			}
			mu.Lock()
			words := []string{"FILTER.HAS", "f"}
			for w := range answered {
				if words = append(words, w); len(words) > 300 {
					break
				}
			}
			mu.Unlock()
			if got := c.Do(words...); strings.Contains(got, "false") {
				t.Error("an item that was answered is denied")
				return
			}
		}
	})
	for n := 0; n < 500; { // there is something to rebuild
		mu.Lock()
		n = len(answered)
		mu.Unlock()
	}
	c := b.Client(30)
	begins := []string{"CAPACITY 30000", "standard CAPACITY 40000 NEWKEY new", "cuckoo CAPACITY 80000 NEWKEY old", "growing", "bloom CAPACITY 30000 NEWKEY new"}
	for i, begin := range begins {
		commit := "COMMIT"
		if i > 2 { // kinds that count hold what was fed and added twice: the old one has more
			commit = "COMMIT FORCE"
		}
		for _, step := range []string{"BEGIN " + begin, "FEED", commit} {
			words := append([]string{"FILTER.REBUILD", "f"}, strings.Fields(step)...)
			if step == "FEED" {
				mu.Lock()
				words = append(words, noted...)
				mu.Unlock()
				if len(words) == 3 {
					continue
				}
			}
			if got := c.Do(words...); strings.HasPrefix(got, "-") {
				t.Errorf("rebuild %d, %s: %s", i, step, got)
			}
		}
		if i%2 == 0 {
			if err := b.Door.Snapshot(); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	wg.Wait()
	words := []string{"FILTER.HAS", "f"}
	for w := range answered {
		words = append(words, w)
	}
	if got := b.Do(words...); strings.Contains(got, "false") {
		t.Error("an item that was answered is denied in the end")
	}
	b.Crash(t)
}
