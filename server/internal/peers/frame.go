package peers

// Frames: what a connection carries after the handshake.

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is a header and a body. Numbers are little endian.
//
//	0   4  length of the body
//	4   1  kind
//	5   4  number: slot of the question (2 bytes), turn of the slot (2 bytes); of pings, which
//	9   4  room: how long the answer may be; of questions only
//	13  4  patience: milliseconds until the asker gives up, 0 for an hour; of questions only
//	17     body
const (
	headerBytes = 17
	kindAt      = 4
)

// MaxBody is how long a question or an answer may be.
const MaxBody = 1 << 20

// Kinds of frames.
const (
	kindQuestion = 1 + iota
	kindVoid     // a question that was taken back before it was sent: passed over
	kindCancel   // nobody waits for the answer of this question any more
	kindPing
	kindAnswer
	kindRefused // nothing was done for this question, the body says why
	kindLong    // the answer does not fit into the room
	kindPong
	kindEnd // one more than the last
)

// errFrame is why a connection to somebody who sends nonsense is closed.
var errFrame = errors.New("peers: not a frame of this protocol")

type header struct {
	length   int
	kind     byte
	number   uint32
	room     int
	patience uint32
}

// slot returns which of the slots of a connection a frame is about.
func (h *header) slot() int { return int(h.number & 0xffff) }

// appendFrame appends a frame to b.
func appendFrame(b []byte, h header, body []byte) []byte {
	h.length = len(body)
	return append(appendHeader(b, h), body...)
}

// appendHeader appends the header of a frame to b.
func appendHeader(b []byte, h header) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(h.length))
	b = append(b, h.kind)
	b = binary.LittleEndian.AppendUint32(b, h.number)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.room))
	return binary.LittleEndian.AppendUint32(b, h.patience)
}

// parseHeader reads the header of a frame, and checks its lengths.
func parseHeader(b []byte) (h header, err error) {
	if len(b) < headerBytes {
		return h, io.ErrUnexpectedEOF
	}
	length, room := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[9:])
	h = header{kind: b[kindAt], number: binary.LittleEndian.Uint32(b[5:]), patience: binary.LittleEndian.Uint32(b[13:])}
	asks := h.kind == kindQuestion || h.kind == kindVoid
	carries := asks || h.kind == kindAnswer || h.kind == kindRefused
	switch {
	case h.kind == 0 || h.kind >= kindEnd:
		return h, fmt.Errorf("%w: kind %d", errFrame, h.kind)
	case length > MaxBody || length > 0 && !carries:
		return h, fmt.Errorf("%w: %d bytes in kind %d", errFrame, length, h.kind)
	case room > MaxBody || !asks && (room != 0 || h.patience != 0):
		return h, fmt.Errorf("%w: room for %d bytes in kind %d", errFrame, room, h.kind)
	}
	h.length, h.room = int(length), int(room)
	return h, nil
}

// readBytes is the buffer of a connection that is read. Bodies that fit are not copied.
const readBytes = 32 << 10

// reader reads frames.
type reader struct{ *bufio.Reader }

// header reads the header of the next frame.
func (r reader) header() (header, error) {
	b, err := r.Peek(headerBytes)
	if err != nil {
		if len(b) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return header{}, err
	}
	h, err := parseHeader(b)
	if err == nil {
		_, err = r.Discard(headerBytes)
	}
	return h, err
}

// body calls use with the next n bytes, which somebody has checked. fresh means that they are
// use's to keep; others are gone when use has returned.
func (r reader) body(n int, use func(b []byte, fresh bool)) error {
	if n > r.Size() {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return cutShort(err)
		}
		use(b, true)
		return nil
	}
	b, err := r.Peek(n)
	if err != nil {
		return cutShort(err)
	}
	use(b, false)
	_, err = r.Discard(n)
	return err
}

// cutShort is the error of a body that does not come: behind its header no end is a good one.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
