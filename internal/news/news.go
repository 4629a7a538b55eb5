// Package news is what a server answers to who follows a filter: how changes are written, and
// the token that says which changes a copy has. docs/filter-commands.md has the bytes.
//
// Filters of bits say which bits were set, in any order. All others say what was done, in its
// order: done again to a copy that was equal, it leaves the same bytes.
package news

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
)

// The forms of a piece of news.
const (
	Whole = "whole" // a part of the filter in the transport form
	Dump  = "dump"  // a BF or CF as DUMP answers it
	Bits  = "bits"  // bits to set, see AppendBits
	Added = "added" // bits to set in a BF, see AppendAdded
	Steps = "steps" // what was done, see AppendSteps
)

// Piece is news of a part.
type Piece struct {
	Part int
	Form string
	Data []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Check returns the checksum of an answer, and of what it is about: nothing on the way may
// change one unseen.
func Check(key, token string, more bool, pieces []Piece) uint32 {
	head := fmt.Appendf(nil, "%q %s %t", key, token, more)
	sum := crc32.Checksum(head, castagnoli)
	for _, p := range pieces {
		head = fmt.Appendf(head[:0], " %d %s %d ", p.Part, p.Form, len(p.Data))
		sum = crc32.Update(sum, castagnoli, head)
		sum = crc32.Update(sum, castagnoli, p.Data)
	}
	return sum
}

// Step is something that was done to a filter.
type Step uint8

// The steps. The value of an advance is the generation of the window.
const (
	Add Step = iota
	Delete
	Advance
	steps
)

var errShort = errors.New("it ends too early")

func corrupt(what string, err error) error {
	return fmt.Errorf("news: %s: %w: %w", what, bloomery.ErrCorrupt, err)
}

// maxRice bounds the parameter of the code: what is behind the zeros of a gap then fits into a
// word, with a begun byte.
const maxRice = 56

// AppendBits appends the code of positions, which it sorts, and of which it leaves out those
// that are there twice: their number, the Rice parameter r, and of each the gap g to the one
// before as g>>r zero bits, a one bit, and the lower r bits of g. Bits fill bytes from the
// lowest up.
func AppendBits(dst []byte, positions []uint64) []byte {
	slices.Sort(positions)
	positions = slices.Compact(positions)
	dst = binary.AppendUvarint(dst, uint64(len(positions)))
	if len(positions) == 0 {
		return dst
	}
	mean := positions[len(positions)-1] / uint64(len(positions))
	r := uint(min(max(bits.Len64(mean), 1)-1, maxRice))
	w := bitWriter{out: append(dst, byte(r))}
	next := uint64(0)
	for _, at := range positions {
		gap := at - next
		for zeros := gap >> r; zeros > 0; {
			n := uint(min(zeros, 32))
			w.put(0, n)
			zeros -= uint64(n)
		}
		w.put(1, 1)
		w.put(gap&(1<<r-1), r)
		next = at + 1
	}
	return w.end()
}

// AppendAdded appends how many items were added, and what AppendBits appends of the bits that
// they have set. Each has set one at least that no other has.
func AppendAdded(dst []byte, items uint64, positions []uint64) []byte {
	return AppendBits(binary.AppendUvarint(dst, items), positions)
}

// EachAdded is EachBit for what AppendAdded wrote. It returns how many items were added.
func EachAdded(data []byte, limit uint64, set func(at uint64)) (items uint64, err error) {
	items, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, corrupt("items", errShort)
	}
	count := uint64(0)
	if err := EachBit(data[n:], limit, func(at uint64) { set(at); count++ }); err != nil {
		return 0, err
	}
	if items > count {
		return 0, corrupt("items", fmt.Errorf("%d items have set %d bits", items, count))
	}
	return items, nil
}

// bitWriter appends bits, at most 56 at a time.
type bitWriter struct {
	out  []byte
	word uint64
	n    uint
}

