package envelope

import (
	"encoding/binary"
	"hash/crc32"
)

// Tally takes the checksums of a payload that passes by in pieces of any
// length. The zero value is ready.
type Tally struct {
	sums []uint32 // of the chunks, the last one perhaps not complete
	n    uint64   // bytes so far
}

// Add takes the next piece.
func (t *Tally) Add(b []byte) {
	for len(b) > 0 {
		if t.n%chunk == 0 {
			t.sums = append(t.sums, 0)
		}
		part := b[:min(uint64(len(b)), chunk-t.n%chunk)]
		last := &t.sums[len(t.sums)-1]
		*last = crc32.Update(*last, castagnoli, part)
		t.n += uint64(len(part))
		b = b[len(part):]
	}
}

// Check compares the checksums with the table of the encoding that has header
// h, once the whole payload has been added. The error names the offset of the
// first damage.
func (t *Tally) Check(h Header, table []byte) error {
	sums, err := openTable(table)
	if err != nil {
		return err
	}
	for i, got := range t.sums {
		if err := h.checkChunk(sums, i, got); err != nil {
			return err
		}
	}
	return nil
}

// appendTable appends the table of the checksums, with its own, to dst.
func (t *Tally) appendTable(dst []byte) []byte {
	from := len(dst)
	for _, sum := range t.sums {
		dst = binary.LittleEndian.AppendUint32(dst, sum)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

// Damaged returns the number of every chunk, of ChunkSize bytes, whose
// checksum is not that in the table; an error if the table itself is damaged.
func (t *Tally) Damaged(table []byte) ([]int, error) {
	sums, err := openTable(table)
	if err != nil {
		return nil, err
	}
	var bad []int
	for i, got := range t.sums {
		if got != binary.LittleEndian.Uint32(sums[4*i:]) {
			bad = append(bad, i)
		}
	}
	return bad, nil
}
