package codec

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

const (
	// peek is how many bits of code are looked up at once. 2^11 entries of 8
	// bytes leave two thirds of the nearest cache to the data.
	peek = 11
	// maxTabled is the largest parameter with a table: above it a look rarely
	// meets two whole gaps.
	maxTabled = 4
	// maxSpan is how many positions an entry covers: its bits, shifted by the
	// 7 of a begun byte, fit into a word beside the two lengths.
	maxSpan = 48
	// margin is how near to the end of its output the table is used: four
	// looks put out 24 bytes, and the last store has 8.
	margin = 4*maxSpan/8 + 8

	// room is how many bytes behind the code the decoder may read.
	room = 8
)

// A glance is what the next bits of code stand for: in its lower 48 bits the
// bits that all whole gaps among them put out, then in 8 bits their number,
// then in 8 bits the length of their code. Both are 0 if no gap is whole.
type glance uint64

func (g glance) bits() uint64 { return uint64(g) & (1<<maxSpan - 1) }
func (g glance) span() uint   { return uint(g>>maxSpan) & 0xff }
func (g glance) used() uint   { return uint(g >> (maxSpan + 8)) }

// glances holds one table for each parameter, made when it is first used.
var glances = func() (a [maxTabled + 1]func() *[1 << peek]glance) {
	for r := uint(1); r <= maxTabled; r++ {
		a[r] = sync.OnceValue(func() *[1 << peek]glance { return newGlances(r) })
	}
	return a
}()

func newGlances(r uint) *[1 << peek]glance {
	var table [1 << peek]glance
	for code := range table {
		var out uint64
		span, used := uint(0), uint(0)
		for {
			rest := uint64(code) >> used
			q := uint(bits.TrailingZeros64(rest))
			length := q + 1 + r
			if rest == 0 || used+length > peek {
				break
			}
			gap := q<<r | uint(rest>>(q+1))&(1<<r-1)
			if span+gap+1 > maxSpan {
				break
			}
			out |= 1 << (span + gap)
			span += gap + 1
			used += length
		}
		table[code] = glance(out | uint64(span)<<maxSpan | uint64(used)<<(maxSpan+8))
	}
	return &table
}

// gaps puts into raw the bits whose code is in code. raw is clear, and
// code has room behind it, clear too. It reports false if the code is damaged:
// if it does not end with raw, to the bit.
func gaps(raw, code []byte, r uint) bool {
	end, pos, at := uint(len(raw)*8), uint(0), uint(0)
	if r <= maxTabled {
		pos, at = glanceGaps(raw, code, r)
	}
	in := code[:len(code)+room]
	r &= 63
	low := uint64(1)<<r - 1
	for {
		if at>>3 >= uint(len(code)) {
			return false
		}
		x := binary.LittleEndian.Uint64(in[at>>3:]) >> (at & 7)
		q := uint(bits.TrailingZeros64(x))
		if q >= longRun {
			// A long gap, or the end of the data. 32 zero bits are taken at
			// a time; a gap larger than the chunk is found out here.
			if pos += longRun << r; pos > end {
				return false
			}
			at += longRun
			continue
		}
		pos += q<<r | uint(x>>(q+1)&low)
		at += q + 1 + r
		if pos >= end {
			break
		}
		raw[pos>>3] |= 1 << (pos & 7)
		pos++
	}
	last := at & 7
	return pos == end && (at+7)>>3 == uint(len(code)) && (last == 0 || code[at>>3]>>last == 0)
}

// glanceGaps is the beginning of gaps, by table. It stops before the last
// words of code or raw, and returns the positions in both.
func glanceGaps(raw, code []byte, r uint) (pos, at uint) {
	table := glances[r]()
	w := bitWriter{raw: raw}
	for w.at+margin <= len(raw) && at>>3+8 <= uint(len(code)) {
		x := binary.LittleEndian.Uint64(code[at>>3:]) >> (at & 7)
		if table[x%(1<<peek)].used() == 0 {
			q := uint(bits.TrailingZeros64(x))
			gap := q<<r | uint(x>>(q+1))&(1<<r-1)
			if q >= longRun {
				gap = longRun << r
			}
			if w.at*8+int(gap)+64 > len(raw)*8 {
				break
			}
			w.skip(gap)
			at += longRun
			if q < longRun {
				w.put(1, 1)
				at += q + 1 + r - longRun
			}
			continue
		}
		at += w.glance(table, x)
	}
	return uint(w.at)*8 + w.n, at
}

// bitWriter puts bits into raw, from its beginning on. Bytes behind those that
// it has written are clear.
type bitWriter struct {
	raw []byte
	at  int    // whole bytes
	acc uint64 // the bits behind them, which are in raw already
	n   uint   // their number, at most 7
}

// glance puts out what four glances at x stand for, which are at most 44 of
// its bits, and returns how many bits it used.
func (w *bitWriter) glance(table *[1 << peek]glance, x uint64) uint {
	raw, at, acc, n, used := w.raw, w.at, w.acc, w.n, uint(0)
	for range 4 {
		g := table[x%(1<<peek)]
		acc |= g.bits() << (n & 7)
		n += g.span()
		binary.LittleEndian.PutUint64(raw[at:], acc)
		at += int(n >> 3)
		acc >>= n &^ 7 & 63
		n &= 7
		used += g.used()
		x >>= g.used() & 63
	}
	w.at, w.acc, w.n = at, acc, n
	return used
}

// put writes the lowest count bits of x, at most 48.
func (w *bitWriter) put(x uint64, count uint) {
	w.acc |= x << w.n
	w.n += count
	binary.LittleEndian.PutUint64(w.raw[w.at:], w.acc)
	w.at += int(w.n >> 3)
	w.acc >>= w.n &^ 7
	w.n &= 7
}

// skip leaves count bits clear.
func (w *bitWriter) skip(count uint) {
	w.n += count
	if whole := w.n >> 3; whole > 0 {
		w.at += int(whole)
		w.acc = 0
	}
	w.n &= 7
}
