package readers

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// crafted asks for files with sound checksums that are at the limits of the format, and behind
// them.
func (w *writer) crafted() {
	w.t.Helper()
	random := rand.New(rand.NewPCG(32, 4))
	words := func(n int) []uint64 {
		all := make([]uint64, n)
		for i := range all {
			all[i] = random.Uint64() | random.Uint64() // keys are found and not
		}
		return all
	}
	opened := 0
	put := func(h envelope.Header, words []uint64) {
		h.Payload = 8 * uint64(len(words))
		opened += w.file(envelope.Append(nil, h, words))
	}
	bits := func(kind uint16, k uint8, size uint64, extra uint32) {
		put(envelope.Header{Kind: kind, K: k, Size: size, Extra: extra}, words(int((size+63)/64)))
	}
	for _, k := range []uint8{0, 1, 7, 8, 9, 16, 17, 63, 64, 65, 255} {
		bits(envelope.KindBloom, k, 1024, 0)
		bits(envelope.KindStandard, k, 1001, 0)
		bits(envelope.KindPartitioned, k, 64*63, 0)
		bits(envelope.KindSplit, k, 768, 0)
	}
	for _, size := range []uint64{0, 1, 64, 65, 255, 256, 511, 512} {
		for kind := uint16(envelope.KindBloom); kind <= envelope.KindSplit; kind++ {
			bits(kind, 8, size, 0)
		}
	}
	bits(envelope.KindBloom, 7, 512, 1)
	for _, rate := range []float64{math.Copysign(0, -1), -1, math.NaN(), 1, math.Inf(1), math.Nextafter(1, 0), 1e-300} {
		put(envelope.Header{Kind: envelope.KindBloom, K: 7, Size: 512, Rate: rate}, words(8))
	}
	put(envelope.Header{Kind: envelope.KindBloom, K: 7, Size: 512, Hash: 3}, words(8))
	put(envelope.Header{Kind: envelope.KindBloom, K: 7, Size: 512, Capacity: 1 << 40}, words(9)) // a word too many

	// A shard of a fuse filter: keys, segments, logarithm of their length, seed.
	fuse := func(arity uint8, keys, segments, log, seed, pad uint64) {
		slots := min(segments<<log, 1<<18)
		payload := append([]uint64{keys, segments | log<<32 | seed<<40, 0, 0, 0, 0, 0, pad}, words(int(slots/8))...)
		put(envelope.Header{Kind: envelope.KindFuse8, K: arity, Capacity: keys, Size: slots * 8}, payload)
	}
	for _, f := range [][6]uint64{
		{3, 192, 3, 6, 0, 0}, {3, 193, 3, 6, 0, 0}, {3, 5, 3, 6, 1<<24 - 1, 0}, {3, 5, 2, 6, 0, 0}, {3, 5, 4, 5, 0, 0}, {3, 5, 3, 6, 0, 1},
		{4, 5, 4, 6, 7, 0}, {4, 5, 3, 6, 0, 0}, {4, 5, 4, 15, 0, 0}, {4, 5, 4, 16, 0, 0}, {3, 5, 1, 16, 0, 0}, {2, 5, 4, 6, 0, 0}, {5, 5, 6, 6, 0, 0},
		{3, 0, 0, 0, 0, 0}, {3, 0, 0, 0, 9, 0}, {3, 1, 0, 0, 0, 0}, {3, 0, 0, 6, 0, 0}, {3, 5, 1 << 26, 6, 0, 0}, {3, 5, 1<<32 - 1, 18, 0, 0}, {3, 5, 3, 255, 0, 0},
	} {
		fuse(uint8(f[0]), f[1], f[2], f[3], f[4], f[5])
	}

	// A ribbon filter of one shard: its directory, and so many words behind it.
	ribbon := func(columns uint8, width uint32, directory []uint64, n int, list ...uint64) {
		for len(directory)%8 > 0 {
			directory = append(directory, 0)
		}
		body := append(words(n), list...)
		for len(body)%8 > 0 {
			body = append(body, 0)
		}
		payload := append(directory, body...)
		put(envelope.Header{Kind: envelope.KindRibbon, K: columns, Extra: width, Size: 64 * uint64(len(payload))}, payload)
	}
	ribbon(6, 1, []uint64{1, 0, 2, 2}, 2*6+1)
	ribbon(6, 1, []uint64{1, 0, 2, 1}, 13+1)
	ribbon(6, 1, []uint64{1, 0, 2, 0}, 14+1)
	ribbon(6, 1, []uint64{1, 0, 2, 3}, 2*6+1)  // more narrow blocks than blocks
	ribbon(6, 1, []uint64{1, 0, 1, 1}, 6)      // no start
	ribbon(6, 2, []uint64{1, 0, 2, 2}, 2*6)    // likewise
	ribbon(6, 2, []uint64{1, 0, 3, 2}, 3*6+2)  // rows of 128
	ribbon(6, 3, []uint64{1, 0, 4, 4}, 4*6+1)  // rows of 192
	ribbon(32, 1, []uint64{1, 0, 2, 2}, 64+1)  // the widest
	ribbon(32, 1, []uint64{1, 0, 2, 1}, 65+1)  // wider
	ribbon(0, 1, []uint64{1, 0, 2, 2}, 1)      // no columns
	ribbon(33, 1, []uint64{1, 0, 2, 2}, 66+1)  // wider
	ribbon(6, 1, []uint64{1, 0, 2, 2}, 2*6+20) // a line too many
	ribbon(6, 1, []uint64{1, 0, 1 << 60, 2}, 2*6+1)
	ribbon(6, 1, []uint64{1, 0, 1 << 63, 1 << 63}, 2*6+1)
	ribbon(6, 1, []uint64{1, 1 << 61, 2, 2}, 2*6+1)
	ribbon(6, 1, []uint64{0, 4}, 0, 1, 2, 2, 1<<63) // a list
	ribbon(6, 1, []uint64{0, 4}, 0, 1, 3, 2, 1<<63)
	ribbon(6, 1, []uint64{0, 4}, 0, 1, 1<<63, 1<<63-1, 1<<63)
	ribbon(6, 1|20<<8, []uint64{0, 0}, 0) // a million shards
	ribbon(6, 1|21<<8, []uint64{0, 0}, 0)
	for _, layers := range []int{12, 13} {
		directory := []uint64{uint64(layers), 0}
		for range layers {
			directory = append(directory, 2, 2)
		}
		ribbon(1, 1, directory, 3*layers)
	}
	w.chunks()
	if opened < 40 {
		w.t.Errorf("only %d of the crafted files are opened", opened)
	}
}

