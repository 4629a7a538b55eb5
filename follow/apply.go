package follow

// What news make of an encoding.

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/internal/envelope"
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

// redo returns an encoding to which was done again what the source has done.
func (s *server) redo(old, changes []byte) ([]byte, error) {
	f, err := codec.Config{Hasher: s.config.Hasher, Limits: s.config.Limits}.Open(old)
	if err != nil {
		return nil, err
	}
	if err := news.EachStep(changes, func(step news.Step, v uint64) error { return redoStep(f, step, v) }); err != nil {
		return nil, err
	}
	w, ok := f.(io.WriterTo)
	if !ok {
		return nil, fmt.Errorf("%w: a %T has no encoding", bloomery.ErrIncompatible, f)
	}
	b := bytes.NewBuffer(make([]byte, 0, len(old)+len(old)>>4))
	_, err = w.WriteTo(b)
	return b.Bytes(), err
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
