package engine

// Merges of sketches that no single machine holds.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// A command that Fetches is run by a machine that holds what it changes. What it reads is borrowed from those that
// hold it, and given back when the call is answered.

// fetches reports whether a call is run here though other machines hold some of what it reads.
func (e *Engine) fetches(s *Session, calls []Call) bool {
	c := &calls[0]
	if c.cmd.Flags&traits.Fetches == 0 || s.group != nil || s.alone || !e.far(s, calls) || !e.changesHere(s, c) {
		return false
	}
	p := &passing{}
	return s.helps || e.locate(s, p, c) == "" && s.inVain(p.nodes)
}

// changesHere reports whether this machine answers for all that a call changes.
func (e *Engine) changesHere(s *Session, c *Call) bool {
	shard, here := e.lands(s, c), true
	c.cmd.Keys.Each(c.Args, func(i int, k traits.Key) {
		if entry := e.state.Names.Lookup(c.Args[i], s.ms); k.Access != traits.KeyRO && entry != nil && !e.answers(entry) {
			here = false
		}
	})
	return here && (shard < 0 || e.state.Holdings().Answers(shard))
}

// changers returns the machines that hold what a call changes, which is one sketch, the nearest first.
func (e *Engine) changers(s *Session, c *Call) (nodes []uint32) {
	if shard := e.lands(s, c); shard >= 0 {
		return e.holders(s, shard)
	}
	c.cmd.Keys.Each(c.Args, func(i int, k traits.Key) {
		if entry := e.state.Names.Lookup(c.Args[i], s.ms); k.Access != traits.KeyRO && entry != nil && contents.PartOf(entry) != nil {
			nodes = e.holders(s, contents.PartOf(entry).Shard())
		}
	})
	return nodes
}

// fetch borrows the sketches that a call reads and other machines hold. It answers and reports false if one of them
// cannot be had.
func (e *Engine) fetch(s *Session, c *Call) bool {
	x, failed := s.ctx.Contents(), answer.Reply{}
	s.loans = map[uint64]*contents.Part{}
	c.cmd.Keys.Each(c.Args, func(i int, k traits.Key) {
		entry := e.state.Names.Lookup(c.Args[i], s.ms)
		if failed.Kind != answer.None || k.Access != traits.KeyRO || entry == nil || !contents.Merges(entry.Kind) || s.loans[entry.ID] != nil {
			return
		}
		var p *contents.Part
		var giveBack func()
		if p, giveBack, failed = x.Borrow(entry, 0); failed.Kind == answer.None {
			s.loans[entry.ID] = p
			s.repay = append(s.repay, giveBack)
		}
	})
	if failed.Kind != answer.None {
		e.repay(s)
		c.Answer(failed)
	}
	return failed.Kind == answer.None
}

// repay gives back what fetch has borrowed, if it has.
func (e *Engine) repay(s *Session) {
	for _, giveBack := range s.repay {
		giveBack()
	}
	s.loans, s.repay = nil, nil
}

// sketch returns what an entry holds, or the copy of it that was borrowed.
func (s *Session) sketch(entry *catalog.Entry) *contents.Part {
	if p := s.loans[entry.ID]; p != nil {
		return p
	}
	return contents.PartOf(entry)
}

// Sketch returns the sketch of an entry, or the copy of it that was borrowed for the call. It answers and returns nil
// if neither is here: another key has the name since then.
func (x Contents) Sketch(c *Call, entry *catalog.Entry) *contents.Part {
	p := x.s.sketch(entry)
	if p.Elsewhere() {
		c.Fail(textMoving)
		return nil
	}
	return p
}
