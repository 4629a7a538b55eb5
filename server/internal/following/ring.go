package following

// Ring: the last changes of a part.

import (
	"bytes"
	"slices"

	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Ring is the last changes of a part, under its lock.
type Ring struct {
	of      *News // changes under the lock of Rings, too
	part    *contents.Part
	asked   uint64      // how many changes of the filter were asked for, 0 for a share of it
	bytes   int64       // that the state counts for it
	values  []uint64    // of each change as many as words says
	steps   []news.Step // nil for a filter of bits
	marks   []uint8     // for a filter of bits: which bits of the hash were not set before
	noted   []uint8     // the marks of the record that is applied
	before  uint64      // how many layers a BF had before it, or how many deletes a CF
	next    uint64      // the number of the next change
	first   uint64      // that of the first that is still there
	changes uint64      // how many records have changed the part: see News.Changes
	seen    uint64      // the version of the part behind the last change: another one has got past the ring
}

// newsShare is the part of the memory of a filter that its news may take, if nobody has asked
// for more.
const newsShare = 4

// newsWords is how many values a change has: the digest of an item of a BF is two.
func newsWords(p *contents.Part) int {
	if p.Bloom() != nil {
		return 2
	}
	return 1
}

// changeBytes is what a change takes: its values, and a step or a mark.
func changeBytes(p *contents.Part) uint64 { return 8*uint64(newsWords(p)) + 1 }

// newsRoom returns how many changes of a part are kept here. The caller holds a lock.
func newsRoom(p *contents.Part) uint64 {
	switch plan := p.Asked(); {
	case p.Elsewhere():
		return 0
	case plan.News > 0:
		return plan.NewsRoom()
	}
	return max(1, p.Bytes()/newsShare/changeBytes(p))
}

// asFor reports whether so many changes are kept as were asked for. Parts may differ in that, until a FILTER.SET that was
// interrupted, or that met another one, is repeated.
func (r *Ring) asFor() bool { return r.part.Asked().News == r.asked }

// knows is Knows under the lock of the part.
func (r *Ring) knows(number uint64) bool {
	return !r.part.Gone() && r.seen == r.part.Changes() && number >= r.first && number <= r.next
}

// Room returns where a filter of bits is to leave the marks of n hashes that are about to be added, nil
// for a filter of another kind.
func (r *Ring) Room(n int) []uint8 {
	if r.steps != nil {
		return nil
	}
	return r.room(n)
}

func (r *Ring) room(n int) []uint8 {
	r.noted = slices.Grow(r.noted[:0], n)[:n]
	return r.noted
}

// BeforeDigests notes which bits of digests that are about to be added to a BF are not set.
func (r *Ring) BeforeDigests(ds []redisbloom.Digest) {
	b := r.part.Bloom()
	r.before = uint64(b.Layers())
	b.Mark(r.room(len(ds)), ds)
}

// BeforeDeletes is called before something is deleted from a CF.
func (r *Ring) BeforeDeletes() { r.before = r.part.Cuckoo().Deletes() }

// size is how many changes the ring has room for.
func (r *Ring) size() uint64 { return uint64(len(r.values) / newsWords(r.part)) }

// turn forgets what was overwritten.
func (r *Ring) turn() {
	if size := r.size(); r.next-r.first > size {
		r.first = r.next - size
	}
}

// put notes a step.
func (r *Ring) put(s news.Step, v uint64) {
	at := r.next % uint64(len(r.values))
	r.values[at], r.steps[at] = v, s
	r.next++
}

// mostOld is of how many hashes one may have been there before for all of them to be noted at once.
const mostOld = 8

// bits notes the hashes that were new, so many, and which of their bits. A few others do no harm, and are
// noted with them: their marks name no bits.
func (r *Ring) bits(hashes []uint64, fresh int) {
	noted := r.noted[:len(hashes)]
	if mostOld*(len(noted)-fresh) <= len(noted) {
		r.copy(hashes, noted)
		return
	}
	for len(hashes) > 0 {
		old := 0
		for old < len(noted) && noted[old] == 0 {
			old++
		}
		end := bytes.IndexByte(noted[old:], 0)
		if end += old; end < old {
			end = len(noted)
		}
		r.copy(hashes[old:end], noted[old:end])
		hashes, noted = hashes[end:], noted[end:]
	}
}

// adds notes hashes that were all added.
func (r *Ring) adds(hashes []uint64) {
	for len(hashes) > 0 {
		at := r.next % uint64(len(r.values))
		n := copy(r.values[at:], hashes)
		steps := r.steps[at : at+uint64(n)]
		for i := range steps {
			steps[i] = news.Add
		}
		r.next += uint64(n)
		hashes = hashes[n:]
	}
}

// copy notes hashes with their marks.
func (r *Ring) copy(hashes []uint64, marks []uint8) {
	for len(hashes) > 0 {
		at := r.next % uint64(len(r.values))
		n := copy(r.values[at:], hashes)
		copy(r.marks[at:], marks)
		r.next += uint64(n)
		hashes, marks = hashes[n:], marks[n:]
	}
}

// Added notes the hashes that were added to a filter.
func (r *Ring) Added(hashes []uint64, res *contents.Outcome) {
	if r.steps == nil {
		r.bits(hashes, res.New)
		return
	}
	if res.All && res.Failed == nil {
		r.adds(hashes[:res.Done])
		return
	}
	for i, h := range hashes[:res.Done] {
		if res.Kept(i) {
			r.put(news.Add, h)
		}
	}
}

// Digests notes the digests that were new to a BF, unless it has another layer behind that.
func (r *Ring) Digests(ds []redisbloom.Digest, fresh []bool) {
	if uint64(r.part.Bloom().Layers()) != r.before {
		r.Forget()
		return
	}
	for i, d := range ds {
		if fresh[i] {
			at := r.next % r.size()
			r.values[2*at], r.values[2*at+1], r.marks[at] = d.A, d.B, r.noted[i]
			r.next++
		}
	}
}

// Inserted notes the hashes that were inserted into a CF.
func (r *Ring) Inserted(hashes []uint64, codes []int8) {
	for i, h := range hashes {
		if codes[i] == redisbloom.Inserted {
			r.put(news.Add, h)
		}
	}
}

// Deleted notes the hashes that were deleted, unless a CF was compacted behind that.
func (r *Ring) Deleted(hashes []uint64, there []bool) {
	n := uint64(0)
	for i, h := range hashes {
		if there[i] {
			r.put(news.Delete, h)
			n++
		}
	}
	if c := r.part.Cuckoo(); c != nil && c.Deletes() != r.before+n {
		r.Forget()
	}
}

// Advanced notes that a generation of a window has begun.
func (r *Ring) Advanced(generation uint64) { r.put(news.Advance, generation) }

// Forget forgets all changes: what has happened cannot be said in steps.
func (r *Ring) Forget() {
	r.next++
	r.first = r.next
	_, bits := r.part.Filter().(contents.Marker) // it may be of another kind than before
	if bits || r.part.Bloom() != nil {
		r.steps, r.marks = nil, make([]uint8, r.size())
	} else {
		r.steps, r.marks = make([]news.Step, len(r.values)), nil
	}
}

// Follows reports whether all changes before the present one are in the ring: nothing has got past it.
func (r *Ring) Follows() bool { return r.seen+1 == r.part.Changes() }

// current forgets everything if something has got past the ring. The caller holds the lock of
// the part.
func (r *Ring) current() {
	if r.seen != r.part.Changes() {
		r.Forget()
		r.seen = r.part.Changes()
	}
}

// behindOld returns the first number from one on whose change names bits: changes that name none are no news.
func (r *Ring) behindOld(number uint64) uint64 {
	for number < r.next && r.marks[number%r.size()] == 0 {
		number++
	}
	return number
}
