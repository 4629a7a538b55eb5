package engine

// Commands that every machine runs for a part of the shards.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/placement"
)

// shardSet is some of all shards.
type shardSet [placement.Shards / 8]byte

func (s *shardSet) add(shard int)      { s[shard/8] |= 1 << (shard % 8) }
func (s *shardSet) has(shard int) bool { return s[shard/8]>>(shard%8)&1 != 0 }

// shardsMark stands in front of the calls of a question that are about some shards, with
// these.
const shardsMark = "\x00shards"

// Mine reports whether a command that is assembled answers for a part of an entry here.
// Everything is, if it is not assembled.
func (x Contents) Mine(entry *catalog.Entry, p *contents.Part) bool {
	switch {
	case x.s.only == nil:
		return true
	case contents.Everywhere(entry):
		return !x.s.helps
	}
	return x.s.only.has(p.Shard())
}

// Assembled reports whether the command is run for some parts only, which are Mine.
func (x Contents) Assembled() bool { return x.s.only != nil }

// Spread reports whether the command has to gather what other machines hold.
func (x Contents) Spread() bool {
	h := x.e.state.Holdings()
	return h != nil && !h.Everything() && !x.Assembled()
}

// Gather has machines run a call of the same command, each for shards that it holds, all shards
// together, and returns their answers, of which none is an error: that is what it returns then. Shards that nobody can be
// asked for are Lost. It is for a command that Gathers and runs outside the gate.
func (x Contents) Gather(args [][]byte) (parts []answer.Reply, failed answer.Reply) {
	return x.e.gatherParts(x.s, &Call{Args: args, cmd: x.s.running})
}

// Lost returns why parts of an entry could not be asked for by the last Gather, or by the command that is
// assembled, "" if all could. With nil it is about parts of anything.
func (x Contents) Lost(entry *catalog.Entry) string {
	switch {
	case len(x.s.lost) == 0:
		return ""
	case entry == nil:
		return x.s.whyLost()
	case contents.Everywhere(entry):
		return ""
	}
	for _, p := range contents.Parts(entry) {
		if why := x.LostPart(p); why != "" {
			return why
		}
	}
	return ""
}

// LostPart is Lost for a part of a filter that not every machine holds.
func (x Contents) LostPart(p *contents.Part) string { return x.s.lost[p.Shard()] }

// Sum is an Assemble that adds numbers up.
func Sum(_ *Context, _ *Call, parts []answer.Reply) answer.Reply {
	n := int64(0)
	for i := range parts {
		n += parts[i].N
	}
	return answer.Integer(n)
}

// assembles reports whether a call is to be run by several machines: it needs parts of a filter that
// lie at several, or all that there is.
func (e *Engine) assembles(s *Session, c *Call) bool {
	if c.cmd.Assemble == nil {
		return false
	}
	entry := e.assembled(s, c)
	return len(c.cmd.Keys) == 0 || entry != nil && contents.PartCount(entry) > 1 && !e.answers(entry)
}

// assembled returns what the key of a call stands for, nil if it has none.
func (e *Engine) assembled(s *Session, c *Call) *catalog.Entry {
	if len(c.cmd.Keys) == 0 {
		return nil
	}
	return e.state.Names.Lookup(c.Args[c.cmd.Keys[0].First], s.ms)
}

// holdsOnly reports whether this machine answers for the shards that it is asked for, as far as
// a call is about them.
func (e *Engine) holdsOnly(s *Session, c *Call) bool {
	if entry := e.assembled(s, c); entry != nil {
		for _, p := range contents.Parts(entry) {
			if s.only.has(p.Shard()) && !e.state.Answers(p) {
				return false
			}
		}
		return true
	}
	for shard := range placement.Shards {
		if len(c.cmd.Keys) == 0 && s.only.has(shard) && !e.state.Holdings().Answers(shard) {
			return false
		}
	}
	return true
}

