package filter

// FILTER.DUMP and FILTER.LOAD.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// dump is FILTER.DUMP key cursor. A piece is the encoding of a whole part, as
// package codec reads it; a cursor says which of how many, so that nothing has to be
// remembered between two calls.
var dump = engine.Command{
	Name: "filter.dump", Arity: 3, Flags: traits.ReadOnly | traits.Heavy | traits.Outside | traits.Apart, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key cursor", Complexity: "O(n), n being the number of bytes returned",
	Summary: "Returns a cursor and a piece of a filter in the format of its files, for FILTER.LOAD. Start with cursor 0; after the last piece the cursor is 0 again.",
	Cost:    engine.ByBytes(4),
	OnePart: dumpedPart,
	Run:     runDump,
}

// load is FILTER.LOAD key cursor data [VERSION n] [FROM source] [SPAN time].
var load = engine.Command{
	Name: "filter.load", Arity: -4, Max: 10, Flags: traits.Write | traits.DenyOOM | traits.Steps | traits.Apart, Keys: traits.OneKey(traits.KeyOW),
	Categories: []string{"write", "filter", "slow", "delete"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key cursor data [VERSION n] [FROM source] [SPAN time]", Complexity: "O(n), n being the number of bytes",
	Summary: "Stores a piece that FILTER.DUMP returned, with its cursor; a whole file with cursor 1. The last piece creates the filter, or replaces the one that is there. With VERSION a filter of that version or a later one is not replaced. With FROM the filter is the union of the latest versions of up to 256 sources, and of what is added to it: each source, and what is added, takes as much memory as the filter. All sources must have the kind (bloom, standard, partitioned or split), size and hash of the filter. A window needs SPAN, unless it replaces one with as many generations.",
	Cost:    costOfLoad,
	Also:    alsoLoad,
	Before:  beforeLoad, Prepare: prepareLoad, Reply: replyLoad, After: afterLoad,
	Lands: engine.Landing(1),
}

// cursorOf returns the cursor of a part: 1 of a filter of one part.
func cursorOf(part, parts int) int64 { return int64(parts-1)<<32 | int64(part+1) }

// parseCursor reads a cursor.
func parseCursor(arg []byte) (part, parts int, ok bool) {
	v, ok := answer.ParseInt(arg)
	part, parts = int(v&(1<<32-1))-1, int(v>>32)+1
	return part, parts, ok && v >= 0 && parts <= contents.MaxParts && bits.OnesCount(uint(parts)) == 1 && part < parts
}

const textCursor = "ERR cursor must be 0 or one that FILTER.DUMP has returned"

// dumpedPart returns the part that a call of FILTER.DUMP returns. Any node answers what is wrong, and the end.
func dumpedPart(args [][]byte, parts int) int {
	part, _, ok := parseCursor(args[2])
	if !ok {
		return 0
	}
	return min(part+1, parts-1)
}

func runDump(x *engine.Context, c *engine.Call) {
	part, parts, ok := parseCursor(c.Args[2])
	if !ok {
		c.Fail(textCursor)
		return
	}
	var entry *catalog.Entry
	x.Look(func() { entry = filters.Find(x, c, c.Args[1]) })
	switch {
	case entry == nil:
		return
	case part >= 0 && parts != contents.PartCount(entry):
		c.Fail(textCursor)
		return
	}
	next := part + 1
	if next == contents.PartCount(entry) {
		c.Answer(answer.List(answer.Integer(0), answer.Text("")))
		return
	}
	p, giveBack, failed := x.Contents().Borrow(entry, uint32(next))
	if failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	defer giveBack()
	p.RLock()
	size := int(p.Bytes())
	p.RUnlock()
	if !x.Hold(size + size>>4 + 4096) {
		c.Fail(answer.TextOOM)
		return
	}
	if x.GaveUp(c) {
		return
	}
	data, err := written(p, size+size>>16+4096)
	if err != nil {
		c.Fail(answer.TextNotFound)
		return
	}
	c.Answer(answer.List(answer.Integer(cursorOf(next, contents.PartCount(entry))), answer.Text(data)))
}

// written returns the encoding of a part, for which it makes room once.
func written(p *contents.Part, room int) (data string, err error) {
	var b strings.Builder
	b.Grow(room)
	err = write(&b, p, false)
	return b.String(), err
}

// write writes the encoding of a part, with what it keeps aside if that is asked for: in pieces,
// or under the lock of the part if that takes no time.
func write(w io.Writer, p *contents.Part, aside bool) error {
	if ok, err := p.WriteLarge(w, aside); ok || err != nil {
		return err
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return errGone
	}
	f, ok := p.Filter().(io.WriterTo)
	if !ok {
		return fmt.Errorf("a filter of kind %s has no encoding", p.Row().Name)
	}
	_, err := f.WriteTo(w)
	if err == nil && aside {
		_, err = w.Write(p.AppendAside(nil))
	}
	return err
}

// loadCall is a call of FILTER.LOAD.
type loadCall struct {
	staged  *staging.Staged
	version uint64
	known   bool   // VERSION was given
	from    []byte // FROM
	span    time.Duration
	taken   bool // it has its name, or is kept for the next piece
}

// parseLoad reads cursor and version. It returns the error text, or "".
func parseLoad(args [][]byte) (part, parts int, v *loadCall, text string) {
	v = &loadCall{}
	part, parts, ok := parseCursor(args[2])
	if !ok || part < 0 {
		return 0, 0, nil, "ERR cursor must be 1 for a whole filter, or one that FILTER.DUMP has returned with data"
	}
	for args = args[4:]; len(args) > 0; args = args[2:] {
		text := answer.TextSyntax
		switch {
		case len(args) == 1:
		case answer.Is(args[0], "version") && !v.known:
			text = blueprint.Number(args[1], &v.version, 1, 1<<62, "VERSION")
			v.known = true
		case answer.Is(args[0], "from") && v.from == nil:
			v.from, text = args[1], checkSource(args[1])
		case answer.Is(args[0], "span") && v.span == 0:
			var o blueprint.Options
			text = o.Read("span", args[1])
			v.span = o.Span
		}
		if text != "" {
			return 0, 0, nil, text
		}
	}
	if v.from != nil && (!v.known || v.span != 0) {
		return 0, 0, nil, "ERR FROM needs VERSION, and is not for windows"
	}
	return part, parts, v, ""
}

// textFirst keeps a piece of one load out of another: that of a load which is over, say, sent again after a time-out.
const textFirst = "ERR no load of which this is a piece is under way: a load begins with its first piece. If this one was sent again, " +
	"the filter may be loaded"

// beforeLoad stores the piece in a filter without a name, outside the gate.
func beforeLoad(x *engine.Context, c *engine.Call) {
	part, parts, v, text := parseLoad(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	if v.from != nil {
		loadSource(x, c, part, parts, v)
		return
	}
	name, data := string(c.Args[1]), c.Args[3]
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	switch {
	case x.Transaction().Queued(): // commands before it may change what is there: the record asks
	case entry != nil && entry.Kind != catalog.Filter:
		c.Fail(answer.TextWrongType)
		return
	case entry != nil && v.known && contents.PartOf(entry).Plan().Version >= v.version:
		unstage(x, name)
		c.Answer(answer.Flag(false))
		return
	}
	t := x.Contents().Shelf().Get(name)
	if t != nil && (t.Parts() != parts || t.Version != v.version || t.Source != "") {
		unstage(x, name) // another load begins
		t = nil
	}
	if t != nil {
		switch some, same := t.Has(part, data); {
		case same: // it was sent again
			c.Answer(answer.OK())
			return
		case some: // another load begins, or two are mixed
			unstage(x, name)
			t = nil
		}
	}
	if t == nil && part > 0 {
		c.Fail(textFirst)
		return
	}
	plan, err := planOf(x, c, entry, parts, v.version)
	if c.Answered() {
		return
	}
	if err == nil && t != nil {
		err = t.Fits(data)
	}
	if err == nil {
		plan.Generation, err = generationOf(entry, t, data, v.span, x.Milliseconds())
	}
	if err != nil {
		c.Fail("ERR " + answer.OneLine(err))
		return
	}
	if t == nil {
		var failed answer.Reply
		if t, failed = x.Staging().Begin(c.Args[1], &plan, data); failed.Kind != answer.None {
			c.Answer(failed)
			return
		}
		t.Version = v.version
	}
	v.staged, c.Option = t, v
	failed := x.Staging().LoadPart(t, part, data)
	switch {
	case failed.Kind != answer.None:
		x.Contents().Shelf().Take(name)
		c.Answer(failed)
	case t.Left == 0:
		x.Contents().Shelf().Take(name)
	case !x.Contents().Shelf().Keep(name, t):
		c.Fail(answer.TextOOM)
	default:
		v.taken = true
		c.Answer(answer.OK())
	}
}

// planOf returns the plan of what is loaded: that of the filter that it takes the
// place of, if there is one, with a new version. It answers if a filter of this name may
// not have the key of the data.
func planOf(x *engine.Context, c *engine.Call, entry *catalog.Entry, parts int, version uint64) (p contents.Plan, err error) {
	data := c.Args[3]
	if err := contents.CheckEncodings([][]byte{data}, parts); err != nil {
		return p, err
	}
	h, err := contents.HashOf(data)
	if err != nil {
		return p, err
	}
	if entry != nil && entry.Kind == catalog.Filter {
		p = *contents.PartOf(entry).Plan()
	}
	p.Parts, p.Version = blueprint.Log(uint64(parts)), version
	p.KeyID = x.Contents().Keys().ID(h)
	x.Names().MayHash(c, c.Args[1], h)
	return p, nil
}

func prepareLoad(x *engine.Context, c *engine.Call) *engine.Op {
	v := c.Option.(*loadCall)
	flags := uint8(store.IfFilter | store.KeepTTL)
	if v.known {
		flags |= store.IfNewer
	}
	return x.Contents().Record(&store.Reveal{ID: v.staged.ID, Name: c.Args[1], If: flags, Sure: true})
}

func replyLoad(c *engine.Call, res *store.Result) {
	v := c.Option.(*loadCall)
	switch {
	case res.Err == nil && v.known:
		v.taken = true
		c.Answer(answer.Flag(true))
	case res.Err == nil:
		v.taken = true
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrCondition):
		c.Answer(answer.Flag(false))
	case errors.Is(res.Err, contents.ErrType):
		c.Fail(answer.TextWrongType)
	default:
		c.Fail(filters.Failure(res.Err))
	}
}

// afterLoad removes what has got no name and is not kept.
func afterLoad(x *engine.Context, c *engine.Call) {
	if v, ok := c.Option.(*loadCall); ok && !v.taken {
		x.Staging().Drop(v.staged.ID)
	}
}

// pack writes a filter for DUMP: its plan, and the encoding of every part.
func pack(w *rdb.Writer, entry *catalog.Entry, part func(index uint32) ([]byte, bool)) bool {
	p := contents.PartOf(entry)
	if p.Plan() == nil {
		return false
	}
	w.Data(contents.AppendPlan(nil, p.Plan()))
	w.Uint(uint64(contents.PartCount(entry)))
	for i := range contents.Parts(entry) {
		data, ok := part(uint32(i))
		if !ok {
			return false
		}
		w.Data(data)
	}
	return true
}

// packed returns the encoding of a part, with what it keeps aside.
func packed(p *contents.Part) ([]byte, error) { return copied(p, true) }

// copied returns the encoding of a part, with what it keeps aside if that is asked for.
func copied(p *contents.Part, aside bool) ([]byte, error) {
	p.RLock()
	size := int(p.Bytes())
	p.RUnlock()
	// Grow clears all of it at once, and meanwhile the collector of garbage may stop everybody.
	b := bytes.NewBuffer(make([]byte, 0, size+size>>16+512))
	err := write(b, p, aside)
	return b.Bytes(), err
}

// unpack reads what pack wrote.
func unpack(r *rdb.Reader) (header []byte, parts [][]byte) {
	header = r.Data()
	n := r.Uint()
	r.Bad = r.Bad || n < 1 || n > contents.MaxParts
	for ; n > 0 && !r.Bad; n-- {
		parts = append(parts, r.Data())
	}
	return header, parts
}

// costOfLoad counts what Before has stored.
func costOfLoad(x *engine.Costs, c *engine.Call) {
	if v, ok := c.Option.(*loadCall); ok && v.staged != nil {
		x.Reveal(c.Args[1], v.staged.ID)
	}
}

// unstage removes what the client has staged for a name.
func unstage(x *engine.Context, name string) {
	if t := x.Contents().Shelf().Take(name); t != nil {
		x.Staging().Drop(t.ID)
	}
}
