package quotient

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
)

// The views: what filters are read with, over an encoding that stays where it lies.
type (
	coreView struct {
		core
		envelope.Viewed
	}
	segmentsView struct {
		segments
		envelope.Viewed
	}
)

var (
	_ bloomery.Counter = (*coreView)(nil)
	_ bloomery.Counter = (*segmentsView)(nil)
)

// View returns a view of data, the encoding of a Filter or a Growing; it is a
// bloomery.Counter, too. Opening that of a Growing costs a directory of its segments.
// Where data does not start at a multiple of 8 bytes, or the machine is big-endian,
// the arrays are copied. Of c only Hasher may be set. Errors are those of Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	if envelope.KindIn(data) == envelope.KindGrowing {
		return envelope.View(c.growingOpening(), data, (*segmentsView).load)
	}
	return envelope.View(c.opening(), data, (*coreView).load)
}

// Verify checks the payload, and that it is a multiset.
func (f *coreView) Verify() error { return f.VerifyAnd(f.verify) }

// Clone returns a Filter, see bloomery.View.
func (f *coreView) Clone() (bloomery.Hashed, error) {
	return envelope.Cloned(f, func() *Filter {
		own := &Filter{core: f.core}
		own.data = memory.Bytes(len(f.data))
		copy(own.data, f.data)
		own.reach, own.unmeasured = own.measured(), false
		return own
	})
}

// Verify checks the payload, and that it is a multiset.
func (g *segmentsView) Verify() error {
	_, err := g.verified()
	return err
}

// verified returns a copy of the directory with the totals of all segments, so
// that a view stays safe for concurrent use.
func (g *segmentsView) verified() (got segments, err error) {
	err = g.VerifyAnd(func() (err error) {
		got, err = parseGrowing(g.Sealed.Header, g.hasher)
		if err == nil {
			err = got.fill(g.Sealed.Header, g.Sealed.Payload)
		}
		if err == nil {
			err = got.verify()
		}
		return err
	})
	return got, err
}

// Clone returns a Growing, see bloomery.View.
func (g *segmentsView) Clone() (bloomery.Hashed, error) {
	got, err := g.verified()
	if err != nil {
		return nil, err
	}
	return &Growing{got.clone()}, nil
}
