package follow

// What news make of an encoding.

import (
	"encoding"
	"errors"
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/growth"
	"github.com/bloomery/bloomery/internal/news"
)

// setBits returns an encoding with more bits set.
func setBits(old, changes []byte) ([]byte, error) {
	h, err := envelope.ParseHeader(old)
	if err != nil {
		return nil, err
	}
	switch h.Kind {
	case envelope.KindBloom, envelope.KindStandard, envelope.KindPartitioned, envelope.KindSplit:
	default:
		return nil, fmt.Errorf("%w: bits for a filter of kind %s", bloomery.ErrCorrupt, envelope.KindName(h.Kind))
	}
	if h.EncodedSize() != uint64(len(old)) {
		return nil, fmt.Errorf("%w: %d bytes, the header says %d", bloomery.ErrCorrupt, len(old), h.EncodedSize())
	}
	out := make([]byte, envelope.HeaderSize+h.Payload, h.EncodedSize())
	copy(out, old)
	array := out[envelope.HeaderSize:]
	if err := news.EachBit(changes, 8*h.Payload, func(at uint64) { array[at/8] |= 1 << (at % 8) }); err != nil {
		return nil, err
	}
	return envelope.Seal(out, 0, h), nil
}

var errCannot = errors.New("a step that filters of its kind cannot do")

// redo returns an encoding to which was done again what the source has done. It grows by room bytes at most.
func (s *server) redo(old, changes []byte, room uint64) ([]byte, error) {
	f, err := codec.Config{Hasher: s.config.Hasher, Limits: s.config.Limits}.Open(old)
	if err != nil {
		return nil, err
	}
	g := grower{f: f, before: f.Stats().Bytes, room: room, left: room}
	if err := news.EachStep(changes, g.step); err != nil {
		return nil, err
	}
	m, ok := f.(encoding.BinaryMarshaler)
	if !ok {
		return nil, fmt.Errorf("%w: a %T has no encoding", bloomery.ErrIncompatible, f)
	}
	return m.MarshalBinary()
}

// grower does steps, and asks before each what it can take.
type grower struct {
	f      bloomery.Hashed
	before uint64 // the bytes of f before the first step
	room   uint64 // by how many it may grow
	left   uint64 // how many of them no step has asked for
}

func (g *grower) step(step news.Step, v uint64) error {
	most := growth.Most(g.f, 1)
	if most > g.left { // mostly a step has taken less than it asked for
		g.left = leftOf(g.room, g.before, g.f.Stats().Bytes)
	}
	if most > g.left {
		return errGrowth(most, g.left)
	}
	g.left -= most
	return redoStep(g.f, step, v)
}

// leftOf returns what is left of room for a filter that had some bytes before, and has others now.
func leftOf(room, before, now uint64) uint64 { return room - min(room, max(now, before)-before) }

// errGrowth is the error of a step that can take more than there is.
func errGrowth(most, left uint64) error {
	return fmt.Errorf("%w: the filter grows by up to %d bytes, and its copy has room for %d more", bloomery.ErrTooLarge, most, left)
}

// redoStep does a step. What had no room at the source changes nothing here, either, but for
// a quorum, some members of which may have taken it: the same ones as there.
func redoStep(f bloomery.Hashed, step news.Step, v uint64) error {
	adder, adds := f.(bloomery.Adder)
	inserter, inserts := f.(bloomery.Inserter)
	deleter, deletes := f.(bloomery.Deleter)
	window, turns := f.(*compose.Window)
	_, quorum := f.(*compose.Quorum)
	switch {
	case step == news.Add && adds:
		adder.AddHash(v)
	case step == news.Add && inserts:
		if err := inserter.InsertHash(v); err != nil && !quorum {
			return err
		}
	case step == news.Delete && deletes:
		deleter.DeleteHash(v)
	case step == news.Advance && turns:
		window.Advance(v)
	default:
		return fmt.Errorf("%w: %w: step %d for a %T", bloomery.ErrCorrupt, errCannot, step, f)
	}
	return nil
}
