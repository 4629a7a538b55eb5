package engine

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// TestShareOfWrongAnswers answers two calls as one was that was asked in their place, of fewer answers than items, and of
// others: every call fails.
func TestShareOfWrongAnswers(t *testing.T) {
	one := Call{Items: make([][]byte, 3), cmd: &Command{Name: "filter.has"}}
	for name, r := range map[string]answer.Reply{
		"too few": {Kind: answer.Bools, Bools: make([]bool, 2)}, "none": {Kind: answer.Bools}, "too many": {Kind: answer.Bools, Bools: make([]bool, 4)},
		"a list that is too short": answer.List(answer.Truth(true), answer.Truth(true)), "another kind": answer.Integer(1),
	} {
		one.Reply = r
		v := joint{one: &one, calls: []Call{{Items: make([][]byte, 1), cmd: one.cmd, waiting: true}, {Items: make([][]byte, 2), cmd: one.cmd, waiting: true}}}
		v.share()
		for i := range v.calls {
			if c := &v.calls[i]; c.Reply.Text != textFewer || !c.answered || c.waiting {
				t.Errorf("%s: call %d = %+v", name, i, c.Reply)
			}
		}
	}
}

// TestNotHereEndsQuestionsAlone asks that nothing more is run of a question of another machine behind what is not here, and
// that a client of this one is not held back by that.
func TestNotHereEndsQuestionsAlone(t *testing.T) {
	for _, helps := range []bool{false, true} {
		s, calls := &Session{helps: helps}, make([]Call, 2)
		if notHere(s, calls); s.passes != helps || calls[1].Reply.Text != textNotHere {
			t.Errorf("for another machine: %v, and nothing more is run: %v; %+v", helps, s.passes, calls[1].Reply)
		}
	}
}
