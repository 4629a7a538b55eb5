package store

// Scalable filters as releases of level 1 make them.

import (
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
)

// LevelShares is the level of a cluster from which on the layers of scalable filters
// have the shares of sizing.LayerShare. Below it nodes may not know that rule.
const LevelShares = 2

// EqualLayers returns the encoding of a scalable filter whose first layer is f, of kind
// bloom or standard. Its further layers have a fortieth of the rate each, and total is
// the rate of the whole. That is the oldest form of docs/format.md, kind 5: a record of
// before gives the same bytes for ever, and nodes of an older release can read them.
func EqualLayers(f bloomery.Hashed, rate, total float64) ([]byte, error) {
	counts, ok := f.(interface{ EstimateCount() uint64 })
	data, err := encoded(f)
	if !ok && err == nil {
		err = ErrType
	}
	if err != nil {
		return nil, err
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		return nil, err
	}
	const line = 8 // words
	h, words := sealed.Header, sealed.Words()
	lines := make([]uint64, 2*line, 2*line+len(words)+line)
	lines[0], lines[1] = math.Float64bits(total), 1
	copy(lines[line:], []uint64{
		uint64(h.Kind), h.Size, uint64(h.K), h.Capacity, math.Float64bits(h.Rate), min(counts.EstimateCount(), h.Size),
	})
	lines = append(lines, words...)
	lines = append(lines, make([]uint64, -len(words)&(line-1))...)
	h.Kind, h.K, h.Extra, h.Rate, h.Payload = envelope.KindScalable, 2, 1, rate, uint64(len(lines))*8
	return envelope.Append(nil, h, lines), nil
}

// CheckLevel returns an error if nodes of a level cannot read an encoding.
func CheckLevel(data []byte, level uint64) error {
	const ruleAt = envelope.HeaderSize + 2*8
	if _, kept := cutAside(data); kept != nil && level < LevelGone {
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
