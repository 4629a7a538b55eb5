package engine

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestWorkspaceForgets asks that a workspace keeps nothing of
// what a client has sent.
func TestWorkspaceForgets(t *testing.T) {
	var w Workspace
	w.Add([][]byte{[]byte("a")})
	w.Memory.Hashes = make([]uint64, 7)
	w.Memory.Shadow = &shadow.Shadow{}
	op, second := w.takeOp(), w.takeOp()
	op.Record.Body, second.Record.Body = &store.Take{Name: []byte("sent")}, &store.Take{Name: []byte("sent")}
	w.passed, w.wholes, w.joints = []*passing{{}}, []*whole{{}}, []joint{{}}
	copy(scratch.Room(&w.division.args, 2, 0), [][]byte{[]byte("sent"), []byte("sent")})
	w.reuse()
	if w.taken != 0 || len(w.Memory.Hashes) != 0 || w.takeOp() != op {
		t.Error("the first op is not used again")
	}
	w.Reset()
	if len(w.Calls) != 0 || w.Memory.Shadow != nil {
		t.Errorf("after a reset: %d calls, a shadow: %v", len(w.Calls), w.Memory.Shadow)
	}
	if len(w.passed)+len(w.wholes)+len(w.joints) > 0 {
		t.Errorf("after a reset %d calls are at other machines, %d divided, %d joined", len(w.passed), len(w.wholes), len(w.joints))
	}
	if args := w.division.args[:2]; op.Record.Body != nil || second.Record.Body != nil || args[0] != nil || args[1] != nil {
		t.Error("what a client has sent is still there")
	}
	w.Add([][]byte{[]byte("b"), []byte("c")})
	c := &w.Calls[0]
	c.answered, c.Mute, c.waiting, c.looked, c.Single, c.queued, c.Rooms = true, true, true, true, true, true, 2
	c.Option, c.finish, c.Pieces, c.made, c.Reply.Kind = 1, func() answer.Reply { return answer.Reply{} }, &scratch.Pieces{}, &made{}, answer.Int
	w.Reset()
	w.Add([][]byte{[]byte("d")})
	if c := &w.Calls[0]; len(c.Args) != 1 || c.answered || c.Mute || c.waiting || c.looked || c.Single || c.queued || c.Rooms != 0 ||
		c.Option != nil || c.finish != nil || c.Pieces != nil || c.made != nil || c.Reply.Kind != answer.None {
		t.Errorf("a call that is used again is %+v", c)
	}
	w.pending = []Span{{}}
	w.Memory.Hashes = append(w.Memory.Hashes, 1)
	if w.reuse(); len(w.Memory.Hashes) != 1 {
		t.Error("hashes of a record that is on its way are overwritten")
	}
}

// TestTouched asks which calls have to wait for a record that is on its way.
func TestTouched(t *testing.T) {
	get := &Command{Name: "get", Keys: traits.OneKey(traits.KeyRO)}
	del := &Command{Name: "del", Keys: traits.AllKeys(traits.KeyDelete)}
	flush := &Command{Name: "flushall"}
	for _, c := range []struct {
		pending, next Call
		want          bool
	}{
		{callOf(get, "get", "a"), callOf(get, "get", "a"), true},
		{callOf(get, "get", "a"), callOf(get, "get", "b"), false},
		{callOf(get, "get", "a"), callOf(get, "get", "get"), false},
		{callOf(del, "del", "a", "b", "c"), callOf(get, "get", "b"), true},
		{callOf(get, "get", "b"), callOf(del, "del", "a", "b", "c"), true},
		{callOf(get, "get", "d"), callOf(del, "del", "a", "b", "c"), false},
		{callOf(flush, "flushall"), callOf(get, "get", "a"), true},
		{callOf(get, "get", "a"), callOf(flush, "flushall"), true},
	} {
		w := Workspace{pending: []Span{{Calls: []Call{callOf(get, "get", "z")}}, {Calls: []Call{c.pending}}}}
		if got := w.touched(&c.next); got != c.want {
			t.Errorf("%s beside %s: %v, want %v", c.next.Args, c.pending.Args, got, c.want)
		}
	}
}

// TestNegatives asks how many answers of a reply are no.
func TestNegatives(t *testing.T) {
	for _, c := range []struct {
		reply answer.Reply
		not   int
	}{
		{answer.OK(), 0},
		{answer.Integer(5), 0},
		{answer.List(answer.Text("abc"), answer.List(answer.Text("de"))), 0},
		{answer.Reply{Kind: answer.Bools, Bools: []bool{true, false, false}}, 2},
		{answer.Reply{Kind: answer.Codes, Codes: make([]int8, 4)}, 0},
		{answer.Truth(true), 0},
		{answer.Truth(false), 1},
		{answer.Flag(true), 0},
		{answer.Fail("ERR"), 0},
	} {
		if _, got := c.reply.Lookups(); got != c.not {
			t.Errorf("%+v has %d negatives, want %d", c.reply, got, c.not)
		}
	}
	if answer.Flag(false).N != 0 || answer.Flag(true).N != 1 || answer.Truth(true).N != 1 || answer.Truth(false).N != 0 {
		t.Error("yes is not 1, or no is not 0")
	}
}
