package command

import (
	"strings"

	"github.com/bloomery/bloomery/foreign/redisbloom"
)

// ReplyKind says what a reply is. Both protocols, and HTTP, write a kind in
// their own way.
type ReplyKind uint8

// The kinds of replies.
const (
	None      ReplyKind = iota // nothing to say yet
	Status                     // Text: a word such as OK
	Error                      // Text: an error with its code, if it has one
	Int                        // N
	Bulk                       // Text: any bytes
	Verbatim                   // Text: for people to read
	Null                       // no value
	NullArray                  // no array
	Bool                       // N is 1 or 0; an integer where there are no booleans
	Double                     // Text: a number with a fraction
	Array                      // Elems
	Map                        // Elems: key, value, key, value, …
	Set                        // Elems
	Fields                     // Elems as in Map; where there are no maps, the values alone
	Bools                      // Bools, and behind them Text as an error if it is not empty
	Codes                      // Codes: booleans where there are any, else integers
	CodeInts                   // Codes: integers in every protocol
)

// Reply is the answer to a command, independent of protocol.
type Reply struct {
	Kind  ReplyKind
	N     int64
	Text  string
	Elems []Reply
	Bools []bool
	Codes []redisbloom.Result
}

// Failed reports whether the reply is an error.
func (r *Reply) Failed() bool { return r.Kind == Error }

// okReply is +OK, the commonest of all.
var okReply = Reply{Kind: Status, Text: "OK"}

func status(s string) Reply     { return Reply{Kind: Status, Text: s} }
func fail(s string) Reply       { return Reply{Kind: Error, Text: s} }
func integer(n int64) Reply     { return Reply{Kind: Int, N: n} }
func bulk(s string) Reply       { return Reply{Kind: Bulk, Text: s} }
func null() Reply               { return Reply{Kind: Null} }
func array(e ...Reply) Reply    { return Reply{Kind: Array, Elems: e} }
func pairs(e ...Reply) Reply    { return Reply{Kind: Map, Elems: e} }
func unordered(e []Reply) Reply { return Reply{Kind: Set, Elems: e} }

func boolean(v bool) Reply {
	if v {
		return Reply{Kind: Bool, N: 1}
	}
	return Reply{Kind: Bool}
}

func flag(v bool) Reply {
	if v {
		return integer(1)
	}
	return integer(0)
}

func bulks(s []string) Reply {
	e := make([]Reply, len(s))
	for i, v := range s {
		e[i] = bulk(v)
	}
	return array(e...)
}

func statuses(s []string) []Reply {
	e := make([]Reply, len(s))
	for i, v := range s {
		e[i] = status(v)
	}
	return e
}

// lower is strings.ToLower for an argument.
func lower(arg []byte) string { return strings.ToLower(string(arg)) }

// is reports whether arg is word, in letters of any case. word is lower case.
func is(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i := range arg {
		c := arg[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
