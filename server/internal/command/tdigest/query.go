package tdigest

// TDIGEST.QUANTILE, CDF, RANK and the other questions.

import (
	"math"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// question is a read of numbers. Most of them are asked of a compressed digest, so
// one that is not is compressed first: that is a record of its own, as a write is.
// The command itself only reads, as RedisBloom flags it: where nothing can be
// written, a copy is compressed.
type question struct {
	// parse reads an argument: the bits of a number with a fraction, or a whole
	// one. It returns the error text, or "".
	parse func([]byte) (uint64, string)
	// known reports whether the answer for v does not need a compressed digest;
	// nil means never.
	known func(t *redisbloom.TDigest, v uint64) bool
	// answer answers for v.
	answer func(t *redisbloom.TDigest, v uint64) answer.Reply
}

// asking is how far a call has come.
type asking struct {
	values     []uint64
	elems      []answer.Reply
	compressed int // how often
}

const (
	// maxValues is how many values are asked for under one lock, fewer if they look at
	// more than maxNodes nodes together.
	maxValues = 256
	maxNodes  = 1 << 18
	// maxCompressed is how often a digest is compressed for one call, if others
	// add to it meanwhile. Then a copy is asked.
	maxCompressed = 3
)

// command returns the command that asks q.
func (q *question) command(name, syntax, summary string) engine.Command {
	return engine.Command{
		Name: name, Arity: -3, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
		Categories: []string{"read", "fast", "tdigest"}, Group: traits.GroupTDigest, Since: "2.4.0",
		Syntax: syntax, Complexity: "O(n · c), n values and a compression of c", Summary: summary,
		Cost:   costOfQuestion,
		Before: q.before, Prepare: q.prepare, Reply: again,
	}
}

// before answers for a large digest, from a copy: outside the gate, and a value at a time.
func (q *question) before(x *engine.Context, c *engine.Call) {
	entry := largeOne(x, c)
	if entry == nil {
		return
	}
	a, text := q.read(c.Args[2:])
	switch {
	case text != "":
		c.Fail(text)
		return
	case !x.Hold(len(a.values) * (answer.ReplyBytes + 8)):
		c.Fail(answer.TextOOM)
		return
	}
	fromCopy(x, c, entry, func(t *redisbloom.TDigest) {
		for _, v := range a.values {
			if x.GaveUp(c) {
				return
			}
			a.elems = append(a.elems, q.answer(t, v))
		}
		c.Answer(answer.List(a.elems...))
	})
}

// largeOne returns the digest of a call if it is a large one that is not asked under its
// lock, nil otherwise.
func largeOne(x *engine.Context, c *engine.Call) (entry *catalog.Entry) {
	if x.Transaction().Queued() || x.Can().Cluster {
		return nil
	}
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	if entry == nil || entry.Kind != catalog.TDigest {
		return nil
	}
	if large, _ := contents.PartOf(entry).LargeDigest(0); !large {
		return nil
	}
	return entry
}

// fromCopy has f answer from a compressed copy of a digest. The digest itself is compressed
// first, as RedisBloom does, if that can be. A digest that is gone is for Prepare.
func fromCopy(x *engine.Context, c *engine.Call, entry *catalog.Entry, f func(*redisbloom.TDigest)) {
	x.Look(func() { x.Names().Read(c.Args[1]) }) // it counts
	if _, due := contents.PartOf(entry).LargeDigest(0); due && x.Refuses() == nil {
		x.Staging().Compress(entry)
	}
	if failed := x.Staging().WithDigest(entry, f); failed.Kind != answer.None && failed.Text != answer.TextNotFound {
		c.Answer(failed)
	}
}

// again leaves the call without an answer: it is prepared again.
func again(*engine.Call, *store.Result) {}

func (q *question) prepare(x *engine.Context, c *engine.Call) *engine.Op {
	entry := lookup(x, c)
	if entry == nil {
		return nil
	}
	a, ok := c.Option.(*asking)
	if !ok {
		var text string
		if a, text = q.read(c.Args[2:]); text != "" {
			c.Fail(text)
			return nil
		}
		if !x.Hold(len(a.values) * (answer.ReplyBytes + 8)) {
			c.Fail(answer.TextOOM)
			return nil
		}
		c.Option = a
	}
	x.Worked(min(len(a.values), maxValues))
	p := contents.PartOf(entry)
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return nil
	}
	most := max(1, min(maxValues, maxNodes/p.TDigest().Stats().Capacity))
	part := a.values[len(a.elems):min(len(a.elems)+most, len(a.values))]
	t, op := compressed(x, entry, a, !q.needs(p.TDigest(), part))
	if op != nil {
		return op
	}
	for _, v := range part {
		a.elems = append(a.elems, q.answer(t, v))
	}
	if len(a.elems) == len(a.values) {
		c.Answer(answer.List(a.elems...))
	}
	return nil
}