// file adds a case of a file, and returns 1 if it is opened.
func (w *writer) file(data []byte) int {
	name := fmt.Sprintf("crafted-%d", len(w.m.Cases))
	w.save(name, data)
	c := w.expect(&check{File: name}, data, hashing.Hasher{})
	w.m.Cases = append(w.m.Cases, c)
	if c.Error != "" {
		return 0
	}
	return 1
}

// chunks asks for codes of transport forms, of a payload of 64 bytes of which the first bit is set.
func (w *writer) chunks() {
	payload := []uint64{1, 0, 0, 0, 0, 0, 0, 0}
	plain := envelope.Append(nil, envelope.Header{Kind: envelope.KindBloom, K: 1, Size: 512, Payload: 64}, payload)
	preface := append([]byte("bloompak"), 1, 0, 0, 0)
	preface = binary.LittleEndian.AppendUint32(preface, checksum(preface))
	// With the Rice parameter 8 a gap of 0 is a one and 8 zeros, one of 511 a zero, a one and 8 ones.
	set := func(bits string) (code []byte) {
		for i, bit := range bits {
			if i%8 == 0 {
				code = append(code, 0)
			}
			code[i/8] |= byte(bit-'0') << (i % 8)
		}
		return code
	}
	first, rest := "1"+"00000000", "01"+"11111111"
	for _, c := range []struct {
		form, rice byte
		code       []byte
	}{
		{0, 0, plain[64:128]}, {0, 1, plain[64:128]}, {4, 0, set(first)}, {1, 0, set(first)}, {1, 19, set(first)},
		{1, 8, set(first + rest)}, {1, 8, append(set(first+rest), 0)}, {1, 8, set(first + rest + "1")}, {1, 8, set(first)}, {1, 8, set(first + "001")}, {1, 8, nil},
		{1, 8, set(first + "000000000000000000000000000000000000000001" + "00000000")}, {2, 8, set(first + rest)}, {1, 9, set("1000000000" + "1111111111")},
		{3, 0, append([]byte{4*1 + 2}, append(plain[64:72:72], 4*7)...)}, {3, 0, append([]byte{4*1 + 3}, append(plain[64:72:72], 4*7)...)},
		{3, 0, append([]byte{4*1 + 3 | 128, 128, 128, 128, 0}, append(plain[64:72:72], 4*7)...)},                                              // a number longer than it must be
		{3, 0, append([]byte{4*1 + 3 | 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0}, append(plain[64:72:72], 4*7)...)},                // and longer than numbers are
		{3, 0, append([]byte{4*1 + 3 | 128, 128, 128, 128, 128, 128, 128, 128, 128, 2}, append(plain[64:72:72], 4*7)...)},                     // 2^64 and more
		{3, 0, append([]byte{4*1 + 2}, append(plain[64:72:72], 4*8)...)}, {3, 0, append([]byte{4*1 + 2}, append(plain[64:72:72], 0, 4*7)...)}, // too long, empty
		{3, 0, append([]byte{4*1 + 2}, append(plain[64:72:72], 4*7, 0)...)}, {3, 1, append([]byte{4*1 + 2}, append(plain[64:72:72], 4*7)...)},
		{3, 0, []byte{4*8 + 3, 1, 0}}, {3, 0, []byte{4*8 + 2, 1, 0}}, {3, 0, []byte{128}}, {3, 0, []byte{4*8 + 1}}, {3, 0, nil},
	} {
		data := append(append([]byte{}, preface...), plain[:64]...)
		size := len(c.code) % 64 // none is given for all bytes
		data = append(data, c.form, c.rice, byte(size), 0)
		data = append(append(data, c.code...), plain[128:]...)
		w.file(data)
	}
}
