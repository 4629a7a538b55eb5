package store

// Effect: the records of what really changed.

import (
	"slices"

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
	next  Record   // that is encoded

	// target is the record whose items are being gathered: its body, nil for none, is in
	// scratch and holds them.
	target  Record
	scratch Scratch
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
	r := Record{Body: &Remove{Names: names}}
	return r.Bound() <= MaxRecord
}

// Add notes what r did, as res reports: nothing if nothing changed.
func (f *Effect) Add(r *Record, res *Result) {
	if !res.Changed && len(res.effects) == 0 {
		return
	}
	if e, ok := r.Body.(effector); ok {
		e.effect(f, r, res)
		return
	}
	f.close()
	f.bytes = AppendRecord(f.bytes, r)
}

// put encodes a record like r that has another body.
func (f *Effect) put(r *Record, body Body) {
	f.close()
	f.next = *r
	f.next.Body = body
	f.bytes = AppendRecord(f.bytes, &f.next)
	f.next.Body = nil
}

// puts encodes what a record did besides.
func (f *Effect) puts(list []Record) {
	f.close()
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
		f.bytes, f.digests, f.hashes, f.scratch = nil, nil, nil, Scratch{}
	}
	return records, long
}

// gathers reports whether the items of body, which is in scratch, are those being gathered,
// and whether they are for the target of r. If not, they are from here on.
func (f *Effect) gathers(r *Record, body Body) bool {
	if f.target.Body == body && f.target.ID == r.ID && f.target.Index == r.Index && f.target.Origin == r.Origin {
		return true
	}
	f.close()
	f.target.ID, f.target.Index, f.target.Origin, f.target.Body = r.ID, r.Index, r.Origin, body
	return false
}

// close encodes what was gathered.
func (f *Effect) close() {
	if f.target.Body == nil {
		return
	}
	if len(f.digests) > 0 || len(f.hashes) > 0 {
		before := len(f.bytes)
		f.bytes = AppendRecord(f.bytes, &f.target)
		if len(f.bytes)-before > MaxRecord {
			f.bytes = f.bytes[:before]
			f.cut()
		}
	}
	f.target.Body = nil
	f.digests, f.hashes = f.digests[:0], f.hashes[:0]
}

// cut encodes what was gathered in records of allowed length.
func (f *Effect) cut() {
	items := f.target.Body.(Items)
	for rest := f.digests; len(rest) > 0; {
		n := min(len(rest), maxDigests)
		items.Hold(rest[:n], nil)
		f.bytes = AppendRecord(f.bytes, &f.target)
		rest = rest[n:]
	}
	for rest := f.hashes; len(rest) > 0; {
		n := min(len(rest), maxHashes)
		items.Hold(nil, rest[:n])
		f.bytes = AppendRecord(f.bytes, &f.target)
		rest = rest[n:]
	}
}

// kept gathers the hashes that have to be kept, of those that were looked at, and returns all
// that are gathered.
func (f *Effect) kept(hashes []uint64, res *Result) []uint64 {
	hashes = hashes[:res.Done]
	switch {
	case res.Failed == nil && res.All:
		f.hashes = append(f.hashes, hashes...)
	case res.Failed == nil: // most
		f.hashes = appendAdded(f.hashes, hashes, res)
	default:
		for i, h := range hashes {
			if res.Kept(i) {
				f.hashes = append(f.hashes, h)
			}
		}
	}
	return f.hashes
}

// appendAdded appends those of src that are new: mostly all.
func appendAdded[T uint64 | redisbloom.Digest](dst, src []T, res *Result) []T {
	if res.New == len(src) {
		return append(dst, src...)
	}
	return appendNew(dst, src, res.Bools)
}

// appendNew appends those of src that are new.
func appendNew[T uint64 | redisbloom.Digest](dst, src []T, news []bool) []T {
	n := len(dst)
	dst = slices.Grow(dst, len(src))[:n+len(src)]
	for i, v := range src {
		dst[n] = v
		if news[i] {
			n++
		}
	}
	return dst[:n]
}