// assemble has machines run a call, each for shards that it holds, and answers it.
func (e *Engine) assemble(s *Session, c *Call) {
	e.settle(s)
	e.leave(s)
	if parts, failed := e.gatherParts(s, c); failed.Kind != answer.None {
		c.Answer(failed)
	} else {
		c.Answer(c.cmd.Assemble(&s.ctx, c, parts))
	}
}

// gathering is a call that machines run, each for shards that it holds.
type gathering struct {
	call     *Call
	patience time.Duration // with a machine, 0 for as long as an answer may take
	slow     bool          // one has not answered within that
}

// Others are asked if a read takes longer than it usually does. One about all there is may take long.
const (
	patienceAll   = 16 * door.HedgeAfter
	patienceGrows = 16
)

// gather returns how a call is begun.
func gather(c *Call) *gathering {
	g := &gathering{call: c, patience: door.HedgeAfter}
	switch {
	case c.cmd.writes():
		g.patience = 0
	case len(c.cmd.Keys) == 0 && !c.cmd.Gathers:
		g.patience = patienceAll
	}
	return g
}

// wait makes a call patient that nobody has answered in time. It reports false if nobody was slow.
func (g *gathering) wait() bool {
	was := g.slow && g.patience > 0
	if g.slow = false; was {
		if g.patience *= patienceGrows; g.patience > patienceAll {
			g.patience = 0
		}
	}
	return was
}

// gatherParts has machines run a call, each for shards that it holds, and returns their answers, or what failed. Machines
// that do not answer a read soon are left out, as long as others hold the same.
func (e *Engine) gatherParts(s *Session, c *Call) (parts []answer.Reply, failed answer.Reply) {
	defer e.back(s, e.awaits(s, "other machines"))
	g := gather(c)
	for looks := 0; looks < mostLooks; looks++ {
		sets, lanes := e.assign(s, c)
		switch {
		case s.silentShards() && (g.wait() || e.askAgain(s)):
			s.avoid = nil
			looks--
			continue
		case len(s.lost) > 0 && len(c.cmd.Keys) > 0:
			return nil, answer.Fail(s.whyLost())
		}
		silent := len(s.avoid)
		parts, err := e.askSets(s, g, sets, lanes)
		switch {
		case err != nil:
			return nil, e.unsettled(err)
		case len(s.avoid) > silent: // the next nodes are asked, as long as there are some
			looks--
		case parts != nil:
			if i := slices.IndexFunc(parts, func(r answer.Reply) bool { return r.Failed() }); i >= 0 {
				return nil, parts[i]
			}
			return parts, answer.Reply{}
		}
	}
	return nil, answer.Fail(textMoving)
}

// silentShards reports whether all machines that hold some shard were asked in vain.
func (s *Session) silentShards() bool {
	for _, why := range s.lost {
		if why == textSilent {
			return true
		}
	}
	return false
}

// whyLost returns why the first of the shards that nobody can be asked for is one.
func (s *Session) whyLost() string { return s.lost[slices.Min(slices.Collect(maps.Keys(s.lost)))] }

