package bundle

// Answers that several commands have.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// What commands on filters have in common.

// NoItems is the Parse of commands that take a key only.
func NoItems(_ *engine.Context, c *engine.Call) { c.Items = nil }

// NotFound answers that there is no such key.
func NotFound(c *engine.Call) { c.Fail(answer.TextNotFound) }

// NoneOf answers that no item is there. That holds for a missing key, and
// RedisBloom says it of a key that is no filter too.
func NoneOf(c *engine.Call) { c.AnswerBools(make([]bool, len(c.Items))) }

// Taken is the answer to a command that makes a filter where there is a key.
func Taken(entry *catalog.Entry, kind catalog.Kind) answer.Reply {
	if entry.Kind != kind {
		return answer.Fail(answer.TextWrongType)
	}
	return answer.Fail(answer.TextItemExists)
}
