package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/follow"
)

// authority has the list itself. It publishes a filter of it in a folder, and answers questions
// about parts of digests.
type authority struct {
	dir      string
	capacity int
	digests  atomic.Pointer[map[string][]string] // by their first eight digits
	listed   int
}

// publish replaces the list, and puts a filter of it into the folder, and a patch from the one
// before. Each is built anew, of the same size: what is no longer on the list is gone.
func (a *authority) publish(addresses []string) (follow.Published, error) {
	filter, digests := bloom.New(a.capacity, rate), map[string][]string{}
	a.listed = 0
	for _, address := range addresses {
		all, err := expressions(address)
		if err != nil {
			return follow.Published{}, err
		}
		if d := digest(all[0]); !slices.Contains(digests[d[:8]], d) {
			digests[d[:8]] = append(digests[d[:8]], d)
			filter.AddString(all[0])
			a.listed++
		}
	}
	a.digests.Store(&digests)
	data, err := filter.MarshalBinary()
	if err != nil {
		return follow.Published{}, err
	}
	return follow.Publish(a.dir, "unsafe", data, follow.PublishConfig{})
}

// handler serves the folder, as any web server does, and the second stage.
func (a *authority) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/list/", http.StripPrefix("/list/", http.FileServer(http.Dir(a.dir))))
	mux.HandleFunc("GET /digests", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode((*a.digests.Load())[r.FormValue("prefix")])
	})
	return mux
}