func (w *bitWriter) put(v uint64, n uint) {
	w.word |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.word))
		w.word >>= 8
	}
}

func (w *bitWriter) end() []byte {
	if w.n > 0 {
		w.out = append(w.out, byte(w.word))
	}
	return w.out
}

// EachBit calls set with the positions that AppendBits was given, in order, each less than
// limit. The error wraps ErrCorrupt; set may have been called before.
func EachBit(data []byte, limit uint64, set func(at uint64)) error {
	count, n := binary.Uvarint(data)
	if n <= 0 {
		return corrupt("bits", errShort)
	}
	if data = data[n:]; count == 0 && len(data) == 0 {
		return nil
	}
	if len(data) == 0 || data[0] > maxRice || count == 0 || count > 8*uint64(len(data)) {
		return corrupt("bits", fmt.Errorf("%d positions in %d bytes", count, len(data)))
	}
	r, next := uint(data[0]), uint64(0)
	in := bitReader{rest: data[1:]}
	for range count {
		zeros, ok := in.zeros()
		low, also := in.take(r)
		if !ok || !also {
			return corrupt("bits", errShort)
		}
		if zeros > limit>>r {
			return corrupt("bits", fmt.Errorf("a position behind %d", limit))
		}
		at := next + (zeros<<r | low)
		if at >= limit || at < next {
			return corrupt("bits", fmt.Errorf("position %d of %d", at, limit))
		}
		set(at)
		next = at + 1
	}
	if len(in.rest) > 0 || in.n >= 8 || in.word != 0 {
		return corrupt("bits", errors.New("there is more behind the last position"))
	}
	return nil
}

// bitReader reads what a bitWriter wrote.
type bitReader struct {
	rest []byte
	word uint64
	n    uint
}

func (r *bitReader) fill() {
	for r.n <= 56 && len(r.rest) > 0 {
		r.word |= uint64(r.rest[0]) << r.n
		r.rest = r.rest[1:]
		r.n += 8
	}
}

// zeros skips zero bits and the one behind them, and returns how many there were.
func (r *bitReader) zeros() (n uint64, ok bool) {
	for r.fill(); r.word == 0; r.fill() {
		if n += uint64(r.n); r.n == 0 {
			return 0, false
		}
		r.n = 0
	}
	z := uint(bits.TrailingZeros64(r.word))
	r.word = r.word >> z >> 1
	r.n -= z + 1
	return n + uint64(z), true
}

func (r *bitReader) take(n uint) (v uint64, ok bool) {
	if r.fill(); r.n < n {
		return 0, false
	}
	v = r.word & (1<<n - 1)
	r.word >>= n
	r.n -= n
	return v, true
}

// AppendSteps appends what was done: how many steps, two bits for each, and then the values,
// which are hashes but for an advance.
func AppendSteps(dst []byte, kinds []Step, values []uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	w := bitWriter{out: dst}
	for _, k := range kinds {
		w.put(uint64(k), 2)
	}
	dst = w.end()
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// EachStep calls do with the steps that AppendSteps was given, in order, until it returns an
// error. Other errors wrap ErrCorrupt.
func EachStep(data []byte, do func(Step, uint64) error) error {
	count, n := binary.Uvarint(data)
	if n <= 0 {
		return corrupt("steps", errShort)
	}
	data = data[n:]
	kinds := count/4 + min(count%4, 1)
	if count > uint64(len(data)) || uint64(len(data)) != kinds+8*count {
		return corrupt("steps", fmt.Errorf("%d steps in %d bytes", count, len(data)))
	}
	values := data[kinds:]
	for i := range count {
		k := Step(data[i/4] >> (2 * (i % 4)) & 3)
		if k >= steps {
			return corrupt("steps", fmt.Errorf("a step of kind %d", k))
		}
		if err := do(k, binary.LittleEndian.Uint64(values[8*i:])); err != nil {
			return err
		}
	}
	return nil
}
