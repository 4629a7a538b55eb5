package store

// What nodes of earlier levels cannot read.

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// LevelShares is the level of a cluster from which on the layers of scalable filters
// have the shares of sizing.LayerShare. Below it nodes may not know that rule.
const LevelShares = 2

// kindLevels are the levels of a cluster from which on there can be filters of a kind, of those that
// came behind level 1. A kind without a row is in no cluster.
var kindLevels = map[uint16]uint64{
	envelope.KindMap:       LevelShards,
	envelope.KindExact:     LevelShards,
	envelope.KindCorrected: LevelShards,
	envelope.KindLayers:    LevelShards,
}

// KindLevel returns the level of a cluster from which on all nodes know a kind.
func KindLevel(number uint16) uint64 {
	const last = envelope.KindStriped // of level 1
	if level, ok := kindLevels[number]; ok || number <= last {
		return max(level, firstLevel)
	}
	return math.MaxUint64
}

// CheckLevel returns an error if nodes of a level cannot read an encoding.
func CheckLevel(data []byte, level uint64) error {
	const ruleAt = envelope.HeaderSize + 2*8
	if contents.KeepsAside(data) && level < LevelGone {
		return errLevel
	}
	h, err := codec.Peek(data)
	switch {
	case err != nil:
		return nil //nolint:nilerr // what is wrong with it is said where it is read
	case level < KindLevel(h.Kind.Number):
		return errLevel
	case level < LevelShares && h.Kind.Name == "scalable" && len(data) >= ruleAt+8 && [8]byte(data[ruleAt:]) != [8]byte{}:
		return errLevel
	}
	return nil
}

var errLevel = fmt.Errorf("%w: nodes of an older release cannot read this filter: bloomery cluster upgrade first", bloomery.ErrVersion)
