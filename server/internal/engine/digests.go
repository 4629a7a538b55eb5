package engine

// Calls whose items are hashes.

import (
	"encoding/binary"
	"slices"
	"strings"
)

// A command that is ByHash is passed on with the hashes of its items: whoever divides a call has hashed them already.
//
//	call: hashesMark, id of the filter, command, key, all hashes of 8 bytes each
//
// The name may stand for another filter where it is run, which hashes in another way. Then it is answered as one whose
// contents are not there, and is looked at again.
const (
	hashesMark = "\x00hashes"
	hashBytes  = 8
	// hashedBytes is what such a call has beside its hashes, command and key, at most.
	hashedBytes = 32
)

// Hashed reports whether the items of a call are hashes.
func (c *Call) Hashed() bool { return c.filter != 0 }

// Hash returns the hash that an item of a call is.
func Hash(item []byte) uint64 { return binary.LittleEndian.Uint64(item) }

// appendHashed appends a call up to its hashes, of which so many follow.
func appendHashed(b []byte, filter uint64, args [][]byte, hashes int) []byte {
	var id [hashBytes]byte
	binary.LittleEndian.PutUint64(id[:], filter)
	b = appendHead(b, [][]byte{[]byte(hashesMark), id[:], args[0], args[1]}, 1)
	return binary.AppendUvarint(b, uint64(hashBytes*hashes))
}

// unhash makes of the last arguments, from one on, those of the call that they are, if its items are hashes. It returns
// the id of the filter, 0 if they are not.
func (h *helper) unhash(from int) (filter uint64, ok bool) {
	args := h.args[from:]
	if string(args[0]) != hashesMark {
		return 0, true
	}
	if len(args) != 5 || len(args[1]) != hashBytes || strings.HasPrefix(string(args[2]), "\x00") || len(args[4])%hashBytes != 0 {
		return 0, false
	}
	filter = Hash(args[1])
	all := args[4]
	h.args = slices.Grow(append(h.args[:from], args[2], args[3]), len(all)/hashBytes)
	for ; len(all) > 0; all = all[hashBytes:] {
		h.args = append(h.args, all[:hashBytes:hashBytes])
	}
	return filter, filter != 0
}

// hashItems gives the call of a part that lies here its hashes as items, in the memory of args.
func (p *passing) hashItems(filter uint64, args [][]byte) {
	c, hashes := &p.calls[0], p.body
	p.body = nil
	c.Args = append(args, p.whole.call.Args[:2]...)
	for ; len(hashes) > 0; hashes = hashes[hashBytes:] {
		c.Args = append(c.Args, hashes[:hashBytes:hashBytes])
	}
	c.Items, c.filter = c.Args[2:], filter
}

// stale reports whether a call of this machine whose items are hashes has to be run with the items themselves.
func (c *Call) stale() bool { return c.Hashed() && c.Reply.Failed() && c.Reply.Text == textNotHere }
