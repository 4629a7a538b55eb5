// Package rdb is what DUMP and RESTORE need of Redis's RDB format: numbers,
// strings, the frame of a module's value, and the footer. It knows nothing of
// filters.
package rdb

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"sort"
	"strconv"
)

const (
	version = 12 // that of Redis 7.4

	// FooterBytes is the length of version and checksum at the end.
	FooterBytes = 10

	opcodeEnd    = 0
	opcodeUint   = 2
	opcodeDouble = 4
	opcodeString = 5

	moduleLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// The types of values, the first byte of a payload.
const (
	String byte = 0
	Module byte = 7
)

// jones is the polynomial of Redis's checksum, reflected. It is read only.
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// Checksum is Redis's CRC-64: no inversion before or after.
func Checksum(b []byte) uint64 { return ^crc64.Update(^uint64(0), jones, b) }

// ModuleID packs the nine letters of a module's type and the version of its
// encoding.
func ModuleID(name string, version uint64) uint64 {
	id := uint64(0)
	for _, c := range []byte(name) {
		for i := range len(moduleLetters) {
			if moduleLetters[i] == c {
				id = id<<6 | uint64(i)
			}
		}
	}
	return id<<10 | version
}

// AppendFooter ends a payload.
func AppendFooter(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, version)
	return binary.LittleEndian.AppendUint64(b, Checksum(b))
}

// FooterFits checks the end of a payload.
func FooterFits(b []byte) bool {
	if len(b) < FooterBytes {
		return false
	}
	end := len(b) - 8
	return binary.LittleEndian.Uint16(b[end-2:]) <= version &&
		binary.LittleEndian.Uint64(b[end:]) == Checksum(b[:end])
}

// AppendString appends the payload of a string, without the footer.
func AppendString(b []byte, text string) []byte {
	return append(appendLength(append(b, String), uint64(len(text))), text...)
}

// appendLength appends a length: 6, 14, 32 or 64 bits.
func appendLength(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return append(b, 0x40|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0x80), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0x81), n)
	}
}

// Writer makes the payload of a module's value. Large strings are holes, to be
// filled later. Make it with NewWriter.
type Writer struct {
	buf   []byte
	holes []hole
	holed int
}

// hole is where a string goes: n bytes, the first of them the from-th of all
// that go into holes.
type hole struct{ at, from, n int }

// NewWriter returns a writer of the value of a module's type. size is how long
// the payload will be, about.
func NewWriter(id uint64, size int) *Writer {
	w := &Writer{buf: make([]byte, 0, size)}
	w.buf = appendLength(append(w.buf, Module), id)
	return w
}

// Uint appends a number.
func (w *Writer) Uint(n uint64) { w.buf = appendLength(append(w.buf, opcodeUint), n) }

// Double appends a number with a fraction.
func (w *Writer) Double(v float64) {
	w.buf = binary.LittleEndian.AppendUint64(append(w.buf, opcodeDouble), math.Float64bits(v))
}

// Data appends a string.
func (w *Writer) Data(v []byte) {
	w.buf = append(appendLength(append(w.buf, opcodeString), uint64(len(v))), v...)
}

// Holed returns how many bytes go into holes.
func (w *Writer) Holed() int { return w.holed }

// Hole appends a string of n bytes that Fill brings.
func (w *Writer) Hole(n int) {
	w.buf = appendLength(append(w.buf, opcodeString), uint64(n))
	w.holes = append(w.holes, hole{len(w.buf), w.holed, n})
	w.holed += n
	if len(w.buf)+n <= cap(w.buf) {
		w.buf = w.buf[:len(w.buf)+n] // NewWriter has made it: it is zero
		return
	}
	w.buf = append(w.buf, make([]byte, n)...)
}

