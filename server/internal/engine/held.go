package engine

// Contents that other machines hold.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// What an answer would need that is not here. Nobody is told that an item is absent because
// its filter is elsewhere.
const (
	// TextElsewhere is the error of a command on a key whose contents other nodes hold.
	TextElsewhere  = refusal.TextElsewhere
	textInPart     = "ERR %s needs contents of several nodes, which a transaction cannot have: send it without MULTI"
	textNoHolder   = "CLUSTERDOWN shard %d has no live holder: contents of this key are in it, and of the nodes that hold it none was heard of lately"
	textNotFetched = "CLUSTERDOWN contents of %s cannot be fetched from the nodes that hold them (%s): send it again"
	textSilent     = "CLUSTERDOWN nodes that hold contents of this key do not answer: send it again"
	textLayersFar  = "NOPERM other nodes hold these layers, and this user has not all rights: ask a node that holds them"
	textMoved      = "CLUSTERDOWN contents of this key were moved to other nodes while the command ran, and some of its items may be done: send it again"
	textSpread     = "ERR %s needs contents that no single node holds: it works if one node holds all of them"
)

// LooksInside reports whether a command looks at what is in filters and sketches, not at
// names alone.
func (c *Command) LooksInside() bool {
	switch c.Group {
	case traits.GroupBloom, traits.GroupCuckoo, traits.GroupFilter, traits.GroupCountMin, traits.GroupTopK, traits.GroupTDigest:
		return len(c.Keys) > 0 || c.Flags&traits.Contents != 0
	}
	return c.Flags&traits.Contents != 0
}

// looksInto reports whether a command looks at what is in an entry. Those of RedisBloom tell of a filter of package codec
// that it is another type, wherever its parts lie.
func (c *Command) looksInto(entry *catalog.Entry) bool {
	switch c.Group {
	case traits.GroupBloom, traits.GroupCuckoo, traits.GroupCountMin, traits.GroupTopK, traits.GroupTDigest:
		return entry.Kind != catalog.Filter
	}
	return true
}

// here brings calls to where they can be run: what they look at is settled, and its contents
// are here. It reports false if they were answered, or passed on to another machine. The
// first call says what they look at.
func (e *Engine) here(s *Session, calls []Call) bool {
	if e.state.Holdings() != nil && !e.holds(s, calls) {
		return false
	}
	if s.group != nil || !s.w.underway() || !s.w.touched(&calls[0]) { // a group is not sent yet: nothing can be settled
		return true
	}
	e.settle(s)
	return e.state.Holdings() == nil || e.holds(s, calls)
}

// holds is the part of here for machines that do not hold all contents.
func (e *Engine) holds(s *Session, calls []Call) bool {
	c := &calls[0]
	switch {
	case !c.cmd.inside || c.cmd.Flags&traits.Undivided != 0:
		return true
	case s.passes:
		notHere(s, calls)
		return false
	case s.only != nil && (c.cmd.Assemble != nil || c.cmd.Gathers):
		if !e.holdsOnly(s, c) {
			notHere(s, calls)
			return false
		}
		return true
	case !s.helps && s.group == nil && e.assembles(s, c):
		e.assemble(s, c)
		return false
	case c.cmd.Gathers && !s.helps && s.group == nil:
		e.settle(s)
		e.leave(s)
		return true
	case e.apart(s, calls):
		e.settle(s)
		e.leave(s)
		return true
	case e.fetches(s, calls):
		e.settle(s)
		e.leave(s)
		return e.fetch(s, c)
	case !named(c):
		whole := e.state.Holdings().Everything()
		if !whole {
			c.Fail(fmt.Sprintf(textInPart, strings.ToUpper(c.cmd.Name)))
		}
		return whole
	}
	s.held = e.state.Holdings()
	for e.far(s, calls) {
		switch {
		case s.helps:
			notHere(s, calls)
			return false
		case c.Hashed():
			failAll(calls, textNotHere)
			return false
		case s.group != nil:
			s.group.refuse(textFar)
			failAll(calls, "EXECABORT "+textFar)
			return false
		case c.Pieces != nil && c.Pieces.Done > 0 && c.cmd.writes():
			c.Fail(textMoved)
			return false
		}
		if e.barredFar(s, calls) || e.cut(s, c) {
			return false
		}
		joined := e.join(s, calls)
		passed, text := e.routes(s, joined)
		switch {
		case text != "":
			failAll(calls, text)
			return false
		case len(passed) == 0: // the name stands for another filter since
		case !s.w.conflicts(c, passed):
			e.await(s, calls, joined, passed)
			e.putAside(s, passed)
			return false
		default:
			e.settle(s)
		}
		s.held = e.state.Holdings()
	}
	if s.group == nil && e.router.Lacks() {
		e.leave(s)
		defer e.back(s, e.awaits(s, "what another machine has answered"))
		if err := e.router.CatchUp(); err != nil {
			failAll(calls, e.unsettled(err).Text)
			return false
		}
	}
	return true
}

