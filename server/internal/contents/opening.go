package contents

// Filters that are opened when the last bytes of their encoding have come.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// Opening is a filter that is made of an encoding whose last bytes have come. A large one takes half a second, and is opened
// outside all locks: the record that brought the bytes has had its effect then, and what is behind it goes on.
type Opening struct {
	ready  chan struct{} // closed when there is a filter, or an error
	done   chan struct{} // closed when the part has it
	filter *Filter
	err    error // wraps ErrMemory, or says what is wrong with the bytes
}

// Wait returns when the part has the filter, or why it has none. The caller holds no lock of the part.
func (o *Opening) Wait() error {
	<-o.done
	return o.err
}

// openAtOnce is up to how many bytes an encoding is opened under the lock of its part: that takes about a millisecond.
const openAtOnce = 512 << 10

// begin notes that all bytes have come.
func (l *loading) begin() *Opening {
	l.opening = &Opening{ready: make(chan struct{}), done: make(chan struct{})}
	return l.opening
}

// open begins to make a filter of the encoding that has come. The caller holds the lock of p.
func (s *Supply) open(p *Part, l *loading) *Opening {
	o := l.begin()
	if len(l.buf) <= openAtOnce {
		o.make(s, l)
		s.opened(p, l)
		close(o.done)
		return o
	}
	p.Hold() // whoever removes the part leaves it the bytes
	go func() {
		defer close(o.done)
		o.make(s, l)
		p.Lock()
		s.opened(p, l)
		p.Unlock()
		p.Unhold()
	}()
	return o
}

// reopen returns the filter of an encoding that a copy has, all of which had come. One that cannot be opened stays as it is:
// no name was given to it, or whoever gives it one finds out.
func (s *Supply) reopen(l *loading) (Contents, error) {
	o := l.begin()
	o.make(s, l)
	close(o.done)
	switch {
	case errors.Is(o.err, ErrMemory):
		l.Release()
		return nil, o.err
	case o.err != nil:
		return l, nil
	}
	l.Release()
	return o.filter, nil
}

// make makes the filter. Nobody changes what has come. A fault in that is one of the bytes: it must not end the server, which
// would meet them again in its log.
func (o *Opening) make(s *Supply, l *loading) {
	defer close(o.ready)
	defer func() {
		if v := recover(); v != nil {
			o.err = fmt.Errorf("store: load: %w: %v", bloomery.ErrCorrupt, v)
		}
	}()
	if o.filter, o.err = s.openContents(l.plan, l.buf); o.err != nil {
		return
	}
	if o.err = l.fits(o.filter); o.err != nil {
		o.filter.Release()
	}
}

// opened puts the filter that was made in the place of its encoding, unless that was done. What that takes is counted. The
// caller holds the lock of p.
func (s *Supply) opened(p *Part, l *loading) {
	c := l.opening.filter
	switch {
	case l.opening.err != nil || p.contents != Contents(l):
	case p.Gone():
		c.Release()
	default:
		s.taken.Add(int64(c.Bytes()) - int64(l.Bytes()))
		l.Release()
		p.contents = c
		p.Measure()
	}
}

// Opening returns what the part becomes, nil if not all bytes have come, or it is of another kind. The caller holds a lock.
func (p *Part) Opening() *Opening {
	if l, ok := p.contents.(*loading); ok {
		return l.opening
	}
	return nil
}

// AwaitOpened waits for the filter of a part for which a record has come, and reports whether there is one now. The caller
// holds the lock of the part.
func (s *Supply) AwaitOpened(p *Part) bool {
	o := p.Opening()
	if o == nil {
		return false
	}
	<-o.ready
	s.opened(p, p.contents.(*loading))
	return o.err == nil
}

// Opened waits until a part that is being opened is there, and returns why it cannot be. The caller holds no lock of it.
func (p *Part) Opened() error {
	p.RLock()
	o := p.Opening()
	p.RUnlock()
	if o == nil {
		return nil
	}
	return o.Wait()
}

// Opened is that of all parts of a staged filter.
func Opened(e *catalog.Entry) error {
	for _, p := range Parts(e) {
		if err := p.Opened(); err != nil {
			return err
		}
	}
	return nil
}

// Whole reports whether all parts of a staged filter are there.
func Whole(e *catalog.Entry) bool {
	for _, p := range Parts(e) {
		p.RLock()
		_, open := p.contents.(*loading)
		p.RUnlock()
		if open {
			return false
		}
	}
	return true
}
