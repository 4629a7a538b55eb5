package filter

// FILTER.NEWS: what copies of a filter lack.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// newsCmd is FILTER.NEWS key [SINCE token] [SUM sum] [BLOCK milliseconds] [MAX bytes] [NAME name] [VERSION n] [AGE milliseconds].
var newsCmd = engine.Command{
	Name: "filter.news", Arity: -2, Max: 16, Flags: traits.ReadOnly | traits.Heavy | traits.Outside | traits.Steps, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key [SINCE token] [SUM sum] [BLOCK milliseconds] [MAX bytes] [NAME name] [VERSION n] [AGE milliseconds]", Complexity: "O(n), n being the number of changes, or of bytes if the whole filter is returned",
	Summary: "Returns what a copy of a filter lacks: a token for the next call, 1 if there is more to ask for at once, pieces, each a part, its form (whole, dump, bits, added, steps) and its bytes, and a checksum. " +
		"Without SINCE, and where changes are not known any more, that is the whole filter. With BLOCK it waits for a change. FILTER.FOLLOWERS lists who says its NAME, with the version and the age of its copy. " +
		"Kinds that are not plain bits return hashes of items, which needs the right to FILTER.DUMP; a BF is of bits, a CF is not.",
	Cost: engine.ByBytes(4),
	Also: func(x *engine.Context, c *engine.Call) {
		if entry := x.Names().Lookup(c.Args[1]); entry != nil && store.MayBeFollowed(entry.Kind) {
			mayFollow(x, c, entry)
		}
	},
	Run: runNews,
}

// newsCall is a call of FILTER.NEWS.
type newsCall struct {
	since *news.Token
	sum   string
	block time.Duration
	most  int
	who   store.Follower
}

const (
	// maxBlock is how long a call may wait, in milliseconds.
	maxBlock = 60 * 60 * 1000
	// usualNews is the most bytes of one answer, if nobody asks for fewer.
	usualNews = 16 << 20
)

// parseNews reads the arguments. It returns the error text, or "".
func parseNews(args [][]byte) (v newsCall, text string) {
	v.who = store.Follower{Version: -1, Age: -1}
	for args = args[2:]; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return v, answer.TextSyntax
		}
		var n uint64
		switch {
		case answer.Is(args[0], "since") && v.since == nil:
			t, err := news.ParseToken(string(args[1]))
			if err != nil {
				return v, "ERR " + answer.OneLine(err)
			}
			v.since = &t
		case answer.Is(args[0], "sum") && v.sum == "":
			if sum, err := hex.DecodeString(string(args[1])); err != nil || len(sum) != sha256.Size {
				return v, "ERR SUM must be the SHA-256 of the copy, in hex"
			}
			v.sum = string(bytes.ToLower(args[1]))
		case answer.Is(args[0], "block") && v.block == 0:
			text = blueprint.Number(args[1], &n, 1, maxBlock, "BLOCK")
			v.block = time.Duration(n) * time.Millisecond
		case answer.Is(args[0], "max") && v.most == 0:
			text = blueprint.Number(args[1], &n, 64, usualNews, "MAX")
			v.most = int(n)
		case answer.Is(args[0], "name") && v.who.Name == "":
			text = followerName(args[1], &v.who.Name)
		case answer.Is(args[0], "version") && v.who.Version < 0:
			text = blueprint.Number(args[1], &n, 0, math.MaxInt64, "VERSION")
			v.who.Version = int64(n)
		case answer.Is(args[0], "age") && v.who.Age < 0:
			text = blueprint.Number(args[1], &n, 0, math.MaxInt64, "AGE")
			v.who.Age = int64(n)
		default:
			text = answer.TextSyntax
		}
		if text != "" {
			return v, text
		}
	}
	if v.most == 0 {
		v.most = usualNews
	}
	return v, ""
}

// mayFollow reports whether the user may have news of a filter, and answers if not.
func mayFollow(x *engine.Context, c *engine.Call, entry *catalog.Entry) bool {
	if store.OfBits(entry) || x.Names().MayAlso("filter.dump", c.Args[1]) {
		return true
	}
	kind := "cf"
	if row := store.PartOf(entry).Row(); row != nil {
		kind = row.Name
	}
	c.Fail("NOPERM news of a filter of kind " + kind + " have the hashes of its items: that needs the right to 'filter.dump' on this key, too")
	return false
}

func runNews(x *engine.Context, c *engine.Call) {
	v, text := parseNews(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Read(c.Args[1]) })
	switch {
	case entry == nil:
		c.Fail(answer.TextNotFound)
		return
	case !store.MayBeFollowed(entry.Kind):
		c.Fail(answer.TextWrongType)
		return
	}
	if !mayFollow(x, c, entry) {
		return
	}
	n := x.Contents().News(entry)
	if n == nil {
		c.Fail(answer.TextOOM)
		return
	}
	if v.who.Name != "" {
		v.who.Asked = x.Milliseconds()
		n.Note(v.who)
	}
	waits := v.block > 0 && x.Contents().Await(c, n, v.block)
	g := gathering{x: x, c: c, news: n, left: v.most, waits: waits, token: news.New(n.Epoch, store.PartCount(entry))}
	switch {
	case v.since != nil && v.since.Epoch == n.Epoch && len(v.since.Numbers) == len(g.token.Numbers):
		g.token = *v.since
	case v.sum != "" && !g.same(v.sum):
		return
	}
	if !g.gather() {
		return
	}
	now := entry
	if waits && len(g.pieces) == 0 { // whoever took the name away before the call waited has woken nobody
		x.Look(func() { now = x.Names().Read(c.Args[1]) })
	}
	switch {
	case now == nil:
		c.Fail(answer.TextNotFound)
	case waits && len(g.pieces) == 0 && now == entry && g.more:
		x.Contents().Park(memoryPause)
	case waits && len(g.pieces) == 0 && now == entry:
		x.Contents().Park(0)
	default:
		c.Answer(g.reply(string(c.Args[1])))
	}
}

