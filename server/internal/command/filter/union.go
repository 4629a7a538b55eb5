package filter

// FILTER.UNION, INTERSECT and SIMILAR.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
	"github.com/bloomery/bloomery/sizing"
)

// union is FILTER.UNION destination source [source ...]. The sources are added to
// the destination in pieces, between which others use all of them: whatever was
// added before the command began is in the destination when it ends.
var union = engine.Command{
	Name: "filter.union", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Outside | traits.Apart,
	Keys:       traits.Keys{traits.KeyAt(1, traits.KeyRW), {First: 2, Last: -1, Step: 1, Access: traits.KeyGet}},
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "destination source [source ...]", Complexity: "O(n), n being the number of bytes of all sources",
	Summary: "Adds all items of the sources to the destination, which is created like the first source if it is not there. All must have the same shape and hash.",
	Cost:    engine.ByBytes(4),
	Also: func(x *engine.Context, c *engine.Call) {
		if x.Names().Lookup(c.Args[1]) == nil {
			x.Names().MayCopy(c, c.Args[1], x.Names().Lookup(c.Args[2]))
		}
	},
	Lands: engine.Landing(1),
	Run:   runUnion,
}

// intersect is FILTER.INTERSECT destination source [source ...].
var intersect = engine.Command{
	Name: "filter.intersect", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Outside | traits.Apart,
	Keys:       traits.Keys{traits.KeyAt(1, traits.KeyOW), {First: 2, Last: -1, Step: 1, Access: traits.KeyGet}},
	Categories: []string{"write", "filter", "slow", "delete"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "destination source [source ...]", Complexity: "O(n), n being the number of bytes of all sources",
	Summary: "Makes a filter of the items that are in all sources, and replaces the destination, which must not be one of them.",
	Cost:    engine.ByBytes(4),
	Also:    func(x *engine.Context, c *engine.Call) { x.Names().MayCopy(c, c.Args[1], x.Names().Lookup(c.Args[2])) },
	Lands:   engine.Landing(1),
	Run:     runIntersect,
}

// similar is FILTER.SIMILAR key key.
var similar = engine.Command{
	Name: "filter.similar", Arity: 3, Flags: traits.ReadOnly | traits.Outside | traits.Apart, Keys: traits.Keys{{First: 1, Last: 2, Step: 1, Access: traits.KeyGet}},
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key key", Complexity: "O(n), n being the number of bytes of both",
	Summary: "Estimates how alike two filters of the same shape and hash are: the items in both over the items in at least one.",
	Cost:    engine.ByBytes(4),
	Run:     runSimilar,
}

// unionPiece is how many bytes of an array are worked on under a lock at a time.
const unionPiece = 256 << 10

// shaped is a filter whose union with another is the or of their arrays.
type shaped interface {
	bloomery.Hashed
	Shape() sizing.Shape
}

// form is what filters must have in common to be united.
type form struct {
	kind  string
	parts int
	shape sizing.Shape
	hash  hashing.Kind
	check uint64
}

// formOf returns the form of a filter. The reply says what is wrong, and is None if nothing is.
func formOf(x *engine.Context, entry *catalog.Entry) (form, answer.Reply) {
	row := contents.PartOf(entry).Row()
	if row == nil {
		return form{}, answer.Fail("ERR " + answer.OneLine(errGone))
	}
	if !slices.Contains([]string{"bloom", "standard", "partitioned", "split"}, row.Name) {
		return form{}, answer.Fail("ERR kind " + row.Name + " cannot be united or compared: that is for bloom, standard, partitioned and split")
	}
	p, giveBack, failed := x.Contents().Borrow(entry, 0)
	if failed.Kind != answer.None {
		return form{}, failed
	}
	defer giveBack()
	h, _ := p.Hasher() // they can be compared without the key
	f := form{row.Name, contents.PartCount(entry), shapeOf(p), h.Kind(), h.Check()}
	parts, ok, failed := x.Contents().PartsProgress(entry.ID)
	switch {
	case failed.Kind != answer.None:
		return form{}, failed
	case !ok || f.shape.Bits == 0:
		return form{}, answer.Fail("ERR " + answer.OneLine(errGone))
	}
	for i := range parts {
		if parts[i].Bits != f.shape.Bits || parts[i].K != uint64(f.shape.K) {
			return form{}, answer.Fail(textUneven)
		}
	}
	return f, answer.Reply{}
}

const textUneven = "ERR the parts of a filter differ in size: if FILTER.FOLD was cut short, run it again; otherwise load all parts from one dump"

// shapeOf returns the shape of a part, the zero one if it is gone.
func shapeOf(p *contents.Part) (s sizing.Shape) {
	p.RLock()
	defer p.RUnlock()
	if f, ok := p.Filter().(shaped); ok && !p.Gone() {
		s = f.Shape()
	}
	return s
}

// differs names the first difference of two forms, "" if there is none.
func (f form) differs(o form) string {
	switch {
	case f.kind != o.kind:
		return "kinds " + f.kind + " and " + o.kind
	case f.parts != o.parts:
		return fmt.Sprintf("%d parts and %d parts", f.parts, o.parts)
	case f.shape != o.shape:
		return fmt.Sprintf("%d bits with %d hashes and %d bits with %d hashes", f.shape.Bits, f.shape.K, o.shape.Bits, o.shape.K)
	case f.hash == hashing.XXH3 && o.hash == hashing.XXH3 && f.check != o.check:
		return fmt.Sprintf("seed %d and seed %d", f.check, o.check)
	case f.hash != o.hash || f.check != o.check:
		return "different keys of their hash"
	}
	return ""
}

// sources returns the filters of the arguments from the one at first on, which must
// be of one form. If that is not so it answers.
func sources(x *engine.Context, c *engine.Call, first int) (entries []*catalog.Entry, f form, ok bool) {
	x.Look(func() {
		for _, name := range c.Args[first:] {
			entry := filters.Find(x, c, name)
			if entry == nil {
				return
			}
			entries = append(entries, entry)
		}
	})
	if c.Answered() {
		return nil, f, false
	}
	for i, entry := range entries {
		this, failed := formOf(x, entry)
		if failed.Kind != answer.None {
			c.Answer(failed)
			return nil, f, false
		}
		if i > 0 {
			if text := f.differs(this); text != "" {
				c.Fail("ERR filters differ: " + text)
				return nil, f, false
			}
		}
		f = this
	}
	return entries, f, true
}

func runUnion(x *engine.Context, c *engine.Call) {
	entries, f, ok := sources(x, c, 2)
	if !ok || !filters.Usable(c, entries[0]) { // all have its hash
		return
	}
	for !c.Answered() {
		unite(x, c, entries, f)
	}
}

// unite answers, unless the destination was made meanwhile.
func unite(x *engine.Context, c *engine.Call, entries []*catalog.Entry, f form) {
	var to *catalog.Entry
	x.Look(func() { to = x.Names().Lookup(c.Args[1]) })
	switch {
	case to == nil:
		stageUnion(x, c, entries, f)
		return
	case to.Kind != catalog.Filter:
		c.Fail(answer.TextWrongType)
		return
	}
	this, failed := formOf(x, to)
	if failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	if text := this.differs(f); text != "" {
		c.Fail("ERR filters differ: " + text)
		return
	}
	for _, p := range contents.Parts(to) {
		if len(p.Sources()) > 0 {
			c.Fail(filters.Failure(contents.ErrSourced))
			return
		}
	}
	for _, from := range entries {
		if from.ID == to.ID {
			continue
		}
		if failed := pour(x, to, []*catalog.Entry{from}, f, toTheEnd); failed.Kind != answer.None {
			c.Answer(failed)
			return
		}
	}
	c.Answer(answer.OK())
}

// stageUnion makes the destination, fills it, and gives it its name. It does not
// answer if somebody else has made one meanwhile.
func stageUnion(x *engine.Context, c *engine.Call, entries []*catalog.Entry, f form) {
	if !x.Names().MayCopy(c, c.Args[1], entries[0]) {
		return
	}
	t, failed := stageLike(x, c.Args[1], entries[0])
	for i := 0; i < len(entries) && failed.Kind == answer.None; i++ {
		failed = pour(x, t.Entry, entries[i:i+1], f, x.Stopped)
	}
	reveal(x, c, t, failed, store.IfAbsent)
}

func runIntersect(x *engine.Context, c *engine.Call) {
	for _, name := range c.Args[2:] {
		if string(name) == string(c.Args[1]) {
			c.Fail("ERR the destination must not be one of the sources: what is added to it meanwhile would be lost")
			return
		}
	}
	entries, f, ok := sources(x, c, 2)
	if !ok || !filters.Usable(c, entries[0]) || !x.Names().MayCopy(c, c.Args[1], entries[0]) {
		return
	}
	t, failed := stageLike(x, c.Args[1], entries[0])
	if failed.Kind == answer.None {
		failed = pour(x, t.Entry, entries, f, x.Stopped)
	}
	reveal(x, c, t, failed, store.IfFilter|store.KeepTTL)
}

// stageLike makes an empty filter of the form of another, which will have a name.
func stageLike(x *engine.Context, name []byte, like *catalog.Entry) (*staging.Staged, answer.Reply) {
	p, giveBack, failed := x.Contents().Borrow(like, 0)
	if failed.Kind != answer.None {
		return nil, failed
	}
	defer giveBack()
	outline, err := blankOf(p)
	if err != nil {
		return nil, answer.Fail("ERR " + answer.OneLine(err))
	}
	plan := *p.Plan()
	plan.Version = 0
	return x.Staging().Blank(name, &plan, outline)
}

// reveal gives a staged filter its name, or removes it if something has failed. It
// leaves the call without an answer if the name is taken and must not be.
func reveal(x *engine.Context, c *engine.Call, t *staging.Staged, failed answer.Reply, flags uint8) {
	if t == nil {
		c.Answer(failed)
		return
	}
	var res store.Result
	if failed.Kind == answer.None {
		res, failed = x.Contents().ApplyPiece(nil, store.Record{At: x.Milliseconds(), Body: &store.Reveal{ID: t.ID, Name: c.Args[1], If: flags, Sure: true}})
	}
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
	case res.Err == nil:
		c.Answer(answer.OK())
		return
	case errors.Is(res.Err, contents.ErrType):
		c.Fail(answer.TextWrongType)
	case errors.Is(res.Err, store.ErrExists):
	default:
		c.Fail(filters.Failure(res.Err))
	}
	x.Staging().Drop(t.ID)
}

