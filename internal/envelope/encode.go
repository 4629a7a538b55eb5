package envelope

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// Append appends the whole encoding to dst. h.Payload must be the size of
// words.
func Append(dst []byte, h Header, words []uint64) []byte {
	dst = slices.Grow(dst, int(h.EncodedSize()))
	dst = h.AppendTo(dst)
	table := make([]byte, 0, h.TableSize())
	for part := range slices.Chunk(words, chunk/8) {
		b := bytesOf(part)
		dst = append(dst, b...)
		table = binary.LittleEndian.AppendUint32(table, crc32.Checksum(b, castagnoli))
	}
	return append(dst, closeTable(table)...)
}

// WriteTo writes the whole encoding to w without a copy of it in memory.
func WriteTo(w io.Writer, h Header, words []uint64) (int64, error) {
	var written int64
	write := func(b []byte) error {
		n, err := w.Write(b)
		written += int64(n)
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		return err
	}
	if err := write(h.AppendTo(nil)); err != nil {
		return written, err
	}
	table := make([]byte, 0, h.TableSize())
	for part := range slices.Chunk(words, chunk/8) {
		b := bytesOf(part)
		if err := write(b); err != nil {
			return written, err
		}
		table = binary.LittleEndian.AppendUint32(table, crc32.Checksum(b, castagnoli))
	}
	return written, write(closeTable(table))
}

// closeTable appends the checksum of the table to it.
func closeTable(table []byte) []byte {
	return binary.LittleEndian.AppendUint32(table, crc32.Checksum(table, castagnoli))
}
