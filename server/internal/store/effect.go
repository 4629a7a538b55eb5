package store

// Effect: the records of what really changed.

import (
	"encoding/binary"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// Effect collects encoded records. A log that is written after Apply keeps what
// a record did instead of what it asked for: digests that were new, without the
// limits that the others met; and records of a run that do the same make one.
// Replayed on the same state that gives the same state. The zero value is ready
// to use.
type Effect struct {
	bytes []byte   // encoded records, none longer than MaxRecord
	long  [][]byte // more of them behind bytes: see spread

	// The record that is being gathered: OpAdd, OpInsert, OpDelete, or none.
	open    Record
	digests []redisbloom.Digest
	hashes  []uint64
}

// Most digests and bytes of one record, with room for its other fields.
const (
	maxDigests = (MaxRecord - 64) / 16
	maxHashes  = (MaxRecord - 64) / 8
	maxPiece   = MaxRecord - 64
	maxText    = MaxRecord - MaxName - 64 // beside a name
	maxIDs     = (MaxRecord - 64) / 10
)

// nameBytes is what a name takes in a record besides its bytes, at most.
const nameBytes = 10

// NamesWithin returns how many of names, one at least, fit into a record of so many
// bytes.
func NamesWithin(names [][]byte, most int) int {
	size := recordFields
	for i, n := range names {
		if size += len(n) + nameBytes; size > most && i > 0 {
			return i
		}
	}
	return len(names)
}

// NamesFit reports whether names, or names and values, fit into one record.
func NamesFit(names [][]byte) bool {
	r := Record{Names: names}
	return r.Bound() <= MaxRecord
}

// Add notes what r did, as res reports: nothing if nothing changed.
func (f *Effect) Add(r *Record, res *Result) {
	if !res.Changed && len(res.effects) == 0 {
		return
	}
	switch r.Op {
	case OpAdd:
		f.gather(OpAdd, r)
		for i, d := range r.Digests[:res.Done] {
			if res.Bools[i] {
				f.digests = append(f.digests, d)
			}
		}
	case OpInsert, OpInsertNew, OpInsertEach, OpInsertNewEach, OpInsertFirst, OpInsertNewFirst:
		f.gather(OpInsert, r)
		for i, h := range r.Hashes[:res.Done] {
			if res.Codes[i] == redisbloom.Inserted {
				f.hashes = append(f.hashes, h)
			}
		}
	case OpDelete, OpDeleteLazily:
		f.gather(r.Op, r)
		f.open.Limit = r.Limit
		for i, h := range r.Hashes[:res.Done] {
			if res.Bools[i] {
				f.hashes = append(f.hashes, h)
			}
		}
	case OpFilterAdd, OpFilterDelete, OpShadowFeed:
		f.gather(r.Op, r)
		for i, h := range r.Hashes[:res.Done] {
			if res.kept(i) {
				f.hashes = append(f.hashes, h)
			}
		}
		if len(res.effects) > 0 { // those of the shadow
			f.close()
			f.records(res.effects)
		}
	case OpBloomChunk, OpCuckooChunk:
		f.close()
		f.chunk(r)
	case OpCountMinMerge, OpTDigestMerge:
		f.close()
		f.records(res.effects)
	case OpSet, OpAppend, OpSetRange:
		f.close()
		if r.Made != "" && len(r.Value) >= Long {
			f.spread(r)
		} else {
			f.text(r)
		}
	case OpRemove:
		f.close()
		f.names(r)
	case OpEvict:
		f.close()
		f.ids(r)
	default:
		f.close()
		f.bytes = AppendRecord(f.bytes, r)
	}
}

func (f *Effect) records(list []Record) {
	for i := range list {
		f.bytes = AppendRecord(f.bytes, &list[i])
	}
}

// Take returns the records and forgets them. They are valid until the next Add.
// Those of a long string, which are the last, are in pieces that nobody changes:
// they stay valid.
func (f *Effect) Take() (records []byte, long [][]byte) {
	f.close()
	records, long = f.bytes, f.long
	f.bytes, f.long = f.bytes[:0], nil
	if cap(f.bytes) > MaxRecord {
		f.bytes, f.digests, f.hashes = nil, nil, nil
	}
	return records, long
}

// gather makes sure that what is being gathered is of this operation and target.
func (f *Effect) gather(op Op, r *Record) {
	if f.open.Op == op && f.open.ID == r.ID && f.open.Index == r.Index && f.open.Origin == r.Origin {
		return
	}
	f.close()
	f.open.Op, f.open.ID, f.open.Index, f.open.Origin, f.open.Room, f.open.Limit = op, r.ID, r.Index, r.Origin, Unlimited, 0
}

// close encodes what was gathered, cut into records of allowed length.
func (f *Effect) close() {
	for rest := f.digests; len(rest) > 0; rest = rest[len(f.open.Digests):] {
		f.open.Digests = rest[:min(len(rest), maxDigests)]
		f.bytes = AppendRecord(f.bytes, &f.open)
	}
	for rest := f.hashes; len(rest) > 0; rest = rest[len(f.open.Hashes):] {
		f.open.Hashes = rest[:min(len(rest), maxHashes)]
		f.bytes = AppendRecord(f.bytes, &f.open)
	}
	f.open.Op, f.open.Digests, f.open.Hashes = 0, nil, nil
	f.digests, f.hashes = f.digests[:0], f.hashes[:0]
}

// chunk cuts a chunk into pieces. A position is that of the byte behind the
// chunk, plus one, so each piece has its own.
func (f *Effect) chunk(r *Record) {
	piece := Record{Op: r.Op, Index: r.Index, ID: r.ID, Origin: r.Origin}
	for rest := r.Value; len(rest) > 0; rest = rest[len(piece.Value):] {
		piece.Value = rest[:min(len(rest), maxPiece)]
		piece.Position = r.Position - int64(len(rest)-len(piece.Value))
		f.bytes = AppendRecord(f.bytes, &piece)
	}
}

// text puts all of a string but its end into records of their own, if it is
// long.
func (f *Effect) text(r *Record) {
	last := *r
	for len(last.Value) > maxText {
		f.bytes = AppendRecord(f.bytes, &Record{Op: OpPiece, Origin: r.Origin, Value: last.Value[:maxText]})
		last.Value = last.Value[maxText:]
	}
	f.bytes = AppendRecord(f.bytes, &last)
}

// spread does what text does without a copy of the string: the value of each
// record is a part of it, with what stands before it in front.
func (f *Effect) spread(r *Record) {
	for rest := r.Value; len(rest) > 0; {
		n := min(len(rest), maxPiece)
		head := AppendRecord(nil, &Record{Op: OpPiece, Origin: r.Origin}) // it ends with the length of nothing
		head = binary.AppendUvarint(head[:len(head)-1], uint64(n))
		f.long = append(f.long, head, rest[:n])
		rest = rest[n:]
	}
	last := *r
	last.Value = nil
	f.long = append(f.long, AppendRecord(nil, &last))
}

// names cuts a removal: all its records are in one append to the log.
func (f *Effect) names(r *Record) {
	part := *r
	for rest := r.Names; len(rest) > 0; rest = rest[len(part.Names):] {
		n, size := 0, 64
		for n < len(rest) && (n == 0 || size+len(rest[n])+nameBytes <= MaxRecord) {
			size += len(rest[n]) + nameBytes
			n++
		}
		part.Names = rest[:n]
		f.bytes = AppendRecord(f.bytes, &part)
	}
}

// ids cuts what expired.
func (f *Effect) ids(r *Record) {
	part := *r
	for rest := r.IDs; len(rest) > 0; rest = rest[len(part.IDs):] {
		part.IDs = rest[:min(len(rest), maxIDs)]
		f.bytes = AppendRecord(f.bytes, &part)
	}
}
