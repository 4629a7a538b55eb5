package store

// Record: one change of the state.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Record is one write, with everything decided that does not depend on the state it
// meets: digests, absolute deadlines, integer sizes, limits. Items are not in it, but
// for those of a TOPK, which keeps them.
type Record struct {
	// ID and Index are the filter and the part of it that a record of a part is for.
	ID    uint64
	Index uint32
	// At is when a record of the catalogue was prepared, milliseconds since 1970.
	At     int64
	Origin Origin
	// Body says what is done. A record that may be prepared by the million has it in
	// memory that is used again: see Scratch.
	Body Body
}

// Body is what a record does: a pointer to one of the types of this package that have
// an Op. Those of the catalogue are namer, those of a part are changer.
type Body interface {
	// op returns the number of the operation: its row in the table of operations.
	op() Op
	// fields writes the fields of the record in their order, or reads them.
	fields(c coder, r *Record) coder
}

// namer is the body of a record of the catalogue, or of the cluster.
type namer interface {
	Body
	// apply changes the state under the catalogue's lock.
	apply(s *State, r *Record, res *Result)
}

// changer is the body of a record of a part.
type changer interface {
	Body
	// change changes the contents of p under its lock and returns by how many bytes
	// they have grown. Contents of another kind are ErrType.
	change(s *State, p *contents.Part, r *Record, res *Result) (grown int64)
}

// effector is a body of which the log keeps something else than the record itself.
type effector interface {
	effect(f *Effect, r *Record, res *Result)
}

// Items is the body of a record of digests or hashes, whose number decides how much
// memory it may need.
type Items interface {
	Body
	// Len returns the number of digests or hashes.
	Len() int
	// Give sets how many bytes the filter may grow by.
	Give(room uint64)
	// Hold sets the digests, or the hashes.
	Hold(digests []redisbloom.Digest, hashes []uint64)
}

// Scratch is memory for the body of one record, of those that come in masses. An
// interface that holds a pointer into it allocates nothing.
type Scratch struct {
	BloomAdd     BloomAdd
	CuckooInsert CuckooInsert
	CuckooDelete CuckooDelete
	FilterAdd    FilterAdd
	FilterDelete FilterDelete
	FilterGone   FilterGone
	ShadowAdd    ShadowAdd
	CountMinIncr CountMinIncr
	TopKIncr     TopKIncr
	TDigestAdd   TDigestAdd
}

// Conditions of a record. Apply decides them, since a record may meet a later
// state than the one it was prepared on.
const (
	IfAbsent  = 1 << iota // only if the name is free, or has no deadline
	IfPresent             // only if the name is taken, or has a deadline
	IfLater               // only if the deadline would be later
	IfEarlier             // only if the deadline would be earlier
	KeepTTL               // the deadline stays as it is
	IfString              // only if the name is free, or that of a string
	IfNewer               // only if the name is free, or that of a filter of a smaller version
	IfFilter              // only if the name is free, or that of a filter of package codec
)

// MaxRecord bounds one encoded record; Effect cuts longer ones into several. A
// message of 1 MiB holds one with its envelope.
const MaxRecord = 896 << 10

// MaxName bounds a name, so that two of them fit into a record.
const MaxName = 256 << 10

// Unlimited as room lets a filter grow as its own rules say.
const Unlimited = ^uint64(0)

// Op returns the number of the operation.
func (r *Record) Op() Op { return r.Body.op() }

// Part reports whether r is a record of a part, not of the catalogue.
func (r *Record) Part() bool { return operations[r.Body.op()].scope == ofPart }

// OfCluster reports whether r is about the cluster itself, and not about data.
func (r *Record) OfCluster() bool { return operations[r.Body.op()].scope == ofCluster }

// Sent reports whether a cluster whose records may be of such a level can send r.
func (r *Record) Sent(level uint64) bool {
	o := &operations[r.Body.op()]
	return o.sent == always && o.level <= level
}

// Marks reports whether r marks a group, which is one message in a cluster.
func (r *Record) Marks() bool { return operations[r.Body.op()].sent == asMark }

// Moves reports whether r gives a name to contents that are there: others may change
// them under that name before the record is in the log.
func (r *Record) Moves() bool {
	switch r.Body.(type) {
	case *Rename, *Reveal, *ShadowSwap:
		return true
	}
	return false
}

// Expects reports whether r is a condition of a group: if it does not hold, nothing of
// the group is applied.
func (r *Record) Expects() bool {
	switch r.Body.(type) {
	case *Expect, *ExpectPart:
		return true
	}
	return false
}

// Takes returns how many bytes r takes wherever it is applied, as far as that is known
// from the record alone.
func (r *Record) Takes() (n uint64) {
	switch operations[r.Body.op()].takes {
	case newContents:
		n, _ = NewBytes(r.Body)
	case newText:
		n = uint64(r.Body.(interface{ length() int }).length())
	}
	return n
}

// recordFields is what the fields of fixed length of any record take at most.
const recordFields = 64

// Bound returns how many bytes the encoding of r has at most.
func (r *Record) Bound() int {
	return r.Body.fields(coder{does: bounds, bound: recordFields}, r).bound
}

// NewName returns the name that the record gives to something, nil if it gives
// none.
func (r *Record) NewName() []byte {
	if n, ok := r.Body.(interface{ newName() []byte }); ok {
		return n.newName()
	}
	return nil
}

// Weight returns how many steps it takes to apply r, if it is of the catalogue: one, and
// one for every name and every KiB that is copied.
func (r *Record) Weight() int {
	if w, ok := r.Body.(interface{ weight() int }); ok {
		return 1 + w.weight()
	}
	return 1
}

// Origin says which node made a record, so that a cluster can recognise one
// that was sent twice. It is zero locally.
type Origin struct{ Session, Counter uint64 }
