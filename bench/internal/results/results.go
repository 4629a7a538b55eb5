// Package results keeps what was measured in a file of JSON lines, from which
// documents are written. Each record is in the file as soon as it is there, so
// that a run of hours can be interrupted and goes on where it was.
package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
)

// File is a results file with records of type R.
//
// Safe for concurrent use.
type File[R any] struct {
	path string // "" for none
	name func(R) string
	mu   sync.Mutex
	all  map[string]R
}

// Open reads the results of earlier runs; name returns what a record is called.
// A later line replaces an earlier one of the same name; what is left of a line
// that a crash cut off is dropped. An empty path stands for no file.
func Open[R any](path string, name func(R) string) (*File[R], error) {
	f := &File[R]{path: path, name: name, all: map[string]R{}}
	if path == "" {
		return f, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	n := 0
	for line := range bytes.Lines(whole) {
		n++
		var one R
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		f.all[name(one)] = one
	}
	if len(whole) < len(data) {
		return f, os.Truncate(path, int64(len(whole)))
	}
	return f, nil
}

// Get returns the record of that name.
func (f *File[R]) Get(name string) (R, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.all[name]
	return one, ok
}

// Add keeps a new record and appends it to the file.
func (f *File[R]) Add(one R) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all[f.name(one)] = one
	if f.path == "" {
		return nil
	}
	out, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(out).Encode(one), out.Close())
}

// Tidy writes the file anew, in the order of the names and without the lines
// that were replaced: so two runs of the same rows differ in these rows only.
func (f *File[R]) Tidy() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		if err := e.Encode(f.all[name]); err != nil {
			return err
		}
	}
	next := f.path + ".new"
	if err := os.WriteFile(next, b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(next, f.path)
}
