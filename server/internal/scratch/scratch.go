// Package scratch is memory for items on their way into filters and sketches: their digests,
// what is written of them and what is answered. It is used again from call to call.
package scratch

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/routes"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Memory is what is used again. The zero value is ready to use.
type Memory struct {
	// Digests and Hashes are those of the items that are being looked at;
	// families append to the one that they use.
	Digests []redisbloom.Digest
	Hashes  []uint64
	Payload []byte // values of records of sketches

	Shadow  *shadow.Shadow // of the filter that is being written to; nil if it has none
	Seconds []uint64       // hashes for it, each at the place of its first
	Routes  routes.Table
	Second  []uint64 // those of Seconds, sorted as Routes is
	View    store.Result

	bools  []bool
	codes  []int8
	elems  []answer.Reply // elements of replies
	counts []uint32
}

const (
	// maxKept bounds the items for which memory is kept.
	maxKept = 4096
	// maxPayload bounds the memory that is kept for values.
	maxPayload = 256 << 10
	// least is for how many items there is room at least, once some was taken.
	least = 256
)

// Reset forgets everything: what was taken is not valid any more.
func (m *Memory) Reset() {
	m.Shadow = nil
	clear(m.elems) // they keep what a client has sent
	if most := max(cap(m.Digests), cap(m.Hashes), cap(m.Seconds), cap(m.bools), cap(m.codes), cap(m.elems), cap(m.counts)); most > maxKept || cap(m.Payload) > maxPayload {
		m.drop()
	}
	m.bools = m.bools[:0]
	m.codes = m.codes[:0]
	m.elems = m.elems[:0]
	m.Reuse()
}

// drop gives back memory that is for very many items.
func (m *Memory) drop() {
	m.Digests, m.Hashes = Emptied(m.Digests, maxKept), Emptied(m.Hashes, maxKept)
	m.Seconds = Emptied(m.Seconds, maxKept)
	m.bools, m.codes = Emptied(m.bools, maxKept), Emptied(m.codes, maxKept)
	m.elems, m.counts = Emptied(m.elems, maxKept), Emptied(m.counts, maxKept)
	m.Payload = Emptied(m.Payload, maxPayload)
}

// Emptied returns s without its elements, and without its memory if that is for more
// than most of them.
func Emptied[T any](s []T, most int) []T {
	if cap(s) > most {
		return nil
	}
	return s[:0]
}

// Reuse makes the memory of digests and records free again: none is on its way.
func (m *Memory) Reuse() {
	m.Digests = m.Digests[:0]
	m.Hashes = m.Hashes[:0]
	m.Payload = m.Payload[:0]
	m.counts = m.counts[:0]
}

// Bools returns n booleans that stay valid until Reset.
func (m *Memory) Bools(n int) []bool { return Room(&m.bools, n, least) }

// Codes returns n codes that stay valid until Reset.
func (m *Memory) Codes(n int) []int8 { return Room(&m.codes, n, least) }

// Counts returns room for n counts. It is the caller's until its records are
// answered.
func (m *Memory) Counts(n int) []uint32 { return Room(&m.counts, n, least)[:0] }

// Elems returns n replies that stay valid until Reset.
func (m *Memory) Elems(n int) []answer.Reply {
	return Room(&m.elems, n, max(64, min(2*cap(m.elems), maxKept)))
}

// Room takes n elements of s. Where there are too few, s becomes new ones, at least so many.
func Room[T any](s *[]T, n, least int) []T {
	if cap(*s)-len(*s) < n {
		*s = make([]T, 0, max(n, least))
	}
	at := len(*s)
	*s = (*s)[:at+n]
	return (*s)[at : at+n : at+n]
}
