package engine

// Calls that are run for clients of other machines.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// textNotHere is the answer to another machine. No client gets it.
const textNotHere = "NOTHERE"

// helper runs what other machines ask for. They have asked for the rights of their clients,
// and show and count what these do.
type helper struct {
	session *Session
	work    Workspace
	args    [][]byte
	ends    []int    // of the calls, in args
	filters []uint64 // whose hashes their items are, 0 if they are none
}

// help runs the calls of a question, and returns their answers, which may have room bytes. It
// is not asked on: what is not here is answered so, and nothing is run behind it. aside is called
// unless all of them look for items, and soon have.
func (e *Engine) help(body []byte, room int, aside func()) []byte {
	h, _ := e.helpers.Get().(*helper)
	if h == nil {
		h = &helper{session: NewSession(e.helped.Add(1), "", "", e.clock(), func() {})}
		h.session.helps = true
		e.Users.Trust(&h.session.Client)
	}
	defer func() {
		e.Close(h.session)
		h.session.Quit, h.session.passes, h.session.only = false, false, nil
		h.work.Reset()
		clear(h.args)
		e.helpers.Put(h)
	}()
	n, ok := h.parse(body)
	if !ok || n == 0 {
		return nil
	}
	for i := range h.work.Calls {
		c := &h.work.Calls[i]
		cmd := e.table.Lookup(c.Args[0])
		if c.Hashed() && (cmd == nil || !cmd.ByHash) {
			return nil
		}
		if !cmd.looksUp() {
			aside()
		}
	}
	if r, is := e.helpMark(h.args); is {
		if r.Failed() && r.Text == textNotHere {
			return []byte{wasNotHere}
		}
		return r.Append([]byte{wasRun})
	}
	if args := h.work.Calls[0].Args; string(args[0]) == partsMark {
		return e.helpParts(h.session, args[1:])
	}
	for done := 0; done < n; {
		done += max(1, e.Exec(h.session, &h.work, done))
	}
	return h.answers(room)
}

// looksUp reports whether a command looks for items in a filter, and does nothing else. Copies of much of a filter
// take longer, and so do items that are compared with all that a TopK keeps.
func (cmd *Command) looksUp() bool {
	return cmd != nil && cmd.On != nil && !cmd.writes() && cmd.Flags&traits.Heavy == 0 && cmd.Group != traits.GroupTopK
}

// helpMark answers a question that is no command. It reports false if it is one.
func (e *Engine) helpMark(args [][]byte) (r answer.Reply, is bool) {
	if r, is = e.helpRoom(args); !is {
		r, is = e.helpPart(args)
	}
	return r, is
}

// parse adds the calls of a question to the workspace, and returns how many there are.
func (h *helper) parse(b []byte) (n int, ok bool) {
	h.args, h.ends, h.filters = h.args[:0], h.ends[:0], h.filters[:0]
	for len(b) > 0 {
		count := 0
		if count, b, ok = length(b); !ok || count == 0 {
			return 0, false
		}
		from := len(h.args)
		for ; count > 0; count-- {
			size := 0
			if size, b, ok = length(b); !ok {
				return 0, false
			}
			h.args = append(h.args, b[:size:size])
			b = b[size:]
		}
		filter, ok := h.unhash(from)
		if !ok {
			return 0, false
		}
		h.ends, h.filters = append(h.ends, len(h.args)), append(h.filters, filter)
	}
	from, ends, filters := 0, h.ends, h.filters
	if len(ends) > 1 && string(h.args[0]) == shardsMark {
		only := &shardSet{}
		if from = ends[0]; from != 2 || copy(only[:], h.args[1]) != len(only) {
			return 0, false
		}
		h.session.only, ends, filters = only, ends[1:], filters[1:]
	}
	for i, to := range ends {
		h.work.Add(h.args[from:to:to])
		h.work.Calls[len(h.work.Calls)-1].filter = filters[i]
		from = to
	}
	return len(ends), true
}

// length reads how many bytes, or arguments, follow: no more than there are bytes.
func length(b []byte) (n int, rest []byte, ok bool) {
	v, size := binary.Uvarint(b)
	if size <= 0 || v > uint64(len(b)-size) {
		return 0, nil, false
	}
	return int(v), b[size:], true
}

// answers returns the answers of all calls. One that does not fit is left out.
func (h *helper) answers(room int) (b []byte) {
	const least = 1 + binary.MaxVarintLen64
	calls := h.work.Calls
	size := least * len(calls)
	for i := range calls {
		size += calls[i].Reply.Bytes()
	}
	b = make([]byte, 0, min(size, room))
	for i := range calls {
		r, from := &calls[i].Reply, len(b)
		if r.Kind == answer.Error && r.Text == textNotHere {
			b = append(b, wasNotHere)
			continue
		}
		b = r.Append(append(b, wasRun))
		if len(b)+least*(len(calls)-i-1) > room {
			b = binary.AppendUvarint(append(b[:from], wasTooLong), uint64(len(b)-from))
		}
	}
	return b
}
