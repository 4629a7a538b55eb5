package store

// What nodes of earlier levels cannot read.

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// LevelShares is the level of a cluster from which on the layers of scalable filters
// have the shares of sizing.LayerShare. Below it nodes may not know that rule.
const LevelShares = 2

// CheckLevel returns an error if nodes of a level cannot read an encoding.
func CheckLevel(data []byte, level uint64) error {
	const ruleAt = envelope.HeaderSize + 2*8
	if contents.KeepsAside(data) && level < LevelGone {
		return errLevel
	}
	if level >= LevelShares || len(data) < ruleAt+8 {
		return nil
	}
	h, err := codec.Peek(data)
	switch {
	case err != nil:
		return nil //nolint:nilerr // what is wrong with it is said where it is read
	case h.Kind.Features.Get || h.Kind.Features.Out: // kinds that came with LevelShares
	case h.Kind.Name != "scalable" || [8]byte(data[ruleAt:]) == [8]byte{}:
		return nil
	}
	return errLevel
}

var errLevel = fmt.Errorf("%w: nodes of an older release cannot read this filter: bloomery cluster upgrade first", bloomery.ErrVersion)