// read reads all arguments: the first that is wrong is answered, and nothing is
// done.
func (q *question) read(args [][]byte) (*asking, string) {
	a := &asking{values: make([]uint64, len(args)), elems: make([]answer.Reply, 0, len(args))}
	for i, arg := range args {
		var text string
		if a.values[i], text = q.parse(arg); text != "" {
			return nil, text
		}
	}
	return a, ""
}

// needs reports whether a value needs a compressed digest.
func (q *question) needs(t *redisbloom.TDigest, values []uint64) bool {
	for _, v := range values {
		if q.known == nil || !q.known(t, v) {
			return true
		}
	}
	return false
}

// lookup returns the digest of a call, or answers.
func lookup(x *engine.Context, c *engine.Call) *catalog.Entry {
	entry := x.Names().Read(c.Args[1])
	switch {
	case entry == nil:
		c.Fail(textMissing)
		return nil
	case entry.Kind != catalog.TDigest:
		c.Fail(answer.TextWrongType)
		return nil
	}
	return entry
}

// compressed returns a digest that can be asked: that of an entry, whose lock the
// caller holds; a compressed copy of it; or the op that compresses it first.
func compressed(x *engine.Context, entry *catalog.Entry, a *asking, as bool) (*redisbloom.TDigest, *engine.Op) {
	p := contents.PartOf(entry)
	t := p.TDigest()
	if as || t.Compressed() {
		return t, nil
	}
	if a.compressed < maxCompressed && x.Refuses() == nil {
		a.compressed++
		op := x.Contents().Record(&store.TDigestCompress{})
		op.Part, op.Record.ID = p, entry.ID
		return nil, op
	}
	data, _ := t.MarshalBinary() // it was made
	c, err := redisbloom.DecodeTDigest(data, nil)
	if err != nil {
		return t, nil // never: it is our own
	}
	c.Compress()
	return c, nil
}

var (
	cdf = (&question{
		parse:  func(arg []byte) (uint64, string) { return parseNumber(arg, textCDF) },
		answer: func(t *redisbloom.TDigest, v uint64) answer.Reply { return answer.Float(t.CDF(number(v))) },
	}).command("tdigest.cdf", "key value [value ...]", "Returns for each value the estimated share of smaller ones, those equal to it counted half.")

	quantile = (&question{
		parse: func(arg []byte) (uint64, string) {
			v, text := parseNumber(arg, textQuantile)
			if text == "" && (number(v) < 0 || number(v) > 1) {
				text = textQuantileRange
			}
			return v, text
		},
		answer: func(t *redisbloom.TDigest, v uint64) answer.Reply { return answer.Float(t.Quantile(number(v))) },
	}).command("tdigest.quantile", "key quantile [quantile ...]", "Returns for each share, 0 to 1, the estimated value below which so many are.")

	rank = (&question{
		parse: parseValue, known: outside,
		answer: func(t *redisbloom.TDigest, v uint64) answer.Reply { return answer.Integer(t.Rank(number(v))) },
	}).command("tdigest.rank", "key value [value ...]", "Returns for each value the estimated number of smaller ones.")

	revRank = (&question{
		parse: parseValue, known: outside,
		answer: func(t *redisbloom.TDigest, v uint64) answer.Reply { return answer.Integer(t.RevRank(number(v))) },
	}).command("tdigest.revrank", "key value [value ...]", "Returns for each value the estimated number of larger ones.")

	byRank = (&question{
		parse: parseRank, known: atTheEnd,
		answer: func(t *redisbloom.TDigest, v uint64) answer.Reply { return answer.Float(t.ByRank(int64(v))) },
	}).command("tdigest.byrank", "key rank [rank ...]", "Returns the estimated value of each rank: 0 is the smallest.")

	byRevRank = (&question{
		parse: parseRank, known: atTheEnd,
		answer: func(t *redisbloom.TDigest, v uint64) answer.Reply { return answer.Float(t.ByRevRank(int64(v))) },
	}).command("tdigest.byrevrank", "key reverse_rank [reverse_rank ...]", "Returns the estimated value of each rank: 0 is the largest.")
)