// toTheEnd is for a filter in use: half of a union would stay in it.
func toTheEnd() bool { return false }

// pour adds to a filter what is in all of the others, which are of one form, piece by piece, until stop
// reports true.
func pour(x *engine.Context, to *catalog.Entry, from []*catalog.Entry, f form, stop func() bool) answer.Reply {
	for i, p := range contents.Parts(to) {
		if stop() {
			return answer.Fail(answer.TextStopped)
		}
		parts, giveBack, failed := borrow(x, from, uint32(i))
		if failed.Kind == answer.None {
			failed = pourPart(x, p, store.Record{ID: to.ID, Index: uint32(i)}, parts, f, stop)
		}
		if giveBack(); failed.Kind != answer.None {
			return failed
		}
	}
	return answer.Reply{}
}

// borrow returns a part of each of several filters, wherever they lie.
func borrow(x *engine.Context, from []*catalog.Entry, index uint32) (parts []*contents.Part, giveBack func(), failed answer.Reply) {
	var back []func()
	giveBack = func() {
		for _, f := range back {
			f()
		}
	}
	for _, entry := range from {
		p, f, failed := x.Contents().Borrow(entry, index)
		if failed.Kind != answer.None {
			return nil, giveBack, failed
		}
		parts, back = append(parts, p), append(back, f)
	}
	return parts, giveBack, failed
}

