package keys

import (
	"errors"
	"unsafe"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// restore is RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME
// seconds] [FREQ frequency]. The filter is made without a name, while others go
// on; then it gets its name.
var restore = engine.Command{
	Name: "restore", Arity: -4, Flags: traits.Write | traits.DenyOOM | traits.Contents | traits.Steps | traits.Apart, Keys: traits.OneKey(traits.KeyOW),
	Categories: []string{"keyspace", "write", "slow", "dangerous", "delete"}, Group: traits.GroupGeneric, Since: "2.6.0",
	Syntax:     "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
	Complexity: "O(n), n being the number of bytes", Summary: "Makes a key from what DUMP returned.",
	Cost: costOfRestore,
	Also: alsoRestore,
	Lands: func(args [][]byte) int {
		if len(args[3]) > 0 && args[3][0] != 0 { // it is no string
			return 1
		}
		return 0
	},
	Before: beforeRestore, Prepare: prepareRestore, Reply: replyRestore, After: afterRestore,
}

// restoring is a value that was read from a payload and has no name yet.
type restoring struct {
	kind     catalog.Kind
	text     []byte // of a string
	unpacked bool   // text was made for it
	held     int    // bytes that were made
	id       uint64 // of a staged filter
	deadline int64
	flags    uint8
	dead     bool // its deadline has passed: it only removes what is there
}

// parseRestore reads the options of RESTORE. It returns the error text, or "". How
// long a key was idle and how often it was used is not kept, only checked: Redis
// takes one of the two.
func parseRestore(args [][]byte) (ttl int64, replace, absolute bool, text string) {
	idle, used := false, false
	for i := 4; i < len(args); i++ {
		switch {
		case answer.Is(args[i], "replace"):
			replace = true
		case answer.Is(args[i], "absttl"):
			absolute = true
		case answer.Is(args[i], "idletime") && i+1 < len(args) && !used:
			i++
			idle = true
			if n, ok := answer.ParseInt(args[i]); !ok {
				return 0, false, false, answer.TextInteger
			} else if n < 0 {
				return 0, false, false, "ERR Invalid IDLETIME value, must be >= 0"
			}
		case answer.Is(args[i], "freq") && i+1 < len(args) && !idle:
			i++
			used = true
			if n, ok := answer.ParseInt(args[i]); !ok {
				return 0, false, false, answer.TextInteger
			} else if n < 0 || n > 255 {
				return 0, false, false, "ERR Invalid FREQ value, must be >= 0 and <= 255"
			}
		default:
			return 0, false, false, answer.TextSyntax
		}
	}
	ttl, ok := answer.ParseInt(args[2])
	switch {
	case !ok:
		return 0, false, false, answer.TextInteger
	case ttl < 0:
		return 0, false, false, textTTL
	}
	return ttl, replace, absolute, ""
}

func beforeRestore(x *engine.Context, c *engine.Call) {
	ttl, replace, absolute, text := parseRestore(c.Args)
	v := &restoring{}
	if !replace {
		v.flags = store.IfAbsent
	}
	switch {
	case text != "":
		c.Fail(text)
	case !replace && x.Names().Lookup(c.Args[1]) != nil:
		c.Fail(textBusyKey)
	case !rdb.FooterFits(c.Args[3]):
		c.Fail(textDumpFooter)
	default:
		var ok bool
		if v.deadline, ok = restoreDeadline(ttl, absolute, x.Milliseconds()); !ok {
			c.Fail(textTTL)
			return
		}
		v.dead = v.deadline != 0 && v.deadline <= x.Milliseconds()
		if v.read(x, c) {
			c.Option = v
		}
	}
}

func restoreDeadline(ttl int64, absolute bool, now int64) (int64, bool) {
	if ttl == 0 || absolute {
		return ttl, true
	}
	return answer.DeadlineOf(ttl, 1, now)
}

// read reads the payload of a call, and stages the filter that is in it. It
// reports false if that is not possible, and has answered then.
func (v *restoring) read(x *engine.Context, c *engine.Call) bool {
	r := rdb.NewReader(c.Args[3], func(n uint64) bool {
		if !x.Contents().Unpack(n) {
			return false
		}
		v.unpacked, v.held = true, v.held+int(n)
		return true
	})
	var family *engine.Family
	var header []byte
	var layers [][]byte
	switch r.Byte() {
	case rdb.String:
		v.kind, v.text = catalog.String, r.Text()
	case rdb.Module:
		id, _ := r.Length()
		x.Table().Families(func(f *engine.Family) {
			if f.ReadValue != nil && moduleID(f) == id {
				family = f
			}
		})
		if family == nil {
			c.Fail(textBadDump)
			return false
		}
		v.kind = family.Kind
		header, layers = family.ReadValue(r)
		r.End()
	default:
		r.Bad = true
	}
	if r.NoRoom {
		c.Fail(answer.TextOOM)
		return false
	}
	if !r.Done() {
		c.Fail(textBadDump)
		return false
	}
	if v.dead || family == nil {
		return true
	}
	if family.Kind == catalog.Filter && len(layers) > 0 {
		if h, err := contents.HashOf(layers[0]); err == nil && !x.Names().MayHash(c, c.Args[1], h) {
			return false
		}
	}
	if x.Dry() {
		return true
	}
	var failed answer.Reply
	if v.id, failed = x.Staging().Load(c.Args[1], family.Kind, header, layers); failed.Kind != answer.None {
		c.Answer(failed)
		return false
	}
	return true
}

// alsoRestore is for the secret key of the filter in the payload.
func alsoRestore(x *engine.Context, c *engine.Call) {
	if rdb.FooterFits(c.Args[3]) {
		(&restoring{}).read(x, c)
	}
}

func prepareRestore(x *engine.Context, c *engine.Call) *engine.Op {
	v := c.Option.(*restoring)
	name := c.Args[1]
	switch entry := x.Names().Lookup(name); {
	case entry != nil && v.flags&store.IfAbsent == 0 && x.Contents().Shadow(entry) != nil:
		c.Fail(textRebuilding)
		return nil
	case v.flags&store.IfAbsent != 0 && x.Names().Lookup(name) != nil:
		c.Fail(textBusyKey)
		return nil
	case v.dead: // born dead, as in Redis
		return x.Contents().Record(&store.Remove{Names: [][]byte{name}})
	case v.kind == catalog.String:
		r := &store.Set{String: store.String{Name: name, Value: v.text}, Deadline: v.deadline, If: v.flags}
		if v.unpacked {
			r.Keep(unsafe.String(unsafe.SliceData(v.text), len(v.text)), nil)
			x.Unhold(v.held) // from here on it counts as data
			v.held = 0
		}
		return x.Contents().Storing(c, r, nil, len(r.Value))
	default:
		return x.Contents().Record(&store.Reveal{ID: v.id, Name: name, Deadline: v.deadline, If: v.flags, Sure: true})
	}
}

func replyRestore(c *engine.Call, res *store.Result) {
	v := c.Option.(*restoring)
	switch {
	case res.Err == nil:
		v.id = 0 // it has its name
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrExists), errors.Is(res.Err, store.ErrCondition):
		c.Fail(textBusyKey)
	case errors.Is(res.Err, store.ErrRebuilding):
		c.Fail(textRebuilding)
	default:
		c.Fail(textBadDump)
	}
}

const textRebuilding = "ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first"

// afterRestore removes what has got no name.
func afterRestore(x *engine.Context, c *engine.Call) {
	if v, ok := c.Option.(*restoring); ok && v.id != 0 {
		x.Staging().Drop(v.id)
		v.id = 0
	}
}

// costOfRestore counts what Before has made.
func costOfRestore(x *engine.Costs, c *engine.Call) {
	x.Free(c.Args[1])
	switch v, ok := c.Option.(*restoring); {
	case !ok:
	case v.kind == catalog.String:
		x.Store(c.Args[1], len(v.text))
	default:
		x.Reveal(c.Args[1], v.id)
	}
}