// Fill puts bytes into the holes, off bytes behind the beginning of the first.
// Bytes that belong to no hole are passed over. It begins at the first hole that data
// reaches: there may be tens of thousands, filled one by one.
func (w *Writer) Fill(off int, data []byte) {
	first := sort.Search(len(w.holes), func(i int) bool { return w.holes[i].from+w.holes[i].n > off })
	for _, h := range w.holes[first:] {
		if h.from >= off+len(data) {
			break
		}
		if from, to := max(off, h.from), min(off+len(data), h.from+h.n); from < to {
			copy(w.buf[h.at+from-h.from:], data[from-off:to-off])
		}
	}
}

// Payload ends the value and returns it, with its footer.
func (w *Writer) Payload() []byte { return AppendFooter(append(w.buf, opcodeEnd)) }

// Reader reads values until one is wrong; from then on all are zero and Bad.
type Reader struct {
	// Bad reports that something was wrong.
	Bad bool
	// NoRoom reports that there was no memory for what is packed.
	NoRoom bool

	rest []byte
	room func(uint64) bool
}

// NewReader reads a payload whose footer fits. Before n bytes are unpacked it asks
// room(n) whether there is memory for them: a short payload can have a very long
// string in it.
func NewReader(payload []byte, room func(n uint64) bool) *Reader {
	return &Reader{rest: payload[:len(payload)-FooterBytes], room: room}
}

// Done reports whether all was read, and nothing was wrong.
func (r *Reader) Done() bool { return !r.Bad && len(r.rest) == 0 }

func (r *Reader) take(n uint64) []byte {
	if r.Bad || n > uint64(len(r.rest)) {
		r.Bad = true
		return nil
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

// Length reads a length; special reports that it is the number of an encoding.
func (r *Reader) Length() (n uint64, special bool) {
	first := r.Byte()
	switch {
	case first>>6 == 0:
		return uint64(first), false
	case first>>6 == 1:
		return uint64(first&0x3f)<<8 | uint64(r.Byte()), false
	case first == 0x80:
		if v := r.take(4); v != nil {
			return uint64(binary.BigEndian.Uint32(v)), false
		}
	case first == 0x81:
		if v := r.take(8); v != nil {
			return binary.BigEndian.Uint64(v), false
		}
	case first>>6 == 3:
		return uint64(first & 0x3f), true
	default:
		r.Bad = true
	}
	return 0, false
}

func (r *Reader) opcode(want uint64) {
	if n, special := r.Length(); n != want || special {
		r.Bad = true
	}
}

// End reads the end of a module's value.
func (r *Reader) End() { r.opcode(opcodeEnd) }

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	r.opcode(opcodeUint)
	n, special := r.Length()
	r.Bad = r.Bad || special
	return n
}

// Double reads a number with a fraction.
func (r *Reader) Double() float64 {
	r.opcode(opcodeDouble)
	if v := r.take(8); v != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(v))
	}
	return 0
}

// Data reads a string of a module's value.
func (r *Reader) Data() []byte {
	r.opcode(opcodeString)
	return r.Text()
}

// Text reads a string: plain, a small number, or compressed.
func (r *Reader) Text() []byte {
	n, special := r.Length()
	if !special {
		return r.take(n)
	}
	switch n {
	case 0:
		return strconv.AppendInt(nil, int64(int8(r.Byte())), 10)
	case 1:
		if v := r.take(2); v != nil {
			return strconv.AppendInt(nil, int64(int16(binary.LittleEndian.Uint16(v))), 10)
		}
	case 2:
		if v := r.take(4); v != nil {
			return strconv.AppendInt(nil, int64(int32(binary.LittleEndian.Uint32(v))), 10)
		}
	case 3:
		packed, _ := r.Length()
		size, _ := r.Length()
		in := r.take(packed)
		if r.Bad || size > maxRatio*packed {
			break
		}
		if !r.room(size) {
			r.NoRoom = true
			break
		}
		if out, ok := UnpackLZF(in, size); ok {
			return out
		}
	}
	r.Bad = true
	return nil
}
