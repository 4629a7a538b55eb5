package tdigest

import (
	"errors"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// merge is TDIGEST.MERGE destination numkeys source [source ...] [COMPRESSION
// compression] [OVERRIDE].
var merge = engine.Command{
	Name: "tdigest.merge", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Module | traits.Movable | traits.Fetches,
	Keys:       traits.Keys{traits.KeyAt(1, traits.KeyRW), {First: 2, Step: 1, Access: traits.KeyRO, Counted: true}},
	Categories: []string{"write", "tdigest", "delete"}, Group: traits.GroupTDigest, Since: "2.4.0",
	Syntax:     "destination numkeys source [source ...] [COMPRESSION compression] [OVERRIDE]",
	Complexity: "O(n · c · log c), n digests of a compression of c",
	Summary:    "Adds the values of t-digests to another, which is created if it is not there, or replaces it.",
	Cost:       costOfMerge,
	Lands:      engine.Landing(1),
	Prepare:    prepareMerge, Reply: replyMerge,
}

// merging is what TDIGEST.MERGE was given.
type merging struct {
	sources     [][]byte
	compression int64 // 0 if none
	override    bool
}

// parseMerge reads the arguments. The reply is None if they are right.
func parseMerge(c *engine.Call) (m merging, failed answer.Reply) {
	n, ok := answer.ParseInt(c.Args[2])
	switch {
	case !ok:
		return m, answer.Fail(textNumKeys)
	case n < 1:
		return m, answer.Fail(textFewKeys)
	case n > int64(len(c.Args)-3):
		return m, answer.WrongArity(c.Command().Name)
	}
	m.sources = c.Args[3 : 3+n]
	rest := c.Args[3+n:]
	at := -1
	for i, word := range rest {
		switch {
		case answer.Is(word, "compression") && at < 0:
			at = i
		case answer.Is(word, "override"):
			m.override = true
		}
	}
	switch {
	case at < 0 && !m.override && len(rest) > 0:
		return m, answer.Fail(textWord)
	case at < 0:
		return m, answer.Reply{}
	case at+1 == len(rest):
		return m, answer.WrongArity(c.Command().Name)
	}
	var text string
	if m.compression, text = parseCompression(rest[at+1]); text != "" {
		return m, answer.Fail(text)
	}
	return m, answer.Reply{}
}

func prepareMerge(x *engine.Context, c *engine.Call) *engine.Op {
	target := x.Names().Lookup(c.Args[1])
	if target != nil && target.Kind != catalog.TDigest {
		c.Fail(answer.TextWrongType)
		return nil
	}
	m, failed := parseMerge(c)
	if failed.Kind != answer.None {
		c.Answer(failed)
		return nil
	}
	most := m.compression // as far as is known now
	for _, key := range m.sources {
		entry := x.Names().Lookup(key)
		switch {
		case entry == nil:
			c.Fail(textMissing)
			return nil
		case entry.Kind != catalog.TDigest:
			c.Fail(answer.TextWrongType)
			return nil
		}
		p := x.Contents().Sketch(c, entry)
		if p == nil {
			return nil
		}
		if m.compression == 0 {
			most = max(most, compressionOf(p))
		}
	}
	if target != nil && m.compression == 0 && !m.override {
		most = compressionOf(contents.PartOf(target))
	}
	if !store.NamesFit(append([][]byte{c.Args[1]}, m.sources...)) {
		c.Fail(textManyKeys)
		return nil
	}
	r := &store.TDigestMerge{Name: c.Args[1], Sources: m.sources, Compression: m.compression, Override: m.override}
	size, err := redisbloom.TDigestParams{Compression: max(most, 1)}.Bytes()
	if err != nil {
		c.Fail(textNoRoom)
		return nil
	}
	op := x.Contents().Record(r)
	op.Cost, op.NoMemory = 2*uint64(store.NewCost(r.Name, size)), textNoRoom // the log has a copy
	return op
}

// compressionOf returns the compression of a digest, 0 of one that is gone.
func compressionOf(p *contents.Part) int64 {
	p.RLock()
	defer p.RUnlock()
	return p.TDigest().Stats().Compression
}

// replyMerge leaves a call without an answer one of whose keys has gone meanwhile.
func replyMerge(c *engine.Call, res *store.Result) {
	switch {
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrMissing), errors.Is(res.Err, contents.ErrType):
	case errors.Is(res.Err, bloomery.ErrFull):
		c.Fail(textOverflow)
	default:
		c.Fail(textNoRoom)
	}
}

// mergedBytes is how often the bytes of a digest are passed over to unite it with others.
const mergedBytes = 32

// costOfMerge counts that all digests are sorted and united, the new one too.
func costOfMerge(x *engine.Costs, c *engine.Call) {
	engine.ByBytes(mergedBytes)(x, c)
	if m, failed := parseMerge(c); failed.Kind == answer.None && m.compression > 0 {
		x.Make(c.Args[1], digestOf(c.Args[1], m.compression))
	}
}
