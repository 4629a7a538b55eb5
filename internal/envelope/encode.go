package envelope

import (
	"io"
	"iter"
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
			b := BytesOf(piece)
			dst = append(dst, b...)
			sums.Add(b)
		}
	}
	return sums.appendTable(dst)
}

// WriteTo writes the whole encoding to w without a copy of it in memory. Its
// arguments are those of Append.
func WriteTo(w io.Writer, h Header, words ...[]uint64) (int64, error) {
	return WriteSeq(w, h, func(yield func([]uint64, error) bool) {
		for _, part := range words {
			if !yield(part, nil) {
				return
			}
		}
	})
}

// WriteSeq is WriteTo for a payload that is not in memory: it comes part by
// part, and a part need not stay as it is after its turn. An error among them
// ends the encoding and is returned.
func WriteSeq(w io.Writer, h Header, parts iter.Seq2[[]uint64, error]) (int64, error) {
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
	for part, err := range parts {
		if err != nil {
			return written, err
		}
		for piece := range slices.Chunk(part, chunk/8) {
			b := BytesOf(piece)
			if err := write(b); err != nil {
				return written, err
			}
			sums.Add(b)
		}
	}
	return written, write(sums.appendTable(nil))
}
