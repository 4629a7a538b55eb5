package compose

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/frozen"
	"github.com/bloomery/bloomery/internal/kernel"
)

// Freeze returns the window as it is now, to be encoded while keys are added to it; nil for a
// zero Window. It is for programs of this module.
func (w *Window) Freeze() *frozen.Pages {
	if len(w.words) == 0 {
		return nil
	}
	z := frozen.NewPages(w.header(), w.preface(), w.words, w.touches)
	if all := slices.Clone(w.dropped); all != nil { // what is cleared later was told to the copy before
		z.Scrub = func(words []uint64, from int) { w.scrub(words, from, all) }
	}
	return z
}

// touches names the block of a key, or those of all generations where they lie side by side.
func (w *Window) touches(h uint64, save func(from, to int)) {
	if !w.rotate {
		save(w.lines.Span(h))
		return
	}
	slot, each := w.slot(w.current), len(w.words)/w.ways()
	line := len(kernel.Block{})
	first := slot*each + line*int(kernel.BlockOf(uint64(each/line), bloomery.Salted(h, w.salts[slot])))
	save(first, first+line)
}

// frozenQuorum is the copy of a quorum: that of its members.
type frozenQuorum struct {
	header  envelope.Header
	members []frozen.Copy
	salts   []uint64
}

// Freeze returns the quorum as it is now, to be encoded while keys are inserted into it; nil if it is
// a zero Quorum, or freeze returns nil for a member. It is for programs of this module.
func (q *Quorum) Freeze(freeze func(member bloomery.Hashed) frozen.Copy) frozen.Copy {
	if len(q.members) == 0 {
		return nil
	}
	z := &frozenQuorum{header: q.header(), salts: q.salts}
	z.header.Payload = uint64(lines(8 * len(q.members)))
	for _, m := range q.members {
		c := freeze(m)
		if c == nil {
			return nil
		}
		z.members = append(z.members, c)
		z.header.Payload += uint64(lines(int(c.Size())))
	}
	return z
}

func (z *frozenQuorum) Size() int64 { return int64(z.header.EncodedSize()) }

func (z *frozenQuorum) Saved() (n int) {
	for _, m := range z.members {
		n += m.Saved()
	}
	return n
}

func (z *frozenQuorum) Before(hs []uint64) {
	for _, h := range hs {
		for i, m := range z.members {
			m.Before([]uint64{bloomery.Salted(h, z.salts[i])})
		}
	}
}

func (z *frozenQuorum) Detach() {
	for _, m := range z.members {
		m.Detach()
	}
}

func (z *frozenQuorum) WriteTo(w io.Writer) (int64, error) {
	table := make([]byte, lines(8*len(z.members)))
	members := make([]io.WriterTo, len(z.members))
	for i, m := range z.members {
		binary.LittleEndian.PutUint64(table[8*i:], uint64(m.Size()))
		members[i] = m
	}
	return writePayload(w, z.header, table, members)
}
