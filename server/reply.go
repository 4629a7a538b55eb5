package server

// How replies are written to a client.

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server/internal/answer"
)

// flushItems is after how many elements of a plain array the buffer is looked at.
const flushItems = 1024

// reply makes one reply. What is large, as a whole or in its parts, is sent while
// it is made: the buffer does not grow with the reply.
func (c *conn) reply(p resp.Protocol, r *answer.Reply) error {
	b := c.b
	switch r.Kind {
	case answer.Bool: // the commonest
		b.out = resp.AppendBool(b.out, p, r.N != 0)
	case answer.Bulk, answer.Verbatim:
		if len(r.Text) > writeBytes {
			return c.large(p, r)
		}
		b.out = appendPlain(b.out, p, r)
	case answer.Bools:
		return c.bools(p, r)
	case answer.Codes:
		return c.codes(p, r.Codes)
	case answer.CodeInts:
		return c.codes(resp.RESP2, r.Codes)
	case answer.Array:
		b.out = resp.AppendArray(b.out, len(r.Elems))
		return c.elems(p, r.Elems)
	case answer.Map:
		b.out = resp.AppendMap(b.out, p, len(r.Elems)/2)
		return c.elems(p, r.Elems)
	case answer.Set:
		b.out = resp.AppendSet(b.out, p, len(r.Elems))
		return c.elems(p, r.Elems)
	case answer.Fields:
		return c.fields(p, r.Elems)
	default:
		b.out = appendPlain(b.out, p, r)
	}
	return c.full()
}

// full sends the buffer if it is full.
func (c *conn) full() error {
	if len(c.b.out) < writeBytes {
		return nil
	}
	return c.write()
}

// appendPlain writes a reply that has no parts.
func appendPlain(b []byte, p resp.Protocol, r *answer.Reply) []byte {
	switch r.Kind {
	case answer.Bool:
		return resp.AppendBool(b, p, r.N != 0)
	case answer.Int:
		return resp.AppendInt(b, r.N)
	case answer.Double:
		return resp.AppendDouble(b, p, math.Float64frombits(uint64(r.N)))
	case answer.Status:
		return resp.AppendStatus(b, r.Text)
	case answer.Error:
		return resp.AppendError(b, r.Text)
	case answer.Bulk:
		return resp.AppendBulk(b, r.Text)
	case answer.Verbatim:
		return resp.AppendVerbatim(b, p, r.Text)
	case answer.Null:
		return resp.AppendNull(b, p)
	case answer.NullArray:
		return resp.AppendNullArray(b, p)
	default:
		return b
	}
}

// large sends a long string piece by piece, without a copy of the whole.
func (c *conn) large(p resp.Protocol, r *answer.Reply) error {
	b := c.b
	if r.Kind == answer.Verbatim {
		b.out = resp.AppendVerbatimHead(b.out, p, len(r.Text))
	} else {
		b.out = resp.AppendBulkHead(b.out, len(r.Text))
	}
	for text := r.Text; len(text) > 0; {
		n := min(len(text), max(writeBytes-len(b.out), 1))
		b.out = append(b.out, text[:n]...)
		text = text[n:]
		if err := c.full(); err != nil {
			return err
		}
	}
	b.out = resp.AppendCRLF(b.out)
	return nil
}

func (c *conn) elems(p resp.Protocol, elems []answer.Reply) error {
	for i := range elems {
		if err := c.reply(p, &elems[i]); err != nil {
			return err
		}
	}
	return nil
}

// fields writes a map, and where there are no maps its values alone.
func (c *conn) fields(p resp.Protocol, elems []answer.Reply) error {
	if p >= resp.RESP3 {
		c.b.out = resp.AppendMap(c.b.out, p, len(elems)/2)
		return c.elems(p, elems)
	}
	c.b.out = resp.AppendArray(c.b.out, len(elems)/2)
	for i := 1; i < len(elems); i += 2 {
		if err := c.reply(p, &elems[i]); err != nil {
			return err
		}
	}
	return nil
}

// bools writes an array of booleans, with an error as its last element if there
// is one.
func (c *conn) bools(p resp.Protocol, r *answer.Reply) error {
	b, n := c.b, len(r.Bools)
	if r.Text != "" {
		n++
	}
	b.out = resp.AppendArray(b.out, n)
	yes, no := boolWord(p, true), boolWord(p, false)
	for values := r.Bools; len(values) > 0; {
		n := min(len(values), flushItems)
		b.out = slices.Grow(b.out, 4*n)
		for _, v := range values[:n] {
			word := no
			if v {
				word = yes
			}
			b.out = binary.LittleEndian.AppendUint32(b.out, word)
		}
		values = values[n:]
		if err := c.full(); err != nil {
			return err
		}
	}
	if r.Text != "" {
		b.out = resp.AppendError(b.out, r.Text)
	}
	return c.full()
}

// boolWord returns the four bytes that a boolean takes in every protocol.
func boolWord(p resp.Protocol, v bool) uint32 {
	var word [4]byte
	resp.AppendBool(word[:0], p, v)
	return binary.LittleEndian.Uint32(word[:])
}

// codes writes an array of results; RESP3 has booleans for them.
func (c *conn) codes(p resp.Protocol, codes []int8) error {
	b := c.b
	b.out = resp.AppendArray(b.out, len(codes))
	for len(codes) > 0 {
		n := min(len(codes), flushItems)
		for _, code := range codes[:n] {
			if p >= resp.RESP3 {
				b.out = resp.AppendBool(b.out, p, code > 0)
			} else {
				b.out = resp.AppendInt(b.out, int64(code))
			}
		}
		codes = codes[n:]
		if err := c.full(); err != nil {
			return err
		}
	}
	return c.full()
}
