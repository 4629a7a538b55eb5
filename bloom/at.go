package bloom

import (
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/far"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/sizing"
)

// At returns the Filter, Standard, Partitioned or Split whose encoding begins at the first byte of
// r, to be asked where it lies: one read of 64 bytes for a key of a Filter or a Split, one for
// each bit of a key of the others. Of c only Hasher may be set. Errors are those of Decode, or
// those of r.
func (c Config) At(r io.ReaderAt) (bloomery.Far, error) {
	return far.Open(c.opening(), r, c.found)
}

// found returns how a filter far away is asked.
func (c Config) found(s *far.Source) (far.Found, error) {
	kind, layout := s.Header.Kind, sizing.Blocked
	switch kind {
	case envelope.KindStandard:
		layout = sizing.Standard
	case envelope.KindPartitioned:
		layout = sizing.Partitioned
	case envelope.KindSplit:
		layout = sizing.Split
	case envelope.KindScalable, envelope.KindSliced:
		return far.Found{}, fmt.Errorf("%w: a filter of several arrays cannot be asked where it lies, open it", bloomery.ErrIncompatible)
	default:
		kind = envelope.KindBloom // any other is refused
	}
	b, err := parse(s.Header, kind, layout, c.Hasher)
	if err != nil {
		return far.Found{}, err
	}
	has := b.hasFlat
	name := layout.String()
	switch layout {
	case sizing.Blocked:
		has, name = b.hasLine, "bloom"
	case sizing.Split:
		has = b.hasHalf
	}
	return far.Found{Hasher: b.hasher, Has: has, Stats: bloomery.Stats{
		Kind: name, Capacity: b.capacity, Bits: b.shape.Bits, Bytes: s.Header.Payload, Asked: b.rate,
	}}, nil
}

// hasLine looks a hash up in the array of a Filter.
func (f *base) hasLine(p *far.Parts, h uint64) (found, known bool) {
	var b kernel.Block
	n := f.shape.Bits / sizing.BlockBits
	if !p.Words(b[:], kernel.BlockOf(n, h)*lineWords) {
		return false, false
	}
	return kernel.InBlock(&b, n, f.shape.K, h), true
}

// hasHalf looks a hash up in the array of a Split. Its bits do not depend on the block.
func (f *base) hasHalf(p *far.Parts, h uint64) (found, known bool) {
	var b [1]kernel.SplitBlock
	if !p.Words(b[0][:], kernel.SplitBlockOf(f.shape.Bits/sizing.SplitBits, h)*halfWords) {
		return false, false
	}
	return kernel.HasSplit(b[:], h), true
}

// hasFlat looks a hash up in the array of a Standard or a Partitioned.
func (f *base) hasFlat(p *far.Parts, h uint64) (found, known bool) {
	places := newFlat(*f, nil)
	found, known = true, true
	from := uint64(0)
	for range f.shape.K {
		var word [1]uint64
		at := from + probe(h, places.span)
		if !p.Words(word[:], at/64) {
			known = false
		} else if bit(word[:], at%64)&1 == 0 {
			found = false
		}
		h += probeStep
		from += places.step
	}
	return found, known
}
