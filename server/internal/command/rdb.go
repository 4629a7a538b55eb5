package command

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"

	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/store"
)

// The parts of Redis's RDB format that DUMP and RESTORE need.
const (
	rdbVersion    = 12 // that of Redis 7.4
	rdbString     = 0
	rdbModule     = 7
	rdbFooter     = 10 // version and checksum
	moduleVersion = 4  // the encoding of RedisBloom's values

	opcodeEnd    = 0
	opcodeUint   = 2
	opcodeDouble = 4
	opcodeString = 5

	moduleLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)

// jones is the polynomial of Redis's checksum, reflected. It is read only.
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// checksum is Redis's CRC-64: no inversion before or after.
func checksum(b []byte) uint64 { return ^crc64.Update(^uint64(0), jones, b) }

// moduleID packs the nine letters of a module's type and the version of its
// encoding.
func moduleID(kind catalog.Kind) uint64 {
	id := uint64(0)
	for _, c := range []byte(store.TypeName(kind)) {
		for i := range len(moduleLetters) {
			if moduleLetters[i] == c {
				id = id<<6 | uint64(i)
			}
		}
	}
	return id<<10 | moduleVersion
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

func appendUint(b []byte, n uint64) []byte { return appendLength(append(b, opcodeUint), n) }

func appendDouble(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, opcodeDouble), math.Float64bits(v))
}

// appendFooter ends a payload.
func appendFooter(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, rdbVersion)
	return binary.LittleEndian.AppendUint64(b, checksum(b))
}

// footerFits checks the end of a payload.
func footerFits(b []byte) bool {
	if len(b) < rdbFooter {
		return false
	}
	end := len(b) - 8
	return binary.LittleEndian.Uint16(b[end-2:]) <= rdbVersion &&
		binary.LittleEndian.Uint64(b[end:]) == checksum(b[:end])
}

// rdbReader reads values until one is wrong; from then on all are zero.
type rdbReader struct {
	rest []byte
	bad  bool
	// room is how many bytes may be unpacked: a short payload can claim, and
	// have, a very long string.
	room uint64
}

func (r *rdbReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

func (r *rdbReader) byte() byte {
	if v := r.take(1); v != nil {
		return v[0]
	}
	return 0
}

// length reads a length; special tells that it is the number of an encoding.
func (r *rdbReader) length() (n uint64, special bool) {
	first := r.byte()
	switch {
	case first>>6 == 0:
		return uint64(first), false
	case first>>6 == 1:
		return uint64(first&0x3f)<<8 | uint64(r.byte()), false
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
		r.bad = true
	}
	return 0, false
}

func (r *rdbReader) opcode(want uint64) {
	if n, special := r.length(); n != want || special {
		r.bad = true
	}
}

func (r *rdbReader) uint() uint64 {
	r.opcode(opcodeUint)
	n, special := r.length()
	r.bad = r.bad || special
	return n
}

func (r *rdbReader) double() float64 {
	r.opcode(opcodeDouble)
	if v := r.take(8); v != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(v))
	}
	return 0
}

func (r *rdbReader) data() []byte {
	r.opcode(opcodeString)
	return r.string()
}

// string reads a string: plain, a small number, or compressed.
func (r *rdbReader) string() []byte {
	n, special := r.length()
	if !special {
		return r.take(n)
	}
	switch n {
	case 0:
		return strconv.AppendInt(nil, int64(int8(r.byte())), 10)
	case 1:
		if v := r.take(2); v != nil {
			return strconv.AppendInt(nil, int64(int16(binary.LittleEndian.Uint16(v))), 10)
		}
	case 2:
		if v := r.take(4); v != nil {
			return strconv.AppendInt(nil, int64(int32(binary.LittleEndian.Uint32(v))), 10)
		}
	case 3:
		packed, _ := r.length()
		size, _ := r.length()
		in := r.take(packed)
		if size > r.room {
			break
		}
		r.room -= size
		if out, ok := unpackLZF(in, size); ok && !r.bad {
			return out
		}
	}
	r.bad = true
	return nil
}

// unpackLZF undoes LZF, the compression of RDB strings: a byte below 32 is a run
// of literals, others name an earlier place to copy from. Memory follows what is
// really packed: three bytes name at most 264.
func unpackLZF(in []byte, size uint64) ([]byte, bool) {
	if size > 264*uint64(len(in)) {
		return nil, false
	}
	out := make([]byte, 0, size)
	for i := 0; i < len(in); {
		control := int(in[i])
		i++
		if control < 32 {
			n := control + 1
			if i+n > len(in) {
				return nil, false
			}
			out = append(out, in[i:i+n]...)
			i += n
			continue
		}
		n := control >> 5
		if n == 7 {
			if i == len(in) {
				return nil, false
			}
			n += int(in[i])
			i++
		}
		if i == len(in) {
			return nil, false
		}
		from := len(out) - (control&0x1f)<<8 - int(in[i]) - 1
		i++
		if from < 0 || uint64(len(out)+n+2) > size {
			return nil, false
		}
		for range n + 2 {
			out = append(out, out[from])
			from++
		}
	}
	return out, uint64(len(out)) == size
}
