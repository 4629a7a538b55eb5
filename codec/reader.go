package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Reader turns the transport form of one filter back into its encoding while
// it is being read. Config.Read uses one by itself.
//
// It reads no byte more than the filter has, and keeps some 130 KiB of memory,
// whatever the filter claims to be. All that it gives out has the length in the
// filter's header; damage is reported at the latest in place of io.EOF. Errors
// wrap ErrCorrupt or ErrVersion, or are those of the reader below.
//
// An empty filter is 9,000 times as long as its transport form. Set a bound for
// untrusted input:
//
//	r := io.LimitReader(codec.NewReader(conn), 1<<30)
//
// Not safe for concurrent use.
type Reader struct {
	u    unpacker
	rest []byte // of the present piece
	err  error
}

// NewReader returns a Reader that reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{u: unpacker{r: r, form: FormTransport}} }

// Read reads the next bytes of the encoding.
func (r *Reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.err == nil {
			r.rest, r.err = r.u.next()
		}
		if r.err != nil {
			if !errors.Is(r.err, errEnd) {
				return 0, fmt.Errorf("codec: decompress: %w", r.err)
			}
			return 0, io.EOF
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// errEnd follows the last piece. It is not io.EOF, which a reader below may
// return.
var errEnd = errors.New("end of the encoding")

// unpacker decodes one filter or patch into the pieces of the plain encoding:
// header, chunks of payload, table.
type unpacker struct {
	r    io.Reader
	n    int64  // bytes read
	form Form   // what is expected
	old  []byte // payload that the payload is xored with, for patches
	// base is checked against what a patch says of the encoding it is for.
	base   func(id uint64) error
	limits Limits // of what all may allocate

	header envelope.Header
	place  place
	done   uint64 // bytes of payload that are decoded
	tally  envelope.Tally
	blind  bool   // the caller looks at the checksums
	code   []byte // with room
	raw    []byte
}

// next returns the next piece, valid until the next call. Behind the last one
// it returns errEnd.
func (u *unpacker) next() (piece []byte, err error) {
	switch u.place {
	case atHeader:
		piece, err = u.head()
	case atPayload:
		piece, err = u.chunk()
	case atTable:
		piece, err = u.table()
	case atEnd:
		return nil, errEnd
	}
	if err == nil && u.place == atPayload && u.done == u.header.Payload {
		u.place = atTable
	}
	return piece, err
}

func (u *unpacker) head() ([]byte, error) {
	if u.form != FormPlain {
		if err := u.preface(); err != nil {
			return nil, err
		}
	}
	piece := make([]byte, envelope.HeaderSize)
	err := u.full(piece)
	if err == nil {
		u.header, err = envelope.ParseHeader(piece)
	}
	u.place = atPayload
	return piece, err
}

// preface reads and checks what goes before the header.
func (u *unpacker) preface() error {
	magic, size := packMagic, packSize
	if u.form == FormPatch {
		magic, size = patchMagic, patchSize
	}
	b := make([]byte, size)
	if err := u.full(b); err != nil {
		return err
	}
	le := binary.LittleEndian
	if string(b[:8]) != magic {
		return fmt.Errorf("%w: it begins with %q, not with %q", bloomery.ErrCorrupt, b[:8], magic)
	}
	if got, want := crc32.Checksum(b[:size-4], castagnoli), le.Uint32(b[size-4:]); got != want {
		return fmt.Errorf("%w: checksum of the first bytes is %08x, should be %08x", bloomery.ErrCorrupt, got, want)
	}
	if v := le.Uint16(b[8:]); v != packVersion {
		return fmt.Errorf("%w: transport form %d, this program reads %d", bloomery.ErrVersion, v, packVersion)
	}
	if b[10] != 0 || b[11] != 0 {
		return fmt.Errorf("%w: reserved bytes are not zero", bloomery.ErrCorrupt)
	}
	if u.form == FormPatch {
		return u.base(le.Uint64(b[12:]))
	}
	return nil
}

func (u *unpacker) chunk() ([]byte, error) {
	if u.raw == nil {
		size := min(chunkSize, u.header.Payload)
		u.raw, u.code = make([]byte, size), make([]byte, size+room)
	}
	raw := u.raw[:min(chunkSize, u.header.Payload-u.done)]
	read := u.packed
	if u.form == FormPlain {
		read = u.full
	}
	if err := read(raw); err != nil {
		return nil, err
	}
	xor(raw, u.old)
	u.old = u.old[min(len(u.old), chunkSize):]
	u.tally.Add(raw)
	u.done += uint64(len(raw))
	return raw, nil
}

// packed reads the code of a chunk and fills raw from it.
func (u *unpacker) packed(raw []byte) error {
	from := u.n
	var head [chunkHeader]byte
	if err := u.full(head[:]); err != nil {
		return err
	}
	size := int(binary.LittleEndian.Uint16(head[2:]))
	if head[0] == codeRaw && size == 0 {
		size = len(raw)
	} else if size >= len(raw) {
		return fmt.Errorf("%w: chunk at offset %d has a code of %d bytes for %d", bloomery.ErrCorrupt, from, size, len(raw))
	}
	code := u.code[:size]
	if err := u.full(code); err != nil {
		return err
	}
	clear(u.code[size : size+room])
	if !openChunk(raw, head[0], uint(head[1]), code) {
		return fmt.Errorf("%w: chunk at offset %d to %d, form %d, makes no sense", bloomery.ErrCorrupt, from, u.n, head[0])
	}
	return nil
}

func (u *unpacker) table() ([]byte, error) {
	piece := make([]byte, u.header.TableSize())
	if err := u.full(piece); err != nil {
		return nil, err
	}
	if !u.blind {
		if err := u.tally.Check(u.header, piece); err != nil {
			return nil, err
		}
	}
	u.place = atEnd
	return piece, nil
}

// full fills b. An end of data before that is damage; other errors of the
// reader are passed on.
func (u *unpacker) full(b []byte) error {
	n, err := io.ReadFull(u.r, b)
	u.n += int64(n)
	if err != nil && ended(err) {
		return fmt.Errorf("%w: data ends after %d bytes: %w", bloomery.ErrCorrupt, u.n, io.ErrUnexpectedEOF)
	}
	return err
}

// all appends the whole encoding to dst and checks that data, which u reads
// from, has nothing behind it.
func (u *unpacker) all(dst []byte, data *bytes.Reader) ([]byte, error) {
	start := len(dst)
	for {
		piece, err := u.next()
		if errors.Is(err, errEnd) {
			break
		}
		if err == nil && u.done == 0 && u.place != atEnd {
			err = u.limits.fit(u.header)
		}
		if err != nil {
			return dst[:start], err
		}
		dst = append(dst, piece...)
	}
	if data.Len() > 0 {
		return dst[:start], fmt.Errorf("%w: %d bytes behind the end", bloomery.ErrCorrupt, data.Len())
	}
	return dst, nil
}
