package answer

// Replies as machines of a cluster send them to each other.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
)

// maxDepth is how many arrays a reply may have inside each other, and mostElems how many
// elements all of its arrays have together.
const (
	maxDepth  = 8
	mostElems = 1 << 18
)

// Append appends the encoding of a reply.
func (r *Reply) Append(b []byte) []byte {
	b = append(b, byte(r.Kind))
	switch r.Kind {
	case None, Null, NullArray:
	case Int, Bool, Double:
		b = binary.AppendVarint(b, r.N)
	case Status, Error, Bulk, Verbatim:
		b = appendText(b, r.Text)
	case Array, Map, Set, Fields:
		b = binary.AppendUvarint(b, uint64(len(r.Elems)))
		for i := range r.Elems {
			b = r.Elems[i].Append(b)
		}
	case Bools:
		b = binary.AppendUvarint(b, uint64(len(r.Bools)))
		for _, v := range r.Bools {
			b = append(b, byte(Truth(v).N))
		}
		b = appendText(b, r.Text)
	case Codes, CodeInts:
		b = binary.AppendUvarint(b, uint64(len(r.Codes)))
		for _, v := range r.Codes {
			b = append(b, byte(v))
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Read reads a reply that Append has written, and returns what is behind it. The error wraps
// bloomery.ErrCorrupt: then the reply is not whole.
func (r *Reply) Read(b []byte) (rest []byte, err error) {
	*r = Reply{}
	w := wire{rest: b, elems: mostElems}
	w.reply(r, maxDepth)
	if w.bad {
		return nil, fmt.Errorf("answer: %w: a reply of another node", bloomery.ErrCorrupt)
	}
	return w.rest, nil
}

// wire is what is left of an encoding.
type wire struct {
	rest  []byte
	elems int // that may still come
	bad   bool
}

func (w *wire) reply(r *Reply, depth int) {
	if kind := w.take(1); !w.bad {
		r.Kind = ReplyKind(kind[0])
	}
	switch r.Kind {
	case None, Null, NullArray:
	case Int, Bool, Double:
		n, size := binary.Varint(w.rest)
		r.N = n
		w.take(size)
		w.bad = w.bad || size <= 0
	case Status, Error, Bulk, Verbatim:
		r.Text = string(w.take(w.length()))
	case Array, Map, Set, Fields:
		n := w.length() // each has a byte at least
		if w.elems -= n; w.bad || depth == 0 || w.elems < 0 {
			w.bad = true
			return
		}
		r.Elems = make([]Reply, n)
		for i := range r.Elems {
			if w.reply(&r.Elems[i], depth-1); w.bad {
				return
			}
		}
	case Bools:
		data := w.take(w.length())
		r.Bools = make([]bool, len(data))
		for i, v := range data {
			r.Bools[i] = v != 0
		}
		r.Text = string(w.take(w.length()))
	case Codes, CodeInts:
		data := w.take(w.length())
		r.Codes = make([]int8, len(data))
		for i, v := range data {
			r.Codes[i] = int8(v)
		}
	default:
		w.bad = true
	}
}

// length reads how many bytes, or elements, follow. So many bytes are there.
func (w *wire) length() int {
	n, size := binary.Uvarint(w.rest)
	w.take(size)
	if w.bad || size <= 0 || n > uint64(len(w.rest)) {
		w.bad = true
		return 0
	}
	return int(n)
}

func (w *wire) take(n int) []byte {
	if w.bad || n < 0 || n > len(w.rest) {
		w.bad = true
		return nil
	}
	b := w.rest[:n]
	w.rest = w.rest[n:]
	return b
}
