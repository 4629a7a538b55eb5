package engine

// Calls that wait for news of a filter.

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/following"
)

// A call that waits for news is parked: Exec stops in front of it, and the connection goes on
// to wait for its client, as an idle one does. When there is news, when its time is over, and
// when the client sends something, the call is run again. So it costs what an idle
// connection does, and some hundred bytes; no goroutine waits for it.

// parking is what a session needs for calls that wait.
type parking struct {
	wake func() // has the call run again, from any goroutine; nil if the session cannot wait
	may  bool   // nothing stands behind the last call
	is   bool   // it is parked
	wait *wait  // nil if no call waits
}

// wait is a call that waits.
type wait struct {
	news  *following.News
	timer *time.Timer
	again *time.Timer // of the last Park that was not for 0
	over  atomic.Bool // its time has passed
}

// OnWake lets calls of the session be parked. wake has its connection call Exec again, and may
// be called from any goroutine.
func (s *Session) OnWake(wake func()) { s.park.wake = wake }

// MayPark says whether the last call that Exec will see may be parked.
func (s *Session) MayPark(yes bool) { s.park.may = yes }

// Parked reports whether Exec has stopped in front of a call that waits for news.
func (s *Session) Parked() bool { return s.park.is }

// Await has a call wait for news of a filter, for d from the first time on: the caller then
// looks once more, and calls Park or answers. It reports false if the call must be answered
// now: its time is over, the client has sent more, or it is part of a transaction.
func (x Contents) Await(c *Call, n *following.News, d time.Duration) bool {
	s := x.s
	p := &s.park
	if s.alone || s.multi || p.wake == nil || !p.may || c != &s.w.Calls[len(s.w.Calls)-1] || p.wait != nil && p.wait.over.Load() {
		return false
	}
	switch {
	case p.wait == nil:
		w := &wait{news: n}
		w.timer = time.AfterFunc(d, func() {
			w.over.Store(true)
			p.wake()
		})
		p.wait = w
	case p.wait.news != n: // another filter has the name now
		x.e.waiting.remove(p.wait.news, s)
		p.wait.news = n
	}
	x.e.waiting.add(n, s)
	return true
}

// Park leaves a call for later, for which Await has reported true. Unless d is 0 it looks again
// after d, give or take a half, whatever happens, and once: a call that is run again meanwhile, and parked, has one timer.
func (x Contents) Park(d time.Duration) {
	p := &x.s.park
	if p.is = true; d == 0 {
		return
	}
	if d = d/2 + rand.N(d); p.wait.again == nil {
		p.wait.again = time.AfterFunc(d, p.wake)
	} else {
		p.wait.again.Reset(d)
	}
}

// unpark forgets that a call of s has waited.
func (e *Engine) unpark(s *Session) {
	if w := s.park.wait; w != nil {
		w.timer.Stop()
		if w.again != nil {
			w.again.Stop()
		}
		e.waiting.remove(w.news, s)
		s.park.wait = nil
	}
}

// waiters are the sessions that wait for news of filters.
//
// Safe for concurrent use.
type waiters struct {
	// mu guards what follows.
	mu      sync.Mutex
	of      map[*following.News]map[*Session]struct{}
	count   int
	running bool

	kick chan struct{}
	due  sync.Map // *following.News: something has happened to it
}

// gatherFrom is how many clients may wait before news are gathered: with more of them, none
// gets news more often than once in gatherFor.
const (
	gatherFrom = 1000
	gatherFor  = time.Second
)

func (w *waiters) add(n *following.News, s *Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.of[n]
	if list == nil {
		if w.of == nil {
			w.of = map[*following.News]map[*Session]struct{}{}
		}
		list = map[*Session]struct{}{}
		w.of[n] = list
		n.Await(true)
	}
	if _, there := list[s]; !there {
		list[s] = struct{}{}
		w.count++
	}
	if !w.running {
		w.running = true
		go w.run()
	}
}

func (w *waiters) remove(n *following.News, s *Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.of[n]
	if _, there := list[s]; !there {
		return
	}
	delete(list, s)
	if w.count--; len(list) == 0 {
		delete(w.of, n)
		n.Await(false)
	}
	if w.count == 0 {
		w.poke()
	}
}

// clients returns how many clients wait.
func (w *waiters) clients() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int64(w.count)
}

// happened notes that something has happened. It does not wait.
func (w *waiters) happened(n *following.News) {
	if !n.Awaited() {
		return
	}
	w.due.Store(n, nil)
	w.poke()
}

func (w *waiters) poke() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// run wakes those who wait, as long as there are any.
func (w *waiters) run() {
	for range w.kick {
		w.mu.Lock()
		if w.count == 0 {
			w.running = false
			w.due.Clear()
			w.mu.Unlock()
			return
		}
		many := w.count > gatherFrom
		w.mu.Unlock()
		w.wakeAll()
		if many {
			time.Sleep(gatherFor)
		}
	}
}

// wakeAll wakes who waits for what has happened.
func (w *waiters) wakeAll() {
	var wake []func()
	w.mu.Lock()
	for key := range w.due.Range {
		w.due.Delete(key)
		n := key.(*following.News)
		for s := range w.of[n] {
			wake = append(wake, s.park.wake)
		}
	}
	w.mu.Unlock()
	for _, f := range wake {
		f()
	}
}

// News returns what happened to the filter of an entry, and begins to note it if that is not
// done yet. It returns nil if there is no memory for that.
func (x Contents) News(entry *catalog.Entry) *following.News {
	n := x.e.newsOf(entry)
	if n != nil {
		n.Asked(x.s.ms)
	}
	return n
}

// Follows reports whether n is still what happens to the filter of an entry: other parts may be in it now.
func (x Contents) Follows(entry *catalog.Entry, n *following.News) bool {
	now := x.e.state.Names.ByID(entry.ID)
	return now != nil && x.e.state.News(now) == n
}

// NewsBytes returns the memory that the news of a filter take, 0 if nobody follows it.
func (x Contents) NewsBytes(entry *catalog.Entry) int64 {
	if contents.PartOf(entry) == nil {
		return 0
	}
	if n := x.e.state.News(entry); n != nil {
		return n.Bytes()
	}
	return 0
}

// Followers returns who has asked for news of a filter.
func (x Contents) Followers(entry *catalog.Entry) []following.Follower {
	if !following.MayBeFollowed(entry.Kind) || contents.PartOf(entry) == nil {
		return nil
	}
	return x.e.state.Followers(entry)
}

// newsKept is how long changes of a filter are noted that nobody asks for, in milliseconds.
const newsKept = 60 * 60 * 1000

// forgetNews forgets the news of filters that are gone, or that nobody has asked for in a
// while, and wakes who waits for a filter that has become another one.
func (e *Engine) forgetNews() {
	for _, n := range e.state.Followed() {
		stale := n.Stale()
		if stale {
			e.waiting.happened(n)
		}
		if stale || !n.Kept() && !n.Awaited() && e.clock().UnixMilli()-n.LastAsked() > newsKept {
			e.state.Unfollow(n)
		}
	}
}
