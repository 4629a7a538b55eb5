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
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/regular"
)

// state is what is kept beside a copy on disk.
type state struct {
	Version
	Filter  string    `json:"filter"`
	Checked time.Time `json:"checked"` // when it was the newest, as far as is known
	// Coming is the version that is being put in the place of this one. It is noted before,
	// so that after a crash no older one is taken.
	Coming *Version `json:"coming,omitempty"`
	// Token is what a server has called this version.
	Token string `json:"token,omitempty"`
}

// floor is the newest version that was ever here.
func (s *state) floor() Version {
	if s.Coming != nil && s.Coming.Number > s.Number {
		return *s.Coming
	}
	return s.Version
}

// is returns which version has a sum.
func (s *state) is(sum string) (v Version, ok bool) {
	if s.Coming != nil && s.Coming.Sum == sum {
		return *s.Coming, true
	}
	return s.Version, s.Sum == sum
}

func (f *Filter) stateName() string { return f.config.File + ".follow" }

// load takes the copy on disk, if there is one. A damaged one is no error, it is replaced;
// something else that bears its name is.
func (f *Filter) load() error {
	if f.config.File == "" {
		return nil
	}
	note, err := readFile(f.stateName(), maxNote)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case json.Unmarshal(note, &f.kept) != nil:
		return fmt.Errorf("%s exists and is no note on a copy: %w", f.stateName(), ErrOther)
	}
	data, err := readFile(f.config.File, memory.Limit())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	v, err := view(f.opening(), data)
	if err == nil {
		err = v.Verify()
	}
	if err != nil {
		if note == nil || !bytes.HasPrefix(data, []byte(envelope.Magic)) && !isDump(data) {
			return fmt.Errorf("%s exists and is %w: %w", f.config.File, ErrOther, err)
		}
		return nil // it is damaged, and replaced
	}
	e := &edition{v, data, Version{Sum: sumOf(data)}}
	version, ok := f.kept.is(e.version.Sum)
	if !ok {
		f.found = e
		return nil
	}
	e.version = version
	f.live.Store(e)
	if version == f.kept.Version && !f.kept.Checked.After(time.Now()) { // else a clock was set: nobody knows
		f.seen.Store(&outcome{checked: f.kept.Checked})
	}
	return nil
}

// maxNote is more bytes than a note on a copy has: a token of maxParts parts has 60,000.
const maxNote = 1 << 20

// readFile reads a file of so many bytes at most. Others, and what is no file, are nobody's copy: a pipe would be waited for, and
// a long file would fill the memory.
func readFile(name string, most uint64) ([]byte, error) {
	data, err := regular.ReadFile(name, most)
	if errors.Is(err, regular.Err) || errors.Is(err, regular.ErrLong) {
		return nil, fmt.Errorf("%s exists and is %w: it is no file of up to %d bytes", name, ErrOther, most)
	}
	return data, err
}

// opening is how copies are opened.
func (f *Filter) opening() codec.Config {
	return codec.Config{Hasher: f.config.Hasher, Limits: f.config.Limits}
}

// known returns the copy that an entry can be reached from, nil if there is none. A file
// that no note names is one if the index knows it; else it is somebody's, and is not replaced.
func (f *Filter) known(e *entry) (*edition, error) {
	if live := f.live.Load(); live != nil || f.found == nil {
		return live, nil
	}
	sum := f.found.version.Sum
	if sum == e.Sum || slices.ContainsFunc(e.Patches, func(p patch) bool { return p.From == sum }) {
		return f.found, nil
	}
	return nil, fmt.Errorf("%s exists and is %w", f.config.File, ErrOther)
}

// save writes a new copy to disk, and that it comes before.
func (f *Filter) save(name string, e *edition) error {
	if f.config.File == "" {
		return nil
	}
	coming := f.kept
	coming.Filter, coming.Coming = name, &e.version
	if err := f.note(coming); err != nil {
		return err
	}
	return file.WriteFile(f.config.File, bytes.NewReader(e.data))
}

// restore writes the copy again if somebody has removed it.
func (f *Filter) restore() error {
	if f.config.File == "" {
		return nil
	}
	if _, err := os.Stat(f.config.File); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return file.WriteFile(f.config.File, bytes.NewReader(f.live.Load().data))
}

// noteLive notes which version the copy is, and when it was the newest.
func (f *Filter) noteLive() error {
	live := f.live.Load()
	if live == nil {
		return nil
	}
	name := f.kept.Filter
	if f.name != "" {
		name = f.name
	}
	return f.note(state{Version: live.version, Filter: name, Checked: f.seen.Load().checked.Round(0)})
}

// note keeps what is known of the copy.
func (f *Filter) note(s state) error {
	if s == f.kept {
		return nil
	}
	if f.config.File != "" {
		data, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := file.WriteFile(f.stateName(), bytes.NewReader(append(data, '\n'))); err != nil {
			return err
		}
	}
	f.kept = s
	return nil
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
// by one version. A BF has no hashes of 64 bits: of its copy Hash is 0, and ContainsHash reports
// true, as it cannot know better; ask it for keys.
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
