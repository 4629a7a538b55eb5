package envelope

import (
	"io"
	"slices"
)

// Append appends the whole encoding to dst. The payload is words, one part
// after the other; h.Payload must be their size.
func Append(dst []byte, h Header, words ...[]uint64) []byte {
	dst = slices.Grow(dst, int(h.EncodedSize()))
	dst = h.AppendTo(dst)
	sums := Tally{sums: make([]uint32, 0, h.TableSize()/4)}
	for _, part := range words {
		for piece := range slices.Chunk(part, chunk/8) {
			b := bytesOf(piece)
			dst = append(dst, b...)
			sums.Add(b)
		}
	}
	return sums.appendTable(dst)
}

// WriteTo writes the whole encoding to w without a copy of it in memory. Its
// arguments are those of Append.
func WriteTo(w io.Writer, h Header, words ...[]uint64) (int64, error) {
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
	sums := Tally{sums: make([]uint32, 0, h.TableSize()/4)}
	for _, part := range words {
		for piece := range slices.Chunk(part, chunk/8) {
			b := bytesOf(piece)
			if err := write(b); err != nil {
				return written, err
			}
			sums.Add(b)
		}
	}
	return written, write(sums.appendTable(nil))
}
