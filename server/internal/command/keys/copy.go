package keys

import (
	"errors"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// copyCmd is COPY source destination [DB index] [REPLACE]. BF, CF and sketches
// cannot be copied, as in RedisBloom; those of FILTER can.
var copyCmd = engine.Command{
	Name: "copy", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Derived | traits.Contents | traits.Apart, Keys: traits.Keys{traits.KeyAt(1, traits.KeyGet), traits.KeyAt(2, traits.KeyOW)},
	Categories: []string{"keyspace", "write", "slow", "delete"}, Group: traits.GroupGeneric, Since: "6.2.0",
	Syntax: "source destination [DB destination-db] [REPLACE]", Complexity: "O(n), n being the number of bytes",
	Summary: "Copies a string or a filter of FILTER.CREATE. BF, CF and sketches are refused, as by RedisBloom.",
	Cost:    costOfCopy,
	Lands:   engine.Landing(2),
	Also:    func(x *engine.Context, c *engine.Call) { x.Names().MayCopy(c, c.Args[2], x.Names().Lookup(c.Args[1])) },
	Before:  beforeCopy, Prepare: prepareCopy, Reply: replyCopy, After: afterRestore,
}

// beforeCopy makes a copy of a filter that has no name yet, outside the gate.
func beforeCopy(x *engine.Context, c *engine.Call) {
	replace, text := parseCopy(c.Args)
	if text != "" || string(c.Args[1]) == string(c.Args[2]) {
		return // prepareCopy answers
	}
	var entry *catalog.Entry
	v := &restoring{kind: catalog.Filter}
	x.Look(func() {
		entry, v.deadline = x.Names().Deadline(c.Args[1])
		if !replace && x.Names().Lookup(c.Args[2]) != nil {
			entry = nil
		}
	})
	if entry == nil || entry.Kind == catalog.String || x.Contents().Family(entry.Kind).Pack == nil || !x.Names().MayCopy(c, c.Args[2], entry) {
		return
	}
	f := x.Contents().Family(entry.Kind)
	if f.PackPart != nil {
		id, failed := x.Staging().Copy(c.Args[2], entry, func(i uint32) ([]byte, answer.Reply) { return x.Contents().Fetch(entry, i) })
		copied(c, v, id, failed, replace)
		return
	}
	cost := int(store.Cost("", entry))
	if !x.Hold(2*cost + dumpExtra) {
		c.Fail(answer.TextOOM)
		return
	}
	w := rdb.NewWriter(moduleID(f), cost+dumpExtra)
	if !f.Pack(w, entry, nil) { // of names alone
		x.GaveUp(c) // or it is gone
		return
	}
	r := rdb.NewReader(w.Payload(), func(uint64) bool { return true })
	r.Byte()
	r.Length()
	header, parts := f.ReadValue(r)
	id, failed := x.Staging().Load(c.Args[2], f.Kind, header, parts)
	copied(c, v, id, failed, replace)
}

// copied notes the copy that was made, or answers that it was not. A filter that is gone is answered later.
func copied(c *engine.Call, v *restoring, id uint64, failed answer.Reply, replace bool) {
	switch {
	case failed.Kind != answer.None && failed.Text == answer.TextNotFound:
		return
	case failed.Kind != answer.None:
		c.Answer(failed)
		return
	}
	if v.id = id; !replace {
		v.flags = store.IfAbsent
	}
	c.Option = v
}

// costOfCopy counts what encodes a filter and what reads that again. Names share a string.
func costOfCopy(x *engine.Costs, c *engine.Call) {
	x.Same(c.Args[1], c.Args[2])
	x.Free(c.Args[2])
	x.Whole(c.Args[1], 8)
	x.Text(c.Args[1])
}

func parseCopy(args [][]byte) (replace bool, text string) {
	for i := 3; i < len(args); i++ {
		switch {
		case answer.Is(args[i], "replace"):
			replace = true
		case answer.Is(args[i], "db") && i+1 < len(args):
			i++
			n, ok := answer.ParseInt(args[i])
			if !ok {
				return false, answer.TextInteger
			}
			if n != 0 {
				return false, answer.TextDB
			}
		default:
			return false, answer.TextSyntax
		}
	}
	return replace, ""
}

func prepareCopy(x *engine.Context, c *engine.Call) *engine.Op {
	replace, text := parseCopy(c.Args)
	if text != "" {
		c.Fail(text)
		return nil
	}
	if string(c.Args[1]) == string(c.Args[2]) {
		c.Fail("ERR source and destination objects are the same")
		return nil
	}
	if v, ok := c.Option.(*restoring); ok {
		return x.Contents().Record(&store.Reveal{ID: v.id, Name: c.Args[2], Deadline: v.deadline, If: v.flags, Sure: true})
	}
	entry, deadline := x.Names().Deadline(c.Args[1])
	if entry == nil || !replace && x.Names().Lookup(c.Args[2]) != nil {
		c.Answer(answer.Integer(0))
		return nil
	}
	if entry.Kind != catalog.String && x.Contents().Family(entry.Kind).Pack != nil {
		if beforeCopy(x, c); c.Option == nil && !c.Answered() {
			c.Answer(answer.Integer(0)) // it is gone
		}
		return nil
	}
	if entry.Kind != catalog.String {
		c.Fail(textModuleCopy)
		return nil
	}
	r := &store.Set{String: store.String{Name: c.Args[2]}, Deadline: deadline}
	r.Keep(store.Text(entry), nil) // strings never change: both names share it
	if !replace {
		r.If = store.IfAbsent
	}
	return x.Contents().Storing(c, r, nil, len(r.Value))
}

func replyCopy(c *engine.Call, res *store.Result) {
	if v, ok := c.Option.(*restoring); ok && res.Err == nil {
		v.id = 0 // it has its name
	}
	if errors.Is(res.Err, store.ErrRebuilding) {
		c.Fail(textRebuilding)
		return
	}
	c.Answer(answer.Flag(res.Err == nil))
}