// assign divides the shards that a call is about among the machines that hold them. Those that nobody can be asked for
// are lost.
func (e *Engine) assign(s *Session, c *Call) (sets map[uint32]*shardSet, lanes []int) {
	sets, s.lost = map[uint32]*shardSet{}, map[int]string{}
	assign := func(shard int, here bool) {
		node := e.router.Self()
		if !here {
			nodes := e.untried(s, shard)
			switch {
			case len(nodes) > 0:
				node = nodes[0]
			case len(e.router.Holders(shard)) > 0:
				s.lost[shard] = textSilent
				return
			default:
				s.lost[shard] = fmt.Sprintf(textNoHolder, shard)
				return
			}
		}
		if sets[node] == nil {
			sets[node] = &shardSet{}
		}
		sets[node].add(shard)
	}
	if entry := e.assembled(s, c); entry != nil {
		for i, p := range contents.Parts(entry) {
			assign(p.Shard(), e.state.Answers(p))
			for _, node := range e.everyone(s, c, p) {
				if sets[node] == nil {
					sets[node] = &shardSet{}
				}
			}
			if lane := e.shared.LaneOf(entry.ID, uint32(i)); !slices.Contains(lanes, lane) {
				lanes = append(lanes, lane)
			}
		}
		return sets, lanes
	}
	sets[e.router.Self()] = &shardSet{} // what all machines hold is answered for here
	for shard := range placement.Shards {
		assign(shard, e.state.Holdings().Answers(shard))
	}
	for lane := 1; lane <= e.state.Roster().Lanes+1; lane++ { // the last one is of what every machine holds
		lanes = append(lanes, lane)
	}
	return sets, lanes
}

// everyone returns the machines that hold a part, if all of them are asked that answer.
func (e *Engine) everyone(s *Session, c *Call, p *contents.Part) []uint32 {
	if !c.cmd.Everyone {
		return nil
	}
	return e.untried(s, p.Shard())
}

// askSets has machines run a call for their shards. It returns nil if they have to be found
// again.
func (e *Engine) askSets(s *Session, g *gathering, sets map[uint32]*shardSet, lanes []int) ([]answer.Reply, error) {
	c := g.call
	nodes := slices.Sorted(maps.Keys(sets))
	calls, errs := make([]Call, len(nodes)), make([]error, len(nodes))
	places := make([]door.Answer, len(nodes))
	var others sync.WaitGroup
	held := e.state.Holdings()
	own := -1
	for i, node := range nodes {
		calls[i] = Call{Args: c.Args, cmd: c.cmd}
		if node == e.router.Self() {
			own = i
			continue
		}
		others.Go(func() {
			body := appendCall(nil, [][]byte{[]byte(shardsMark), sets[node][:]})
			q := question{calls: []*Call{&calls[i]}, of: []*passing{{}}}
			q.Question = door.Question{Lanes: lanes, Body: appendCall(body, c.Args), Room: door.MaxQuestion, Writes: c.cmd.writes(), Patience: g.patience}
			if len(q.Body) > door.MaxQuestion {
				calls[i].Fail(fmt.Sprintf(textTooLong, len(q.Body), door.MaxQuestion, e.nodesNamed([]uint32{node})))
				return
			}
			if places[i], errs[i] = e.router.Ask([]uint32{node}, &q.Question); errs[i] == nil {
				errs[i] = q.read(places[i])
			}
		})
	}
	if own >= 0 {
		avoid := s.avoid // which settle forgets
		s.only = sets[nodes[own]]
		e.handle(s, calls[own:own+1])
		e.settle(s)
		e.finish(s, calls[own:own+1])
		s.only, s.avoid = nil, avoid
		e.leave(s)
	}
	others.Wait()
	again := own >= 0 && e.state.Holdings() != held
	replies := make([]answer.Reply, len(nodes))
	for i := range calls {
		replies[i] = calls[i].Reply
		switch err := errs[i]; {
		case err != nil && c.cmd.writes() && errors.Is(err, door.ErrUnknown):
			return nil, err
		case err != nil:
			s.avoid = append(s.avoid, nodes[i])
			g.slow = g.slow || errors.Is(err, context.DeadlineExceeded)
			again = true
		case calls[i].answered:
		case calls[i].Reply.Kind == answer.Int && i != own:
			replies[i] = answer.Fail(fmt.Sprintf("ERR %s has an answer of more than %d bytes, which nodes do not pass on: ask for less", strings.ToUpper(c.cmd.Name), door.MaxQuestion))
		default:
			again = true
			if err := e.router.Follow(places[i]); err != nil {
				return nil, err
			}
		}
	}
	if again {
		return nil, nil
	}
	return replies, nil
}
