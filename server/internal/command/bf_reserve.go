package command

import (
	"errors"

	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bfReserve is BF.RESERVE key error capacity [EXPANSION n] [NONSCALING].
var bfReserve = Command{
	Name: "bf.reserve", Arity: -4, Max: 7, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "bloom", "fast"}, Group: groupBloom, Since: "1.0.0",
	Syntax: "key error_rate capacity [EXPANSION expansion] [NONSCALING]", Complexity: "O(1)",
	Summary: "Creates a Bloom filter.",
	run:     runBFReserve,
}

// parseBFReserve reads the parameters of a new filter. expansion is that of a
// filter made without saying. It returns the error text, or "".
func parseBFReserve(args [][]byte, expansion uint32) (p redisbloom.BloomParams, text string) {
	rate, ok := parseFloat(args[2])
	if !ok {
		return p, textErrorRate
	}
	if rate <= 0 || rate >= 1 {
		return p, textErrorRange
	}
	capacity, ok := parseInt(args[3])
	if !ok {
		return p, textCapacity
	}
	if capacity < 1 || capacity > redisbloom.MaxCapacity {
		return p, textCapacityRange
	}
	p.Error, p.Capacity, p.Expansion = min(rate, redisbloom.MaxError), uint64(capacity), expansion
	return p, parseExpansion(args, &p)
}

// parseExpansion looks for the option words anywhere, the key included, as
// RedisBloom does; other words are passed over.
func parseExpansion(args [][]byte, p *redisbloom.BloomParams) (text string) {
	p.NonScaling = p.Expansion == 0 || find(args[1:], "nonscaling") >= 0
	at := find(args[1:], "expansion")
	if at < 0 {
		return ""
	}
	if at+2 >= len(args) {
		return textNoExpansion
	}
	n, ok := parseInt(args[at+2])
	if !ok {
		return textExpansion
	}
	if n < 0 || n > redisbloom.MaxExpansion {
		return textExpansionRange
	}
	if n > 0 && p.NonScaling {
		return textNonScaling
	}
	p.Expansion = uint32(n)
	p.NonScaling = p.NonScaling || n == 0
	return ""
}

// find returns the index of a word in args, in letters of any case, or -1.
func find(args [][]byte, word string) int {
	for i, a := range args {
		if is(a, word) {
			return i
		}
	}
	return -1
}

func runBFReserve(e *Engine, s *Session, c *Call) {
	p, text := parseBFReserve(c.Args, e.Settings.bloom().Expansion)
	if text != "" {
		c.answer(fail(text))
		return
	}
	e.reserve(s, c, store.Record{Op: store.OpBloom, Bloom: p}, catalog.Bloom, textNoMemory)
}

// reserve makes a filter and answers OK, or why not.
func (e *Engine) reserve(s *Session, c *Call, r store.Record, kind catalog.Kind, noMemory string) {
	if entry := e.state.Names.Lookup(c.Args[1], s.ms); entry != nil {
		c.answer(taken(entry, kind))
		return
	}
	r.Name, r.At = c.Args[1], s.ms
	res, ok := e.createFilter(&r)
	switch {
	case !ok:
		c.answer(fail(noMemory))
	case errors.Is(res.Err, store.ErrExists):
		c.answer(fail(textItemExists))
	case res.Err != nil:
		c.answer(fail(noMemory))
	default:
		c.answer(okReply)
	}
}

// taken is the answer to a command that makes a filter where there is a key.
func taken(entry *catalog.Entry, kind catalog.Kind) Reply {
	if entry.Kind != kind {
		return fail(textWrongType)
	}
	return fail(textItemExists)
}
