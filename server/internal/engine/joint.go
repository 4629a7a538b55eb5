package engine

// Lookups that are asked of other machines as one.

import (
	"slices"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/scratch"
)

// joint is lookups on one filter that follow each other, most pipelines, and the one call that asks for the items of
// all of them: what many calls cost beside their items is paid once, here and where they are run.
type joint struct {
	calls []Call
	one   *Call
}

// mostJoined is how many bytes of items, about, calls have that are asked as one: far fewer than a question may have.
const mostJoined = 64 << 10

// join returns the one call that asks for all that calls do, or the calls themselves if there is none.
func (e *Engine) join(s *Session, calls []Call) []Call {
	if len(calls) == 1 {
		return calls
	}
	items, size := 0, 0
	for i := range calls {
		c := &calls[i]
		if c.cmd.Many == "" {
			return calls
		}
		for _, item := range c.Items {
			size += len(item)
		}
		items += len(c.Items)
	}
	if size > mostJoined {
		return calls
	}
	name := []byte(calls[0].cmd.Many)
	args := append(scratch.Room(&s.w.division.args, 2+items, 0)[:0], name, calls[0].Args[1])
	for i := range calls {
		args = append(args, calls[i].Items...)
	}
	return []Call{{Args: args, Items: args[2:], cmd: e.table.Lookup(name)}}
}

// await has calls wait for the one that is asked in their place, if it is not one of them. Whoever runs something of it
// counts one read of the key: the others are counted here.
func (e *Engine) await(s *Session, calls, asked []Call, passed []*passing) {
	if &calls[0] == &asked[0] {
		return
	}
	for i := range calls {
		calls[i].waiting = true
	}
	s.w.joints = append(s.w.joints, joint{calls: calls, one: &asked[0]})
	e.notes.Counters.Looked(&s.Client, true, max(0, len(calls)-len(passed)))
}

// joined reports whether a call is asked in the place of others.
func (w *Workspace) joined(c *Call) bool {
	return slices.ContainsFunc(w.joints, func(v joint) bool { return v.one == c })
}

// share answers calls as the one was that was asked in their place. Where it has errors in the places of some items,
// only the calls fail that have asked for those.
func (v *joint) share() {
	r, at, all := &v.one.Reply, 0, len(v.one.Items)
	for i := range v.calls {
		c := &v.calls[i]
		c.waiting = false
		from, to := at, at+len(c.Items)
		at = to
		switch {
		case r.Failed():
			v.fail(c, r)
		case r.Kind == answer.Bools && len(r.Bools) == all:
			c.AnswerBools(r.Bools[from:to:to])
		case r.Kind == answer.Array && len(r.Elems) == all:
			v.answerEach(c, r.Elems[from:to])
		default:
			c.Fail(textFewer)
		}
	}
}

// answerEach answers whether items were found, or why that is not known of one.
func (v *joint) answerEach(c *Call, items []answer.Reply) {
	found := make([]bool, len(items))
	for i := range items {
		if items[i].Failed() {
			v.fail(c, &items[i])
			return
		}
		found[i] = items[i].N == 1
	}
	c.AnswerBools(found)
}

// fail answers an error, which names the command that was sent.
func (v *joint) fail(c *Call, r *answer.Reply) {
	c.Fail(strings.Replace(r.Text, " "+strings.ToUpper(v.one.cmd.Name)+" ", " "+strings.ToUpper(c.cmd.Name)+" ", 1))
}
