package codec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Magic words and version of the forms that are not plain encodings.
const (
	packMagic  = "bloompak"
	patchMagic = "bloomdif"

	packVersion = 1
	packSize    = 16 // magic, version, two zero bytes, checksum
	patchSize   = 24 // with the identity of the old encoding before the checksum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer turns the encoding of one filter into its transport form while it is
// being written:
//
//	w := codec.NewWriter(conn)
//	_, err := f.WriteTo(w) // f is any filter of this module
//	err = w.Close()
//
// It keeps some 300 KiB of memory, whatever the size of the filter. What is
// written to it is checked: the error wraps ErrCorrupt or ErrVersion if that is
// not an encoding, or is damaged. Errors are sticky.
//
// Not safe for concurrent use.
type Writer struct {
	p   packer
	w   io.Writer
	err error
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, p: packer{preface: packPreface()}} }

// Write takes the next bytes of the encoding.
func (w *Writer) Write(b []byte) (int, error) {
	taken := 0
	for w.err == nil && taken < len(b) {
		n, err := w.p.take(b[taken:])
		taken += n
		if err == nil {
			err = w.flush()
		}
		w.fail(err)
	}
	return taken, w.err
}

// Close ends the encoding; the error wraps ErrCorrupt if it is not complete. It
// does not close the writer below.
func (w *Writer) Close() error {
	if w.err == nil {
		w.fail(w.p.complete())
	}
	return w.err
}

func (w *Writer) flush() error {
	if len(w.p.out) == 0 {
		return nil
	}
	n, err := w.w.Write(w.p.out)
	if err == nil && n < len(w.p.out) {
		err = io.ErrShortWrite
	}
	w.p.out = w.p.out[:0]
	return err
}

func (w *Writer) fail(err error) {
	if err != nil {
		w.err = fmt.Errorf("codec: compress: %w", err)
	}
}

// packer codes one encoding that comes in pieces: header, chunks of payload,
// table.
type packer struct {
	preface []byte // goes before the header
	old     []byte // payload that the payload is xored with, for patches
	mixed   []byte // a chunk of both
	out     []byte // what is coded and not yet taken away

	piece  []byte // the begun piece
	header envelope.Header
	place  place
	done   uint64 // bytes of payload that are coded
	tally  envelope.Tally
}

// place is the part of an encoding that comes next.
type place uint8

const (
	atHeader place = iota
	atPayload
	atTable
	atEnd
)

// take takes bytes of b, at most to the end of the present piece, codes the
// piece if it is complete, and returns how many bytes it took.
func (p *packer) take(b []byte) (int, error) {
	if p.place == atEnd {
		return 0, fmt.Errorf("%w: %d bytes behind the end", bloomery.ErrCorrupt, len(b))
	}
	size := p.size()
	if len(p.piece) == 0 && len(b) >= size {
		return size, p.add(b[:size]) // no need for a copy
	}
	n := min(len(b), size-len(p.piece))
	p.piece = append(p.piece, b[:n]...)
	if len(p.piece) < size {
		return n, nil
	}
	err := p.add(p.piece)
	p.piece = p.piece[:0]
	return n, err
}

// size returns the length of the piece that comes next.
func (p *packer) size() int {
	switch p.place {
	case atHeader:
		return envelope.HeaderSize
	case atPayload:
		return int(min(chunkSize, p.header.Payload-p.done))
	case atTable, atEnd:
	}
	return int(p.header.TableSize())
}

// add codes one piece.
func (p *packer) add(piece []byte) error {
	switch p.place {
	case atHeader:
		h, err := envelope.ParseHeader(piece)
		if err != nil {
			return err
		}
		p.header = h
		p.out = append(append(p.out, p.preface...), piece...)
		p.place = atPayload
	case atPayload:
		p.tally.Add(piece)
		if len(p.old) > 0 {
			p.mixed = append(p.mixed[:0], piece...)
			piece = p.mixed
			xor(piece, p.old)
			p.old = p.old[min(len(p.old), chunkSize):]
		}
		p.out = appendChunk(p.out, piece)
		p.done += uint64(len(piece))
	case atTable:
		if err := p.tally.Check(p.header, piece); err != nil {
			return err
		}
		p.out = append(p.out, piece...)
		p.place = atEnd
	case atEnd:
	}
	if p.place == atPayload && p.done == p.header.Payload {
		p.place = atTable
	}
	return nil
}

// complete returns an error if the encoding has not ended.
func (p *packer) complete() error {
	if p.place == atEnd {
		return nil
	}
	return fmt.Errorf("%w: the encoding is not complete: %w", bloomery.ErrCorrupt, io.ErrUnexpectedEOF)
}

// all codes one whole encoding.
func (p *packer) all(data []byte) error {
	for len(data) > 0 {
		n, err := p.take(data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return p.complete()
}

// packPreface returns what goes before the header of the transport form.
func packPreface() []byte { return seal(append([]byte(packMagic), packVersion, 0, 0, 0)) }

// seal appends the checksum of b to it.
func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// xor xors x with old, which counts as zero where it has ended.
func xor(x, old []byte) {
	n := min(len(x), len(old))
	le := binary.LittleEndian
	for i := 0; i < n; i += 8 {
		le.PutUint64(x[i:], le.Uint64(x[i:])^le.Uint64(old[i:]))
	}
}
