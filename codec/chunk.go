package codec

import (
	"encoding/binary"
	"math/bits"
)

const (
	// chunkSize is how many bytes of payload are coded together: small enough
	// for the nearest cache, large enough that 4 bytes in front are nothing.
	chunkSize = 64 << 10
	// chunkHeader is the form, its parameter, and the length of the code.
	chunkHeader = 4
)

// The forms of a chunk.
const (
	codeRaw   = 0 // the bytes themselves; the length field is zero
	codeSet   = 1 // gaps before set bits
	codeClear = 2 // gaps before clear bits
	codeRuns  = 3 // runs of words
)

// appendChunk appends raw, a chunk of whole words, in its shortest form.
func appendChunk(dst, raw []byte) []byte {
	start, n := len(dst), 8*len(raw)
	set, alike := survey(raw)
	dst = append(dst, 0, 0, 0, 0)
	code := len(dst)
	form, rice, best := byte(codeRaw), uint(0), len(raw)

	gapForm, flip := byte(codeSet), uint64(0)
	if set > n/2 {
		gapForm, flip, set = codeClear, ^flip, n-set
	}
	if r := riceFor(set, n); r > 0 && leastGaps(set, n, r) < best {
		if with, ok := appendGaps(dst, raw, flip, r, best); ok {
			dst, form, rice, best = with, gapForm, r, len(with)-code
		}
	}
	if len(raw)-8*alike < best {
		// Behind the gaps, which may turn out shorter.
		if with, ok := appendRuns(dst, raw, best); ok {
			size := copy(with[code:], with[len(dst):])
			dst, form, rice, best = with[:code+size], codeRuns, 0, size
		}
	}
	if form == codeRaw {
		return append(dst, raw...)
	}
	dst[start], dst[start+1] = form, byte(rice)
	binary.LittleEndian.PutUint16(dst[start+2:], uint16(best))
	return dst
}

// survey counts the set bits of raw, and the words that could be part of a
// run: all clear, all set, or like the one before.
func survey(raw []byte) (set, alike int) {
	last := uint64(0)
	for ; len(raw) >= 8; raw = raw[8:] {
		x := binary.LittleEndian.Uint64(raw)
		set += bits.OnesCount64(x)
		if x == last || x+1 <= 1 {
			alike++
		}
		last = x
	}
	return set, alike
}

// openChunk fills raw from the code of a chunk, which has 8 zero bytes of room
// behind it. It reports false if the code is damaged.
func openChunk(raw []byte, form byte, rice uint, code []byte) bool {
	if form == codeRaw {
		return rice == 0 && copy(raw, code) == len(raw)
	}
	clear(raw)
	if form == codeRuns {
		return rice == 0 && runs(raw, code)
	}
	if form > codeRuns || rice == 0 || rice > maxRice || !gaps(raw, code, rice) {
		return false
	}
	if form == codeClear {
		invert(raw)
	}
	return true
}

// invert flips all bits of raw.
func invert(raw []byte) {
	for ; len(raw) >= 8; raw = raw[8:] {
		binary.LittleEndian.PutUint64(raw, ^binary.LittleEndian.Uint64(raw))
	}
}