// gathering is news that are put together.
type gathering struct {
	x      *engine.Context
	c      *engine.Call
	news   *store.News
	left   int  // bytes, also of what is compressed
	waits  bool // it may be gathered later
	token  news.Token
	more   bool
	pieces []news.Piece
}

// reply returns what was put together.
func (g *gathering) reply(key string) answer.Reply {
	token, list := g.token.String(), make([]answer.Reply, 0, len(g.pieces))
	for _, p := range g.pieces {
		list = append(list, answer.List(answer.Integer(int64(p.Part)), answer.Text(p.Form), answer.Text(string(p.Data))))
	}
	check := news.Check(key, token, g.more, g.pieces)
	return answer.List(answer.Text(token), answer.Flag(g.more), answer.List(list...), answer.Integer(int64(check)))
}

// gather takes what the token lacks. It reports false if it has answered.
func (g *gathering) gather() bool {
	for i, number := range g.token.Numbers {
		if g.left <= 0 {
			g.more = true
			break
		}
		known := number != news.Unknown
		var changes store.Changes
		if known {
			changes, known = g.news.Since(i, number, max(1, g.left/8))
		}
		switch {
		case !known:
			err := g.all(i)
			if errors.Is(err, store.ErrMemory) {
				return g.short()
			}
			if g.failed(err) {
				return false
			}
		case len(changes.Values) == 0:
		case !g.x.Hold(9 * len(changes.Values)):
			return g.short()
		case changes.Added > 0:
			g.put(i, news.Added, news.AppendAdded(nil, changes.Added, changes.Values), changes.Next)
		case changes.Steps == nil:
			g.put(i, news.Bits, news.AppendBits(nil, changes.Values), changes.Next)
		default:
			g.put(i, news.Steps, news.AppendSteps(nil, changes.Steps, changes.Values), changes.Next)
		}
		g.more = g.more || changes.More
	}
	return true
}

// memoryPause is how long a call waits for memory before it looks again.
const memoryPause = 100 * time.Millisecond

// short is for when there is no memory for the next piece: there will be when this answer is
// written, or that of another follower. It reports false if it has answered.
func (g *gathering) short() bool {
	if g.more = len(g.pieces) > 0 || g.waits; !g.more {
		g.c.Fail(answer.TextOOM)
	}
	return g.more
}

// put takes a piece, with which the copy has the changes before next.
func (g *gathering) put(part int, form string, data []byte, next uint64) {
	g.pieces = append(g.pieces, news.Piece{Part: part, Form: form, Data: data})
	g.left -= len(data)
	g.token.Numbers[part] = next
}

// packing is how many times the size of a part is held while it is compressed for an answer:
// its encoding, what that becomes, and the answer.
const packing = 3

// all takes a part as a whole.
func (g *gathering) all(part int) error {
	held := g.x.Held()
	data, dumped, next, err := g.whole(part, packing)
	if err != nil {
		return err
	}
	if dumped {
		g.put(part, news.Dump, data, next)
		return nil
	}
	packed, err := codec.Compress(nil, data)
	if err != nil {
		return err
	}
	// The encoding is no more: what is left are the answer, and its text.
	g.x.Unhold(max(0, g.x.Held()-held-2*len(packed)))
	g.put(part, news.Whole, packed, next)
	g.left -= max(0, len(data)-len(packed)) // it was the work, however little is left of it
	return nil
}

// whole returns the encoding of a part, whether that is what DUMP answers, and the number of the
// next change. It holds times the size of the part, and a little.
func (g *gathering) whole(part, times int) (data []byte, dumped bool, next uint64, err error) {
	next, err = g.news.Whole(part, func(e store.Encoding) (err error) {
		size := int(e.Size)
		if !g.x.Hold(times*size + size>>3 + 8192) {
			return store.ErrMemory
		}
		data, err = e.Bytes()
		dumped = e.Dumped
		return err
	})
	return data, dumped, next, err
}

// failed reports whether a part could not be read, or the client has left. It has answered then.
func (g *gathering) failed(err error) bool {
	switch {
	case errors.Is(err, store.ErrRetry): // it was removed meanwhile
		g.c.Fail(answer.TextNotFound)
		return true
	case err != nil:
		g.c.Fail(filters.Failure(err))
		return true
	}
	return g.x.GaveUp(g.c)
}

// same makes the token that of a copy with a sum if the filter has the same sum now. Without
// memory to find that out, it has not. It reports false if it has answered.
func (g *gathering) same(sum string) bool {
	numbers := make([]uint64, len(g.token.Numbers))
	h := sha256.New()
	for i := range numbers {
		held := g.x.Held()
		data, _, next, err := g.whole(i, 1)
		if errors.Is(err, store.ErrMemory) {
			return true
		}
		if g.failed(err) {
			return false
		}
		h.Write(data)
		numbers[i] = next
		g.x.Unhold(g.x.Held() - held)
	}
	if hex.EncodeToString(h.Sum(nil)) == sum {
		g.token.Numbers = numbers
	}
	return true
}
