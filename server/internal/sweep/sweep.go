// Package sweep does what time asks for, whether or not clients do anything: it removes what
// is past its deadline, drops what was staged and given up, and lets windows forget.
package sweep

import (
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/gate"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Sweeper removes what is past its deadline. All of its fields are set before it is used.
//
// Safe for concurrent use.
type Sweeper struct {
	State *store.State
	Door  door.Door
	// Shared is the door if other machines write, too; nil if not.
	Shared  door.Shared
	Gate    *gate.Gate
	Pause   *session.Pause
	Expired *atomic.Int64 // counts what was removed
	Clock   func() time.Time

	advanced atomic.Int64 // when windows were looked at, in milliseconds since 1970
	looked   atomic.Int64 // when filters without a name were, the same way
}

// Sweep removes what is past its deadline, at most so many entries, and returns
// how many it found. What could not be removed comes up again.
func (s *Sweeper) Sweep(most int) int {
	now := s.Clock().UnixMilli()
	if s.Door.Refuses() != nil || s.Pause.Any() {
		return 0 // nobody sees what is past its deadline
	}
	s.Door.Ready(false)
	due := now
	if s.Shared != nil {
		due -= s.Shared.Grace().Milliseconds() // another machine is expected to do it
	}
	s.advance(due)
	if s.Shared != nil {
		s.endStuck(now, due == now)
	}
	ids := s.State.Names.Due(due, most)
	if s.Shared != nil && due == now {
		ids = append(ids, s.abandoned(now)...)
	}
	if len(ids) == 0 {
		return 0
	}
	op := &door.Op{Record: store.Record{At: now, Body: &store.Evict{IDs: ids}}}
	if s.do(op); op.Err != nil {
		return 0
	}
	s.Expired.Add(op.Result.N)
	return len(ids)
}

// do puts an op in order, inside the gate, and waits for it outside.
func (s *Sweeper) do(op *door.Op) {
	ops := []*door.Op{op}
	const slot = 0
	s.Gate.Enter(slot)
	s.Door.Do(ops)
	s.Gate.Leave(slot)
	if !op.Settled {
		s.Door.Wait(ops)
	}
}

// endStuck ends commits of rebuilds that their machines will not end: adds are refused until then. Each machine
// does so for its own, and the one that decides for those that are gone.
func (s *Sweeper) endStuck(now int64, decides bool) {
	if len(s.State.Roster().Attempts()) == 0 {
		return
	}
	v := s.Shared.Cluster()
	live := func(node uint32) bool {
		for i := range v.Nodes {
			if n := &v.Nodes[i]; n.Number == node {
				return n.Live || n.Awaited
			}
		}
		return false
	}
	if !decides {
		live = func(uint32) bool { return true }
	}
	for _, a := range s.State.Stuck(v.Node, live) {
		s.do(&door.Op{Record: store.Record{At: now, Body: &store.RebuildStep{ID: a.ID, What: store.StepEnd, Attempt: a.Number}}})
	}
}

// abandonedAfter is when a filter that has no name yet is given up, in milliseconds: its
// machine is gone. A single server finds such filters when it recovers.
const abandonedAfter = 24 * 60 * 60 * 1000

// lookForAbandoned is how often they are looked for, in milliseconds.
const lookForAbandoned = 60_000

// abandoned returns the ids of filters that have had no name for long.
func (s *Sweeper) abandoned(now int64) (ids []uint64) {
	if last := s.looked.Load(); now-last < lookForAbandoned && now >= last || !s.looked.CompareAndSwap(last, now) {
		return nil
	}
	s.State.Names.Lock()
	defer s.State.Names.Unlock()
	for _, entry := range s.State.Names.Unnamed() {
		if s.State.Roster().Keeps(entry.ID) {
			continue
		}
		if p := contents.PartOf(entry); p != nil && p.Made() > 0 && now-p.Made()*1000 > abandonedAfter {
			ids = append(ids, entry.ID)
		}
	}
	return ids
}
