package answer

// Replies as machines of a cluster send them to each other.

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/wire"
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
		b = wire.AppendBytes(b, r.Text)
	case Array, Map, Set, Fields:
		b = binary.AppendUvarint(b, uint64(len(r.Elems)))
		for i := range r.Elems {
			b = r.Elems[i].Append(b)
		}
	case Bools:
		b = binary.AppendUvarint(b, uint64(len(r.Bools)))
		for _, v := range r.Bools {
			n := byte(0)
			if v {
				n = 1
			}
			b = append(b, n)
		}
		b = wire.AppendBytes(b, r.Text)
	case Codes, CodeInts:
		b = binary.AppendUvarint(b, uint64(len(r.Codes)))
		for _, v := range r.Codes {
			b = append(b, byte(v))
		}
	}
	return b
}

// Read reads a reply that Append has written, and returns what is behind it. The error wraps
// bloomery.ErrCorrupt: then the reply is not whole.
func (r *Reply) Read(b []byte) (rest []byte, err error) {
	*r = Reply{}
	w := reader{wire.Reader{Rest: b}, mostElems}
	w.reply(r, maxDepth)
	if w.Bad {
		return nil, fmt.Errorf("answer: %w: a reply of another node", bloomery.ErrCorrupt)
	}
	return w.Rest, nil
}

// reader is what is left of an encoding.
type reader struct {
	wire.Reader
	elems int // that may still come
}

func (w *reader) reply(r *Reply, depth int) {
	switch r.Kind = ReplyKind(w.Byte()); r.Kind {
	case None, Null, NullArray:
	case Int, Bool, Double:
		r.N = w.Varint()
	case Status, Error, Bulk, Verbatim:
		r.Text = string(w.Bytes())
	case Array, Map, Set, Fields:
		n := w.length() // each has a byte at least
		if w.elems -= int(n); w.Bad || depth == 0 || w.elems < 0 {
			w.Bad = true
			return
		}
		r.Elems = make([]Reply, n)
		for i := range r.Elems {
			if w.reply(&r.Elems[i], depth-1); w.Bad {
				return
			}
		}
	case Bools:
		data := w.Bytes()
		r.Bools = make([]bool, len(data))
		for i, v := range data {
			r.Bools[i] = v != 0
		}
		r.Text = string(w.Bytes())
	case Codes, CodeInts:
		data := w.Bytes()
		r.Codes = make([]int8, len(data))
		for i, v := range data {
			r.Codes[i] = int8(v)
		}
	default:
		w.Bad = true
	}
}

// length reads how many bytes, or elements, follow. So many bytes are there.
func (w *reader) length() uint64 {
	n := w.Uvarint()
	if n > uint64(len(w.Rest)) {
		w.Bad = true
	}
	if w.Bad {
		return 0
	}
	return n
}
