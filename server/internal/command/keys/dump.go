package keys

import (
	"errors"
	"iter"
	"time"
	"unsafe"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// dump is DUMP key.
var dump = engine.Command{
	Name: "dump", Arity: 2, Flags: traits.ReadOnly | traits.Heavy | traits.Outside | traits.Contents | traits.Apart, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"keyspace", "read", "slow"}, Group: traits.GroupGeneric, Since: "2.6.0",
	Syntax: "key", Complexity: "O(n), n being the number of bytes", Summary: "Returns a key in Redis's own format.",
	Cost: costDump,
	Run:  runDump,
}

const (
	// maxDump is what a reply can hold.
	maxDump = 512 << 20
	// dumpPiece is how much of a filter is copied under its lock at a time.
	dumpPiece = 128 << 10
	// dumpExtra is what a dump takes besides the data: headers, numbers, footer.
	dumpExtra = 4 << 10
)

// costDump counts the arrays as well: each of them is a string of its own in a dump, and has
// numbers around it.
func costDump(x *engine.Costs, c *engine.Call) {
	const one = 48 << 10
	x.Bytes(one)
	x.Whole(c.Args[1], 2)
	x.Visit(c.Args[1])
	x.Visit(c.Args[1])
}

// runDump freezes the filter inside the gate and encodes it outside.
func runDump(x *engine.Context, c *engine.Call) {
	settle(x, c)
	for !c.Answered() && !x.GaveUp(c) {
		wait := false
		x.Look(func() { wait = !freeze(x, c) })
		if wait {
			time.Sleep(time.Millisecond) // a snapshot, or another DUMP, is copying it
		}
	}
}

// tooLarge is the error for what no reply can hold: it names the command that returns it in pieces.
func tooLarge(k catalog.Kind) string {
	switch k {
	case catalog.Bloom:
		return "ERR value is too large for DUMP; use BF.SCANDUMP"
	case catalog.Cuckoo:
		return "ERR value is too large for DUMP; use CF.SCANDUMP"
	case catalog.Filter:
		return "ERR value is too large for DUMP; use FILTER.DUMP"
	}
	return "ERR value is too large for DUMP, and no command returns it in pieces"
}

// settle makes the record that the dump of a digest makes first, as in RedisBloom:
// it is compressed. If that is not possible now, the dump is the same and the
// digest stays as it is.
func settle(x *engine.Context, c *engine.Call) {
	if x.Alone() || x.Refuses() != nil {
		return
	}
	var first store.Body
	var part *contents.Part
	var entry *catalog.Entry
	x.Look(func() {
		entry = x.Names().Lookup(c.Args[1])
		if entry == nil || contents.PartOf(entry) == nil {
			return
		}
		if f := x.Contents().Family(entry.Kind); f.Settle != nil {
			part = contents.PartOf(entry)
			part.RLock()
			defer part.RUnlock()
			if !part.Gone() {
				first = f.Settle(part)
			}
		}
	})
	if _, ok := first.(*store.TDigestCompress); ok && !x.Can().Cluster {
		if large, _ := part.LargeDigest(0); large {
			x.Staging().Compress(entry)
			return
		}
	}
	if first != nil {
		x.Contents().ApplyPiece(part, store.Record{ID: entry.ID, Body: first})
	}
}

// moduleID is how a dump names the type of a family's values.
func moduleID(f *engine.Family) uint64 { return rdb.ModuleID(contents.TypeName(f.Kind), f.Version) }

// freeze answers, or makes the reply from a frozen copy later. It reports false if
// the filter is being copied already.
func freeze(x *engine.Context, c *engine.Call) bool {
	entry := x.Names().Lookup(c.Args[1])
	if entry == nil {
		c.Answer(answer.Nil())
		return true
	}
	cost := store.Cost("", entry)
	if cost > maxDump {
		c.Fail(tooLarge(entry.Kind))
		return true
	}
	p := contents.PartOf(entry)
	if p != nil && x.Contents().Family(entry.Kind).Pack != nil {
		pack(x, c, entry, int(cost))
		return true
	}
	if p == nil {
		dumpString(x, c, store.Text(entry))
		return true
	}
	p.Lock()
	defer p.Unlock()
	if p.Gone() {
		c.Answer(answer.Nil())
		return true
	}
	family := x.Contents().Family(entry.Kind)
	frozen, err := p.Contents().Freeze()
	if err != nil {
		if frozen = nil; errors.Is(err, contents.ErrFrozen) && !x.Alone() {
			return false
		}
	}
	size := int(p.Bytes()) + dumpExtra
	if !x.Hold(size) {
		if frozen != nil {
			_ = frozen.Close()
		}
		c.Fail(answer.TextOOM)
		return true
	}
	d := &filterDump{
		part: p, frozen: frozen, id: moduleID(family), size: size, family: family, header: p.Header(),
	}
	if frozen == nil { // inside a transaction nobody can wait: copy it at once
		d.copy()
	}
	c.AnswerLater(d.reply)
	return true
}

