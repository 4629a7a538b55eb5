package engine

import (
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestWorkspaceGivesRoom takes room of every sort again and again: pieces do not
// overlap, cannot grow into each other, and stay as they are when more is taken.
func TestWorkspaceGivesRoom(t *testing.T) {
	var w Workspace
	bools := [][]bool{w.takeBools(3), w.takeBools(5), w.takeBools(300), w.takeBools(2)}
	codes := [][]int8{w.takeCodes(3), w.takeCodes(5), w.takeCodes(300), w.takeCodes(2)}
	elems := [][]answer.Reply{w.takeElems(3), w.takeElems(5), w.takeElems(300), w.takeElems(2)}
	for i, n := range []int{3, 5, 300, 2} {
		if len(bools[i]) != n || cap(bools[i]) != n || len(codes[i]) != n || cap(codes[i]) != n || len(elems[i]) != n || cap(elems[i]) != n {
			t.Errorf("room for %d: %d bools, %d codes, %d replies", n, len(bools[i]), len(codes[i]), len(elems[i]))
		}
		for j := range n {
			bools[i][j], codes[i][j], elems[i][j].N = i%2 == 0, int8(i), int64(i)
		}
	}
	for i := range bools {
		for j := range bools[i] {
			if bools[i][j] != (i%2 == 0) || codes[i][j] != int8(i) || elems[i][j].N != int64(i) {
				t.Fatalf("piece %d has become another at %d", i, j)
			}
		}
	}
	a, b := w.takeCounts(2), w.takeCounts(maxRun)
	if len(a) != 0 || cap(a) != 2 || cap(b) != maxRun {
		t.Errorf("counts for %d and %d", cap(a), cap(b))
	}
	a, b = append(a, 1, 2), append(b, 3)
	if a[1] != 2 || b[0] != 3 {
		t.Errorf("counts %v and %v", a, b)
	}
}

// TestWorkspaceForgets asks that a workspace keeps the memory of little, and none of
// what a client has sent.
func TestWorkspaceForgets(t *testing.T) {
	var w Workspace
	w.Add([][]byte{[]byte("a")})
	w.takeBools(maxKept)
	w.takeCodes(maxKept + 1)
	w.takeElems(2)[1].Text = "sent"
	w.Hashes = make([]uint64, 7, maxKept)
	w.Digests = make([]redisbloom.Digest, 7, maxKept+1)
	w.seconds = make([]uint64, maxKept+1)
	w.shadow = &store.Shadow{}
	kept := w.elems
	op, second := w.takeOp(), w.takeOp()
	op.Record.Body, second.Record.Body = &store.Take{Name: []byte("sent")}, &store.Take{Name: []byte("sent")}
	w.reuse()
	if w.taken != 0 || len(w.Hashes) != 0 || w.takeOp() != op {
		t.Error("the first op is not used again")
	}
	w.Reset()
	if len(w.Calls) != 0 || cap(w.bools) != maxKept || w.codes != nil || w.Digests != nil || cap(w.Hashes) != maxKept || w.seconds != nil || w.shadow != nil {
		t.Errorf("after a reset: %d calls, room for %d bools, %d codes, %d digests, %d hashes", len(w.Calls), cap(w.bools), cap(w.codes), cap(w.Digests), cap(w.Hashes))
	}
	if kept[1].Text != "" || op.Record.Body != nil || second.Record.Body != nil {
		t.Error("what a client has sent is still there")
	}
	w.Add([][]byte{[]byte("b"), []byte("c")})
	c := &w.Calls[0]
	c.answered, c.Mute, c.waiting, c.single, c.queued, c.rooms = true, true, true, true, true, 2
	c.Option, c.finish, c.pieces, c.made, c.Reply.Kind = 1, func() answer.Reply { return answer.Reply{} }, &pieces{}, &made{}, answer.Int
	w.Reset()
	w.Add([][]byte{[]byte("d")})
	if c := &w.Calls[0]; len(c.Args) != 1 || c.answered || c.Mute || c.waiting || c.single || c.queued || c.rooms != 0 ||
		c.Option != nil || c.finish != nil || c.pieces != nil || c.made != nil || c.Reply.Kind != answer.None {
		t.Errorf("a call that is used again is %+v", c)
	}
	w.pending = []span{{}}
	w.Hashes = append(w.Hashes, 1)
	if w.reuse(); len(w.Hashes) != 1 {
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
		w := Workspace{pending: []span{{calls: []Call{callOf(get, "get", "z")}}, {calls: []Call{c.pending}}}}
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
