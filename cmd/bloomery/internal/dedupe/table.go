// A table of whole lines, for an Exact that compares texts.

package dedupe

import (
	"encoding/binary"
	"math/bits"
)

// Layout of a slot: where the text begins in the log, plus one, and some bits
// of the hash, which spare most looks at the text.
const (
	slotBytes   = 8
	offsetBits  = 40
	offsetMask  = 1<<offsetBits - 1
	firstTable  = 256 // slots
	tallyBytes  = 16  // how often a text came, and the number of the first line
	maxTextHead = binary.MaxVarintLen64 + tallyBytes
)

// table is an exact set of texts, all of it in one array. Texts are appended
// from the left; slots that point to them are on the right and take room from
// the middle as they need it:
//
//	arena  [ len text | len text | len text | ...  free  ... | slots ]
//
// With tallies, each text has one between its length and itself.
//
// To grow, slots are cleared and made anew from the texts, so that there are
// never two generations of them.
type table struct {
	arena []byte
	used  int // bytes of texts
	slots int
	n     int
	tally bool                     // texts have tallies
	hash  func(text []byte) uint64 // of the key in a stored text
	key   func(text []byte) []byte // the key in a stored text
}

// clear takes all texts out and lies down in an array.
func (t *table) clear(arena []byte) {
	t.arena, t.used, t.n = arena, 0, 0
	t.slots = 0
	t.resize(firstTable)
}

// resize makes all slots anew. It does nothing and reports false if there is no
// room.
func (t *table) resize(slots int) bool {
	if slots > (len(t.arena)-t.used)/slotBytes {
		return false
	}
	t.slots = slots
	clear(t.arena[len(t.arena)-slots*slotBytes:])
	for at := 0; at < t.used; {
		text, next := t.text(at)
		h := t.hash(text)
		i := t.home(h)
		for t.slot(i) != 0 {
			i = t.after(i)
		}
		t.set(i, slotOf(at, h))
		at = next
	}
	return true
}

// find returns where the text with this key begins.
func (t *table) find(h uint64, key []byte) (at int, ok bool) {
	for i := t.home(h); ; i = t.after(i) {
		s := t.slot(i)
		if s == 0 {
			return 0, false
		}
		if s>>offsetBits != slotOf(0, h)>>offsetBits {
			continue
		}
		at := int(s&offsetMask) - 1
		if text, _ := t.text(at); string(t.key(text)) == string(key) {
			return at, true
		}
	}
}

// insert stores a text whose key has hash h and is not there yet; index is the
// number of its line. It changes nothing that can be seen and reports false if
// there is no room.
func (t *table) insert(h, index uint64, text []byte) bool {
	if 4*(t.n+1) > 3*t.slots && !t.resize(t.slots+t.slots/2) {
		return false
	}
	if len(text) > len(t.arena)-t.slots*slotBytes-t.used-maxTextHead {
		return false
	}
	at := t.used
	b := binary.AppendUvarint(t.arena[:at], uint64(len(text)))
	if t.tally {
		b = binary.LittleEndian.AppendUint64(b, 1)
		b = binary.LittleEndian.AppendUint64(b, index)
	}
	t.used = len(append(b, text...))
	i := t.home(h)
	for t.slot(i) != 0 {
		i = t.after(i)
	}
	t.set(i, slotOf(at, h))
	t.n++
	return true
}

// count notes that the text at a place came once more.
func (t *table) count(at int) {
	_, n := binary.Uvarint(t.arena[at:])
	c := t.arena[at+n:]
	binary.LittleEndian.PutUint64(c, binary.LittleEndian.Uint64(c)+1)
}

// tallied returns how often the text at a place came, and its first line.
func (t *table) tallied(at int) (count, index uint64) {
	_, n := binary.Uvarint(t.arena[at:])
	c := t.arena[at+n:]
	return binary.LittleEndian.Uint64(c), binary.LittleEndian.Uint64(c[8:])
}

// text returns the text at a place, and where the next one begins.
func (t *table) text(at int) (text []byte, next int) {
	length, n := binary.Uvarint(t.arena[at:])
	at += n
	if t.tally {
		at += tallyBytes
	}
	next = at + int(length)
	return t.arena[at:next:next], next
}

func (t *table) home(h uint64) int {
	hi, _ := bits.Mul64(h, uint64(t.slots))
	return int(hi)
}

func (t *table) after(i int) int {
	if i++; i < t.slots {
		return i
	}
	return 0
}

func (t *table) slot(i int) uint64 { return binary.LittleEndian.Uint64(t.place(i)) }

func (t *table) set(i int, s uint64) { binary.LittleEndian.PutUint64(t.place(i), s) }

func (t *table) place(i int) []byte { return t.arena[len(t.arena)-(i+1)*slotBytes:] }

func slotOf(at int, h uint64) uint64 { return h<<offsetBits | uint64(at+1) }
