package redisbloom

import (
	"iter"

	machine "github.com/bloomery/bloomery/internal/redisbloom"
)

// CountMin is RedisBloom's CMS, a count-min sketch: it counts how often items occurred,
// in space that does not depend on their number. The zero value has counted nothing and
// can only be unmarshaled into.
//
// A count is never too low. It is too high by more than 2/width of the sum of all
// increments with probability at most 2^-depth, for an item that was not chosen to
// collide. Counters stop at 4,294,967,295, which then means "at least".
type CountMin struct {
	noJSON
	m *machine.CountMin
}

// CountMinStats is the state of a CountMin.
type CountMinStats struct {
	Width, Depth uint64
	// Total is the sum of all increments.
	Total uint64
	// A count is too high by more than Rate·Total with at most this Probability.
	Rate, Probability float64
	// Bytes is the memory of the sketch.
	Bytes uint64
}

// NewCountMin returns a sketch of depth rows of width counters, as CMS.INITBYDIM makes
// it. The error wraps bloomery.ErrParameter or bloomery.ErrTooLarge.
func NewCountMin(width, depth uint64) (*CountMin, error) {
	m, err := machine.NewCountMin(machine.CountMinParams{Width: width, Depth: depth})
	if err != nil {
		return nil, err
	}
	return &CountMin{m: m}, nil
}

// CountMinFor returns a sketch whose counts are too high by more than rate times the sum
// of all increments with at most this probability, as CMS.INITBYPROB makes it. Both are
// in (0, 1). Its error is that of NewCountMin.
func CountMinFor(rate, probability float64) (*CountMin, error) {
	p, err := machine.CountMinFor(rate, probability)
	if err != nil {
		return nil, err
	}
	return NewCountMin(p.Width, p.Depth)
}

// Incr adds n to the count of item and returns its count. A zero CountMin has no
// counters: its counts stay 0.
func (c *CountMin) Incr(item []byte, n uint64) uint32 {
	if c.m == nil {
		return 0
	}
	return c.m.Incr(item, n)
}

// Count returns the count of item: 0 for one that certainly did not occur.
func (c *CountMin) Count(item []byte) uint32 {
	if c.m == nil {
		return 0
	}
	return c.m.Count(item)
}

// Merge replaces the counts by the sums of those of sources, each times its weight. The
// error wraps bloomery.ErrParameter for sketches of other sizes and
// bloomery.ErrTooLarge for sums that leave their range, and then nothing has changed.
func (c *CountMin) Merge(sources []*CountMin, weights []int64) error {
	machines := make([]*machine.CountMin, len(sources))
	for i, s := range sources {
		machines[i] = zeroOr(s.m)
	}
	if c.m == nil {
		return errZero("merge", "CountMin")
	}
	return c.m.Merge(machines, weights)
}

// Stats returns the state of the sketch.
func (c *CountMin) Stats() CountMinStats {
	if c.m == nil {
		return CountMinStats{}
	}
	s := c.m.Stats()
	return CountMinStats{
		Width: c.m.Width(), Depth: c.m.Depth(), Total: c.m.Total(),
		Rate: s.Rate, Probability: s.Probability, Bytes: s.Bytes,
	}
}

// MarshalBinary returns the sketch as DUMP answers it. The error wraps
// bloomery.ErrParameter for a zero CountMin; there is no other.
func (c *CountMin) MarshalBinary() ([]byte, error) {
	return marshal(c.m != nil, "CountMin", c.m.Payload)
}

// UnmarshalBinary replaces the sketch by that of a dump. The error is that of [Open],
// or wraps bloomery.ErrIncompatible if the dump is of another kind; then nothing has
// changed.
func (c *CountMin) UnmarshalBinary(dump []byte) error {
	m, err := open[machine.CountMin](dump, "CountMin")
	if err == nil {
		c.m = m
	}
	return err
}

// TopK is RedisBloom's TOPK, the HeavyKeeper sketch: it finds the k most frequent items
// of a stream and counts them. The zero value keeps nothing and can only be unmarshaled
// into.
//
// A count is not above the true one, unless the 32-bit fingerprints of two items are
// equal. It may be below, and an item may be missing; there is no bound for that. With a
// width of 10 to 100 times k the loss is small for items of a share well above 1/width.
type TopK struct {
	noJSON
	m *machine.TopK
}

// TopKConfig is what TOPK.RESERVE asks for; Width, Depth and Decay have RedisBloom's
// defaults if they are 0.
type TopKConfig struct {
	// K is the number of items to keep, at least 1.
	K uint32
	// Width is the number of cells of a row. RedisBloom's default of 8 is too little for
	// most uses.
	Width uint32
	// Depth is the number of rows; the default is 7.
	Depth uint32
	// Decay, more than 0 and at most 1, is the base of the chance that an item takes one
	// from the count of another that holds its cell; the default is 0.9.
	Decay float64
	// Seed is where the generator of those chances starts.
	Seed uint64
}

// TopKStats is the state of a TopK.
type TopKStats struct {
	// Items is the number of items that the sketch keeps with a count.
	Items int
	// Least is the count that an item needs to get in.
	Least uint32
	// Saturation is the share of cells in use, from about 8,000 of them.
	Saturation float64
	// Bytes is the memory of the sketch.
	Bytes uint64
}

// NewTopK returns an empty sketch. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge.
func NewTopK(c TopKConfig) (*TopK, error) {
	p := machine.TopKParams{K: c.K, Width: c.Width, Depth: c.Depth, Decay: c.Decay, Seed: c.Seed}
	if p.Width == 0 {
		p.Width = 8
	}
	if p.Depth == 0 {
		p.Depth = 7
	}
	if p.Decay == 0 {
		p.Decay = 0.9
	}
	m, err := machine.NewTopK(p)
	if err != nil {
		return nil, err
	}
	return &TopK{m: m}, nil
}

// Incr adds n, 1 to 100,000, to the count of item. If another item had to leave the k
// most frequent for it, Incr returns that one and true. The error wraps
// bloomery.ErrParameter.
func (t *TopK) Incr(item []byte, n int64) (expelled []byte, ok bool, err error) {
	if t.m == nil {
		return nil, false, errZero("incr", "TopK")
	}
	return t.m.Incr(item, n)
}

// Contains reports whether item is among the k most frequent.
func (t *TopK) Contains(item []byte) bool { return t.m != nil && t.m.Contains(item) }

// Count returns the count of item, which may be too low.
func (t *TopK) Count(item []byte) uint32 {
	if t.m == nil {
		return 0
	}
	return t.m.Count(item)
}

// All returns an iterator over the items that the sketch keeps, the most frequent first.
// An item without a name, which a dump may hold, is nil.
func (t *TopK) All() iter.Seq2[[]byte, uint32] { return zeroOr(t.m).All() }

// Stats returns the state of the sketch.
func (t *TopK) Stats() TopKStats {
	if t.m == nil {
		return TopKStats{}
	}
	return TopKStats(t.m.Stats())
}

// MarshalBinary returns the sketch as DUMP answers it, which ends an item at its first
// zero byte. The error wraps bloomery.ErrParameter for a zero TopK; there is no other.
func (t *TopK) MarshalBinary() ([]byte, error) { return marshal(t.m != nil, "TopK", t.m.Payload) }

// UnmarshalBinary replaces the sketch by that of a dump. The error is that of [Open],
// or wraps bloomery.ErrIncompatible if the dump is of another kind; then nothing has
// changed.
func (t *TopK) UnmarshalBinary(dump []byte) error {
	m, err := open[machine.TopK](dump, "TopK")
	if err == nil {
		t.m = m
	}
	return err
}
