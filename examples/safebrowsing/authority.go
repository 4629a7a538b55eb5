package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/follow"
)

// authority has the list itself. It publishes a filter of it in a folder, and answers questions
// about parts of digests.
type authority struct {
	capacity int
	list     map[string]bool // expressions

	mu      sync.Mutex          // guards digests
	digests map[string][]string // by their first eight digits
}

// change adds addresses to the list and takes others off it.
func (a *authority) change(add, remove []string) error {
	for i, address := range slices.Concat(add, remove) {
		all, err := expressions(address)
		if err != nil {
			return err
		}
		if a.list[all[0]] = true; i >= len(add) {
			delete(a.list, all[0])
		}
	}
	digests := map[string][]string{}
	for e := range a.list {
		d := digest(e)
		digests[d[:8]] = append(digests[d[:8]], d)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.digests = digests
	return nil
}

// has reports whether an address is on the list.
func (a *authority) has(address string) bool {
	all, err := expressions(address)
	return err == nil && slices.ContainsFunc(all, func(e string) bool { return a.list[e] })
}

// publish puts a filter of the list into a folder, and a patch from the version before. Each is
// built anew, of the same size: what was taken off the list is gone.
func (a *authority) publish(dir string) (follow.Published, error) {
	f := bloom.New(a.capacity, rate)
	for e := range a.list {
		f.AddString(e)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		return follow.Published{}, err
	}
	return follow.Publish(dir, "unsafe", data, follow.PublishConfig{})
}

// handler serves the folder, as any web server does, and the second stage.
func (a *authority) handler(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/list/", http.StripPrefix("/list/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("GET /digests", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		found := a.digests[r.FormValue("prefix")]
		a.mu.Unlock()
		_ = json.NewEncoder(w).Encode(found)
	})
	return mux
}
