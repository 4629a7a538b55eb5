package redisbloom_test

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strings"

	"github.com/bloomery/bloomery/internal/redisbloom"
)

// As much of Redis's dump format as the recordings of sketches need.

const badData = "-ERR Bad data format\r\n"

// moduleID packs the name of a type, with encoding version 0.
func moduleID(name string) uint64 {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	id := uint64(0)
	for i := range len(name) {
		id = id<<6 | uint64(strings.IndexByte(letters, name[i]))
	}
	return id << 10
}

func rdbLength(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return append(b, 0x40|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0x80), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0x81), n)
}

func rdbUints(b []byte, ns ...uint64) []byte {
	for _, n := range ns {
		b = rdbLength(append(b, 2), n)
	}
	return b
}

func rdbDoubles(b []byte, vs ...float64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(append(b, 4), math.Float64bits(v))
	}
	return b
}

func rdbString(b, s []byte) []byte { return append(rdbLength(append(b, 5), uint64(len(s))), s...) }

// dump returns the reply of DUMP, "" for a key that is none of ours.
func (r *sketches) dump(key string) string {
	var b []byte
	switch {
	case r.cm[key] != nil:
		d := r.cm[key].Dump()
		b = rdbLength([]byte{7}, moduleID("CMSk-TYPE"))
		b = rdbString(rdbUints(b, d.Width, d.Depth, d.Count), d.Cells)
	case r.td[key] != nil:
		d := r.td[key].Dump()
		b = rdbLength([]byte{7}, moduleID("TDIS-TYPE"))
		b = rdbDoubles(b, d.Compression, d.Min, d.Max)
		b = rdbUints(b, d.Capacity, d.Merged, d.Unmerged, d.Compressions)
		b = rdbDoubles(b, d.MergedWeight, d.UnmergedWeight)
		b = rdbDoubles(rdbDoubles(b, d.Means...), d.Weights...)
	default:
		return ""
	}
	b = append(b, 0, 12, 0)
	table := crc64.MakeTable(0x95ac9329ac4bc9b5)
	return bulk(string(binary.LittleEndian.AppendUint64(b, ^crc64.Update(^uint64(0), table, b))))
}

// rdbReader reads a payload; bad is set once something is wrong.
type rdbReader struct {
	rest []byte
	bad  bool
}

func (r *rdbReader) take(n uint64) []byte {
	if r.bad = r.bad || n > uint64(len(r.rest)); r.bad {
		return make([]byte, min(n, 16))
	}
	v := r.rest[:n]
	r.rest = r.rest[n:]
	return v
}

func (r *rdbReader) length() (n uint64, special bool) {
	switch first := r.take(1)[0]; {
	case first < 0x40:
		return uint64(first), false
	case first < 0x80:
		return uint64(first&0x3f)<<8 | uint64(r.take(1)[0]), false
	case first == 0x80:
		return uint64(binary.BigEndian.Uint32(r.take(4))), false
	case first == 0x81:
		return binary.BigEndian.Uint64(r.take(8)), false
	default:
		return uint64(first & 0x3f), true
	}
}

func (r *rdbReader) opcode(want byte) { r.bad = r.take(1)[0] != want || r.bad }

func (r *rdbReader) uint() uint64 {
	r.opcode(2)
	n, _ := r.length()
	return n
}

func (r *rdbReader) double() float64 {
	r.opcode(4)
	return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
}

func (r *rdbReader) string() []byte {
	r.opcode(5)
	n, special := r.length()
	if !special {
		return r.take(n)
	}
	packed, _ := r.length()
	size, _ := r.length()
	return unpack(r.take(packed), int(size))
}

// unpack is LZF: a literal run, or a length and a distance.
func unpack(in []byte, size int) []byte {
	out := make([]byte, 0, size)
	for len(in) > 0 {
		ctrl := int(in[0])
		in = in[1:]
		if ctrl < 32 {
			out = append(out, in[:ctrl+1]...)
			in = in[ctrl+1:]
			continue
		}
		n := ctrl >> 5
		if n == 7 {
			n += int(in[0])
			in = in[1:]
		}
		back := (ctrl&31)<<8 | int(in[0])
		in = in[1:]
		for range n + 2 {
			out = append(out, out[len(out)-back-1])
		}
	}
	return out
}

// restore makes a sketch of a payload.
func (r *sketches) restore(key, payload string) string {
	in := rdbReader{rest: []byte(payload[:len(payload)-10])}
	in.take(1)
	id, _ := in.length()
	var err error
	switch id {
	case moduleID("CMSk-TYPE"):
		d := redisbloom.CountMinDump{Width: in.uint(), Depth: in.uint(), Count: in.uint(), Cells: in.string()}
		var c *redisbloom.CountMin
		if c, err = d.New(nil); err == nil {
			r.cm[key] = c
		}
	case moduleID("TopK-TYPE"):
		d := redisbloom.TopKDump{K: in.uint(), Width: in.uint(), Depth: in.uint(), Decay: in.double(), Cells: in.string(), Slots: in.string()}
		for range d.K {
			d.Items = append(d.Items, in.string())
		}
		var k *redisbloom.TopK
		if k, err = d.New(nil); err == nil {
			r.tk[key] = k
		}
	case moduleID("TDIS-TYPE"):
		d := redisbloom.TDigestDump{
			Compression: in.double(), Min: in.double(), Max: in.double(),
			Capacity: in.uint(), Merged: in.uint(), Unmerged: in.uint(), Compressions: in.uint(),
			MergedWeight: in.double(), UnmergedWeight: in.double(),
		}
		for range 2 {
			var vs []float64
			for range min(d.Merged, uint64(len(payload))) {
				vs = append(vs, in.double())
			}
			d.Means, d.Weights = d.Weights, vs
		}
		var t *redisbloom.TDigest
		if t, err = d.New(nil); err == nil {
			r.td[key] = t
		}
	default:
		return badData
	}
	if err != nil {
		return badData
	}
	return "+OK\r\n"
}
