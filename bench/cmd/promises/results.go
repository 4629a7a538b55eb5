package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/filtertest"
)

// record is one line of the results file: a row that was measured, or what
// came of bad input.
type record struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
	Date   string `json:"date"`
	Go     string `json:"go"`

	// Of a row.
	Seed       uint64           `json:"seed,omitempty"`
	Rate       *filtertest.Rate `json:"rate,omitempty"`
	BitsPerKey float64          `json:"bits_per_key,omitempty"`
	Failure    string           `json:"failure,omitempty"` // a panic or an error where a filter was due

	// Of bad input.
	Outcome *outcome `json:"outcome,omitempty"`
}

// queries returns how many absent keys were asked for.
func (r record) queries() uint64 {
	if r.Rate == nil {
		return 0
	}
	return r.Rate.Queries
}

// enough reports whether the record stands for so many queries. Each filter
// may have rounded its part down.
func (r record) enough(queries uint64) bool {
	return r.Failure != "" || r.Rate != nil && r.queries()+uint64(r.Rate.Filters) >= queries
}

// results are all records, by name. Each is in the file as soon as it is
// there, so that a run of hours can be interrupted and goes on where it was.
type results struct {
	file  string // "" for none
	stamp record // commit, date and Go of new ones
	mu    sync.Mutex
	all   map[string]record
}

// open reads the results of earlier runs. A later line replaces an earlier one
// of the same name; what is left of a line that a crash cut off is dropped.
func open(file string, stamp record) (*results, error) {
	r := &results{file: file, stamp: stamp, all: map[string]record{}}
	if file == "" {
		return r, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	n := 0
	for line := range bytes.Lines(whole) {
		n++
		var one record
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		r.all[one.Name] = one
	}
	if len(whole) < len(data) {
		return r, os.Truncate(file, int64(len(whole)))
	}
	return r, nil
}

// get returns the record of that name.
func (r *results) get(name string) (record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.all[name]
	return one, ok
}

// add keeps a new record and appends it to the file.
func (r *results) add(one record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	one.Commit, one.Date, one.Go = r.stamp.Commit, r.stamp.Date, r.stamp.Go
	r.all[one.Name] = one
	if r.file == "" {
		return nil
	}
	f, err := os.OpenFile(r.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(one), f.Close())
}

// tidy writes the file anew, in the order of the names and without the lines
// that were replaced: so two runs of the same rows differ in these rows only.
func (r *results) tidy() error {
	if r.file == "" {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, one := range r.sorted() {
		if err := e.Encode(one); err != nil {
			return err
		}
	}
	next := r.file + ".new"
	if err := os.WriteFile(next, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(next, r.file)
}

// sorted returns all records in the order of their names.
func (r *results) sorted() []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]record, 0, len(r.all))
	for _, one := range r.all {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
