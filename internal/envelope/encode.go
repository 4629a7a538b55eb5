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

// Seal completes an encoding that begins at dst[at:] with HeaderSize bytes for the
// header, followed by the payload: it fills in the header and appends the table.
func Seal(dst []byte, at int, h Header) []byte {
	payload := dst[at+HeaderSize:]
	h.Payload = uint64(len(payload))
	h.AppendTo(dst[at:at])
	sums := Tally{sums: make([]uint32, 0, h.TableSize()/4)}
	sums.Add(payload)
	return sums.appendTable(dst)
}

// Writer writes an encoding whose payload comes in pieces of any length. Make one
// with NewWriter.
type Writer struct {
	w    io.Writer
	n    int64
	err  error
	sums Tally
}

// NewWriter writes the header h, with the size of the payload that will come.
func NewWriter(w io.Writer, h Header) *Writer {
	out := &Writer{w: w, sums: Tally{sums: make([]uint32, 0, h.TableSize()/4)}}
	out.pass(h.AppendTo(nil))
	return out
}

// Write writes a piece of the payload.
func (w *Writer) Write(b []byte) (int, error) {
	n := w.pass(b)
	w.sums.Add(b[:n])
	return n, w.err
}

func (w *Writer) pass(b []byte) (n int) {
	if w.err != nil {
		return 0
	}
	n, w.err = w.w.Write(b)
	w.n += int64(n)
	if w.err == nil && n < len(b) {
		w.err = io.ErrShortWrite
	}
	return n
}

// End writes the table and returns how many bytes were written in all, and the first
// error.
func (w *Writer) End() (int64, error) {
	w.pass(w.sums.appendTable(nil))
	return w.n, w.err
}

// Written returns how many bytes were written so far.
func (w *Writer) Written() int64 { return w.n }

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
