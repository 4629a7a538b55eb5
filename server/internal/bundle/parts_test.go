package bundle

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/health"
	"github.com/bloomery/bloomery/server/internal/scratch"
	"github.com/bloomery/bloomery/server/internal/store"
)

// shared is three calls of 2, 3 and 1 items whose record is one, and what each of them
// is answered.
func shared(codes bool) (f *OnFilter, calls []engine.Call, answers []string) {
	answers = make([]string, 3)
	f = &OnFilter{Write: &Writing{Codes: codes, Reply: func(c *engine.Call, res *store.Result) {
		i := slices.Index([]int{10, 12, 15}, c.First)
		answers[i] = fmt.Sprint(res.Done, res.Bools, res.Codes, res.Failed, res.Err)
	}}}
	for i, first := range []int{10, 12, 15} {
		calls = append(calls, engine.Call{First: first, Items: make([][]byte, []int{2, 3, 1}[i])})
	}
	return f, calls, answers
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
			store.Result{Outcome: contents.Outcome{Done: 6, Bools: []bool{y, n, n, y, y, n}}},
			[]string{"2 [true false] [] [] <nil>", "3 [false true true] [] [] <nil>", "1 [false] [] [] <nil>"}, []bool{y, y, y}, []bool{n, n, n},
		},
		"some have no room": {
			store.Result{Outcome: contents.Outcome{Done: 6, Bools: make([]bool, 6), Failed: []bool{n, n, y, n, n, n}, Err: other}},
			[]string{"2 [false false] [] [false false] <nil>", "3 [false false false] [] [true false false] other", "1 [false] [] [false] <nil>"}, []bool{y, y, y}, []bool{n, n, n},
		},
		"an error in the second": {
			store.Result{Outcome: contents.Outcome{Done: 3, Bools: make([]bool, 6), Err: other}},
			[]string{"2 [false false] [] [] <nil>", "1 [false] [] [] other", ""}, []bool{y, y, n}, []bool{n, n, n},
		},
		"an error before the second": {
			store.Result{Outcome: contents.Outcome{Done: 1, Bools: make([]bool, 6), Err: other}},
			[]string{"1 [false] [] [] other", "", ""}, []bool{y, n, n}, []bool{n, n, n},
		},
		"no room in the second": {
			store.Result{Outcome: contents.Outcome{Done: 4, Bools: make([]bool, 6), Err: contents.ErrRoom}},
			[]string{"2 [false false] [] [] <nil>", "", ""}, []bool{y, n, n}, []bool{n, y, y},
		},
		"too many sub-filters": {
			store.Result{Outcome: contents.Outcome{Done: 2, Bools: make([]bool, 6), Err: store.ErrExpansions}},
			[]string{"2 [false false] [] [] <nil>", "0 [] [] [] " + store.ErrExpansions.Error(), "0 [] [] [] " + store.ErrExpansions.Error()}, []bool{y, y, y}, []bool{n, n, n},
		},
		"codes": {
			store.Result{Outcome: contents.Outcome{Done: 6}, Codes: []int8{in, in, none, in, in, in}},
			[]string{fmt.Sprint(2, []bool(nil), []int8{in, in}, []bool(nil), nil), "", fmt.Sprint(1, []bool(nil), []int8{in}, []bool(nil), nil)},
			[]bool{y, n, y}, []bool{n, y, n},
		},
	} {
		f, calls, answers := shared(c.res.Codes != nil)
		f.share(&scratch.Memory{}, calls, &c.res)
		for i := range calls {
			if answers[i] != c.answers[i] || calls[i].Answered() != c.answered[i] || calls[i].Single != c.single[i] {
				t.Errorf("%s: call %d got %q, answered %v, alone %v; want %q, %v, %v", name, i, answers[i], calls[i].Answered(), calls[i].Single, c.answers[i], c.answered[i], c.single[i])
			}
		}
	}
}

// TestRoomIsAskedForTwice asks how often the rest of a call is prepared again, and
// that what was done is kept.
func TestRoomIsAskedForTwice(t *testing.T) {
	for _, codes := range []bool{false, true} {
		f, calls, _ := shared(codes)
		c := &calls[1]
		res := &store.Result{Outcome: contents.Outcome{Err: contents.ErrRoom, Done: 2, Bools: []bool{true, false, true}}, Codes: []int8{redisbloom.Inserted, redisbloom.Refused, redisbloom.Refused}}
		for i, want := range []bool{true, true, false} {
			if got := lacksRoom(c, res); got != want {
				t.Errorf("time %d: prepared again %v, want %v", i, got, want)
			}
		}
		f.keep(c, res)
		if c.Pieces.Done != 2 || codes && !slices.Equal(c.Pieces.Codes, []int8{redisbloom.Inserted, redisbloom.Refused, 0}) ||
			!codes && !slices.Equal(c.Pieces.Found, []bool{true, false, false}) {
			t.Errorf("kept: %+v", c.Pieces)
		}
		fresh := &calls[0]
		if f.keep(fresh, &store.Result{}); fresh.Pieces != nil {
			t.Error("nothing was done, and something is kept")
		}
		if lacksRoom(fresh, &store.Result{Outcome: contents.Outcome{Err: contents.ErrRoom, Done: 2}}) || lacksRoom(fresh, &store.Result{Outcome: contents.Outcome{Err: errors.New("other")}}) || lacksRoom(fresh, &store.Result{}) {
			t.Error("a call that is done, or failed otherwise, is prepared again")
		}
	}
}

// TestAnswerEach has errors in the place of items.
func TestAnswerEach(t *testing.T) {
	var c engine.Call
	answerEach(&c, []bool{true, false, true}, map[int]string{1: "ERR full"})
	if got := fmt.Sprint(c.Reply.Elems[0].N, c.Reply.Elems[1].Text, c.Reply.Elems[2].N, c.Reply.Elems[1].Failed(), c.Answered()); got != "1ERR full1 true true" {
		t.Errorf("the answer is %s", got)
	}
	var v scratch.Pieces
	v.Fail(3, "a")
	v.Fail(5, "b")
	if fmt.Sprint(v.Failed) != "map[3:a 5:b]" {
		t.Errorf("failed: %v", v.Failed)
	}
}

// TestWorkOfCommands asks as what the calls of a command are measured.
func TestWorkOfCommands(t *testing.T) {
	parse := func(*engine.Context, *engine.Call) {}
	for _, c := range []struct {
		filter *OnFilter
		want   health.Work
	}{
		{&OnFilter{Contains: true}, health.Has},
		{&OnFilter{Contains: true, Parse: parse}, health.Has},
		{&OnFilter{}, health.Count},
		{&OnFilter{Parse: parse}, health.Other},
		{&OnFilter{Write: &Writing{}}, health.Add},
		{&OnFilter{Write: &Writing{}, Parse: parse}, health.Add},
		{&OnFilter{Write: &Writing{Deletes: true}}, health.Delete},
	} {
		if got := c.filter.Bundling().Work; got != c.want {
			t.Errorf("%+v is measured as %v, want %v", c.filter, got, c.want)
		}
	}
}
