package engine

// Reads that see what any machine has acknowledged.

import (
	"errors"
	"slices"
	"sync"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// SetOwner has the reads of the client see everything that any machine of the cluster
// had acknowledged when they were sent, or not wait for that. Without a cluster they
// always do.
func (x *Context) SetOwner(on bool) { x.s.owner = on }

// stretch returns the calls up to the first behind which reads may have to wait for
// something else: the client asks for that, or a name stands for another filter. It is
// known before calls are run what they wait for, so the next ones are run separately.
func stretch(calls []Call) []Call {
	for i := range calls {
		if isNews(calls[i].Args) {
			return calls[:max(1, i)] // they wait for more than what stands before them
		}
		if name := calls[i].Args[0]; answer.Is(name, "filter.read") || answer.Is(name, "rename") || answer.Is(name, "renamenx") {
			return calls[:i+1]
		}
	}
	return calls
}

// isNews reports whether a call asks what a copy of a filter lacks. It must not be told that
// this is nothing by a machine which does not know: so it waits as the reads of owners do.
func isNews(args [][]byte) bool { return answer.Is(args[0], "filter.news") }

// asksNews reports whether news are among calls, or in a transaction that they run.
func (s *Session) asksNews(calls []Call) bool {
	for i := range calls {
		if !s.multi && isNews(calls[i].Args) || s.multi && answer.Is(calls[i].Args[0], "exec") && slices.ContainsFunc(s.queue, isNews) {
			return true
		}
	}
	return false
}

// freshen waits, before calls are run, until this machine has what any machine has
// acknowledged: first of names, since what a name stands for may have changed, then of
// the contents that the names of reads stand for. If that is not possible, reads are
// refused. Writes need no contents: their records decide when they are applied.
func (e *Engine) freshen(s *Session, calls []Call) {
	var keys [][]byte
	needed := false
	note := func(args [][]byte) {
		cmd := e.table.resolve(args)
		if cmd == nil || !cmd.gated || !cmd.Takes(len(args)) {
			return
		}
		if needed = true; !cmd.writes() {
			cmd.Keys.Each(args, func(i int, _ traits.Key) { keys = append(keys, args[i]) })
		}
	}
	for i := range calls {
		if s.multi && answer.Is(calls[i].Args[0], "exec") {
			for _, args := range s.queue {
				note(args)
			}
			continue
		}
		note(calls[i].Args)
	}
	if !needed {
		return
	}
	defer e.back(s, e.awaits(s, "what other machines have acknowledged"))
	if s.stale = e.shared.FreshNames(); s.stale != nil {
		return
	}
	lanes, now := map[int]door.Target{}, e.clock().UnixMilli()
	for _, key := range keys {
		if entry := e.state.Names.Lookup(key, now); entry != nil {
			for i := range contents.Parts(entry) {
				lanes[e.shared.LaneOf(entry.ID, uint32(i))] = door.Target{ID: entry.ID, Index: uint32(i)}
			}
		}
	}
	s.stale = e.freshLanes(lanes)
}

// freshLanes waits for several lanes at once.
func (e *Engine) freshLanes(lanes map[int]door.Target) error {
	var all sync.WaitGroup
	errs, n := make([]error, len(lanes)), 0
	for _, t := range lanes {
		at := n
		n++
		all.Go(func() { errs[at] = e.shared.Fresh(t.ID, t.Index) })
	}
	all.Wait()
	return errors.Join(errs...)
}
