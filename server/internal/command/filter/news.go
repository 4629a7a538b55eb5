package filter

// FILTER.NEWS: what copies of a filter lack.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/following"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// newsCmd is FILTER.NEWS key [SINCE token] [SUM sum] [BLOCK milliseconds] [MAX bytes] [NAME name] [VERSION n] [AGE milliseconds].
var newsCmd = engine.Command{
	Name: "filter.news", Arity: -2, Max: 16, Flags: traits.ReadOnly | traits.Heavy | traits.Outside | traits.Steps | traits.Apart, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key [SINCE token] [SUM sum] [BLOCK milliseconds] [MAX bytes] [NAME name] [VERSION n] [AGE milliseconds]", Complexity: "O(n), n being the number of changes, or of bytes if the whole filter is returned",
	Summary: "Returns what a copy of a filter lacks: a token for the next call, 1 if there is more to ask for at once, pieces, each a part, its form (whole, dump, bits, added, steps) and its bytes, and a checksum. " +
		"Without SINCE, and where changes are not known any more, that is the whole filter. With BLOCK it waits for a change. FILTER.FOLLOWERS lists who says its NAME, with the version and the age of its copy. " +
		"Kinds that are not plain bits return hashes of items, which needs the right to FILTER.DUMP; a BF is of bits, a CF is not.",
	Cost: engine.ByBytes(4),
	Also: func(x *engine.Context, c *engine.Call) {
		if entry := x.Names().Lookup(c.Args[1]); entry != nil && following.MayBeFollowed(entry.Kind) {
			mayFollow(x, c, entry)
		}
	},
	Run: runNews,
}

// newsCall is a call of FILTER.NEWS.
type newsCall struct {
	since []byte
	sum   string
	block time.Duration
	most  int
	who   following.Follower
}

const (
	// maxBlock is how long a call may wait, in milliseconds.
	maxBlock = 60 * 60 * 1000
	// usualNews is the most bytes of one answer, if nobody asks for fewer.
	usualNews = 16 << 20
)

