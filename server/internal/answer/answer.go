// Package answer is what commands answer: values that every protocol writes in its own
// way, the words of Redis and RedisBloom for errors, and numbers as they read and write
// them.
package answer

import (
	"math"
	"strings"
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
	Double                     // N: the bits of a number with a fraction
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
	Codes []int8
}

// Failed reports whether the reply is an error.
func (r *Reply) Failed() bool { return r.Kind == Error }

// OK is +OK, the commonest of all.
func OK() Reply { return Reply{Kind: Status, Text: "OK"} }

// Word is a status: a word such as OK.
func Word(s string) Reply { return Reply{Kind: Status, Text: s} }

// Fail is an error with its code, if it has one.
func Fail(s string) Reply { return Reply{Kind: Error, Text: s} }

// Integer is a number.
func Integer(n int64) Reply { return Reply{Kind: Int, N: n} }

// Float is a number with a fraction.
func Float(v float64) Reply { return Reply{Kind: Double, N: int64(math.Float64bits(v))} }

// Text is any bytes.
func Text(s string) Reply { return Reply{Kind: Bulk, Text: s} }

// Nil is no value.
func Nil() Reply { return Reply{Kind: Null} }

// List is an array.
func List(e ...Reply) Reply { return Reply{Kind: Array, Elems: e} }

// Pairs is a map: key, value, key, value and so on.
func Pairs(e ...Reply) Reply { return Reply{Kind: Map, Elems: e} }

// Unordered is a set.
func Unordered(e []Reply) Reply { return Reply{Kind: Set, Elems: e} }

// Truth is a boolean, an integer where there are none.
func Truth(v bool) Reply {
	if v {
		return Reply{Kind: Bool, N: 1}
	}
	return Reply{Kind: Bool}
}

// Flag is 1 or 0 in every protocol.
func Flag(v bool) Reply {
	if v {
		return Integer(1)
	}
	return Integer(0)
}

// Texts is an array of texts.
func Texts(s []string) Reply {
	e := make([]Reply, len(s))
	for i, v := range s {
		e[i] = Text(v)
	}
	return List(e...)
}

// Words returns statuses.
func Words(s []string) []Reply {
	e := make([]Reply, len(s))
	for i, v := range s {
		e[i] = Word(v)
	}
	return e
}

// ReplyBytes is what a Reply takes in an array of them.
const ReplyBytes = 128

// Lower is strings.ToLower for an argument.
func Lower(arg []byte) string { return strings.ToLower(string(arg)) }

// Is reports whether arg is word, in letters of any case. word is lower case.
func Is(arg []byte, word string) bool {
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

// Bytes returns the memory of a reply besides the Reply itself.
func (r *Reply) Bytes() int {
	n := len(r.Text) + len(r.Bools) + len(r.Codes) + len(r.Elems)*ReplyBytes
	for i := range r.Elems {
		n += r.Elems[i].Bytes()
	}
	return n
}

// Letter returns the letter of a word at i in lower case, 0 if it is shorter.
// RedisBloom knows many words by their letters.
func Letter(word []byte, i int) byte {
	if i >= len(word) {
		return 0
	}
	if c := word[i]; c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return word[i]
}

// Lookups returns how many items a reply answers for, and how many of the answers are no.
func (r *Reply) Lookups() (asked, no int) {
	switch r.Kind {
	case Bool:
		return 1, int(1 - r.N)
	case Bools:
		for _, v := range r.Bools {
			if !v {
				no++
			}
		}
		return len(r.Bools), no
	}
	return 0, 0
}
