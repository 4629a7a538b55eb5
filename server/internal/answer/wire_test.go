package answer_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
)

// replies has one of every kind.
var replies = []answer.Reply{
	{}, answer.OK(), answer.Fail("ERR x"), answer.Integer(-5), answer.Text("\x00a"), {Kind: answer.Verbatim, Text: "t"}, answer.Nil(), {Kind: answer.NullArray},
	answer.Truth(true), answer.Float(0.5), answer.List(answer.Integer(1), answer.List(answer.Text("b"), answer.Nil())), answer.Pairs(answer.Text("k"), answer.Integer(1)),
	answer.Unordered([]answer.Reply{answer.OK()}), {Kind: answer.Fields, Elems: []answer.Reply{answer.Text("k"), answer.Truth(false)}},
	{Kind: answer.Bools, Bools: []bool{true, false, true}, Text: "ERR full"}, {Kind: answer.Codes, Codes: []int8{-1, 0, 1}}, {Kind: answer.CodeInts, Codes: []int8{7}},
}

func TestWire(t *testing.T) {
	var b []byte
	for i := range replies {
		b = replies[i].Append(b)
	}
	for cut := range b {
		rest, err := b[:cut], error(nil)
		for err == nil && len(rest) > 0 {
			_, rest, err = readReply(rest)
		}
	}
	for i := range replies {
		r, rest, err := readReply(b)
		if err != nil || !reflect.DeepEqual(r, replies[i]) {
			t.Fatalf("reply %d came back as %+v, %v", i, r, err)
		}
		b = rest
	}
	if len(b) > 0 {
		t.Errorf("%d bytes are left", len(b))
	}
}

func TestWireHostile(t *testing.T) {
	deep := []byte{}
	for range 100 {
		deep = append(deep, byte(answer.Array), 1)
	}
	wide := append([]byte{byte(answer.Array), 0x80, 0x80, 0x40}, make([]byte, 1<<20)...)
	for _, b := range [][]byte{nil, {200}, {byte(answer.Bulk), 5, 'a'}, {byte(answer.Array), 0xff, 0xff, 0xff, 0xff, 0x0f}, deep, wide} {
		if _, _, err := readReply(b); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%.20x: %v", b, err)
		}
	}
}

func readReply(b []byte) (r answer.Reply, rest []byte, err error) {
	rest, err = r.Read(b)
	return r, rest, err
}

func FuzzReadReply(f *testing.F) {
	for i := range replies {
		f.Add(replies[i].Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _, err := readReply(b)
		if err != nil {
			return
		}
		again, rest, err := readReply(r.Append(nil))
		if err != nil || len(rest) > 0 || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v came back as %+v, %v", r, again, err)
		}
	})
}
