package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSmallCounts holds filters of every kind, large ones, with few items to their number:
// in FILTER.INFO, FILTER.CARD, FILTER.LIST and in what metrics show, at once and later.
func TestSmallCounts(t *testing.T) {
	b := newBench(t, 1<<30)
	type one struct {
		key string
		n   int
	}
	var list []one
	for _, kind := range []string{"bloom", "standard", "split", "partitioned", "scalable", "counting", "spectral", "stable", "cuckoo", "quotient", "growing", "window", "bf", "cf"} {
		for _, n := range []int{0, 1, 4, 5000} {
			key := fmt.Sprint(kind, "-", n)
			create, add := "FILTER.CREATE "+key+" "+kind+" CAPACITY 1000000", "FILTER.ADD "+key
			switch kind {
			case "window":
				create += " SPAN 24h"
			case "bf":
				create, add = "BF.RESERVE "+key+" 0.01 1000000", "BF.MADD "+key
			case "cf":
				create, add = "CF.RESERVE "+key+" 1000000", "CF.INSERT "+key+" ITEMS"
			}
			if got := b.line(create); got != "+OK" {
				t.Fatalf("%s: %s", create, got)
			}
			if n > 0 {
				var items strings.Builder
				for i := range n {
					fmt.Fprintf(&items, " key-%d", i)
				}
				b.line(add + items.String())
			}
			list = append(list, one{key, n})
		}
	}
	for _, later := range []time.Duration{0, 10 * time.Second} {
		b.watch(t, later)
		for _, f := range list {
			id := b.watched(f.key).ID()
			r, ok := b.engine.Health().Current(id)
			if !ok && later > 0 {
				t.Errorf("%s has no state after %v", f.key, later)
			}
			info := b.fieldsOf(t, f.key)["items"].N
			card := b.line("FILTER.CARD " + f.key)
			row := b.line("FILTER.LIST MATCH " + f.key)
			if info != int64(f.n) && !(f.n == 5000 && info > 4990 && info <= 5000) {
				t.Errorf("%s: %d items in FILTER.INFO after %v", f.key, info, later)
			}
			foreign := strings.HasPrefix(card, "-WRONGTYPE") // BF and CF have commands of their own
			if card != fmt.Sprint(":", info) && !foreign || !strings.Contains(row, fmt.Sprintf(`"items" :%d `, info)) || ok && r.Items != uint64(info) {
				t.Errorf("%s after %v: %d items in FILTER.INFO, FILTER.CARD %s, %d in metrics, FILTER.LIST %.60s", f.key, later, info, card, r.Items, row)
			}
		}
	}
}
