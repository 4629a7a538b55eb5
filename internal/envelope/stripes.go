package envelope

import "encoding/binary"

// Lines rounds up to whole cache lines: docs/format.md has the layout of stripes.
func Lines(n int) int { return (n + 63) &^ 63 }

// Stripes returns the encoding of stripes that the encodings of its parts make: that of a
// filter of several parts.
func Stripes(parts [][]byte) ([]byte, error) {
	first, err := ParseHeader(parts[0])
	if err != nil {
		return nil, err
	}
	size := HeaderSize + Lines(8*len(parts))
	for _, p := range parts {
		size += Lines(len(p))
	}
	out := make([]byte, HeaderSize+Lines(8*len(parts)), size+size>>12+4096)
	for i, p := range parts {
		binary.LittleEndian.PutUint64(out[HeaderSize+8*i:], uint64(len(p)))
		out = append(append(out, p...), make([]byte, Lines(len(p))-len(p))...)
	}
	return Seal(out, 0, Header{Kind: KindStriped, Hash: first.Hash, Check: first.Check, Extra: uint32(len(parts))}), nil
}
