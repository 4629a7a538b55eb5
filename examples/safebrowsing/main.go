// Command safebrowsing warns of unsafe addresses as browsers do: a local copy of a filter
// answers for nearly all pages, an authority is asked about the rest and learns little, and each
// day brings a small patch.
//
//	go run ./examples/safebrowsing
//	go run ./examples/safebrowsing -data full
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"time"

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
	list      *follow.Filter
	authority string
	client    *http.Client
	calls     int // of the authority
	lookups   int // of expressions that are not on the list
	wrong     int // false positives among them
}

// unsafe reports whether an address is on the list. The authority gets four bytes of a digest,
// and returns the digests on the list that begin so.
func (b *browser) unsafe(ctx context.Context, address string) (bool, error) {
	expressions, err := expressions(address)
	if err != nil {
		return false, err
	}
	for _, e := range expressions {
		if !b.list.ContainsString(e) {
			b.lookups++
			continue
		}
		b.calls++
		full, err := b.digests(ctx, e)
		if err != nil || full[digest(e)] {
			return err == nil, err
		}
		b.lookups++
		b.wrong++
	}
	return false, nil
}

// digests asks the authority for the digests that begin as that of an expression does.
func (b *browser) digests(ctx context.Context, expression string) (map[string]bool, error) {
	body, err := get(ctx, b.client, b.authority+digest(expression)[:8])
	if err != nil {
		return nil, err
	}
	var list []string
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, d := range list {
		all[d] = true
	}
	return all, nil
}

type figures struct {
	first, last                       int // expressions on the list
	unsafe, found                     int
	clean, calls, blocked             int
	lookups, wrong                    int
	whole, update, filter, digestList int // bytes
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	bad, clean, err := load(ctx, o)
	if err != nil {
		return figures{}, err
	}
	rng := rand.New(rand.NewPCG(9, 10))
	rng.Shuffle(len(bad), func(i, j int) { bad[i], bad[j] = bad[j], bad[i] })
	news := len(bad) / 100 // come each day, a third as many go
	a := &authority{capacity: len(bad)}
	if err := a.change(bad[days*news:], nil); err != nil {
		return figures{}, err
	}
	f := figures{first: len(a.list), clean: len(clean)}
	dir, err := os.MkdirTemp("", "safebrowsing")
	if err != nil {
		return figures{}, err
	}
	defer os.RemoveAll(dir)
	published, err := a.publish(dir)
	if err != nil {
		return figures{}, err
	}
	f.whole = int(published.Whole)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return figures{}, err
	}
	service := &http.Server{Handler: a.handler(dir), ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(l) }()
	defer func() {
		_ = service.Close()
		<-ended
	}()

	site := "http://" + l.Addr().String()
	b := &browser{authority: site + "/digests?prefix=", client: &http.Client{}}
	defer b.client.CloseIdleConnections()
	if b.list, err = follow.Open(ctx, follow.Config{Address: site + "/list", Every: -1, Client: b.client}); err != nil {
		return figures{}, err
	}
	defer b.list.Close()
	for day := range days {
		added := bad[day*news : (day+1)*news]
		if err := a.change(added, bad[len(bad)-(day+1)*news/3:len(bad)-day*news/3]); err != nil {
			return figures{}, err
		}
		if published, err = a.publish(dir); err != nil {
			return figures{}, err
		}
		f.update += int(published.Patch)
		if _, err := b.list.Update(ctx); err != nil {
			return figures{}, err
		}
	}
	f.last = len(a.list)
	return f, f.browse(ctx, b, a, bad, clean)
}

// browse opens every page, those on the list and the others.
func (f *figures) browse(ctx context.Context, b *browser, a *authority, bad, clean []string) error {
	for _, address := range bad {
		if !a.has(address) {
			continue
		}
		f.unsafe++
		switch found, err := b.unsafe(ctx, address); {
		case err != nil:
			return err
		case found:
			f.found++
		}
	}
	b.calls, b.lookups, b.wrong = 0, 0, 0
	for _, address := range clean {
		switch found, err := b.unsafe(ctx, address); {
		case err != nil:
			return err
		case found:
			f.blocked++
		}
	}
	f.calls, f.lookups, f.wrong = b.calls, b.lookups, b.wrong
	f.filter, f.digestList = int(b.list.Stats().Bytes), 32*len(a.list)
	return nil
}

// get returns the body of a page.
func get(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, response.Status)
	}
	return body, err
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
	t.Bytes("a list of digests instead", f.digestList)
	return t
}
