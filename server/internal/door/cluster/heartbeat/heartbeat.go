// Package heartbeat is what nodes of a cluster send to each other each second, and what they learn
// by comparing it.
package heartbeat

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Every is how often a node sends one.
const Every = time.Second

// Beat is what a node sends to all others each second. Nothing that has to be right
// depends on it.
type Beat struct {
	Node     uint32
	Level    uint64
	At       int64  // milliseconds since 1970
	Digest   uint64 // of settings
	Headroom uint64
	Applied  []uint64 // by lane
	Kept     []uint64 // by lane: all up to here is in a durable snapshot
	Sums     []PartSum
	Addr     string // where clients reach the node, "" from releases that do not send it
	Peer     string // where other nodes ask it, see package peers; "" if they do not
	Data     uint64 // bytes of its data, 0 from releases that do not send it
	Stuck    string // why it cannot learn what it is to hold, "" if it can
	Shut     bool   // it takes no clients: it starts or ends
}

const beatVersion = 1

// Bytes returns the beat as it is sent to nodes of a cluster.
func (v *Beat) Bytes(cluster uint64) []byte {
	b := []byte{beatVersion}
	b = binary.LittleEndian.AppendUint64(b, cluster)
	b = binary.LittleEndian.AppendUint64(b, v.Digest)
	for _, n := range []uint64{uint64(v.Node), v.Level, uint64(v.At), v.Headroom, uint64(len(v.Applied))} {
		b = binary.AppendUvarint(b, n)
	}
	for i := range v.Applied {
		b = binary.AppendUvarint(b, v.Applied[i])
		b = binary.AppendUvarint(b, v.Kept[i])
	}
	b = appendSums(b, v.Sums)
	b = wire.AppendBytes(b, v.Addr)
	b = wire.AppendBytes(b, v.Peer)
	b = binary.AppendUvarint(b, v.Data)
	b = wire.AppendBytes(b, v.Stuck)
	if v.Shut {
		b = append(b, 1)
	}
	return b
}

// Parse reads a beat of a cluster. Beats of other versions are passed over.
func Parse(b []byte, cluster uint64) (v Beat, err error) {
	bad := fmt.Errorf("cluster: beat: %w", bloomery.ErrCorrupt)
	if len(b) < 9 || b[0] != beatVersion || ClusterOf(b) != cluster {
		return v, bad
	}
	c := wire.Reader{Rest: b[9:]}
	v.Digest = c.Uint64()
	node := c.Uvarint()
	v.Level, v.At, v.Headroom = c.Uvarint(), int64(c.Uvarint()), c.Uvarint()
	lanes := c.Uvarint()
	if c.Bad || node == 0 || node > roster.MaxMembers || lanes > roster.MaxLanes+2 {
		return v, bad
	}
	v.Node = uint32(node)
	for ; lanes > 0; lanes-- {
		v.Applied = append(v.Applied, c.Uvarint())
		v.Kept = append(v.Kept, c.Uvarint())
	}
	if len(c.Rest) > 0 { // there are releases that send no sums
		v.Sums = parseSums(&c)
	}
	if len(c.Rest) > 0 { // and those that send no address
		v.Addr = string(c.Bytes())
	}
	if len(c.Rest) > 0 { // nor where they are asked
		v.Peer = string(c.Bytes())
	}
	if len(c.Rest) > 0 { // nor how much they hold
		v.Data = c.Uvarint()
	}
	if len(c.Rest) > 0 { // nor what keeps them from holding more
		v.Stuck = string(c.Bytes())
	}
	if len(c.Rest) > 0 { // nor that they take no clients
		v.Shut = c.Uvarint() != 0 // what later releases put behind it is passed over
	}
	if c.Bad {
		return v, bad
	}
	return v, nil
}

// ClusterOf returns of which cluster a beat is.
func ClusterOf(b []byte) uint64 {
	if len(b) < 9 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[1:])
}
