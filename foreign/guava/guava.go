// Package guava reads and writes what BloomFilter.writeTo of Guava for Java writes.
//
//	f, err := guava.Open(data)
//	if err != nil {
//		return err
//	}
//	found := f.Contains([]byte("alice"))
//
// The file does not say which Funnel turned objects into bytes; the caller must know
// it:
//
//	Funnels.stringFunnel(UTF_8)      the bytes of the string
//	Funnels.unencodedCharsFunnel()   its UTF-16 units, each in little-endian order
//	Funnels.longFunnel()             8 bytes in little-endian order
//	Funnels.integerFunnel()          4 bytes in little-endian order
//	Funnels.byteArrayFunnel()        the bytes
package guava

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/textbook"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Format is the name of the format.
const Format = "guava"

// Strategy is how a key finds its bits; its number stands in the file.
type Strategy uint8

// The strategies of Guava, by their names there.
const (
	// Mitz32 is MURMUR128_MITZ_32, that of old versions.
	Mitz32 Strategy = 0
	// Mitz64 is MURMUR128_MITZ_64, the default of Guava.
	Mitz64 Strategy = 1
)

// String returns Guava's name of the strategy.
func (s Strategy) String() string {
	switch s {
	case Mitz32:
		return "MURMUR128_MITZ_32"
	case Mitz64:
		return "MURMUR128_MITZ_64"
	}
	return fmt.Sprintf("strategy %d", uint8(s))
}

// headerSize is the strategy, the number of bits for a key, and the number of words.
const headerSize = 6

// New returns the filter that BloomFilter.create makes for n keys with false positive
// rate p. Errors wrap bloomery.ErrParameter or bloomery.ErrTooLarge.
func New(n uint64, p float64, s Strategy) (*foreign.Bloom, error) {
	if err := textbook.Check(Format, n, p); err != nil {
		return nil, err
	}
	if s > Mitz64 {
		return nil, fmt.Errorf("guava: new: %w: %v", bloomery.ErrParameter, s)
	}
	bits := math.Trunc(textbook.Bits(n, p))
	words := max(math.Ceil(bits/64), 1)
	probes := max(math.Floor(-math.Log(p)/math.Ln2+0.5), 1)
	if words > math.MaxInt32 || probes > math.MaxUint8 {
		return nil, fmt.Errorf("guava: new: %w: %.0f words and %.0f bits for a key", bloomery.ErrTooLarge, words, probes)
	}
	l := layout(s, int(probes), uint64(words))
	l.Capacity, l.ErrorRate = n, p
	return l.New()
}

// Open returns the filter in a file. Errors wrap bloomery.ErrCorrupt,
// bloomery.ErrVersion (a strategy that is not known) or bloomery.ErrTooLarge.
func Open(data []byte) (*foreign.Bloom, error) {
	if len(data) < headerSize {
		return nil, fmt.Errorf("guava: open: %w: %d bytes, and a header has %d", bloomery.ErrCorrupt, len(data), headerSize)
	}
	s, probes, words := Strategy(data[0]), int(data[1]), uint64(binary.BigEndian.Uint32(data[2:]))
	switch {
	case s > Mitz64:
		return nil, fmt.Errorf("guava: open: %w: %v", bloomery.ErrVersion, s)
	case probes == 0 || words == 0 || words > math.MaxInt32:
		return nil, fmt.Errorf("guava: open: %w: %d words and %d bits for a key", bloomery.ErrCorrupt, words, probes)
	case uint64(len(data)-headerSize) != 8*words:
		return nil, fmt.Errorf("guava: open: %w: %d bytes, want %d for %d words", bloomery.ErrCorrupt, len(data), headerSize+8*words, words)
	}
	return layout(s, probes, words).Big(data[headerSize:])
}

// layout is that of a filter of so many words.
func layout(s Strategy, probes int, words uint64) foreign.Layout {
	rule := mitz64
	if s == Mitz32 {
		rule = mitz32
	}
	return foreign.Layout{
		Format: Format, Variant: s.String(), Bits: 64 * words, Probes: probes, Rule: rule,
		Append: func(dst []byte, b *foreign.Bloom) ([]byte, error) {
			dst = binary.BigEndian.AppendUint32(append(dst, byte(s), byte(probes)), uint32(words))
			return b.AppendBig(dst), nil
		},
	}
}

// mitz32 steps through the array in 32 bits with a sign, as Java has them.
func mitz32(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
	h, _ := murmur.Sum128(key, 0)
	at, step := int32(h), int32(h>>32)
	for range probes {
		at += step
		if !visit(uint64(max(at, ^at)) % bits) {
			return false
		}
	}
	return true
}

// mitz64 steps through the array in 64 bits, without the sign.
func mitz64(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
	at, step := murmur.Sum128(key, 0)
	for range probes {
		if !visit(at & math.MaxInt64 % bits) {
			return false
		}
		at += step
	}
	return true
}
