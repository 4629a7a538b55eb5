package redisbloom

import (
	"iter"

	"github.com/bloomery/bloomery"
	machine "github.com/bloomery/bloomery/internal/redisbloom"
)

// Bloom is RedisBloom's BF: a chain of Bloom filters of which only the newest takes
// items. The zero value contains nothing and can only be unmarshaled into.
type Bloom struct {
	noJSON
	m *machine.Bloom
}

// BloomConfig is what BF.RESERVE asks for. ErrorRate and Capacity must be set; Expansion
// has RedisBloom's default if it is 0.
type BloomConfig struct {
	// ErrorRate is the false positive rate asked for, in (0, 1).
	ErrorRate float64
	// Capacity is the number of items of the first filter of the chain.
	Capacity uint64
	// Expansion is the factor from one filter to the next; the default is 2.
	Expansion uint32
	// NonScaling makes a filter that refuses items when it is full: Expansion does not
	// count.
	NonScaling bool
}

// NewBloom returns an empty filter. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge.
func NewBloom(c BloomConfig) (*Bloom, error) {
	if c.Expansion == 0 {
		c.Expansion = 2
	}
	m, err := machine.NewBloom(machine.BloomParams{ErrorRate: c.ErrorRate, Capacity: c.Capacity, Expansion: c.Expansion, NonScaling: c.NonScaling})
	if err != nil {
		return nil, err
	}
	return &Bloom{m: m}, nil
}

// LoadBloom returns the filter whose chunks BF.SCANDUMP answered, each with its number.
// The error wraps bloomery.ErrCorrupt, bloomery.ErrParameter (a chunk that has no place
// in the filter) or bloomery.ErrTooLarge.
func LoadBloom(chunks iter.Seq2[int64, []byte]) (*Bloom, error) {
	m, err := load(chunks, func(header []byte) (*machine.Bloom, error) {
		h, err := machine.ParseBloomHeader(header)
		if err != nil {
			return nil, err
		}
		return h.New(nil)
	})
	if err != nil {
		return nil, err
	}
	return &Bloom{m: m}, nil
}

// Chunks yields what BF.SCANDUMP answers and BF.LOADCHUNK takes. The filter must not
// change meanwhile, and the bytes are its own.
func (b *Bloom) Chunks() iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		if b.m == nil {
			return
		}
		for at, data := b.m.ScanDump(0); at != 0; at, data = b.m.ScanDump(at) {
			if !yield(at, data) {
				return
			}
		}
	}
}

// Add adds key and reports whether the filter counted it as new. The error wraps
// bloomery.ErrFull or bloomery.ErrTooLarge, and then nothing has changed.
func (b *Bloom) Add(key []byte) (bool, error) {
	if b.m == nil {
		return false, errZero("add", "Bloom")
	}
	return b.m.Add(key)
}

// Contains reports whether key may have been added.
func (b *Bloom) Contains(key []byte) bool { return zeroOr(b.m).Contains(key) }

// ContainsKeys sets dst[i] to Contains(keys[i]). It panics if dst is shorter than keys.
func (b *Bloom) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys)]
	m := zeroOr(b.m)
	var digests [256]machine.Digest
	for len(keys) > 0 {
		n := min(len(keys), len(digests))
		for i, key := range keys[:n] {
			digests[i] = m.Digest(key)
		}
		m.ContainsDigests(dst[:n], digests[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// Stats returns the state of the filter: items are those that were new when they were
// added, and the rate predicted is that of the bits as they are.
func (b *Bloom) Stats() bloomery.Stats { return zeroOr(b.m).Stats() }

// String returns Stats as a line of text.
func (b *Bloom) String() string { return b.Stats().String() }

// MarshalBinary returns the filter as DUMP answers it. The error wraps
// bloomery.ErrParameter for a zero Bloom; there is no other.
func (b *Bloom) MarshalBinary() ([]byte, error) { return marshal(b.m != nil, "Bloom", b.m.Payload) }

// UnmarshalBinary replaces the filter by that of a dump. The error is that of [Open],
// or wraps bloomery.ErrIncompatible if the dump is of another kind; then nothing has
// changed.
func (b *Bloom) UnmarshalBinary(dump []byte) error {
	m, err := open[machine.Bloom](dump, "Bloom")
	if err == nil {
		b.m = m
	}
	return err
}
