package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shared is three calls of 2, 3 and 1 items whose record is one, and what each of them
// is answered.
func shared(codes bool) (calls []Call, answers []string) {
	answers = make([]string, 3)
	cmd := &Command{}
	cmd.Filter = &OnFilter{Write: &Writing{Codes: codes, Reply: func(c *Call, res *store.Result) {
		i := slices.Index([]int{10, 12, 15}, c.first)
		answers[i] = fmt.Sprint(res.Done, res.Bools, res.Codes, res.Failed, res.Err)
	}}}
	for i, first := range []int{10, 12, 15} {
		calls = append(calls, Call{cmd: cmd, first: first, Items: make([][]byte, []int{2, 3, 1}[i])})
	}
	return calls, answers
}

// TestShareOfARecord asks what each call gets of the result of the record that it
// shares, when all went well and when something did not.
func TestShareOfARecord(t *testing.T) {
	other, y, n := errors.New("other"), true, false
	const in, none = redisbloom.Inserted, redisbloom.Refused
	for name, c := range map[string]struct {
		res      store.Result
		answers  []string
		answered []bool
		single   []bool
	}{
		"all": {
			store.Result{Done: 6, Bools: []bool{y, n, n, y, y, n}},
			[]string{"2 [true false] [] [] <nil>", "3 [false true true] [] [] <nil>", "1 [false] [] [] <nil>"}, []bool{y, y, y}, []bool{n, n, n},
		},
		"some have no room": {
			store.Result{Done: 6, Bools: make([]bool, 6), Failed: []bool{n, n, y, n, n, n}, Err: other},
			[]string{"2 [false false] [] [false false] <nil>", "3 [false false false] [] [true false false] other", "1 [false] [] [false] <nil>"}, []bool{y, y, y}, []bool{n, n, n},
		},
		"an error in the second": {
			store.Result{Done: 3, Bools: make([]bool, 6), Err: other},
			[]string{"2 [false false] [] [] <nil>", "1 [false] [] [] other", ""}, []bool{y, y, n}, []bool{n, n, n},
		},
		"an error before the second": {
			store.Result{Done: 1, Bools: make([]bool, 6), Err: other},
			[]string{"1 [false] [] [] other", "", ""}, []bool{y, n, n}, []bool{n, n, n},
		},
		"no room in the second": {
			store.Result{Done: 4, Bools: make([]bool, 6), Err: store.ErrRoom},
			[]string{"2 [false false] [] [] <nil>", "", ""}, []bool{y, n, n}, []bool{n, y, y},
		},
		"too many sub-filters": {
			store.Result{Done: 2, Bools: make([]bool, 6), Err: store.ErrExpansions},
			[]string{"2 [false false] [] [] <nil>", "0 [] [] [] " + store.ErrExpansions.Error(), "0 [] [] [] " + store.ErrExpansions.Error()}, []bool{y, y, y}, []bool{n, n, n},
		},
		"codes": {
			store.Result{Done: 6, Codes: []int8{in, in, none, in, in, in}},
			[]string{fmt.Sprint(2, []bool(nil), []int8{in, in}, []bool(nil), nil), "", fmt.Sprint(1, []bool(nil), []int8{in}, []bool(nil), nil)},
			[]bool{y, n, y}, []bool{n, y, n},
		},
	} {
		calls, answers := shared(c.res.Codes != nil)
		var w Workspace
		w.share(calls, &c.res)
		for i := range calls {
			if answers[i] != c.answers[i] || calls[i].answered != c.answered[i] || calls[i].single != c.single[i] {
				t.Errorf("%s: call %d got %q, answered %v, alone %v; want %q, %v, %v", name, i, answers[i], calls[i].answered, calls[i].single, c.answers[i], c.answered[i], c.single[i])
			}
		}
	}
}

// TestRoomIsAskedForTwice asks how often the rest of a call is prepared again, and
// that what was done is kept.
func TestRoomIsAskedForTwice(t *testing.T) {
	for _, codes := range []bool{false, true} {
		calls, _ := shared(codes)
		c := &calls[1]
		res := &store.Result{Err: store.ErrRoom, Done: 2, Bools: []bool{true, false, true}, Codes: []int8{redisbloom.Inserted, redisbloom.Refused, redisbloom.Refused}}
		for i, want := range []bool{true, true, false} {
			if got := c.lacksRoom(res); got != want {
				t.Errorf("time %d: prepared again %v, want %v", i, got, want)
			}
		}
		c.keep(res)
		if c.pieces.done != 2 || codes && !slices.Equal(c.pieces.codes, []int8{redisbloom.Inserted, redisbloom.Refused, 0}) ||
			!codes && !slices.Equal(c.pieces.found, []bool{true, false, false}) {
			t.Errorf("kept: %+v", c.pieces)
		}
		fresh := &calls[0]
		if fresh.keep(&store.Result{}); fresh.pieces != nil {
			t.Error("nothing was done, and something is kept")
		}
		if fresh.lacksRoom(&store.Result{Err: store.ErrRoom, Done: 2}) || fresh.lacksRoom(&store.Result{Err: errors.New("other")}) || fresh.lacksRoom(&store.Result{}) {
			t.Error("a call that is done, or failed otherwise, is prepared again")
		}
	}
}

// TestAnswerEach has errors in the place of items.
func TestAnswerEach(t *testing.T) {
	var c Call
	c.answerEach([]bool{true, false, true}, map[int]string{1: "ERR full"})
	if got := fmt.Sprint(c.Reply.Elems[0].N, c.Reply.Elems[1].Text, c.Reply.Elems[2].N, c.Reply.Elems[1].Failed(), c.answered); got != "1ERR full1 true true" {
		t.Errorf("the answer is %s", got)
	}
	var v pieces
	v.failAt(3, "a")
	v.failAt(5, "b")
	if fmt.Sprint(v.failed) != "map[3:a 5:b]" {
		t.Errorf("failed: %v", v.failed)
	}
}
