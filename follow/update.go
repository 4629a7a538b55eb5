package follow

// How a copy is kept up to date by a server.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bloomery/bloomery"
)

const (
	// saveSoon and saveEvery are how often a copy that changes all the time is written to disk: in
	// between, it is left alone for saveShare times as long as the last write took.
	saveSoon  = time.Second
	saveEvery = 10 * time.Second
	saveShare = 20
	// shortPause is how long news of a server are gathered at least.
	shortPause = 10 * time.Millisecond
	// idleShare is for how much of the time a copy that changes all the time is left alone: so
	// many times as long as its last change took.
	idleShare = 3
)

// pause returns how long to wait before a server is asked again.
func (f *Filter) pause(every time.Duration) time.Duration {
	if f.Err() != nil {
		return every
	}
	return min(every, max(shortPause, idleShare*time.Duration(f.busy.Load())))
}

// updateFromServer brings the copy up to date. If there is nothing new it waits for it.
func (f *Filter) updateFromServer(ctx context.Context, block time.Duration) error {
	s, name := f.server, f.config.Filter
	if of := f.kept.Filter; of != "" && of != name {
		return fmt.Errorf("%w: %s is a copy of %s, not of %s", ErrOther, f.config.File, of, name)
	}
	have := f.live.Load()
	if have == nil {
		have = f.found // a file that no note names
	}
	if s.parts == nil && have != nil {
		parts, err := split(have.data)
		if err != nil {
			return err
		}
		if s.parts, s.sum = parts, ""; have.version.Sum == f.kept.Sum {
			s.token = f.kept.Token
		}
	}
	before := f.live.Load()
	if s.version = 0; before != nil {
		s.version, s.age = before.version.Number, f.Age()
	}
	parts, err := s.ask(ctx, block)
	began := time.Now()
	if err != nil {
		return err
	}
	switch {
	case parts == nil && before == nil:
		have.version = Version{1, time.Now().UTC().Truncate(time.Second), have.version.Sum}
		f.live.Store(have)
		return nil
	case parts == nil:
		f.busy.Store(0)
		return nil
	case before == nil && f.found != nil:
		s.token, s.parts = "", nil
		return fmt.Errorf("%s exists and is %w", f.config.File, ErrOther)
	}
	data, v, err := f.joined(parts)
	if err != nil { // they are no copy: the next question is about the one that answers
		s.token, s.parts = "", nil
		return err
	}
	version := Version{f.kept.Number + 1, time.Now().UTC().Truncate(time.Second), sumOf(data)}
	if before != nil {
		version.Number = before.version.Number + 1
	}
	if len(parts) == 1 {
		s.sum = version.Sum
	}
	f.live.Store(&edition{v, data, version})
	f.busy.Store(int64(time.Since(began)))
	return nil
}

// joined returns the encoding of parts, and a view of it.
func (f *Filter) joined(parts [][]byte) (data []byte, v bloomery.View, err error) {
	if data, err = join(parts); err == nil {
		v, err = view(f.opening(), data)
	}
	return data, v, err
}

// saveAt is when a copy that has changed may be written to disk.
func (f *Filter) saveAt() time.Time {
	return f.saved.Add(min(saveEvery, max(saveSoon, saveShare*f.saving)))
}

// patience is how long news are waited for, out of block: not longer than a copy may lack on
// disk.
func (f *Filter) patience(block time.Duration) time.Duration {
	live := f.live.Load()
	if f.config.File == "" || live == nil || live.version == f.kept.Version {
		return block
	}
	return min(block, max(0, time.Until(f.saveAt())))
}

// persist writes the copy to disk, if that was not done lately.
func (f *Filter) persist(now bool) error {
	live := f.live.Load()
	if live == nil || f.config.File == "" {
		return nil
	}
	_, err := os.Stat(f.config.File)
	missing := errors.Is(err, fs.ErrNotExist)
	if !missing && f.kept.Version == live.version && f.kept.Token == f.server.token && !now {
		return err
	}
	if !missing && !now && time.Until(f.saveAt()) > 0 {
		return nil
	}
	f.saved = time.Now()
	defer func() { f.saving = time.Since(f.saved) }()
	if missing || f.kept.Version != live.version {
		if err := f.save(f.config.Filter, live); err != nil {
			return err
		}
	}
	return f.note(state{Version: live.version, Filter: f.config.Filter, Token: f.server.token, Checked: f.seen.Load().checked.Round(0)})
}
