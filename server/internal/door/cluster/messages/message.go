// Package messages encodes what the lanes of a cluster hold: messages, and the table of those that a
// lane has had from each node.
package messages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Version is the first byte of a message, which is records of one node that were sent together:
//
//	version 1, flags, cluster 8, node, session, counter,
//	number of places, (lane, sequence) each, records, CRC-32C 4
//
// Numbers without a size are varints, others little-endian. Records are as
// store.AppendRecord writes them; they take all that is left but the checksum,
// which is that of everything before it.
const Version = 1

// Group is a flag of a message: all records or none, with nothing in between.
const Group = 1

// Bounds of messages.
const (
	MostBytes = 900 << 10           // of a message
	Spare     = 4 << 10             // what a log needs of its limit for itself
	HeadBytes = 2 << 10             // of a message, more than what stands around its records
	MaxPlaces = roster.MaxLanes + 2 // that a message names
)

// Header is what stands before the records of a message. A message of node 0 is
// from a node that has no session yet; it holds records that can be applied again
// without harm.
type Header struct {
	Flags   uint8
	Cluster uint64
	Node    uint32
	Session uint64
	Counter uint64
	After   []Place // what has to be applied before it
}

// Place is a sequence of a lane.
type Place struct {
	Lane int
	Seq  uint64
}

// AppendHeader begins a message.
func AppendHeader(b []byte, h *Header) []byte {
	b = append(b, Version, h.Flags)
	b = binary.LittleEndian.AppendUint64(b, h.Cluster)
	for _, v := range []uint64{uint64(h.Node), h.Session, h.Counter, uint64(len(h.After))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, p := range h.After {
		b = binary.AppendUvarint(b, uint64(p.Lane))
		b = binary.AppendUvarint(b, p.Seq)
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendSum ends a message.
func AppendSum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// ErrStray means that bytes are no message: no node has sent them.
var ErrStray = errors.New("not sent by a node")

// SumOf returns the checksum of a message, 0 if it has none.
func SumOf(msg []byte) uint32 {
	if len(msg) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(msg[len(msg)-4:])
}

// Parse reads the header of a message, whose places it appends to those of h,
// and returns its records. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrVersion; it wraps ErrStray as well if nothing shows that this is a
// message.
func Parse(h *Header, b []byte) (records []byte, err error) {
	if len(b) < 1+1+8+4+4 {
		return nil, fmt.Errorf("%w: %w", damaged("cut short"), ErrStray)
	}
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != SumOf(b) {
		return nil, fmt.Errorf("%w: %w", damaged("checksum"), ErrStray)
	}
	if body[0] != Version {
		return nil, fmt.Errorf("cluster: %w: message of version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, body[0], Version)
	}
	if body[1]&^Group != 0 {
		return nil, fmt.Errorf("cluster: %w: message with flags %#x: a later release is needed", bloomery.ErrVersion, body[1])
	}
	*h = Header{Flags: body[1], Cluster: binary.LittleEndian.Uint64(body[2:]), After: h.After[:0]}
	c := wire.Reader{Rest: body[10:]}
	node := c.Uvarint()
	h.Session, h.Counter = c.Uvarint(), c.Uvarint()
	places := c.Uvarint()
	if node > math.MaxUint32 || places > MaxPlaces {
		return nil, damaged("numbers out of range")
	}
	h.Node = uint32(node)
	for ; places > 0; places-- {
		lane, seq := c.Uvarint(), c.Uvarint()
		if lane >= MaxPlaces {
			return nil, damaged("no such lane")
		}
		h.After = append(h.After, Place{int(lane), seq})
	}
	if c.Bad {
		return nil, damaged("cut short")
	}
	return c.Rest, nil
}

func damaged(what string) error {
	return fmt.Errorf("cluster: message: %w: %s", bloomery.ErrCorrupt, what)
}

// Records decodes all records into list, whose memory it uses again. Nothing
// of a message is applied before all of it could be read.
func Records(list []store.Record, b []byte) ([]store.Record, error) {
	n := 0
	for len(b) > 0 {
		if n == len(list) {
			list = append(list, store.Record{})
		}
		size, err := list[n].Decode(b)
		if err != nil {
			return list, err
		}
		b = b[size:]
		n++
	}
	return list[:n], nil
}
