package cluster

// The bytes of a message.

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

// A message is what a lane holds: records of one node that were sent together.
//
//	version 1, flags, cluster 8, node, session, counter,
//	number of places, (lane, sequence) each, records, CRC-32C 4
//
// Numbers without a size are varints, others little-endian. Records are as
// store.AppendRecord writes them; they take all that is left but the checksum,
// which is that of everything before it.
const messageVersion = 1

// Flags of a message.
const flagGroup = 1 // all records or none, with nothing in between

const (
	mostBytes = 900 << 10 // of a message
	spare     = 4 << 10   // what a log needs of its limit for itself
	headBytes = 2 << 10   // of a message, more than what stands around its records
	maxPlaces = roster.MaxLanes + 2
)

// header is what stands before the records of a message. A message of node 0 is
// from a node that has no session yet; it holds records that can be applied again
// without harm.
type header struct {
	flags   uint8
	cluster uint64
	node    uint32
	session uint64
	counter uint64
	after   []place // what has to be applied before it
}

// place is a sequence of a lane.
type place struct {
	lane int
	seq  uint64
}

func appendHeader(b []byte, h *header) []byte {
	b = append(b, messageVersion, h.flags)
	b = binary.LittleEndian.AppendUint64(b, h.cluster)
	for _, v := range []uint64{uint64(h.node), h.session, h.counter, uint64(len(h.after))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, p := range h.after {
		b = binary.AppendUvarint(b, uint64(p.lane))
		b = binary.AppendUvarint(b, p.seq)
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendSum ends a message.
func appendSum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// errStray means that bytes are no message: no node has sent them.
var errStray = errors.New("not sent by a node")

// sumOf returns the checksum of a message, 0 if it has none.
func sumOf(msg []byte) uint32 {
	if len(msg) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(msg[len(msg)-4:])
}

// parseMessage reads the header of a message, whose places it appends to those of h,
// and returns its records. The error wraps bloomery.ErrCorrupt or
// bloomery.ErrVersion; it wraps errStray as well if nothing shows that this is a
// message.
func parseMessage(h *header, b []byte) (records []byte, err error) {
	if len(b) < 1+1+8+4+4 {
		return nil, fmt.Errorf("%w: %w", damaged("cut short"), errStray)
	}
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != sumOf(b) {
		return nil, fmt.Errorf("%w: %w", damaged("checksum"), errStray)
	}
	if body[0] != messageVersion {
		return nil, fmt.Errorf("cluster: %w: message of version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, body[0], messageVersion)
	}
	if body[1]&^flagGroup != 0 {
		return nil, fmt.Errorf("cluster: %w: message with flags %#x: a later release is needed", bloomery.ErrVersion, body[1])
	}
	*h = header{flags: body[1], cluster: binary.LittleEndian.Uint64(body[2:]), after: h.after[:0]}
	c := wire.Reader{Rest: body[10:]}
	node := c.Uvarint()
	h.session, h.counter = c.Uvarint(), c.Uvarint()
	places := c.Uvarint()
	if node > math.MaxUint32 || places > maxPlaces {
		return nil, damaged("numbers out of range")
	}
	h.node = uint32(node)
	for ; places > 0; places-- {
		lane, seq := c.Uvarint(), c.Uvarint()
		if lane >= maxPlaces {
			return nil, damaged("no such lane")
		}
		h.after = append(h.after, place{int(lane), seq})
	}
	if c.Bad {
		return nil, damaged("cut short")
	}
	return c.Rest, nil
}

func damaged(what string) error {
	return fmt.Errorf("cluster: message: %w: %s", bloomery.ErrCorrupt, what)
}

// decodeRecords decodes all records into list, whose memory it uses again. Nothing
// of a message is applied before all of it could be read.
func decodeRecords(list []store.Record, b []byte) ([]store.Record, error) {
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
