package cms

import (
	"errors"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// merge is CMS.MERGE destination numkeys source [source ...] [WEIGHTS weight
// [weight ...]].
var merge = engine.Command{
	Name: "cms.merge", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module | traits.Fetches,
	Keys:       traits.Keys{traits.KeyAt(1, traits.KeyRW), {First: 2, Step: 1, Access: traits.KeyRO, Counted: true, Hidden: true}},
	Categories: []string{"write", "cms", "delete"}, Group: traits.GroupCountMin, Since: "2.0.0",
	Syntax:     "destination numkeys source [source ...] [WEIGHTS weight [weight ...]]",
	Complexity: "O(n · w · d), n sketches of w counters in d rows",
	Summary:    "Replaces the counts of a sketch by the weighted sum of those of others.",
	Cost:       engine.ByBytes(10),
	Prepare:    prepareMerge, Reply: replyMerge,
}

// find returns the sketch of a key and its size. It answers if there is none.
func find(x *engine.Context, c *engine.Call, key []byte) (width, depth uint64, ok bool) {
	entry := x.Names().Lookup(key)
	switch {
	case entry == nil:
		c.Fail(textMissing)
		return 0, 0, false
	case entry.Kind != catalog.CountMin:
		c.Fail(answer.TextWrongType)
		return 0, 0, false
	}
	p := x.Contents().Sketch(c, entry)
	if p == nil {
		return 0, 0, false
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		c.Fail(textMissing)
		return 0, 0, false
	}
	return p.CountMin().Width(), p.CountMin().Depth(), true
}

// splitMerge reads the sources and their weights, nil if none are given. The word
// is looked for among the sources too, as RedisBloom does.
func splitMerge(args [][]byte) (sources, weights [][]byte, text string) {
	n, ok := answer.ParseInt(args[2])
	switch {
	case !ok:
		return nil, nil, textNumKeys
	case n < 1:
		return nil, nil, textFewKeys
	}
	rest := args[3:]
	at := slices.IndexFunc(rest, func(a []byte) bool { return answer.Is(a, "weights") })
	switch {
	case at < 0 && n != int64(len(rest)):
		return nil, nil, textKeys
	case at < 0:
		return rest, nil, ""
	case int64(at) != n || len(rest) != 2*at+1:
		return nil, nil, textWeights
	}
	return rest[:at], rest[at+1:], ""
}

func prepareMerge(x *engine.Context, c *engine.Call) *engine.Op {
	width, depth, ok := find(x, c, c.Args[1])
	if !ok {
		return nil
	}
	sources, weights, text := splitMerge(c.Args)
	if text != "" {
		c.Fail(text)
		return nil
	}
	o := &store.CountMinMerge{Name: c.Args[1], Sources: sources}
	for i, key := range sources {
		weight := int64(1)
		if weights != nil {
			if weight, ok = answer.ParseInt(weights[i]); !ok {
				c.Fail(textWeight)
				return nil
			}
		}
		w, d, ok := find(x, c, key)
		if !ok {
			return nil
		}
		if w != width || d != depth {
			c.Fail(textIncompatible)
			return nil
		}
		o.Weights = append(o.Weights, weight)
	}
	if (&store.Record{Body: o}).Bound() > store.MaxRecord {
		c.Fail(textManyKeys)
		return nil
	}
	op := x.Contents().Record(o)
	op.Cost = 4 * width * depth // the log has a copy of all counters until that is written
	return op
}

// replyMerge leaves a call without an answer one of whose keys has gone meanwhile.
func replyMerge(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrMissing), errors.Is(res.Err, contents.ErrType):
	case errors.Is(res.Err, redisbloom.ErrOverflow):
		c.Fail(textMerge)
	case errors.Is(res.Err, bloomery.ErrIncompatible):
		c.Fail(textIncompatible)
	default:
		c.Fail(answer.TextOOM)
	}
}
