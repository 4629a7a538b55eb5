package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Info describes an encoding as far as that is possible without the hash key.
type Info struct {
	Form Form
	// Kind is the number of the kind, Name its name, empty for a kind that is
	// not known here.
	Kind uint16
	Name string
	// Hash is the hash function, Check the seed of XXH3 or the fingerprint of
	// another.
	Hash  hashing.Kind
	Check uint64
	// K is the number of bits that a key sets, Bits the size of the array, Capacity
	// the number of keys that the filter was made for, and Rate the false
	// positive rate that was asked for; Extra is of the kind's own use. Of a
	// scalable filter, K is the growth, Bits that of all layers, Capacity that
	// of the first, and Extra their number. Of a sliced one, all are those of
	// one column, and Extra is the words of a row. Of a cuckoo or quotient
	// filter K is the bits of a slot, of a fuse filter the slots of a key, of a
	// ribbon filter its columns. docs/format.md has the details.
	K        int
	Bits     uint64
	Capacity uint64
	Rate     float64
	Extra    uint32
	// Base is the Identity of the encoding that a patch is for.
	Base uint64
	// Identity is the checksum of the header, and in the lower half that of
	// the table of checksums, which stands for the payload. 0 if the data
	// ends before it.
	Identity uint64
	// Payload is the length of the payload, Size that of the plain encoding,
	// and Read the number of bytes that were read.
	Payload uint64
	Size    uint64
	Read    int64
	// Set is the number of set bits in the payload, what a scalable or sliced
	// filter has in front of its arrays included; 0 for a patch.
	Set uint64
	// Damage lists what is damaged, in order; empty if all is sound.
	Damage []Damage
}

// Damage is a part of an encoding that is not as it was written.
type Damage struct {
	// From and To are offsets in the plain encoding, of the first byte and of
	// that behind the last. In a transport form they are where the damage
	// shows when it is decoded.
	From, To uint64
	// Cause is what was found.
	Cause string
}

// Err returns nil if there is no damage, else an error that wraps ErrCorrupt
// and names the first.
func (i Info) Err() error {
	if len(i.Damage) == 0 {
		return nil
	}
	d := i.Damage[0]
	return fmt.Errorf("codec: inspect: %w: offset %d to %d: %s", bloomery.ErrCorrupt, d.From, d.To, d.Cause)
}

// Inspect reads one filter or patch from r, in any form and of any kind, and
// returns what is in its header and what is damaged. It needs no hash key, and
// keeps less than 1 MiB of memory for a filter of any size. Bytes after the
// end are damage, of which it reads one.
//
// The error is for what cannot be inspected: it wraps ErrCorrupt if the header
// is damaged or is not that of a filter, ErrVersion if it is of an unknown version, or
// is that of r. Damage behind the header is in the Info.
func Inspect(r io.Reader) (Info, error) {
	magic := make([]byte, len(packMagic))
	n, err := io.ReadFull(r, magic)
	if err != nil && !ended(err) {
		return Info{}, fmt.Errorf("codec: inspect: %w", err)
	}
	i := Info{Form: formOf(magic[:n])}
	u := &unpacker{
		r:     io.MultiReader(bytes.NewReader(magic[:n]), r),
		form:  i.Form,
		base:  func(id uint64) error { i.Base = id; return nil },
		blind: true, // all damage is listed, not the first alone
	}
	err = i.scan(u)
	i.Read = u.n
	if err != nil {
		return i, fmt.Errorf("codec: inspect: %w", err)
	}
	return i, nil
}

// scan takes in all pieces of an encoding.
func (i *Info) scan(u *unpacker) error {
	header, err := u.next()
	if err != nil {
		return err
	}
	i.describe(u.header)
	check := binary.LittleEndian.Uint32(header[len(header)-4:])
	for u.place == atPayload {
		from := u.done
		piece, err := u.next()
		if err != nil {
			return i.damage(err, envelope.HeaderSize+from, i.Size)
		}
		if i.Form != FormPatch {
			i.Set += ones(piece)
		}
	}
	table, err := u.next()
	if err != nil {
		return i.damage(err, envelope.HeaderSize+u.done, i.Size)
	}
	i.Identity = uint64(check)<<32 | uint64(binary.LittleEndian.Uint32(table[len(table)-4:]))
	if err := i.compare(u, table); err != nil {
		return err
	}
	switch n, err := io.ReadFull(u.r, make([]byte, 1)); {
	case n > 0:
		u.n++
		i.Damage = append(i.Damage, Damage{i.Size, i.Size, "bytes behind the end"})
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// describe fills in what the header says.
func (i *Info) describe(h envelope.Header) {
	i.Kind, i.Hash, i.Check, i.K = h.Kind, h.Hash, h.Check, int(h.K)
	i.Bits, i.Capacity, i.Rate, i.Extra = h.Size, h.Capacity, h.Rate, h.Extra
	i.Payload, i.Size = h.Payload, h.EncodedSize()
	i.Name = nameOf(h.Kind)
}

// damage notes an error that is damage and returns any other.
func (i *Info) damage(err error, from, to uint64) error {
	if !errors.Is(err, bloomery.ErrCorrupt) {
		return err
	}
	i.Damage = append(i.Damage, Damage{from, to, strings.TrimPrefix(err.Error(), bloomery.ErrCorrupt.Error()+": ")})
	return nil
}

// compare notes every chunk of the payload that the table does not agree with.
// The payload that a patch stands for is not known.
func (i *Info) compare(u *unpacker, table []byte) error {
	if i.Form == FormPatch {
		u.tally = envelope.Tally{}
	}
	bad, err := u.tally.Damaged(table)
	if err != nil {
		return i.damage(err, envelope.HeaderSize+i.Payload, i.Size)
	}
	for _, c := range bad {
		from := uint64(c) * envelope.ChunkSize
		to := min(from+envelope.ChunkSize, i.Payload)
		i.Damage = append(i.Damage, Damage{envelope.HeaderSize + from, envelope.HeaderSize + to, "the checksum differs"})
	}
	return nil
}

// ones counts the set bits of whole words.
func ones(b []byte) (n uint64) {
	for ; len(b) >= 8; b = b[8:] {
		n += uint64(bits.OnesCount64(binary.LittleEndian.Uint64(b)))
	}
	return n
}