// pourPart is pour for a part. If one of them is folded meanwhile, the pieces of what was a larger array end with an error.
func pourPart(x *engine.Context, p *contents.Part, r store.Record, from []*contents.Part, f form, stop func() bool) answer.Reply {
	known := x.Contents().LastRebuild(r.ID, p, nil)
	size := arrayBytes(from[0])
	for _, q := range from {
		if shapeOf(q) != f.shape { // it was folded since formOf looked at it, perhaps before size was read
			return answer.Fail(textUneven)
		}
	}
	if size == 0 || x.Contents().Here(p) && arrayBytes(p) == 0 {
		data, err := common(from)
		if err != nil {
			return answer.Fail("ERR " + answer.OneLine(err))
		}
		r.Body = &store.FilterUnion{Offset: contents.WholeUnion, Data: data, Known: known}
		return piece(x, p, r)
	}
	buf := make([]byte, 2*unionPiece)
	for at := 0; at < size; at += unionPiece {
		if stop() {
			return answer.Fail(answer.TextStopped)
		}
		n := min(unionPiece, size-at)
		all, one := buf[:n], buf[unionPiece:unionPiece+n]
		for j, q := range from {
			dst := all
			if j > 0 {
				dst = one
			}
			if !copyArray(q, dst, at) {
				return answer.Fail(answer.TextNotFound)
			}
			if j > 0 {
				for i, b := range one {
					all[i] &= b
				}
			}
		}
		r.Body = &store.FilterUnion{Offset: int64(at), Data: all, Known: known}
		if failed := piece(x, p, r); failed.Kind != answer.None {
			return failed
		}
	}
	return answer.Reply{}
}

