package redisbloom

import (
	"math"

	machine "github.com/bloomery/bloomery/internal/redisbloom"
)

// TDigest is RedisBloom's TDIGEST: it estimates quantiles and ranks of a stream of
// numbers from a bounded number of nodes, each a mean and a weight. The zero value has no
// values and can only be unmarshaled into.
//
// The smallest and the largest value are exact. Errors are small near both ends and
// largest in the middle, about 1/compression of the ranks and usually far less: that is
// experience, not a bound. Questions compress the digest and so change it.
type TDigest struct {
	noJSON
	m *machine.TDigest
}

// TDigestStats is the state of a TDigest.
type TDigestStats struct {
	Compression int64
	// Count is the number of values, Min and Max the smallest and the largest of them:
	// NaN if there is none.
	Count    int64
	Min, Max float64
	// Bytes is the memory of the digest.
	Bytes uint64
}

// NewTDigest returns an empty digest; RedisBloom's default of compression is 100. The
// error wraps bloomery.ErrParameter or bloomery.ErrTooLarge.
func NewTDigest(compression int64) (*TDigest, error) {
	m, err := machine.NewTDigest(machine.TDigestParams{Compression: compression})
	if err != nil {
		return nil, err
	}
	return &TDigest{m: m}, nil
}

// Add adds values. They must be finite numbers, or the error wraps
// bloomery.ErrParameter, and nothing has changed.
func (t *TDigest) Add(values ...float64) error {
	if t.m == nil {
		return errZero("add", "TDigest")
	}
	return t.m.Add(values...)
}

// Merge adds the values of other. The error is that of Add.
func (t *TDigest) Merge(other *TDigest) error {
	if t.m == nil {
		return errZero("merge", "TDigest")
	}
	return t.m.Merge(zeroOr(other.m))
}

// Quantile returns the value that a share q, 0 to 1, of all values is below; NaN for
// fewer than two values, as in RedisBloom.
func (t *TDigest) Quantile(q float64) float64 {
	return t.ask(func(m *machine.TDigest) float64 { return m.Quantile(q) })
}

// CDF returns the share of values that are below v, those equal to it counted half; NaN
// for fewer than two values.
func (t *TDigest) CDF(v float64) float64 {
	return t.ask(func(m *machine.TDigest) float64 { return m.CDF(v) })
}

// ByRank returns the value at a rank, 0 for the smallest; +Inf beyond the largest, NaN if
// there are no values.
func (t *TDigest) ByRank(rank int64) float64 {
	return t.ask(func(m *machine.TDigest) float64 { return m.ByRank(rank) })
}

// TrimmedMean returns the mean of the values between two shares, 0 to 1; NaN for fewer
// than two values.
func (t *TDigest) TrimmedMean(low, high float64) float64 {
	return t.ask(func(m *machine.TDigest) float64 { return m.TrimmedMean(low, high) })
}

func (t *TDigest) ask(question func(*machine.TDigest) float64) float64 {
	if t.m == nil {
		return math.NaN()
	}
	return question(t.m)
}

// Rank returns how many values are below v, as TDIGEST.RANK does: -1 if all are above,
// -2 if there are none, and for the only value the smallest int64, RedisBloom's answer.
func (t *TDigest) Rank(v float64) int64 {
	if t.m == nil {
		return -2
	}
	return t.m.Rank(v)
}

// Stats returns the state of the digest.
func (t *TDigest) Stats() TDigestStats {
	if t.m == nil {
		return TDigestStats{Min: math.NaN(), Max: math.NaN()}
	}
	s := t.m.Stats()
	return TDigestStats{Compression: s.Compression, Count: t.m.Observations(), Min: t.m.Min(), Max: t.m.Max(), Bytes: s.Bytes}
}

// MarshalBinary compresses the digest and returns it as DUMP answers it. The error wraps
// bloomery.ErrParameter for a zero TDigest; there is no other.
func (t *TDigest) MarshalBinary() ([]byte, error) {
	return marshal(t.m != nil, "TDigest", t.m.Payload)
}

// UnmarshalBinary replaces the digest by that of a dump. The error is that of [Open],
// or wraps bloomery.ErrIncompatible if the dump is of another kind; then nothing has
// changed.
func (t *TDigest) UnmarshalBinary(dump []byte) error {
	m, err := open[machine.TDigest](dump, "TDigest")
	if err == nil {
		t.m = m
	}
	return err
}
