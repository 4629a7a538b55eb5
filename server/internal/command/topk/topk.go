// Package topk is the TOPK commands: the most frequent items of a stream, by the
// HeavyKeeper sketch as RedisBloom has it, replies and dumps to the byte.
//
// The sketch keeps items, and so do its records and files: unlike filters, it can
// be read from them which items were there.
package topk

import (
	"bytes"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// Commands returns the TOPK commands.
func Commands() []engine.Command {
	return []engine.Command{add, count, incrBy, info, list, query, reserve}
}

// What RedisBloom says, byte for byte.
const (
	textMissing   = "TopK: key does not exist"
	textExists    = "TopK: key already exists"
	textK         = "TopK: invalid k"
	textWidth     = "TopK: invalid width"
	textDepth     = "TopK: invalid depth"
	textDecay     = "TopK: invalid decay value. must be '<= 1' & '> 0'"
	textNoMemory  = "ERR Insufficient memory to create topk data structure"
	textWithCount = "WITHCOUNT keyword expected"
	textIncrement = "TopK: increment must be an integer greater or equal to 0" +
		"                            and smaller or equal to 100,000"

	// Of this server only. RedisBloom answers fewer elements than it announces.
	textSkipped = "TopK: not done, because of the increment before it"
	// Items are in records.
	textLong = "TopK: item is longer than 262144 bytes"
)

// shown is an item as a reply: up to its first zero byte. There may be none.
func shown(item []byte) answer.Reply {
	if item == nil {
		return answer.Nil()
	}
	if i := bytes.IndexByte(item, 0); i >= 0 {
		item = item[:i]
	}
	return answer.Text(string(item))
}
