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
	"math/rand/v2"
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
	list      *follow.Filter
	authority string
	client    *http.Client
	calls     int // of the authority
	lookups   int // of expressions that are not on the list
	wrong     int // false positives among them
}

// unsafe reports whether an address is on the list.
func (b *browser) unsafe(ctx context.Context, address string) (bool, error) {
	expressions, err := expressions(address)
	if err != nil {
		return false, err
	}
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
	return false, nil
}

// confirmed asks the authority: it gets four bytes of a digest, and returns the digests on the
// list that begin so.
func (b *browser) confirmed(ctx context.Context, digest string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.authority+digest[:8], nil)
	if err != nil {
		return false, err
	}
	response, err := b.client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	var list []string
	err = json.NewDecoder(response.Body).Decode(&list)
	return slices.Contains(list, digest), err
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
	rand.New(rand.NewPCG(9, 10)).Shuffle(len(bad), func(i, j int) { bad[i], bad[j] = bad[j], bad[i] })
	news := len(bad) / 100 // come each day, a third as many go
	a := &authority{capacity: len(bad), list: map[string]bool{}}
	if err := a.change(bad[days*news:], nil); err != nil {
		return figures{}, err
	}
	dir, err := os.MkdirTemp("", "safebrowsing")
	if err != nil {
		return figures{}, err
	}
	defer os.RemoveAll(dir)
	published, err := a.publish(dir)
	if err != nil {
		return figures{}, err
	}
	f := figures{first: len(a.list), clean: len(clean), whole: int(published.Whole)}

	site := httptest.NewServer(a.handler(dir))
	defer site.Close()
	b := &browser{authority: site.URL + "/digests?prefix=", client: site.Client()}
	if b.list, err = follow.Open(ctx, follow.Config{Address: site.URL + "/list", Every: -1, Client: b.client}); err != nil {
		return figures{}, err
	}
	defer b.list.Close()
	for day := range days {
		if err := a.change(bad[day*news:(day+1)*news], bad[len(bad)-(day+1)*news/3:len(bad)-day*news/3]); err != nil {
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
	f.last, f.filter, f.digestList = len(a.list), int(b.list.Stats().Bytes), 32*len(a.list)
	err = f.browse(ctx, b, a, bad, clean)
	return f, err
}

// load returns addresses of pages that are unsafe and that are not: phishing sites and hosts of
// malware, and domains of mail services, or made-up ones.
func load(ctx context.Context, o demo.Options) (bad, clean []string, err error) {
	if !o.Full {
		for i := range 20_000 {
			clean = append(clean, fmt.Sprintf("https://www.site-%d.example.org/a/page.html?q=%d", i/10, i))
			if i < 5_000 {
				bad = append(bad, fmt.Sprintf("http://shop-%d.example/login/%d", i/3, i))
			}
		}
		return bad, clean, nil
	}
	hosts, err := demo.UnsafeHosts(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, host := range hosts {
		known[host] = true
		bad = append(bad, "http://"+host+"/")
	}
	domains, err := demo.MailDomains(ctx)
	for i, domain := range domains {
		if !known[domain] {
			clean = append(clean, fmt.Sprintf("https://www.%s/inbox/%d.html?user=%d", domain, i%100, i))
		}
	}
	return bad, clean, err
}

// browse opens every page, those on the list and the others.
func (f *figures) browse(ctx context.Context, b *browser, a *authority, bad, clean []string) error {
	for _, address := range slices.DeleteFunc(bad, func(address string) bool { return !a.has(address) }) {
		found, err := b.unsafe(ctx, address)
		if err != nil {
			return err
		}
		f.unsafe++
		if found {
			f.found++
		}
	}
	b.calls, b.lookups, b.wrong = 0, 0, 0
	for _, address := range clean {
		found, err := b.unsafe(ctx, address)
		if err != nil {
			return err
		}
		if found {
			f.blocked++
		}
	}
	f.calls, f.lookups, f.wrong = b.calls, b.lookups, b.wrong
	return nil
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
