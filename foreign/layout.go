package foreign

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// Rule calls visit for each bit that a key has in an array of so many bits, until visit
// returns false. It reports whether visit returned true for all of them.
type Rule func(key []byte, bits uint64, probes int, visit func(bit uint64) bool) bool

// MaxProbes is the most bits that a key may have in a [Layout]. No rate needs as many;
// the header of a hostile file could ask for any number.
const MaxProbes = 1024

// Layout is what the packages of formats fill in: how keys find their bits, and how the
// filter is written.
type Layout struct {
	_ struct{}
	// Format is the name of the format, as in "guava".
	Format string
	// Variant names the hash and the rule, if the format has several.
	Variant string
	// Seed is that of the hash, if filters of the format have one each.
	Seed uint64
	// Bits is the size of the array. In an array of 0 bits every key is found.
	Bits uint64
	// Probes is how many bits a key has, k. The rule may visit one of them twice.
	Probes int
	// Rule finds the bits of a key.
	Rule Rule

	// Capacity and ErrorRate are what the filter was made for, 0 if nobody knows.
	Capacity  uint64
	ErrorRate float64
	// Counts is whether the format holds the number of keys.
	Counts bool

	// Append appends the filter as the other system reads it. It is nil if filters of
	// the format are only read here.
	Append func(dst []byte, b *Bloom) ([]byte, error)
}

// New returns an empty filter. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge.
func (l Layout) New() (*Bloom, error) {
	if err := l.check(bloomery.ErrParameter); err != nil {
		return nil, fmt.Errorf("%s: new: %w", l.Format, err)
	}
	b, err := l.make()
	if err != nil {
		return nil, fmt.Errorf("%s: new: %w", l.Format, err)
	}
	return b, nil
}

// Little returns the filter whose array is in payload, the lowest bit of each byte
// first. Errors wrap bloomery.ErrCorrupt.
func (l Layout) Little(payload []byte) (*Bloom, error) {
	return l.load(payload, binary.LittleEndian.Uint64)
}

// Big is Little for an array of 64-bit words in big-endian order.
func (l Layout) Big(payload []byte) (*Bloom, error) {
	return l.load(payload, binary.BigEndian.Uint64)
}

// load returns the filter whose array is in payload. Nothing is allocated before the
// payload has the size that the array takes.
func (l Layout) load(payload []byte, word func([]byte) uint64) (*Bloom, error) {
	if err := l.check(bloomery.ErrCorrupt); err != nil {
		return nil, fmt.Errorf("%s: open: %w", l.Format, err)
	}
	if have := uint64(len(payload)); have < l.Bits/8+min(l.Bits%8, 1) || have > 8*l.words() {
		return nil, fmt.Errorf("%s: open: %w: %d bytes for an array of %d bits", l.Format, bloomery.ErrCorrupt, len(payload), l.Bits)
	}
	b, err := l.make()
	if err != nil {
		return nil, fmt.Errorf("%s: open: %w", l.Format, err)
	}
	for i := range b.words {
		if len(payload) >= 8 {
			b.words[i] = word(payload)
			payload = payload[8:]
			continue
		}
		var rest [8]byte // the end of an array of bytes
		copy(rest[:], payload)
		b.words[i] = word(rest[:])
	}
	if over := l.Bits % 64; over > 0 && b.words[len(b.words)-1]>>over != 0 {
		return nil, fmt.Errorf("%s: open: %w: bits behind the end of the array", l.Format, bloomery.ErrCorrupt)
	}
	return b, nil
}

// check refuses a layout that cannot be, with the given cause.
func (l Layout) check(cause error) error {
	switch {
	case l.Probes < 0 || l.Probes > MaxProbes || l.Rule == nil:
		return fmt.Errorf("%w: %d bits for a key is too high or too low, want at most %d", cause, l.Probes, MaxProbes)
	case l.Bits > math.MaxInt64:
		return fmt.Errorf("%w: %d bits", cause, l.Bits)
	}
	return nil
}

// words is the number of words that the array takes.
func (l Layout) words() uint64 { return l.Bits/64 + min(l.Bits%64, 1) }

// make returns an empty filter.
func (l Layout) make() (*Bloom, error) {
	n := l.words()
	if err := memory.Fits(8 * n); err != nil {
		return nil, err
	}
	b := &Bloom{layout: l}
	if n > 0 {
		b.words = memory.Words(int(n))
	}
	b.has = func(bit uint64) bool { return b.words[bit/64]>>(bit%64)&1 != 0 }
	b.set = func(bit uint64) bool {
		word, mask := &b.words[bit/64], uint64(1)<<(bit%64)
		b.changed = b.changed || *word&mask == 0
		*word |= mask
		return true
	}
	return b, nil
}
