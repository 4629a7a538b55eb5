// Package bip37 reads and writes the filters of Bitcoin's BIP 37, the payload of a
// filterload message: by it a light client tells a node which transactions it wants.
package bip37

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/compactsize"
	"github.com/bloomery/bloomery/foreign/internal/textbook"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Format is the name of the format.
const Format = "bip37"

// Limits of BIP 37.
const (
	MaxBytes  = 36000
	MaxProbes = 50
)

// trailerSize is the number of hash functions, the tweak and the flags.
const trailerSize = 9

// Config is what a filter is made for.
type Config struct {
	// Capacity is the number of keys.
	Capacity uint64
	// ErrorRate is the false positive rate asked for. A filter for more keys than fit
	// into 36,000 bytes does not keep it.
	ErrorRate float64
	// Tweak is added to the seeds of all hash functions.
	Tweak uint32
	// Flags say how the node adds to the filter; they are kept.
	Flags uint8
}

// New returns an empty filter. Errors wrap bloomery.ErrParameter.
func New(c Config) (*foreign.Bloom, error) {
	if err := textbook.Check(Format, c.Capacity, c.ErrorRate); err != nil {
		return nil, err
	}
	size := uint64(min(textbook.Bits(c.Capacity, c.ErrorRate), MaxBytes*8)) / 8
	// A filter of no bytes would contain every key.
	size = max(size, 1)
	probes := uint64(min(float64(size*8/c.Capacity)*math.Ln2, MaxProbes))
	l := layout(size, max(probes, 1), c.Tweak, c.Flags)
	l.Capacity, l.ErrorRate = c.Capacity, c.ErrorRate
	return l.New()
}

// Open returns the filter in a message. One without bytes contains every key, as
// Bitcoin has it. Errors wrap bloomery.ErrCorrupt.
func Open(data []byte) (*foreign.Bloom, error) {
	size, rest, ok := compactsize.Cut(data)
	if !ok || size > MaxBytes || uint64(len(rest)) != size+trailerSize {
		return nil, fmt.Errorf("bip37: open: %w: %d bytes for a filter of %d, want at most %d and %d behind them", bloomery.ErrCorrupt, len(rest), size, MaxBytes, trailerSize)
	}
	array, trailer := rest[:size], rest[size:]
	probes := binary.LittleEndian.Uint32(trailer)
	if probes > MaxProbes {
		return nil, fmt.Errorf("bip37: open: %w: %d hash functions, want at most %d", bloomery.ErrCorrupt, probes, MaxProbes)
	}
	return layout(size, uint64(probes), binary.LittleEndian.Uint32(trailer[4:]), trailer[8]).Little(array)
}

// layout is that of a filter of so many bytes.
func layout(size, probes uint64, tweak uint32, flags uint8) foreign.Layout {
	rule := func(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
		for i := range uint32(probes) {
			if !visit(uint64(murmur.Sum32(key, i*0xfba4c795+tweak)) % bits) {
				return false
			}
		}
		return true
	}
	return foreign.Layout{
		Format: Format, Seed: uint64(tweak), Bits: 8 * size, Probes: int(probes), Rule: rule,
		Append: func(dst []byte, b *foreign.Bloom) ([]byte, error) {
			dst = b.AppendLittle(compactsize.Append(dst, size), int(size))
			dst = binary.LittleEndian.AppendUint32(dst, uint32(probes))
			return append(binary.LittleEndian.AppendUint32(dst, tweak), flags), nil
		},
	}
}
