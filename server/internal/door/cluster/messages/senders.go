package messages

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Senders is which messages of which nodes a lane has had. It is part of the state
// of the lane: the verdict on a message depends on it and on the message only, so
// it is the same on every node, and at every replay (I2, I7). Its size is that of
// the number of nodes.
//
// Not safe for concurrent use: it belongs to a lane.
type Senders map[uint32]*sender

// sender is what was had of one node: the last session, and in it the highest
// counter and which of the 64 up to it. A node does not send counter n while one
// of n-Window or less has not come back, so all before those 64 were had.
type sender struct{ session, high, mask uint64 }

// Window is how many messages of a node and lane may be without a sequence.
const Window = 32

// Verdict is what to do with a message.
type Verdict uint8

// The verdicts.
const (
	Fresh  Verdict = iota // apply it
	Repeat                // it was applied
	Fenced                // the node has begun a later session
)

// Take returns the verdict on a message, and notes that it was had.
func (t Senders) Take(node uint32, session, counter uint64) Verdict {
	s := t[node]
	if s == nil {
		s = &sender{}
		t[node] = s
	}
	switch {
	case session < s.session:
		return Fenced
	case session > s.session:
		*s = sender{session: session, high: counter, mask: 1}
		return Fresh
	case counter > s.high:
		s.mask = s.mask<<min(counter-s.high, 64) | 1
		s.high = counter
		return Fresh
	}
	behind := s.high - counter
	if behind >= 64 || s.mask>>behind&1 != 0 {
		return Repeat
	}
	s.mask |= 1 << behind
	return Fresh
}

// sendersVersion is the first byte of an encoded table.
const sendersVersion = 1

// Append appends the encoding of the table, in the order of nodes.
func (t Senders) Append(b []byte) []byte {
	b = append(b, sendersVersion)
	b = binary.AppendUvarint(b, uint64(len(t)))
	for _, node := range slices.Sorted(maps.Keys(t)) {
		s := t[node]
		for _, v := range []uint64{uint64(node), s.session, s.high, s.mask} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// WholeSenders reads what Append wrote, all of b. Errors are those of ParseSenders.
func WholeSenders(b []byte) (Senders, error) {
	t, rest, err := ParseSenders(b)
	if err == nil && len(rest) > 0 {
		return nil, errSenders
	}
	return t, err
}

var errSenders = fmt.Errorf("cluster: senders: %w", bloomery.ErrCorrupt)

// ParseSenders reads what Append wrote, and returns what is behind it. The error wraps
// bloomery.ErrCorrupt or bloomery.ErrVersion.
func ParseSenders(b []byte) (t Senders, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errSenders
	}
	if b[0] != sendersVersion {
		return nil, nil, fmt.Errorf("cluster: senders: %w: table of version %d, this release reads %d: a later one is needed", bloomery.ErrVersion, b[0], sendersVersion)
	}
	c := wire.Reader{Rest: b[1:]}
	count := c.Uvarint()
	if count > uint64(len(c.Rest))/4 {
		return nil, nil, errSenders
	}
	t = make(Senders, count)
	for range count {
		node := c.Uvarint()
		if node > math.MaxUint32 || t[uint32(node)] != nil {
			return nil, nil, errSenders
		}
		t[uint32(node)] = &sender{session: c.Uvarint(), high: c.Uvarint(), mask: c.Uvarint()}
	}
	if c.Bad {
		return nil, nil, errSenders
	}
	return t, c.Rest, nil
}
