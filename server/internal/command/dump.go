package command

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// dumpCmd is DUMP key.
var dumpCmd = Command{
	Name: "dump", Arity: 2, Flags: ReadOnly | heavy, Keys: oneKey, KeyFlags: keyRO,
	Categories: []string{"keyspace", "read", "slow"}, Group: groupGeneric, Since: "2.6.0",
	Syntax: "key", Complexity: "O(n), n being the number of bytes", Summary: "Returns a key in Redis's own format.",
	run: func(e *Engine, s *Session, c *Call) {
		entry := e.state.Names.Lookup(c.Args[1], s.ms)
		if entry == nil {
			c.answer(null())
			return
		}
		const most = 512 << 20 // what a reply can hold
		cost := store.Cost("", entry)
		if uint64(cost) > e.Budget.left() && cost > 1<<20 {
			c.answer(fail(textOOM))
			return
		}
		if cost > most {
			c.answer(fail("ERR value is too large for DUMP; use BF.SCANDUMP or CF.SCANDUMP"))
			return
		}
		c.answer(bulk(string(appendFooter(appendValue(entry)))))
	},
}

// appendValue encodes the value of an entry without the footer.
func appendValue(entry *catalog.Entry) []byte {
	p := store.PartOf(entry)
	if p == nil {
		text := store.Text(entry)
		return append(appendLength([]byte{rdbString}, uint64(len(text))), text...)
	}
	p.RLock()
	defer p.RUnlock()
	b := appendLength([]byte{rdbModule}, moduleID(entry.Kind))
	return append(familyOf(entry.Kind).appendValue(b, p), opcodeEnd)
}

// appendLayer encodes the n bytes of the dump that begin at iter as one string.
func appendLayer(b []byte, p *store.Part, iter int64, n uint64) ([]byte, int64) {
	b = appendLength(append(b, opcodeString), n)
	for n > 0 {
		next, chunk := p.Contents().ScanDump(iter)
		if next == 0 || uint64(len(chunk)) > n {
			break // cannot be: the lengths come from the same filter
		}
		b = append(b, chunk...)
		n -= uint64(len(chunk))
		iter = next
	}
	return b, iter
}

// restoreCmd is RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME
// seconds] [FREQ frequency].
var restoreCmd = Command{
	Name: "restore", Arity: -4, Flags: Write | DenyOOM, Keys: oneKey, KeyFlags: keyOW,
	Categories: []string{"keyspace", "write", "slow", "dangerous"}, Group: groupGeneric, Since: "2.6.0",
	Syntax:     "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
	Complexity: "O(n), n being the number of bytes", Summary: "Makes a key from what DUMP returned.",
	run: runRestore,
}

// restored is a value read from a payload, ready to become records.
type restored struct {
	kind   catalog.Kind
	text   []byte   // of a string
	header []byte   // of a filter's dump
	layers [][]byte // of a filter
}

// parseValue reads a payload whose footer fits. It unpacks at most room bytes.
func parseValue(b []byte, room uint64) (v restored, ok bool) {
	r := rdbReader{rest: b[:len(b)-rdbFooter], room: room}
	switch r.byte() {
	case rdbString:
		v.kind, v.text = catalog.String, r.string()
	case rdbModule:
		id, _ := r.length()
		v, r.bad = r.filter(id)
		r.opcode(opcodeEnd)
	default:
		return v, false
	}
	return v, !r.bad && len(r.rest) == 0
}

// filter reads the filter of a module, and reports whether it is bad.
func (r *rdbReader) filter(id uint64) (v restored, bad bool) {
	for _, f := range families {
		if moduleID(f.kind) == id {
			v = f.readValue(r)
			return v, r.bad
		}
	}
	return v, true
}

