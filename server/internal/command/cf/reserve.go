package cf

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/maker"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// reserve is CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n]
// [EXPANSION n].
var reserve = maker.Key{
	Kind: catalog.Cuckoo, Late: true, Exists: answer.TextItemExists, Foreign: answer.TextWrongType, NoMemory: textNoMemory,
	Fits: func(words int) bool { return words%2 == 1 },
	Body: func(x *engine.Context, c *engine.Call) (store.Body, string) {
		p, text := parseReserve(c.Args, x.Settings().Cuckoo())
		return &store.MakeCuckoo{Name: c.Args[1], Params: p}, text
	},
}.Command(engine.Command{
	Name: "cf.reserve", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Module, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "cuckoo", "fast"}, Group: traits.GroupCuckoo, Since: "1.0.0",
	Syntax: "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion]", Complexity: "O(1)",
	Summary: "Creates a cuckoo filter.",
})

// parseReserve reads the parameters of a new filter; p holds those that are
// not given. Options are pairs; unknown pairs are passed over, and known ones
// are checked in RedisBloom's order, not in the order sent.
func parseReserve(args [][]byte, p redisbloom.CuckooParams) (_ redisbloom.CuckooParams, text string) {
	capacity, ok := answer.ParseInt(args[2])
	if !ok {
		return p, answer.TextCapacity
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
		n, ok := answer.ParseInt(value)
		if !ok {
			return p, o.parse
		}
		if n < o.low || n > o.high {
			return p, o.out
		}
		*o.value = uint16(n)
	}
	if capacity < 2*int64(p.BucketSize) || capacity > redisbloom.MaxCapacity {
		return p, textRange
	}
	p.Capacity = uint64(capacity)
	return p, ""
}

// pairValue returns the value behind a word, nil if the word is not there.
func pairValue(args [][]byte, word string) []byte {
	for i := 0; i+1 < len(args); i += 2 {
		if answer.Is(args[i], word) {
			return args[i+1]
		}
	}
	return nil
}
