package envelope

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// Sealed is an encoding whose header and lengths have been checked, and its
// payload not yet.
type Sealed struct {
	Header  Header
	Payload []byte
	table   []byte // checksums of the payload, and that of the table
	data    []byte // all of it
}

// Open splits data, which must be one whole encoding, and checks header and
// lengths. It allocates nothing that depends on what data claims.
func Open(data []byte) (Sealed, error) {
	h, err := ParseHeader(data)
	if err != nil {
		return Sealed{}, err
	}
	if got, want := uint64(len(data)), h.EncodedSize(); got != want {
		return Sealed{}, fmt.Errorf("%w: %d bytes, the header says %d", bloomery.ErrCorrupt, got, want)
	}
	end := HeaderSize + h.Payload
	return Sealed{h, data[HeaderSize:end:end], data[end:], data}, nil
}

// Verify checks the payload against the table. The error names the offset,
// counted from the first byte of the header, of the chunk that is damaged.
func (s Sealed) Verify() error {
	if len(s.table) == 0 {
		return fmt.Errorf("%w: nothing was opened", bloomery.ErrCorrupt)
	}
	sums, err := openTable(s.table)
	if err != nil {
		return err
	}
	for i := 0; i*chunk < len(s.Payload); i++ {
		part := s.Payload[i*chunk : min((i+1)*chunk, len(s.Payload))]
		if err := s.Header.checkChunk(sums, i, crc32.Checksum(part, castagnoli)); err != nil {
			return err
		}
	}
	return nil
}

// Words returns the payload as words of its own memory.
func (s Sealed) Words() []uint64 {
	words, _ := s.WordsIn(nil) // the heap does not refuse
	return words
}

// WordsIn is Words with memory from alloc if that is not nil. Errors are those
// of memory.Array.
func (s Sealed) WordsIn(alloc memory.Alloc) ([]uint64, error) {
	words, err := memory.Array(len(s.Payload)/8, alloc)
	if err == nil {
		GetWords(words, s.Payload)
	}
	return words, err
}

// openTable checks the checksum of the table and returns the table without it.
func openTable(table []byte) ([]byte, error) {
	sums, sum := table[:len(table)-4], binary.LittleEndian.Uint32(table[len(table)-4:])
	if got := crc32.Checksum(sums, castagnoli); got != sum {
		return nil, fmt.Errorf("%w: checksum of the checksum table is %08x, should be %08x", bloomery.ErrCorrupt, got, sum)
	}
	return sums, nil
}

// checkChunk compares the checksum of chunk i with that in the table.
func (h Header) checkChunk(sums []byte, i int, got uint32) error {
	if want := binary.LittleEndian.Uint32(sums[4*i:]); got != want {
		from := uint64(i) * chunk
		return fmt.Errorf("%w: payload at offset %d to %d: checksum is %08x, should be %08x", bloomery.ErrCorrupt,
			HeaderSize+from, HeaderSize+min(from+chunk, h.Payload), got, want)
	}
	return nil
}

// Read reads one whole encoding from r and no byte more. accept sees the
// header before any payload is read and may refuse it. Memory grows with the
// bytes that have arrived: a header that claims terabytes costs nothing until
// they come.
func Read(r io.Reader, accept func(Header) error) (Header, []uint64, int64, error) {
	return ReadIn(r, nil, accept)
}

// ReadIn is Read with memory from alloc if that is not nil, which is asked for
// the whole payload at once and may refuse.
func ReadIn(r io.Reader, alloc memory.Alloc, accept func(Header) error) (Header, []uint64, int64, error) {
	if b, ok := r.(*Blank); ok {
		return b.words(alloc, accept)
	}
	in := &counted{r: r}
	head := make([]byte, HeaderSize)
	if err := in.full(head); err != nil {
		return Header{}, nil, in.n, err
	}
	h, err := ParseHeader(head)
	if err != nil {
		return Header{}, nil, in.n, err
	}
	if err := accept(h); err != nil {
		return Header{}, nil, in.n, err
	}
	if limit := memory.Limit(); h.Payload > limit || h.Payload/8 > uint64(maxInt/8) {
		return Header{}, nil, in.n, fmt.Errorf("%w: payload of %d bytes, there are %d bytes of memory", bloomery.ErrTooLarge, h.Payload, limit)
	}

	total := int(h.Payload / 8)
	words := make([]uint64, 0, min(total, chunk/8))
	if alloc != nil {
		if words, err = memory.Array(total, alloc); err != nil {
			return Header{}, nil, in.n, err
		}
		words = words[:0]
	}
	buf := make([]byte, min(h.Payload, chunk))
	var got []uint32
	for len(words) < total {
		part := buf[:min(len(buf), 8*(total-len(words)))]
		if err := in.full(part); err != nil {
			return Header{}, nil, in.n, err
		}
		if len(words)+len(part)/8 > cap(words) {
			more := memory.Words(min(total, 2*cap(words)))[:len(words)]
			copy(more, words)
			words = more
		}
		n := len(words)
		words = words[:n+len(part)/8]
		GetWords(words[n:], part)
		got = append(got, crc32.Checksum(part, castagnoli))
	}

	table := make([]byte, h.TableSize())
	if err := in.full(table); err != nil {
		return Header{}, nil, in.n, err
	}
	sums, err := openTable(table)
	if err != nil {
		return Header{}, nil, in.n, err
	}
	for i, sum := range got {
		if err := h.checkChunk(sums, i, sum); err != nil {
			return Header{}, nil, in.n, err
		}
	}
	return h, words, in.n, nil
}

const maxInt = int(^uint(0) >> 1)

// counted counts the bytes that it reads.
type counted struct {
	r io.Reader
	n int64
}

// full fills b. An end of data before that is damage; other errors of the
// reader are passed on.
func (c *counted) full(b []byte) error {
	n, err := io.ReadFull(c.r, b)
	c.n += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: data ends after %d bytes: %w", bloomery.ErrCorrupt, c.n, io.ErrUnexpectedEOF)
	}
	return err
}
