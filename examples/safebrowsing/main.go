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
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bloomery/bloomery/bloom"
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
	wrong     demo.Share // expressions that are not on the list, and those for which the authority was asked
}

// unsafe reports whether an address is on the list.
func (b *browser) unsafe(address string) (bool, error) {
	expressions, err := expressions(address)
	for _, e := range expressions {
		found := b.list.ContainsString(e)
		if found {
			if sure, err := b.confirmed(digest(e)); sure || err != nil {
				return sure, err
			}
		}
		b.wrong.Count(found)
	}
	return false, err
}

// confirmed asks the authority: it gets four bytes of a digest, and returns the digests on the
// list that begin so.
func (b *browser) confirmed(digest string) (bool, error) {
	response, err := http.Get(b.authority + digest[:8])
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	list, err := io.ReadAll(response.Body)
	return strings.Contains(string(list), digest), err
}

// digest returns the SHA-256 of an expression, in hex.
func digest(expression string) string {
	sum := sha256.Sum256([]byte(expression))
	return hex.EncodeToString(sum[:])
}

// expressions returns the ways in which a list may name an address: its host or a domain above
// it, with its path or a folder above that. The first is the whole address. Nobody escapes by writing
// one otherwise: host in lower case, path without dots, double slashes and escapes; no user, port and
// fragment.
func expressions(address string) (all []string, err error) {
	u, err := url.Parse(strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(strings.TrimSpace(address)))
	if err != nil {
		return nil, err
	}
	host := strings.Trim(strings.ToLower(u.Hostname()), ".")
	if host == "" {
		return nil, fmt.Errorf("%q has no host", address)
	}
	for range 8 { // escapes of escapes
		if plain, err := url.PathUnescape(u.Path); err == nil {
			u.Path = plain
		}
	}
	file := path.Clean("/" + u.Path)
	if strings.HasSuffix(u.Path, "/") && file != "/" {
		file += "/"
	}
	whole := file
	if u.RawQuery != "" {
		whole += "?" + u.RawQuery
	}
	paths := slices.Compact([]string{whole, file, file[:strings.LastIndexByte(file, '/')+1], "/"})
	for range 5 {
		for _, p := range paths {
			all = append(all, host+p)
		}
		_, above, _ := strings.Cut(host, ".")
		if !strings.Contains(above, ".") || strings.Trim(host, "0123456789.:") == "" { // or it is an address of a machine
			break
		}
		host = above
	}
	return all, nil
}

// authority has the list itself. It publishes a filter of it in a folder, and answers questions
// about parts of digests.
type authority struct {
	dir      string
	capacity int
	digests  atomic.Pointer[map[string]string] // lines, by their first eight digits
}

// publish replaces the list, and puts a filter of it into the folder, and a patch from the one
// before. Each is built anew, of the same size: what is no longer on the list is gone.
func (a *authority) publish(addresses []string) (listed int, published follow.Published, err error) {
	filter, digests := bloom.New(a.capacity, rate), map[string]string{}
	for _, address := range addresses {
		all, err := expressions(address)
		if err != nil {
			return 0, follow.Published{}, err
		}
		if d := digest(all[0]); !strings.Contains(digests[d[:8]], d) {
			digests[d[:8]] += d + "\n"
			filter.AddString(all[0])
			listed++
		}
	}
	a.digests.Store(&digests)
	data, err := filter.MarshalBinary()
	if err != nil {
		return 0, follow.Published{}, err
	}
	published, err = follow.Publish(a.dir, "unsafe", data, follow.PublishConfig{})
	return listed, published, err
}

// handler serves the folder, as any web server does, and the second stage.
func (a *authority) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/list/", http.StripPrefix("/list/", http.FileServer(http.Dir(a.dir))))
	mux.HandleFunc("GET /digests", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, (*a.digests.Load())[r.FormValue("prefix")])
	})
	return mux
}

type figures struct {
	first, last           int        // expressions on the list
	found, blocked        demo.Share // of the pages that are unsafe, and of the clean ones
	wrong                 demo.Share // expressions of clean pages, and those for which the authority was asked
	whole, update, filter int        // bytes
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
	listed, published, err := a.publish(list(0))
	if err != nil {
		return f, err
	}
	f.first, f.whole = listed, int(published.Whole)

	site := httptest.NewServer(a.handler())
	defer site.Close()
	b := &browser{authority: site.URL + "/digests?prefix="}
	if b.list, err = follow.Open(ctx, follow.Config{Address: site.URL + "/list", Every: -1}); err != nil {
		return f, err
	}
	defer b.list.Close()
	for day := range days {
		if f.last, published, err = a.publish(list(day + 1)); err != nil {
			return f, err
		}
		f.update += int(published.Patch)
		if _, err := b.list.Update(ctx); err != nil {
			return f, err
		}
	}
	f.filter = int(b.list.Stats().Bytes)
	if f.found, err = b.browse(list(days)); err != nil {
		return f, err
	}
	b.wrong = demo.Share{}
	f.blocked, err = b.browse(clean)
	f.wrong = b.wrong
	return f, errors.Join(err, ctx.Err())
}

// browse opens pages and counts those that are on the list.
func (b *browser) browse(pages []string) (onList demo.Share, err error) {
	for _, address := range pages {
		unsafe, err := b.unsafe(address)
		if err != nil {
			return onList, err
		}
		onList.Count(unsafe)
	}
	return onList, nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("addresses on the list, first day", f.first)
	t.Count("a week later", f.last)
	t.Text("unsafe pages found", f.found.String())
	t.Count("clean pages", f.blocked.All)
	t.Count("clean pages blocked", f.blocked.Yes)
	t.Number("second-stage calls per 1,000 clean pages", 1000*float64(f.wrong.Yes)/float64(f.blocked.All), 2)
	t.Number("expressions per page", float64(f.wrong.All)/float64(f.blocked.All), 1)
	t.Percent("false positive rate asked, of an expression", rate)
	t.Percent("measured", f.wrong.Rate())
	t.Bytes("first download", f.whole)
	t.Bytes("an update", f.update/days)
	t.Bytes("filter", f.filter)
	t.Bytes("a list of digests instead", sha256.Size*f.last)
	return t
}
