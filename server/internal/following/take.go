package following

// What a copy lacks of a part, as it is sent.

import (
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Lack is a part of which a copy has the changes before a number, news.Unknown for nothing.
type Lack struct {
	Part   int
	Number uint64
}

// Taken is what a copy lacks of a part. It lacks nothing if there is no form.
type Taken struct {
	news.Piece
	Next uint64 // the number of the first change that the copy lacks then
	More bool   // there are others
	Work int    // bytes that were compressed to fewer
}

// Room is memory that is set aside for an answer.
type Room interface {
	Hold(n int) bool
	Unhold(n int)
	Held() int
}

// Take returns what a copy lacks of a part: most changes at most, or all of the part. Errors are
// ErrMemory, ErrRetry if the part is gone, or those of its encoding.
func (n *News) Take(lack Lack, most int, room Room) (t Taken, err error) {
	known := lack.Number != news.Unknown
	var c Changes
	if known {
		c, known = n.Since(lack.Part, lack.Number, most)
	}
	if !known {
		return n.takeAll(lack.Part, room)
	}
	t.Part, t.Next, t.More = lack.Part, c.Next, c.More
	switch {
	case len(c.Values) == 0:
	case !room.Hold(9 * len(c.Values)):
		return t, contents.ErrMemory
	case c.Added > 0:
		t.Form, t.Data = news.Added, news.AppendAdded(nil, c.Added, c.Values)
	case c.Steps == nil:
		t.Form, t.Data = news.Bits, news.AppendBits(nil, c.Values)
	default:
		t.Form, t.Data = news.Steps, news.AppendSteps(nil, c.Steps, c.Values)
	}
	return t, nil
}

// packing is how many times the size of a part is held while it is compressed for an answer:
// its encoding, what that becomes, and the answer.
const packing = 3

// takeAll takes a part as a whole.
func (n *News) takeAll(part int, room Room) (t Taken, err error) {
	held := room.Held()
	data, dumped, next, err := n.Encoded(part, packing, room)
	t = Taken{Piece: news.Piece{Part: part, Form: news.Dump, Data: data}, Next: next}
	if err != nil || dumped {
		return t, err
	}
	packed, err := codec.Compress(nil, data)
	if err != nil {
		return t, err
	}
	// The encoding is no more: what is left are the answer, and its text.
	room.Unhold(max(0, room.Held()-held-2*len(packed)))
	t.Form, t.Data = news.Whole, packed
	t.Work = max(0, len(data)-len(packed))
	return t, nil
}

// Encoded returns the encoding of a part, whether that is what DUMP answers, and the number of the
// next change. It holds times the size of the part, and a little.
func (n *News) Encoded(part, times int, room Room) (data []byte, dumped bool, next uint64, err error) {
	next, err = n.Whole(part, func(e Encoding) (err error) {
		size := int(e.Size)
		if !room.Hold(times*size + size>>3 + 8192) {
			return contents.ErrMemory
		}
		data, err = e.Bytes()
		dumped = e.Dumped
		return err
	})
	return data, dumped, next, err
}
