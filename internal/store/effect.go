package store

import "github.com/bloomery/bloomery/foreign/redisbloom"

// Effect collects encoded records. A log that is written after Apply keeps what
// a record did instead of what it asked for: digests that were new, without the
// limits that the others met. Replayed on the same state that gives the same
// state.
type Effect struct {
	Bytes   []byte // encoded records, none longer than MaxRecord
	digests []redisbloom.Digest
	hashes  []uint64
}

// Most digests and bytes of one record, with room for its other fields.
const (
	maxDigests = (MaxRecord - 64) / 16
	maxHashes  = (MaxRecord - 64) / 8
	maxPiece   = MaxRecord - 64
)

// Append encodes what r did, as res tells. It adds nothing if nothing changed.
func (f *Effect) Append(r *Record, res *Result) {
	if !res.Changed {
		return
	}
	switch r.Op {
	case OpAdd:
		f.add(r, res)
	case OpInsert, OpInsertNew:
		f.insert(r, res)
	case OpBloomChunk, OpCuckooChunk:
		f.chunk(r)
	default:
		f.Bytes = AppendRecord(f.Bytes, r)
	}
}

func (f *Effect) add(r *Record, res *Result) {
	f.digests = f.digests[:0]
	for i, d := range r.Digests[:res.Done] {
		if res.Bools[i] {
			f.digests = append(f.digests, d)
		}
	}
	piece := Record{Op: OpAdd, Index: r.Index, ID: r.ID, Room: Unlimited, Origin: r.Origin}
	for rest := f.digests; len(rest) > 0; rest = rest[len(piece.Digests):] {
		piece.Digests = rest[:min(len(rest), maxDigests)]
		f.Bytes = AppendRecord(f.Bytes, &piece)
	}
}

func (f *Effect) insert(r *Record, res *Result) {
	f.hashes = f.hashes[:0]
	for i, h := range r.Hashes[:res.Done] {
		if res.Codes[i] == redisbloom.Inserted {
			f.hashes = append(f.hashes, h)
		}
	}
	piece := Record{Op: OpInsert, Index: r.Index, ID: r.ID, Room: Unlimited, Origin: r.Origin}
	for rest := f.hashes; len(rest) > 0; rest = rest[len(piece.Hashes):] {
		piece.Hashes = rest[:min(len(rest), maxHashes)]
		f.Bytes = AppendRecord(f.Bytes, &piece)
	}
}

// chunk cuts a chunk into pieces. A position is that of the byte behind the
// chunk, plus one, so each piece has its own.
func (f *Effect) chunk(r *Record) {
	piece := Record{Op: r.Op, Index: r.Index, ID: r.ID, Origin: r.Origin}
	for rest := r.Value; len(rest) > 0; rest = rest[len(piece.Value):] {
		piece.Value = rest[:min(len(rest), maxPiece)]
		piece.Position = r.Position - int64(len(rest)-len(piece.Value))
		f.Bytes = AppendRecord(f.Bytes, &piece)
	}
}