// parseRestore reads the options of RESTORE. It returns the error text, or "".
func parseRestore(args [][]byte) (ttl int64, replace, absolute bool, text string) {
	for i := 4; i < len(args); i++ {
		switch {
		case is(args[i], "replace"):
			replace = true
		case is(args[i], "absttl"):
			absolute = true
		case (is(args[i], "idletime") || is(args[i], "freq")) && i+1 < len(args):
			i++
			if n, ok := parseInt(args[i]); !ok {
				return 0, false, false, textInteger
			} else if n < 0 {
				return 0, false, false, "ERR Invalid " + upper(string(args[i-1])) + " value, must be >= 0"
			}
		default:
			return 0, false, false, textSyntax
		}
	}
	ttl, ok := parseInt(args[2])
	switch {
	case !ok:
		return 0, false, false, textInteger
	case ttl < 0:
		return 0, false, false, "ERR Invalid TTL value, must be >= 0"
	}
	return ttl, replace, absolute, ""
}

func runRestore(e *Engine, s *Session, c *Call) {
	ttl, replace, absolute, text := parseRestore(c.Args)
	if text != "" {
		c.answer(fail(text))
		return
	}
	if !replace && e.state.Names.Lookup(c.Args[1], s.ms) != nil {
		c.answer(fail(textBusyKey))
		return
	}
	if !footerFits(c.Args[3]) {
		c.answer(fail(textDumpFooter))
		return
	}
	v, ok := parseValue(c.Args[3], e.Budget.left())
	if !ok {
		c.answer(fail(textBadDump))
		return
	}
	deadline := int64(0)
	if ttl > 0 && absolute {
		deadline = ttl
	} else if ttl > 0 {
		if deadline, ok = deadlineOf(ttl, 1, s.ms); !ok {
			c.answer(fail("ERR Invalid TTL value, must be >= 0"))
			return
		}
	}
	e.alone(s, func() { c.answer(e.restore(s, c.Args[1], v, deadline, replace)) })
}

// alone runs f while nothing else runs. Inside a transaction that is so already.
func (e *Engine) alone(s *Session, f func()) {
	if s.inExec {
		f()
		return
	}
	e.gate.RUnlock()
	e.gate.Lock()
	defer func() {
		e.gate.Unlock()
		e.gate.RLock()
	}()
	f()
}

// restore makes a key from several records, which recovery takes all or none.
func (e *Engine) restore(s *Session, name []byte, v restored, deadline int64, replace bool) Reply {
	if !replace && e.state.Names.Lookup(name, s.ms) != nil {
		return fail(textBusyKey)
	}
	if !s.inExec {
		e.do(&door.Op{Record: store.Record{Op: store.OpBegin}})
		defer e.do(&door.Op{Record: store.Record{Op: store.OpCommit}})
	}
	if deadline != 0 && deadline <= s.ms { // born dead, as in Redis
		e.do(&door.Op{Record: store.Record{Op: store.OpRemove, Names: [][]byte{name}, At: s.ms}})
		return okReply
	}
	if v.kind == catalog.String {
		cost := uint64(store.NewCost(name, uint64(len(v.text))))
		if !e.Budget.reserve(cost) {
			return fail(textOOM)
		}
		defer e.Budget.release(cost)
		e.do(&door.Op{Record: store.Record{Op: store.OpSet, Name: name, Value: v.text, At: s.ms, Deadline: deadline}})
		return okReply
	}
	return e.restoreFilter(s, name, v, deadline)
}

func (e *Engine) restoreFilter(s *Session, name []byte, v restored, deadline int64) Reply {
	f := familyOf(v.kind)
	r := store.Record{Op: f.create, Name: name, At: s.ms, Value: v.header}
	size, err := store.NewBytes(&r)
	if err != nil || !e.Budget.reserve(size) {
		return fail(textOOM)
	}
	e.Budget.release(size)
	e.do(&door.Op{Record: store.Record{Op: store.OpRemove, Names: [][]byte{name}, At: s.ms}})
	res, ok := e.createFilter(&r)
	if !ok || res.Err != nil {
		return fail(textOOM)
	}
	position := int64(1)
	for _, data := range v.layers {
		position += int64(len(data))
		op := door.Op{Record: store.Record{Op: f.chunk, ID: res.Entry.ID, Position: position, Value: data}}
		if e.do(&op); op.Result.Err != nil && !errors.Is(op.Result.Err, store.ErrRetry) {
			return fail(textBadDump)
		}
	}
	if deadline != 0 {
		e.do(&door.Op{Record: store.Record{Op: store.OpExpire, Name: name, At: s.ms, Deadline: deadline}})
	}
	return okReply
}