func parseNumber(arg []byte, text string) (uint64, string) {
	v, ok := answer.ParseFloat(arg)
	if !ok {
		return 0, text
	}
	return math.Float64bits(v), ""
}

func number(v uint64) float64 { return math.Float64frombits(v) }

func parseValue(arg []byte) (uint64, string) { return parseNumber(arg, textRankValue) }

func parseRank(arg []byte) (uint64, string) {
	n, ok := answer.ParseInt(arg)
	switch {
	case !ok:
		return 0, textRank
	case n < 0:
		return 0, textLowRank
	}
	return uint64(n), ""
}

// outside reports whether v is less or more than all values, or there are none.
func outside(t *redisbloom.TDigest, v uint64) bool {
	return t.Observations() == 0 || number(v) < t.Min() || number(v) > t.Max()
}

// atTheEnd reports whether a rank is the first of all, or none.
func atTheEnd(t *redisbloom.TDigest, v uint64) bool {
	return v == 0 || v >= uint64(t.Observations())
}

// trimmedMean is TDIGEST.TRIMMED_MEAN key low_cut_percentile high_cut_percentile.
var trimmedMean = engine.Command{
	Name: "tdigest.trimmed_mean", Arity: 4, Flags: traits.ReadOnly | traits.Module, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "tdigest"}, Group: traits.GroupTDigest, Since: "2.4.0",
	Syntax: "key low_cut_percentile high_cut_percentile", Complexity: "O(c), c being the compression",
	Summary: "Returns the estimated mean of the values between two shares, 0 to 1.",
	Cost:    costOfQuestion,
	Before:  beforeTrimmedMean, Prepare: prepareTrimmedMean, Reply: again,
}

// beforeTrimmedMean answers for a large digest.
func beforeTrimmedMean(x *engine.Context, c *engine.Call) {
	entry := largeOne(x, c)
	if entry == nil {
		return
	}
	low, high, text := parseCuts(c.Args[2:])
	if text != "" {
		c.Fail(text)
		return
	}
	fromCopy(x, c, entry, func(t *redisbloom.TDigest) { c.Answer(answer.Float(t.TrimmedMean(low, high))) })
}

// parseCuts reads the two shares. It returns the error text, or "".
func parseCuts(args [][]byte) (low, high float64, text string) {
	low, ok := answer.ParseFloat(args[0])
	if !ok {
		return 0, 0, textLowCut
	}
	high, ok = answer.ParseFloat(args[1])
	switch {
	case !ok:
		return 0, 0, textHighCut
	case low < 0 || low > 1 || high < 0 || high > 1:
		return 0, 0, textCutRange
	case low >= high:
		return 0, 0, textCutOrder
	}
	return low, high, ""
}

func prepareTrimmedMean(x *engine.Context, c *engine.Call) *engine.Op {
	entry := lookup(x, c)
	if entry == nil {
		return nil
	}
	low, high, text := parseCuts(c.Args[2:])
	if text != "" {
		c.Fail(text)
		return nil
	}
	a, ok := c.Option.(*asking)
	if !ok {
		a = &asking{}
		c.Option = a
	}
	p := contents.PartOf(entry)
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return nil
	}
	t, op := compressed(x, entry, a, false)
	if op == nil {
		c.Answer(answer.Float(t.TrimmedMean(low, high)))
	}
	return op
}

// costOfQuestion counts that the digest is sorted, and passed over for every value.
func costOfQuestion(x *engine.Costs, c *engine.Call) {
	const sorted = 8
	x.Whole(c.Args[1], sorted+len(c.Args)-2)
}
