package command

import (
	"github.com/bloomery/bloomery/foreign/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// cfReserve is CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n]
// [EXPANSION n].
var cfReserve = Command{
	Name: "cf.reserve", Arity: -3, Flags: Write | DenyOOM | Module, Keys: oneKey, KeyFlags: keyRW,
	Categories: []string{"write", "cuckoo", "fast"}, Group: groupCuckoo, Since: "1.0.0",
	Syntax: "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion]", Complexity: "O(1)",
	Summary: "Creates a cuckoo filter.",
	run:     runCFReserve,
}

// parseCFReserve reads the parameters of a new filter; p holds those that are
// not given. Options are pairs; unknown pairs are passed over, and known ones
// are checked in RedisBloom's order, not in the order sent.
func parseCFReserve(args [][]byte, p redisbloom.CuckooParams) (_ redisbloom.CuckooParams, text string) {
	capacity, ok := parseInt(args[2])
	if !ok {
		return p, textInsertCapacity
	}
	for _, o := range []struct {
		word       string
		value      *uint16
		low, high  int64
		parse, out string
	}{
		{"maxiterations", &p.MaxIterations, 1, 65535, textIterations, textIterationsRange},
		{"bucketsize", &p.BucketSize, 1, 255, textBucket, textBucketRange},
		{"expansion", &p.Expansion, 0, redisbloom.MaxExpansion, textGrow, textGrowRange},
	} {
		value := pairValue(args[3:], o.word)
		if value == nil {
			continue
		}
		n, ok := parseInt(value)
		if !ok {
			return p, o.parse
		}
		if n < o.low || n > o.high {
			return p, o.out
		}
		*o.value = uint16(n)
	}
	if capacity < 2*int64(p.BucketSize) || capacity > redisbloom.MaxCapacity {
		return p, textCuckooRange
	}
	p.Capacity = uint64(capacity)
	return p, ""
}

// pairValue returns the value behind a word, nil if the word is not there.
func pairValue(args [][]byte, word string) []byte {
	for i := 0; i+1 < len(args); i += 2 {
		if is(args[i], word) {
			return args[i+1]
		}
	}
	return nil
}

func runCFReserve(e *Engine, s *Session, c *Call) {
	if len(c.Args)%2 == 0 {
		c.answer(wrongArity(c.cmd.Name))
		return
	}
	p, text := parseCFReserve(c.Args, e.Settings.cuckoo())
	if text != "" {
		c.answer(fail(text))
		return
	}
	e.reserve(s, c, store.Record{Op: store.OpCuckoo, Cuckoo: p}, catalog.Cuckoo, textCuckooNoMemory)
}
