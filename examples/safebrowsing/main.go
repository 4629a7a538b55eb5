// Command safebrowsing warns of unsafe addresses as browsers do: a local copy of a filter
// answers for nearly all pages, an authority is asked about the rest and learns little, and each
// day brings a small patch.
//
//	go run ./examples/safebrowsing
//	go run ./examples/safebrowsing -data full
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"

	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/follow"
)

func main() { demo.Main(run) }

const (
	rate = 0.001 // for each of the expressions that an address has
	days = 7
)

// browser is the client: a copy of the filter, and the authority for what it finds.
type browser struct {
	list           *follow.Filter
	authority      string
	calls          int // of the authority
	lookups, wrong int // of expressions that are not on the list, and false positives among them
}

// browse opens pages and returns how many of them are on the list.
func (b *browser) browse(ctx context.Context, pages []string) (found int, err error) {
	for _, address := range pages {
		unsafe, err := b.unsafe(ctx, address)
		if err != nil {
			return 0, err
		}
		if unsafe {
			found++
		}
	}
	return found, nil
}

// unsafe reports whether an address is on the list.
func (b *browser) unsafe(ctx context.Context, address string) (bool, error) {
	expressions, err := expressions(address)
	for _, e := range expressions {
		if b.list.ContainsString(e) {
			b.calls++
			if sure, err := b.confirmed(ctx, digest(e)); sure || err != nil {
				return sure, err
			}
			b.wrong++
		}
		b.lookups++
	}
	return false, err
}

// confirmed asks the authority: it gets four bytes of a digest, and returns the digests on the
// list that begin so.
func (b *browser) confirmed(ctx context.Context, digest string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.authority+digest[:8], nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	var list []string
	err = json.NewDecoder(response.Body).Decode(&list)
	return slices.Contains(list, digest), err
}

type figures struct {
	first, last           int // expressions on the list
	unsafe, found         int
	clean, calls, blocked int
	lookups, wrong        int
	whole, update, filter int // bytes
}

// run publishes a list, follows it for a week, and then opens pages that are on it and others.
func run(ctx context.Context, o demo.Options) (f figures, err error) {
	bad, clean, err := demo.UnsafePages(ctx, o)
	if err != nil {
		return f, err
	}
	news := len(bad) / 100 // come each day, a third as many go
	list := func(day int) []string { return bad[(days-day)*news : len(bad)-day*news/3] }
	dir, err := os.MkdirTemp("", "safebrowsing")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	a := &authority{dir: dir, capacity: len(bad)}
	published, err := a.publish(list(0))
	if err != nil {
		return f, err
	}
	f.first, f.whole = a.listed, int(published.Whole)

	site := httptest.NewServer(a.handler())
	defer site.Close()
	b := &browser{authority: site.URL + "/digests?prefix="}
	if b.list, err = follow.Open(ctx, follow.Config{Address: site.URL + "/list", Every: -1}); err != nil {
		return f, err
	}
	defer b.list.Close()
	for day := range days {
		if published, err = a.publish(list(day + 1)); err != nil {
			return f, err
		}
		f.update += int(published.Patch)
		if _, err := b.list.Update(ctx); err != nil {
			return f, err
		}
	}
	f.last, f.filter = a.listed, int(b.list.Stats().Bytes)

	f.unsafe, f.clean = len(list(days)), len(clean)
	if f.found, err = b.browse(ctx, list(days)); err != nil {
		return f, err
	}
	b.calls, b.lookups, b.wrong = 0, 0, 0
	f.blocked, err = b.browse(ctx, clean)
	f.calls, f.lookups, f.wrong = b.calls, b.lookups, b.wrong
	return f, err
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("addresses on the list, first day", f.first)
	t.Count("a week later", f.last)
	t.Text("unsafe pages found", demo.Count(f.found)+" of "+demo.Count(f.unsafe))
	t.Count("clean pages", f.clean)
	t.Count("clean pages blocked", f.blocked)
	t.Number("second-stage calls per 1,000 clean pages", 1000*float64(f.calls)/float64(f.clean), 2)
	t.Number("expressions per page", float64(f.lookups)/float64(f.clean), 1)
	t.Percent("false positive rate asked, of an expression", rate)
	t.Percent("measured", float64(f.wrong)/float64(f.lookups))
	t.Bytes("first download", f.whole)
	t.Bytes("an update", f.update/days)
	t.Bytes("filter", f.filter)
	t.Bytes("a list of digests instead", sha256.Size*f.last)
	return t
}