// cut runs a call piece by piece that is too long to be passed on. It reports false if that cannot be done, or need not.
func (e *Engine) cut(s *Session, c *Call) bool {
	if c.cmd.Cut == nil || callSize(c.Args) <= door.MaxQuestion {
		return false
	}
	pieces := c.cmd.Cut(c.Args)
	e.settle(s)
	for _, args := range pieces {
		calls := []Call{{Args: args, cmd: c.cmd}}
		e.perform(s, calls)
		e.settle(s)
		if c.Answer(calls[0].Reply); c.Reply.Failed() {
			break
		}
	}
	return len(pieces) > 0
}

// named reports whether a call names a key.
func named(c *Call) (is bool) {
	c.cmd.Keys.Each(c.Args, func(int, traits.Key) { is = true })
	return is
}

// barredFar answers calls that the user may not make because of what their keys hold: another
// machine runs them with all rights. It reports whether there was one.
func (e *Engine) barredFar(s *Session, calls []Call) (barred bool) {
	u := s.Rights()
	for i := range calls {
		c := &calls[i]
		if u.All() {
			break
		}
		if f := c.cmd.bundling.Layers; f != nil {
			if entry := e.state.Names.Lookup(c.Args[1], s.ms); entry != nil && entry.Kind == f.Kind {
				c.Fail(textLayersFar) // who may ask them is known where they are
			}
		}
		if c.cmd.Also != nil && !c.answered {
			c.cmd.Also(&Context{e: e, s: s, as: u, cmd: c.cmd}, c)
			c.answered = c.answered && strings.HasPrefix(c.Reply.Text, "NOPERM ")
		}
		barred = barred || c.answered
	}
	return barred
}

// notHere tells another machine that this one does not hold what calls are about. Who has asked for a client of its own
// finds the contents again.
func notHere(s *Session, calls []Call) {
	s.passes = s.helps
	failAll(calls, textNotHere)
}

func failAll(calls []Call, text string) {
	for i := range calls {
		calls[i].Fail(text)
	}
}

// far reports whether calls need contents that this machine does not answer for.
func (e *Engine) far(s *Session, calls []Call) (far bool) {
	c := &calls[0]
	if c.cmd.On != nil || c.cmd.Split != nil {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		return entry != nil && c.cmd.looksInto(entry) && !e.answers(entry) && (!splits(c, entry) || e.itemsFar(s, calls, entry))
	}
	if p := e.onePart(s, c); p != nil {
		return !e.state.Answers(p)
	}
	inside := len(c.cmd.Keys) == 1
	c.cmd.Keys.Each(c.Args, func(i int, k traits.Key) {
		if k.Access == traits.KeyNew {
			return // what has the name already is not looked into
		}
		entry := e.state.Names.Lookup(c.Args[i], s.ms)
		inside = inside || entry != nil && contents.PartOf(entry) != nil
		far = far || entry != nil && c.cmd.looksInto(entry) && !e.answers(entry)
	})
	shard := e.lands(s, c)
	return far || inside && shard >= 0 && !e.state.Holdings().Answers(shard)
}

// onePart returns the part that a call is about, nil if it is about more.
func (e *Engine) onePart(s *Session, c *Call) *contents.Part {
	if c.cmd.OnePart == nil {
		return nil
	}
	entry := e.state.Names.Lookup(c.Args[1], s.ms)
	if entry == nil || entry.Kind != catalog.Filter {
		return nil
	}
	return contents.PartAt(entry, uint32(c.cmd.OnePart(c.Args, contents.PartCount(entry))))
}

// Landing is a Lands of commands whose destination is at i.
func Landing(i int) func([][]byte) int { return func([][]byte) int { return i } }

// lands returns the shard in which a call makes contents, -1 if it makes none, or they take the
// place of others.
func (e *Engine) lands(s *Session, c *Call) int {
	if c.cmd.Lands == nil {
		return -1
	}
	i := c.cmd.Lands(c.Args)
	if i == 0 {
		return -1
	}
	if entry := e.state.Names.Lookup(c.Args[i], s.ms); entry != nil && contents.PartOf(entry) != nil {
		return -1
	}
	return placement.Base(string(c.Args[i]))
}

// answers reports whether this machine answers for all contents of an entry.
func (e *Engine) answers(entry *catalog.Entry) bool {
	for _, p := range contents.Parts(entry) {
		if !e.state.Answers(p) {
			return false
		}
	}
	return true
}

// routes returns to which machines calls are passed on, none if that is not known, or why they cannot be.
func (e *Engine) routes(s *Session, calls []Call) ([]*passing, string) {
	c := &calls[0]
	if c.cmd.Split != nil {
		if entry := e.state.Names.Lookup(c.Args[1], s.ms); entry != nil && splits(c, entry) {
			return e.split(s, calls, entry)
		}
	}
	p := &passing{calls: calls}
	text := e.route(s, p, c)
	return []*passing{p}, text
}

