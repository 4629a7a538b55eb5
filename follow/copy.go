package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
)

// state is what is kept beside a copy on disk.
type state struct {
	Version
	Filter  string    `json:"filter"`
	Checked time.Time `json:"checked"` // when it was the newest, as far as is known
}

func (f *Filter) stateName() string { return f.config.File + ".follow" }

// load takes the copy on disk, if there is one. A damaged one is no error, it is replaced;
// something else that bears its name is.
func (f *Filter) load() error {
	if f.config.File == "" {
		return nil
	}
	if note, err := os.ReadFile(f.stateName()); err == nil {
		var s state
		if json.Unmarshal(note, &s) == nil {
			f.kept = s
		}
	}
	data, err := os.ReadFile(f.config.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	view, err := codec.Config{Hasher: f.config.Hasher, Limits: f.config.Limits}.View(data)
	if err == nil {
		err = view.Verify()
	}
	e := &edition{view, data, Version{Sum: sumOf(data)}}
	switch {
	case err != nil && f.kept.Sum == "":
		return fmt.Errorf("%w: %s exists and is not a copy of a filter: %w", ErrOther, f.config.File, err)
	case err != nil: // it is damaged, and replaced
	case e.version.Sum == f.kept.Sum:
		e.version = f.kept.Version
		f.live.Store(e)
		f.seen.Store(&outcome{checked: f.kept.Checked})
	default: // newer than the note, or not ours
		f.found = e
	}
	return nil
}

// known returns the copy that an entry can be reached from, nil if there is none. A file
// without a note is one if the index knows it; else it is somebody's, and is not replaced.
func (f *Filter) known(e *entry) (*edition, error) {
	if live := f.live.Load(); live != nil || f.found == nil {
		return live, nil
	}
	sum := f.found.version.Sum
	listed := sum == e.Sum || slices.ContainsFunc(e.Patches, func(p patch) bool { return p.From == sum })
	switch {
	case listed:
		return f.found, nil
	case f.kept.Sum == "":
		return nil, fmt.Errorf("%w: %s exists and is not a copy of this filter", ErrOther, f.config.File)
	}
	return nil, nil
}

// save writes a new copy to disk.
func (f *Filter) save(e *edition) error {
	if f.config.File == "" {
		return nil
	}
	return file.WriteFile(f.config.File, bytes.NewReader(e.data))
}

// note keeps what is known of the copy, and that no older one is taken.
func (f *Filter) note() error {
	live := f.live.Load()
	if live == nil {
		return nil
	}
	now := state{live.version, f.kept.Filter, f.seen.Load().checked}
	if f.name != "" {
		now.Filter = f.name
	}
	if now == f.kept {
		return nil
	}
	f.kept = now
	if f.config.File == "" {
		return nil
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return file.WriteFile(f.stateName(), bytes.NewReader(append(data, '\n')))
}

// What follows asks the present version.

var _ bloomery.Hashed = (*Filter)(nil)

// Contains implements bloomery.Filter.
func (f *Filter) Contains(key []byte) bool { return f.live.Load().Contains(key) }

// ContainsString is Contains for a string.
func (f *Filter) ContainsString(key string) bool { return f.live.Load().ContainsString(key) }

// ContainsKeys sets dst[i] to Contains(keys[i]) for every i, all by one version. It panics if
// dst is shorter than keys.
func (f *Filter) ContainsKeys(dst []bool, keys [][]byte) { f.live.Load().ContainsKeys(dst, keys) }

// ContainsStrings is ContainsKeys for strings.
func (f *Filter) ContainsStrings(dst []bool, keys []string) { f.live.Load().ContainsStrings(dst, keys) }

// Hash implements bloomery.Hashed. A later version may be made with another hash: View answers
// by one version.
func (f *Filter) Hash(key []byte) uint64 { return f.live.Load().Hash(key) }

// ContainsHash implements bloomery.Hashed.
func (f *Filter) ContainsHash(h uint64) bool { return f.live.Load().ContainsHash(h) }

// ContainsHashes implements bloomery.Hashed.
func (f *Filter) ContainsHashes(dst []bool, hs []uint64) { f.live.Load().ContainsHashes(dst, hs) }

// Stats implements bloomery.Filter.
func (f *Filter) Stats() bloomery.Stats { return f.live.Load().Stats() }

// View returns the present version, which stays as it is.
func (f *Filter) View() bloomery.View { return f.live.Load().View }

// String returns the version and Stats as a line of text.
func (f *Filter) String() string {
	live := f.live.Load()
	return fmt.Sprintf("version %d of %s: %s", live.version.Number, live.version.Made.Format(time.RFC3339), live.View)
}
