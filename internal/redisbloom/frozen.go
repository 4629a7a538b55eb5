package redisbloom

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"iter"
	"slices"

	"github.com/bloomery/bloomery/internal/memory"
)

// pageBytes is what one write may have to copy: an item sets several bits, each
// in a page of its own if the filter is large.
const pageBytes = 4 << 10

// Frozen is a filter as it was at one moment, read as the bytes of its binary
// form while the filter goes on changing. A writer that is about to change a
// page of 4 KiB that was not read yet puts its old contents aside first: a
// snapshot costs no copy of the filter, and no pause.
//
//	read so far          to be read
//	├───────────────────┼────────────────────────────────────┤
//	 page 1 page 2 page 3 page 4 page 5 page 6 page 7 page 8
//	                             └ put aside by a writer
//
// Read gives the bytes in their order; Next gives them in pieces, those that
// were put aside first, so that little has to be kept aside. Use one or the
// other.
//
// A snapshot holds the arrays that the filter had: those that the filter drops
// in the meantime, or gives up by Release, go to the Arena at Close.
//
// Freeze and Close need exclusion, like a write. Read and Next need that no
// writer is active, like any reader: take the lock of the filter for each call.
// Only one goroutine may read.
type Frozen struct {
	owner  **Frozen
	memory *memory.Arena
	left   [][]byte // arrays that the filter gave up
	prefix []byte
	arrays [][]byte
	starts []int64 // where each array begins in the binary form, and where the last ends
	saved  map[page][]byte
	queue  stack[page]   // the keys of saved, for Next
	seen   [][]uint64    // a bit for every page of every array that was put aside
	free   stack[[]byte] // pages to use again
	mapped [][]byte      // what pages are cut from, if the filter is large
	uncut  []byte        // the rest of the last of them
	kept   int           // bytes that the Arena was told of
	part   int           // of the stream: 0 prefix, then the arrays, then the checksum
	off    int           // in that part
	crc    uint32
	fill   func(to int) // fills the first array up to a byte, nil if it is there
	end    func()       // what Close calls, nil for nothing
}

var _ io.ReadCloser = (*Frozen)(nil)

type page struct{ array, number int }

// stack holds values in pieces: a slice of all of them would be copied when it
// grows, megabytes of it during one write.
type stack[T any] struct{ pieces [][]T }

func (s *stack[T]) push(v T) {
	last := len(s.pieces) - 1
	if last < 0 || len(s.pieces[last]) == cap(s.pieces[last]) {
		s.pieces = append(s.pieces, make([]T, 0, 1024))
		last++
	}
	s.pieces[last] = append(s.pieces[last], v)
}

func (s *stack[T]) pop() (v T, ok bool) {
	last := len(s.pieces) - 1
	if last < 0 {
		return v, false
	}
	piece := s.pieces[last]
	v = piece[len(piece)-1]
	if s.pieces[last] = piece[:len(piece)-1]; len(piece) == 1 {
		s.pieces = s.pieces[:last]
	}
	return v, true
}

// Freeze begins a snapshot. The error is ErrFrozen if the last one was not
// closed, or wraps bloomery.ErrParameter for a zero Bloom.
func (b *Bloom) Freeze() (*Frozen, error) {
	if b.zero() {
		return nil, errZero("freeze", "Bloom")
	}
	return freeze(&b.frozen, b.memory, b.prefix(), slices.Collect(b.Arrays()))
}

// Freeze begins a snapshot. The error is ErrFrozen if the last one was not
// closed, or wraps bloomery.ErrParameter for a zero Cuckoo.
func (c *Cuckoo) Freeze() (*Frozen, error) {
	if len(c.subs) == 0 {
		return nil, errZero("freeze", "Cuckoo")
	}
	return freeze(&c.frozen, c.memory, c.prefix(), slices.Collect(c.Arrays()))
}

func freeze(owner **Frozen, m *memory.Arena, prefix []byte, arrays [][]byte) (*Frozen, error) {
	if *owner != nil {
		return nil, ErrFrozen
	}
	words := 0
	for _, a := range arrays {
		words += pageWords(a)
	}
	// One array for all: a filter may have tens of thousands of them.
	bits, seen, starts := make([]uint64, words), make([][]uint64, len(arrays)), make([]int64, len(arrays)+1)
	starts[0] = int64(len(prefix))
	for i, a := range arrays {
		n := pageWords(a)
		seen[i], bits = bits[:n:n], bits[n:]
		starts[i+1] = starts[i] + int64(len(a))
	}
	*owner = &Frozen{owner: owner, memory: m, prefix: prefix, arrays: arrays, starts: starts, saved: map[page][]byte{}, seen: seen}
	return *owner, nil
}

