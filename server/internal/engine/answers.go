package engine

// Answers that several commands have.

import "github.com/bloomery/bloomery/server/internal/catalog"

// What commands on filters have in common.

// NoItems is the Parse of commands that take a key only.
func NoItems(_ *Context, c *Call) { c.Items = nil }

// NotFound answers that there is no such key.
func NotFound(c *Call) { c.Fail(TextNotFound) }

// NoneOf answers that no item is there. That holds for a missing key, and
// RedisBloom says it of a key that is no filter too.
func NoneOf(c *Call) { c.AnswerBools(make([]bool, len(c.Items))) }

// Taken is the answer to a command that makes a filter where there is a key.
func Taken(entry *catalog.Entry, kind catalog.Kind) Reply {
	if entry.Kind != kind {
		return Fail(TextWrongType)
	}
	return Fail(TextItemExists)
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