func arrayBytes(p *contents.Part) int {
	p.RLock()
	defer p.RUnlock()
	return len(p.Array())
}

func piece(x *engine.Context, p *contents.Part, r store.Record) answer.Reply {
	res, failed := x.Contents().ApplyPiece(p, r)
	switch {
	case failed.Kind != answer.None:
		return failed
	case errors.Is(res.Err, contents.ErrRetry):
		return answer.Fail(answer.TextNotFound)
	case res.Err != nil:
		return answer.Fail(filters.Failure(res.Err))
	}
	return answer.Reply{}
}

// copyArray copies a piece of the array of a part. It reports false if the filter is
// gone.
func copyArray(p *contents.Part, dst []byte, at int) bool {
	p.RLock()
	defer p.RUnlock()
	if array := p.Array(); !p.Gone() && len(array) >= at+len(dst) {
		copy(dst, array[at:])
		return true
	}
	return false
}

// common returns the encoding of what is in all of some small parts.
func common(from []*contents.Part) ([]byte, error) {
	first, hasher, err := encode(from[0])
	if err != nil || len(from) == 1 {
		return first, err
	}
	f, err := codec.Config{Hasher: hasher}.Open(first)
	if err != nil {
		return nil, err
	}
	for _, p := range from[1:] {
		data, _, err := encode(p)
		if err != nil {
			return nil, err
		}
		g, err := codec.Config{Hasher: hasher}.Open(data)
		if err != nil {
			return nil, err
		}
		if err := intersectWith(f, g); err != nil {
			return nil, err
		}
	}
	return marshal(f)
}

func runSimilar(x *engine.Context, c *engine.Call) {
	entries, f, ok := sources(x, c, 1)
	if !ok {
		return
	}
	var common, all float64
	for i := range f.parts {
		if x.GaveUp(c) {
			return
		}
		parts, giveBack, failed := borrow(x, entries, uint32(i))
		var n [3]uint64
		var err error
		if failed.Kind == answer.None {
			n, err = compare(parts[0], parts[1], x.Stopped)
		}
		if giveBack(); failed.Kind != answer.None {
			c.Answer(failed)
			return
		}
		switch {
		case errors.Is(err, errStopped):
			c.Fail(answer.TextStopped)
			return
		case err != nil:
			c.Fail(answer.TextNotFound)
			return
		}
		bits := float64(f.shape.Bits)
		counts := [3]float64{}
		for j, set := range n {
			counts[j] = f.shape.Count(float64(set) / bits)
		}
		all += counts[2]
		common += max(0, counts[0]+counts[1]-counts[2])
	}
	if all == 0 {
		c.Answer(answer.Float(1)) // both are empty
		return
	}
	c.Answer(answer.Float(min(1, common/all)))
}