// pageWords returns how many words hold a bit for every page of an array.
func pageWords(a []byte) int { return (len(a)/pageBytes + 64) / 64 }

// Len returns the length of what Read gives.
func (f *Frozen) Len() int64 { return f.Size() + crcBytes }

// Size returns the length of what Next gives.
func (f *Frozen) Size() int64 { return f.starts[len(f.starts)-1] }

// Read fills p with the next bytes of the binary form. It returns io.EOF after
// the last one, and no other error.
func (f *Frozen) Read(p []byte) (n int, err error) {
	for n < len(p) && f.part <= len(f.arrays)+1 {
		src := f.source()
		m := copy(p[n:], src)
		if f.part <= len(f.arrays) {
			f.crc = crc32.Update(f.crc, castagnoli, src[:m])
		}
		n += m
		f.advance(m)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// source returns bytes at the reading position: up to the end of their page.
func (f *Frozen) source() []byte {
	switch {
	case f.part == 0:
		return f.prefix[f.off:]
	case f.part > len(f.arrays):
		return binary.LittleEndian.AppendUint32(nil, f.crc)[f.off:]
	}
	a := f.arrays[f.part-1]
	number := f.off / pageBytes
	if old, ok := f.saved[page{f.part - 1, number}]; ok {
		return old[f.off%pageBytes:]
	}
	f.fillTo((number + 1) * pageBytes)
	return a[f.off:min((number+1)*pageBytes, len(a))]
}

// fillTo fills the array at the reading position up to a byte.
func (f *Frozen) fillTo(to int) {
	if f.part == 1 && f.fill != nil {
		f.fill(min(to, len(f.arrays[0])))
	}
}

// lazyArray returns n zero bytes, which take memory when they are filled, if they are many. Close unmaps them.
func lazyArray(n int) []byte {
	if b, err := memory.Map(n); err == nil {
		return b
	}
	return make([]byte, n)
}

// advance moves the reading position by m bytes, within a page.
func (f *Frozen) advance(m int) {
	f.off += m
	end := crcBytes
	switch {
	case f.part == 0:
		end = len(f.prefix)
	case f.part <= len(f.arrays):
		end = len(f.arrays[f.part-1])
		if f.off%pageBytes == 0 || f.off == end {
			key := page{f.part - 1, (f.off - 1) / pageBytes}
			if data, ok := f.saved[key]; ok {
				delete(f.saved, key)
				f.free.push(data)
			}
		}
	}
	if f.off == end {
		f.part, f.off = f.part+1, 0
	}
}

// save puts aside what data[off:off+n] holds, before it changes. Arrays that
// are younger than the snapshot, and pages that were read, are left alone.
func (f *Frozen) save(array int, data []byte, off, n int) {
	if n == 0 || !f.has(array, data) {
		return
	}
	for number := off / pageBytes; number <= (off+n-1)/pageBytes; number++ {
		from, to := number*pageBytes, min((number+1)*pageBytes, len(data))
		if array < f.part-1 || array == f.part-1 && to <= f.off {
			continue
		}
		if f.wasSeen(array, number) {
			continue
		}
		key := page{array, number}
		f.seen[array][number/64] |= 1 << (number % 64)
		f.saved[key] = append(f.page(), data[from:to]...)
		f.queue.push(key)
	}
}

// has reports whether data is the array of that number in the snapshot.
func (f *Frozen) has(array int, data []byte) bool {
	return array < len(f.arrays) && &f.arrays[array][0] == &data[0]
}

// keeps takes over an array that the filter gives up. It reports false if the
// snapshot does not have it, or if f is nil.
func (f *Frozen) keeps(array int, data []byte) bool {
	if f == nil || len(data) == 0 || !f.has(array, data) {
		return false
	}
	f.left = append(f.left, data)
	f.keep(len(data))
	return true
}

// drop gives up arrays: f, if it is not nil, keeps those that it has.
func drop(m *memory.Arena, f *Frozen, arrays iter.Seq[[]byte]) {
	i := 0
	for a := range arrays {
		if !f.keeps(i, a) {
			m.Release(a)
		}
		i++
	}
}

// largeFrozen is from how many bytes on pages come from outside of the Go heap, if
// the arrays of the filter do: a writer that takes many of them from the heap is
// made to help the collector.
const largeFrozen = 16 << 20

// keep counts bytes that only the snapshot needs.
func (f *Frozen) keep(n int) {
	f.kept += n
	f.memory.Keep(n)
}

// page returns an empty page.
func (f *Frozen) page() []byte {
	if p, ok := f.free.pop(); ok {
		return p[:0]
	}
	f.keep(pageBytes)
	if len(f.uncut) == 0 && !f.memory.Heap() && f.Size() >= largeFrozen {
		if more, err := memory.Map(256 * pageBytes); err == nil {
			f.mapped, f.uncut = append(f.mapped, more), more
		}
	}
	if len(f.uncut) == 0 {
		return make([]byte, 0, pageBytes)
	}
	p := f.uncut[:0:pageBytes]
	f.uncut = f.uncut[pageBytes:]
	return p
}

// Saved returns how many bytes are put aside.
func (f *Frozen) Saved() int { return len(f.saved) * pageBytes }

// Next puts a piece of the binary form into dst, as long as dst or shorter, and
// returns it with its place. Pieces are whole pages, so that a dst shorter than
// a page, 4 KiB, is replaced by a new one. The first piece is all that comes
// before the arrays, whatever the length of dst; the checksum at the end is not
// given. A piece of no bytes means that there are no more.
func (f *Frozen) Next(dst []byte) (piece []byte, off int64) {
	if len(dst) < pageBytes {
		dst = make([]byte, pageBytes)
	}
	if f.part == 0 {
		f.part = 1
		f.skipEmpty()
		return append(dst[:0], f.prefix...), 0
	}
	if key, ok := f.queue.pop(); ok {
		data := f.saved[key]
		delete(f.saved, key)
		f.free.push(data)
		return append(dst[:0], data...), f.offset(key.array, key.number*pageBytes)
	}
	for f.part <= len(f.arrays) {
		a := f.arrays[f.part-1]
		from := f.off
		f.fillTo(from + len(dst))
		for f.off < len(a) && f.off-from+pageBytes <= len(dst) && !f.wasSeen(f.part-1, f.off/pageBytes) {
			f.off = min(f.off+pageBytes, len(a))
		}
		if f.off > from {
			piece, off = append(dst[:0], a[from:f.off]...), f.offset(f.part-1, from)
		} else {
			f.off = min(f.off+pageBytes, len(a)) // that page was given
		}
		if f.off == len(a) {
			f.part, f.off = f.part+1, 0
			f.skipEmpty()
		}
		if len(piece) > 0 {
			return piece, off
		}
	}
	return dst[:0], 0
}

// wasSeen reports whether a page was put aside, or given by Next since.
func (f *Frozen) wasSeen(array, number int) bool {
	return f.seen[array][number/64]>>(number%64)&1 != 0
}

func (f *Frozen) skipEmpty() {
	for f.part <= len(f.arrays) && len(f.arrays[f.part-1]) == 0 {
		f.part++
	}
}

// offset returns the place in the binary form of byte i of an array.
func (f *Frozen) offset(array, i int) int64 { return f.starts[array] + int64(i) }

// Close ends the snapshot, read to its end or not. It always returns nil.
func (f *Frozen) Close() error {
	if *f.owner == f {
		*f.owner = nil
	}
	if f.end != nil {
		f.end()
		f.end = nil
	}
	for _, a := range f.left {
		f.memory.Release(a)
	}
	f.keep(-f.kept)
	for _, m := range f.mapped {
		_ = memory.Unmap(m) // what Map has returned can be unmapped
	}
	f.arrays, f.left, f.saved, f.seen, f.mapped, f.uncut = nil, nil, nil, nil, nil, nil
	f.queue, f.free = stack[page]{}, stack[[]byte]{}
	f.part = 2 // past the checksum
	return nil
}

// saveDigest puts aside the pages that adding d will change.
func (b *Bloom) saveDigest(d Digest) {
	l := &b.newest
	x := d.A
	for range l.hashes {
		b.frozen.save(b.Layers()-1, l.data, int(rem(x, l.mod, l.inv)>>3), 1)
		x += d.B
	}
}