// parseNews reads the arguments. It returns the error text, or "".
func parseNews(args [][]byte) (v newsCall, text string) {
	v.who = following.Follower{Version: -1, Age: -1}
	for args = args[2:]; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return v, answer.TextSyntax
		}
		var n uint64
		switch {
		case answer.Is(args[0], "since") && v.since == nil:
			v.since = args[1]
		case answer.Is(args[0], "sum") && v.sum == "":
			if sum, err := hex.DecodeString(string(args[1])); err != nil || len(sum) != sha256.Size {
				return v, "ERR SUM must be the SHA-256 of the copy, in hex"
			}
			v.sum = string(bytes.ToLower(args[1]))
		case answer.Is(args[0], "block") && v.block == 0:
			text = blueprint.Milliseconds(args[1], &n, 1, maxBlock, "BLOCK")
			v.block = time.Duration(n) * time.Millisecond
		case answer.Is(args[0], "max") && v.most == 0:
			text = blueprint.Bytes(args[1], &n, 64, usualNews, "MAX")
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
	if following.OfBits(entry) || x.Names().MayAlso("filter.dump", c.Args[1]) {
		return true
	}
	kind := "cf"
	if row := contents.PartOf(entry).Row(); row != nil {
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
	for range mostTries {
		var entry *catalog.Entry
		x.Look(func() { entry = x.Names().Read(c.Args[1]) })
		switch {
		case entry == nil:
			c.Fail(answer.TextNotFound)
		case !following.MayBeFollowed(entry.Kind):
			c.Fail(answer.TextWrongType)
		case mayFollow(x, c, entry) && !answerNews(x, c, &v, entry):
			continue
		}
		return
	}
	c.Fail("TRYAGAIN the filter becomes another one all the time: ask again")
}

// mostTries is how often news are put together anew because the filter has become another one, or parts have moved.
const mostTries = 16

// answerNews answers a call, or has it wait. It reports false if the filter has become another one.
func answerNews(x *engine.Context, c *engine.Call, v *newsCall, entry *catalog.Entry) bool {
	n := x.Contents().News(entry)
	if n == nil {
		c.Fail(answer.TextOOM)
		return true
	}
	if v.who.Name != "" {
		v.who.Asked = x.Milliseconds()
		n.Note(v.who)
	}
	waits := v.block > 0 && x.Contents().Await(c, n, v.block)
	if waits && !x.Contents().Follows(entry, n) { // whoever waited for it was woken before
		return false
	}
	if last, _ := n.Answer.Load().(*sharedAnswer); last != nil && last.of(x, c, n.Changes()) && !n.Stale() {
		switch fits := last.fits(v); {
		case fits && (!waits || !last.nothing):
			c.Answer(last.reply)
			return true
		case waits && (fits || last.leaves(v)) && named(x, c) == entry:
			x.Contents().Park(0)
			return true
		}
	}
	return gatherNews(x, c, v, entry, n, waits)
}

// gatherNews puts news together, and answers as answerNews does. It is on its own for the sake of those who wait: their stacks
// stay small.
func gatherNews(x *engine.Context, c *engine.Call, v *newsCall, entry *catalog.Entry, n *following.News, waits bool) bool {
	changes := n.Changes()
	g := gathering{x: x, c: c, entry: entry, news: n, left: v.most, waits: waits, token: news.New(n.Epoch, contents.PartCount(entry))}
	if v.since != nil {
		t, err := news.ParseToken(string(v.since))
		if err != nil {
			c.Fail("ERR " + answer.OneLine(err))
			return true
		}
		if t.Epoch == n.Epoch && len(t.Numbers) == len(g.token.Numbers) {
			g.token = t
		}
	}
	if v.sum != "" && !g.knows() && !g.same(v.sum) || !g.gather() {
		return !g.gone
	}
	now, nothing := entry, len(g.pieces) == 0
	if waits && nothing {
		now = named(x, c)
	}
	if now == nil {
		c.Fail(answer.TextNotFound)
		return true
	}
	wait := waits && nothing && now == entry
	if wait && g.more {
		x.Contents().Park(memoryPause)
		return true
	}
	reply := g.reply(string(c.Args[1]))
	if g.shared() {
		n.Answer.Store(&sharedAnswer{string(c.Args[1]), string(v.since), v.most, changes, x.Milliseconds(), nothing, g.more, reply})
	}
	if wait {
		x.Contents().Park(0)
	} else {
		c.Answer(reply)
	}
	return true
}

// named returns what has the name of a call that waits: whoever took it away before has woken nobody.
func named(x *engine.Context, c *engine.Call) (now *catalog.Entry) {
	x.Look(func() { now = x.Names().Read(c.Args[1]) })
	return now
}

// sharedAnswer is an answer that all get whose copies are alike: thousands wait for the same change.
type sharedAnswer struct {
	key, since string
	most       int
	changes    uint64 // that there were before it was put together
	at         int64  // when that was, in milliseconds since 1970
	nothing    bool   // there is nothing new
	more       bool   // it is not all
	reply      answer.Reply
}

// of reports whether it is about what a call asks for, and whether that is as it was.
func (a *sharedAnswer) of(x *engine.Context, c *engine.Call, changes uint64) bool {
	return a.changes == changes && a.key == string(c.Args[1]) && x.Milliseconds()-a.at < sharedFor
}

// fits reports whether it is the answer to a call.
func (a *sharedAnswer) fits(v *newsCall) bool { return a.since == string(v.since) && a.most == v.most }

// leaves reports whether whoever calls has got it, and lacks nothing.
func (a *sharedAnswer) leaves(v *newsCall) bool {
	return !a.more && a.reply.Elems[0].Text == string(v.since)
}

const (
	// mostShared is how many bytes an answer has at most that is kept for others.
	mostShared = 16 << 10
	// sharedFor is how long it is kept, in milliseconds: nodes that nobody asks forget changes, in the end.
	sharedFor = 60_000
)

// shared reports whether an answer is kept for others: it is of changes, and short; or there are none, and other nodes
// had to be asked.
func (g *gathering) shared() bool {
	bytes := 0
	for _, p := range g.pieces {
		if p.Form == news.Whole || p.Form == news.Dump {
			return false
		}
		bytes += len(p.Data)
	}
	return bytes <= mostShared && (bytes > 0 || g.asked && !g.more)
}

// gathering is news that are put together.
type gathering struct {
	x      *engine.Context
	c      *engine.Call
	entry  *catalog.Entry
	news   *following.News
	left   int  // bytes, also of what is compressed
	waits  bool // it may be gathered later
	asked  bool // other nodes were asked
	gone   bool // the filter has become another one
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

// gather takes what the token lacks. It begins with the parts of which it has nothing: those that change all the time would keep
// them from ever coming. It reports false if it has answered, or the filter has become another one.
func (g *gathering) gather() bool {
	var nothing, some []following.Lack
	for i, number := range g.token.Numbers {
		if lack := (following.Lack{Part: i, Number: number}); number == news.Unknown {
			nothing = append(nothing, lack)
		} else {
			some = append(some, lack)
		}
	}
	if !g.gatherParts(nothing) || !g.gatherParts(some) {
		return false
	}
	slices.SortFunc(g.pieces, func(a, b news.Piece) int { return a.Part - b.Part })
	return true
}

// gatherParts is gather for some parts.
func (g *gathering) gatherParts(lacks []following.Lack) bool {
	var far []following.Lack
	for _, lack := range lacks {
		switch {
		case g.left <= 0:
			g.more = true
		case !g.here(lack.Part):
			far = append(far, lack)
		default:
			t, err := g.news.Take(lack, max(1, g.left/8), g.x)
			if errors.Is(err, contents.ErrMemory) {
				return g.short()
			}
			if g.failed(err) {
				return false
			}
			g.put(t)
		}
	}
	if g.left <= 0 || len(far) == 0 {
		g.more = g.more || len(far) > 0
		return true
	}
	return g.gatherFar(far)
}

// gatherFar is gatherParts for parts that other nodes hold.
func (g *gathering) gatherFar(far []following.Lack) bool {
	g.asked = true
	all, more, failed := g.x.Contents().FarNews(g.entry, far, g.left)
	switch {
	case failed.Kind == answer.None:
	case failed.Text == answer.TextOOM:
		return g.short()
	default:
		g.c.Answer(failed)
		return false
	}
	for _, t := range all {
		g.put(t)
	}
	g.more = g.more || more
	return true
}

// here reports whether this node holds a part.
func (g *gathering) here(part int) bool {
	return g.x.Contents().Here(contents.PartAt(g.entry, uint32(part)))
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

// put takes what a copy lacks of a part.
func (g *gathering) put(t following.Taken) {
	if t.Form == "" {
		return
	}
	g.pieces = append(g.pieces, t.Piece)
	g.left -= len(t.Data) + t.Work // that was work, however little is left of it
	g.token.Numbers[t.Part] = t.Next
	g.more = g.more || t.More
}

// failed reports whether a part could not be read, or the client has left. It has answered then, unless the
// filter has become another one.
func (g *gathering) failed(err error) bool {
	switch {
	case errors.Is(err, contents.ErrRetry): // it was removed meanwhile, or moved
		g.gone = true
		return true
	case err != nil:
		g.c.Fail(filters.Failure(err))
		return true
	}
	return g.x.GaveUp(g.c)
}

// knows reports whether all changes are known that the token lacks, as far as this node can tell.
func (g *gathering) knows() bool {
	for i, number := range g.token.Numbers {
		if number == news.Unknown || g.here(i) && !g.news.Knows(i, number) {
			return false
		}
	}
	return true
}

// same makes the token that of a copy with a sum if the filter has the same sum now. Without
// memory to find that out, or without all parts, it has not. It reports false if it has answered, or the filter
// has become another one.
func (g *gathering) same(sum string) bool {
	numbers := make([]uint64, len(g.token.Numbers))
	h := sha256.New()
	for i := range numbers {
		if !g.here(i) {
			return true
		}
		held := g.x.Held()
		data, _, next, err := g.news.Encoded(i, 1, g.x)
		if errors.Is(err, contents.ErrMemory) {
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
