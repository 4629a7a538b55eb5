package counting

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
)

// The views: what filters are read with, over an encoding that stays where it lies.
type (
	countedView struct {
		counted
		envelope.Viewed
	}
	spectrumView struct {
		spectrum
		envelope.Viewed
	}
	memoriesView struct {
		memories
		envelope.Viewed
	}
)

var (
	_ bloomery.Counter = (*countedView)(nil)
	_ bloomery.Counter = (*spectrumView)(nil)
)

// View returns a view of data, the encoding of a filter of any kind of this package.
// That of a Filter or a Spectral is a bloomery.Counter, too. Where data does not start
// at a multiple of 8 bytes, or the machine is big-endian, the array is copied. Of c
// only Hasher may be set. Errors are those of Decode.
func (c Config) View(data []byte) (bloomery.View, error) {
	switch envelope.KindIn(data) {
	case envelope.KindSpectral:
		return envelope.View(c.opening(), data, (*spectrumView).load)
	case envelope.KindStable:
		return envelope.View(c.opening(), data, (*memoriesView).load)
	}
	return envelope.View(c.opening(), data, (*countedView).load)
}

// Verify checks the payload, and that it can be the state of such a filter.
func (f *countedView) Verify() error  { return f.VerifyAnd(f.check) }
func (f *spectrumView) Verify() error { return f.VerifyAnd(f.check) }
func (f *memoriesView) Verify() error { return f.VerifyAnd(f.check) }

// Clone returns a Filter, a Spectral or a Stable, see bloomery.View.
func (f *countedView) Clone() (bloomery.Hashed, error)  { return envelope.Cloned(f, f.clone) }
func (f *spectrumView) Clone() (bloomery.Hashed, error) { return envelope.Cloned(f, f.clone) }
func (f *memoriesView) Clone() (bloomery.Hashed, error) { return envelope.Cloned(f, f.clone) }