// route adds to p which machines hold all that a call is about, or returns why it cannot be
// passed on.
func (e *Engine) route(s *Session, p *passing, c *Call) (text string) {
	text = e.locate(s, p, c)
	switch {
	case text != "":
		return text
	case c.cmd.Flags&traits.Fetches != 0 && s.inVain(p.nodes):
		if p.nodes = e.changers(s, c); len(p.nodes) == 0 {
			return textMoving
		}
		return ""
	case len(p.nodes) == 0:
		return fmt.Sprintf(textSpread, strings.ToUpper(c.cmd.Name))
	}
	return ""
}

// locate adds to p which machines hold all that a call is about, if any do. It returns why nobody can be
// asked for some of it.
func (e *Engine) locate(s *Session, p *passing, c *Call) (text string) {
	c.cmd.Keys.Each(c.Args, func(i int, k traits.Key) {
		entry := e.state.Names.Lookup(c.Args[i], s.ms)
		if entry == nil || !c.cmd.looksInto(entry) || contents.Everywhere(entry) || k.Access == traits.KeyNew {
			return
		}
		only := e.onePart(s, c)
		for i, part := range contents.Parts(entry) {
			if only != nil && part != only {
				continue
			}
			holders := e.holders(s, part.Shard())
			if len(holders) == 0 && !e.state.Answers(part) {
				text = fmt.Sprintf(textNoHolder, part.Shard())
				return
			}
			p.add(holders, e.shared.LaneOf(entry.ID, uint32(i)))
		}
	})
	if shard := e.lands(s, c); shard >= 0 && text == "" {
		holders := e.holders(s, shard)
		if len(holders) == 0 && !e.state.Holdings().Answers(shard) {
			text = fmt.Sprintf(textNoHolder, shard)
		}
		p.add(holders, 0)
	}
	return text
}

// add adds that a passing is about contents in a lane that some machines hold.
func (p *passing) add(holders []uint32, lane int) {
	if len(p.lanes) > 0 {
		both := common(p.nodes, holders)
		p.fewer = p.fewer || len(both) < max(len(p.nodes), len(holders))
		holders = both
	}
	p.nodes = holders
	if !slices.Contains(p.lanes, lane) {
		p.lanes = append(p.lanes, lane)
	}
}

// holders returns the machines that hold a shard, the nearest first. Those that have not answered come last: they may
// only be slow, and the others may have died.
func (e *Engine) holders(s *Session, shard int) []uint32 {
	untried := e.untried(s, shard)
	if len(s.avoid) == 0 {
		return untried
	}
	return append(untried, common(e.router.Holders(shard), s.avoid)...)
}

// untried is holders without those that have not answered.
func (e *Engine) untried(s *Session, shard int) []uint32 {
	nodes := e.router.Holders(shard)
	if len(s.avoid) > 0 {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n uint32) bool { return slices.Contains(s.avoid, n) })
	}
	return nodes
}

// inVain reports whether there is no machine among some that was not asked in vain.
func (s *Session) inVain(nodes []uint32) bool { return len(common(nodes, s.avoid)) == len(nodes) }

// nodesNamed returns machines as people know them.
func (e *Engine) nodesNamed(nodes []uint32) string {
	status := e.shared.Cluster()
	var names []string
	for _, n := range nodes {
		name := fmt.Sprintf("node %d", n)
		for i := range status.Nodes {
			if v := &status.Nodes[i]; v.Number == n && v.Addr != "" {
				name += " (" + v.Addr + ")"
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// conflicts reports whether a call that is to be passed on has to wait: a record on its way touches
// what it is about, or another call that goes elsewhere.
func (w *Workspace) conflicts(c *Call, passed []*passing) (hit bool) {
	c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
		for j := range w.pending {
			hit = hit || w.pending[j].Calls[0].touches(c.Args[i])
		}
		for _, v := range w.passed {
			if first := &v.calls[0]; c.cmd.writes() || first.cmd.writes() {
				hit = hit || first.touches(c.Args[i]) && (len(passed) > 1 || !slices.Equal(v.nodes, passed[0].nodes))
			}
		}
	})
	return hit
}

// putAside has calls wait for other machines. What this machine holds of them is run first: what
// it looks at is not under way yet.
func (e *Engine) putAside(s *Session, passed []*passing) {
	for _, p := range passed {
		if v := p.whole; v != nil && !v.call.waiting {
			v.call.waiting = true
			s.w.wholes = append(s.w.wholes, v)
		}
		if len(p.nodes) > 0 {
			for i := range p.calls {
				p.calls[i].waiting, p.calls[i].Pieces = true, nil
			}
		}
	}
	for _, p := range passed {
		if len(p.nodes) == 0 {
			began, _ := e.later(s.now)
			metered := s.filter // what was looked up here before, which is counted with all of it
			e.again(s, p.calls)
			if p.calls[0].stale() {
				p.unfold()
				e.again(s, p.calls)
			}
			if p.whole != nil {
				_, took := e.later(began)
				e.measure(s, &p.calls[0], took)
				s.filter = metered
			}
		}
	}
	for _, p := range passed {
		if len(p.nodes) > 0 {
			s.w.passed = append(s.w.passed, p)
		}
	}
}