// pack makes the reply later: a family that packs its filters itself copies them
// part by part.
func pack(x *engine.Context, c *engine.Call, entry *catalog.Entry, cost int) {
	if !x.Hold(2*cost + dumpExtra) {
		c.Fail(answer.TextOOM)
		return
	}
	f := x.Contents().Family(entry.Kind)
	make := func() answer.Reply {
		w := rdb.NewWriter(moduleID(f), cost+dumpExtra)
		p := packing{x: x, entry: entry, room: cost}
		if !f.Pack(w, entry, p.part) {
			return p.failed
		}
		return payload(w.Payload())
	}
	if x.Alone() { // a later command of the transaction must not be seen
		c.Answer(make())
		return
	}
	c.AnswerLater(make)
}

// packing is a filter that is put into one payload.
type packing struct {
	x      *engine.Context
	entry  *catalog.Entry
	room   int // bytes that are counted for the payload and are not used
	failed answer.Reply
}

// part returns the encoding of a part, wherever it lies. It reports false if there is none: failed says why, and is nil of
// a filter that is gone.
func (p *packing) part(index uint32) ([]byte, bool) {
	p.failed = answer.Nil()
	if p.x.Stopped() {
		p.failed = answer.Fail(answer.TextStopped)
		return nil, false
	}
	data, failed := p.x.Contents().Fetch(p.entry, index)
	if failed.Kind != answer.None {
		if failed.Text != answer.TextNotFound {
			p.failed = failed
		}
		return nil, false
	}
	p.x.Unhold(len(data)) // the room for the payload is twice what it needs
	if p.room -= len(data); p.room >= 0 {
		return data, true
	}
	more := -p.room // of parts that other nodes hold
	if p.room = 0; p.x.Held()+2*more > 2*maxDump || !p.x.Hold(2*more) {
		p.failed = answer.Fail(answer.TextOOM)
		return nil, false
	}
	return data, true
}

// filterDump is a filter as it was when DUMP was called.
type filterDump struct {
	part   *contents.Part
	frozen contents.Frozen
	id     uint64
	size   int
	family *engine.Family
	header func() []byte
	writer *rdb.Writer
}

// begin writes everything but the layers.
func (d *filterDump) begin() {
	d.writer = rdb.NewWriter(d.id, d.size)
	d.family.WriteValue(d.writer, d.header())
}

// copy copies the layers at once. The caller holds the lock of the part.
func (d *filterDump) copy() {
	d.begin()
	at := 0
	for array := range d.part.Contents().(interface{ Arrays() iter.Seq[[]byte] }).Arrays() {
		d.writer.Fill(at, array)
		at += len(array)
	}
}

// reply makes the reply, outside the gate.
func (d *filterDump) reply() answer.Reply {
	if d.frozen != nil {
		d.begin()
		thaw(d.writer, d.part, d.frozen)
	}
	return payload(d.writer.Payload())
}

// thaw copies a frozen filter into the holes of w, piece by piece. They hold the end
// of its binary form; what comes before is in the header.
func thaw(w *rdb.Writer, p *contents.Part, frozen contents.Frozen) {
	buf := make([]byte, dumpPiece)
	before := int(frozen.Size()) - w.Holed()
	for more := true; more; {
		p.RLock()
		piece, off := frozen.Next(buf)
		p.RUnlock()
		w.Fill(int(off)-before, piece)
		more = len(piece) > 0
	}
	p.Lock()
	_ = frozen.Close()
	p.Unlock()
}

func dumpString(x *engine.Context, c *engine.Call, text string) {
	if !x.Hold(len(text) + dumpExtra) {
		c.Fail(answer.TextOOM)
		return
	}
	c.AnswerLater(func() answer.Reply {
		return payload(rdb.AppendFooter(rdb.AppendString(make([]byte, 0, len(text)+dumpExtra), text)))
	})
}

// payload answers bytes that nobody changes any more, without a copy.
func payload(b []byte) answer.Reply { return answer.Text(unsafe.String(unsafe.SliceData(b), len(b))) }
