package compose

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
)

var (
	_ bloomery.Hashed   = (*Striped)(nil)
	_ bloomery.Inserter = (*Striped)(nil)
	_ bloomery.Deleter  = (*Striped)(nil)
	_ bloomery.Counter  = (*Striped)(nil)
)

const (
	// MaxStripes bounds the stripes of a Striped.
	MaxStripes = 1 << 12
	// defaultStripes is enough for the processors of a large machine to rarely
	// meet.
	defaultStripes = 64
)

// Striped makes filters of any family safe for many goroutines: the keys are
// spread over stripes, filters of their own with a lock each. A call takes one
// lock, a batch takes each lock once.
//
//	key ──► Route ──► stripe 0   stripe 1   ...   stripe 63
//	                  lock       lock             lock
//	                  filter     filter           filter
//
// For sets that only grow bloom.Concurrent is faster; Striped is for families
// that delete and count, such as cuckoo and quotient filters.
//
// Make one with StripedConfig.New, and read one with StripedConfig.Decode. It
// has no UnmarshalBinary and no Clone: its stripes are of any family, and only the
// caller knows how to open those.
//
// Safe for concurrent use.
type Striped struct {
	noJSON
	hasher  hashing.Hasher
	bits    uint
	stripes []stripe
	scratch sync.Pool // *stripedScratch
}

// stripe is one filter with its lock, on cache lines of its own.
type stripe struct {
	mu sync.RWMutex // guards f
	f  bloomery.Hashed
	_  [88]byte
}

// StripedConfig describes a Striped.
type StripedConfig struct {
	_ struct{}

	// Capacity is the number of keys of all stripes together, at least 1.
	Capacity int
	// Stripes is their number, a power of two up to 4096; 0 stands for 64.
	Stripes int
	// Make returns an empty filter for so many keys. All must have the same hash
	// and take keys.
	Make func(capacity int) (bloomery.Hashed, error)

	// Open returns a stripe from its encoding, for Decode, which needs it; see
	// QuorumConfig.Open.
	Open func(data []byte) (bloomery.Hashed, error)
}

// New returns a Striped. A stripe is made for its share of the keys and four
// standard deviations more, since the hash spreads keys by chance. Errors wrap
// ErrParameter or ErrIncompatible, or are those of Make.
func (c StripedConfig) New() (*Striped, error) {
	s, err := c.make()
	if err != nil {
		return nil, fmt.Errorf("compose: new striped: %w", err)
	}
	return s, nil
}

func (c StripedConfig) make() (*Striped, error) {
	if err := fields.Only(c, "New", "Capacity", "Stripes", "Make"); err != nil {
		return nil, err
	}
	if c.Stripes == 0 {
		c.Stripes = defaultStripes
	}
	switch {
	case c.Make == nil:
		return nil, fmt.Errorf("%w: Make is nil", bloomery.ErrParameter)
	case c.Capacity < 1:
		return nil, fmt.Errorf("%w: capacity %d is not at least 1", bloomery.ErrParameter, c.Capacity)
	case c.Stripes < 1 || c.Stripes > MaxStripes || c.Stripes&(c.Stripes-1) != 0:
		return nil, fmt.Errorf("%w: %d stripes, not a power of two up to %d", bloomery.ErrParameter, c.Stripes, MaxStripes)
	}
	members := make([]bloomery.Hashed, c.Stripes)
	for i := range members {
		m, err := c.Make(stripeCapacity(c.Capacity, c.Stripes))
		if err != nil {
			return nil, err
		}
		members[i] = m
	}
	return newStriped(members)
}

// stripeCapacity returns how many of n keys one of so many stripes must have room
// for.
func stripeCapacity(n, stripes int) int {
	mean := float64(n) / float64(stripes)
	if stripes == 1 {
		return n
	}
	return int(math.Ceil(mean + 4*math.Sqrt(mean)))
}

// newStriped returns a Striped over members, a power of two of them.
func newStriped(members []bloomery.Hashed) (*Striped, error) {
	for i, m := range members {
		if err := writable(i, m); err != nil {
			return nil, err
		}
	}
	if err := checkMembers(members); err != nil {
		return nil, err
	}
	hasher, err := hasherOf(members[0])
	if err != nil {
		return nil, err
	}
	s := &Striped{hasher: hasher, bits: uint(bits.TrailingZeros(uint(len(members)))), stripes: make([]stripe, len(members))}
	for i, m := range members {
		s.stripes[i].f = m
	}
	return s, nil
}

// at returns the stripe of h.
func (s *Striped) at(h uint64) *stripe { return &s.stripes[bloomery.Route(h, s.bits)] }

// Stripes returns the number of stripes.
func (s *Striped) Stripes() int { return len(s.stripes) }

// Hash returns the filter's hash of key.
func (s *Striped) Hash(key []byte) uint64 { return s.hasher.Hash(key) }

// Hasher returns the hasher of all stripes.
func (s *Striped) Hasher() hashing.Hasher { return s.hasher }

// Contains reports whether key may be in the set. False is certain.
func (s *Striped) Contains(key []byte) bool { return s.ContainsHash(s.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (s *Striped) ContainsString(key string) bool { return s.ContainsHash(s.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (s *Striped) ContainsHash(h uint64) bool {
	if len(s.stripes) == 0 {
		return false
	}
	t := s.at(h)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.f.ContainsHash(h)
}

// Insert adds or inserts key, as its family does. The error wraps ErrFull.
func (s *Striped) Insert(key []byte) error { return s.InsertHash(s.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (s *Striped) InsertString(key string) error { return s.InsertHash(s.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (s *Striped) InsertHash(h uint64) error {
	s.made()
	t := s.at(h)
	t.mu.Lock()
	defer t.mu.Unlock()
	return put(t.f, h)
}

// Delete removes one occurrence of a key that was inserted. It reports false if
// the key is certainly absent, or if the family cannot delete.
func (s *Striped) Delete(key []byte) bool { return s.DeleteHash(s.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (s *Striped) DeleteString(key string) bool { return s.DeleteHash(s.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h.
func (s *Striped) DeleteHash(h uint64) bool {
	s.made()
	t := s.at(h)
	t.mu.Lock()
	defer t.mu.Unlock()
	d, ok := t.f.(bloomery.Deleter)
	return ok && d.DeleteHash(h)
}

// Count returns an upper bound of how often key was inserted; families that do not
// count answer 0 or 1.
func (s *Striped) Count(key []byte) uint64 { return s.CountHash(s.hasher.Hash(key)) }

// CountString is Count for a string.
func (s *Striped) CountString(key string) uint64 { return s.CountHash(s.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (s *Striped) CountHash(h uint64) uint64 {
	if len(s.stripes) == 0 {
		return 0
	}
	t := s.at(h)
	t.mu.RLock()
	defer t.mu.RUnlock()
	if c, ok := t.f.(bloomery.Counter); ok {
		return c.CountHash(h)
	}
	if t.f.ContainsHash(h) {
		return 1
	}
	return 0
}

// Clear empties every stripe, one after the other, if the family can be emptied,
// else it panics and changes nothing. Keys that are inserted meanwhile may or may not stay.
func (s *Striped) Clear() {
	s.made()
	type clearer interface{ Clear() }
	for i := range s.stripes { // before a lock is taken, which a panic would leave locked
		if _, ok := s.stripes[i].f.(clearer); !ok {
			panic(fmt.Sprintf("compose: clear: a %T cannot be emptied", s.stripes[i].f))
		}
	}
	for i := range s.stripes {
		t := &s.stripes[i]
		t.mu.Lock()
		t.f.(clearer).Clear()
		t.mu.Unlock()
	}
}

// made panics for a zero Striped.
func (s *Striped) made() {
	if len(s.stripes) == 0 {
		panic("compose: a zero Striped: make it with StripedConfig.New")
	}
}

// String returns Stats as a line of text.
func (s *Striped) String() string { return s.Stats().String() }

// Stats describes all stripes together, one after the other: Capacity is the sum of
// theirs, which have some to spare, and Predicted the mean of their rates, since a
// key is looked up in one of them.
func (s *Striped) Stats() bloomery.Stats {
	st := bloomery.Stats{Kind: "striped"}
	if len(s.stripes) == 0 {
		return st
	}
	all := make([]bloomery.Stats, len(s.stripes))
	var variance float64
	n := float64(len(all))
	for i := range s.stripes {
		t := &s.stripes[i]
		t.mu.RLock()
		all[i] = t.f.Stats()
		t.mu.RUnlock()
		st.Capacity += all[i].Capacity
		st.Asked += all[i].Asked / n
		st.Predicted += all[i].Predicted / n
		variance += all[i].PredictedSigma * all[i].PredictedSigma / n / n
	}
	sum(&st, all)
	st.PredictedSigma = math.Sqrt(variance)
	return st
}

// AppendBinary appends the encoding of all stripes to dst: each as it is when its
// turn comes. The error wraps ErrIncompatible if the family has no
// encoding, or if stripes have members themselves.
func (s *Striped) AppendBinary(dst []byte) ([]byte, error) {
	if len(s.stripes) == 0 {
		return dst, fmt.Errorf("compose: marshal striped: %w", errZero)
	}
	members := make([]bloomery.Hashed, len(s.stripes))
	for i := range s.stripes {
		members[i] = lockedStripe{&s.stripes[i], s.stripes[i].f}
	}
	h := envelope.Header{
		Kind: envelope.KindStriped, Hash: s.hasher.Kind(), Check: s.hasher.Check(), Extra: uint32(len(members)),
	}
	out, err := encodeMembers(dst, h, members)
	if err != nil {
		return dst, fmt.Errorf("compose: marshal striped: %w", err)
	}
	return out, nil
}

// lockedStripe encodes a stripe under its lock.
type lockedStripe struct {
	stripe *stripe
	bloomery.Hashed
}

// AppendBinary implements encoding.BinaryAppender.
func (l lockedStripe) AppendBinary(dst []byte) ([]byte, error) {
	l.stripe.mu.RLock()
	defer l.stripe.mu.RUnlock()
	a, ok := l.Hashed.(interface {
		AppendBinary([]byte) ([]byte, error)
	})
	if !ok {
		return nil, fmt.Errorf("%w: a %T has no encoding", bloomery.ErrIncompatible, l.Hashed)
	}
	return a.AppendBinary(dst)
}

// MarshalBinary returns the encoding of all stripes, see AppendBinary.
func (s *Striped) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// WriteTo writes the encoding of all stripes to w.
func (s *Striped) WriteTo(w io.Writer) (int64, error) { return writeTo(w, s.MarshalBinary) }

// Decode returns the Striped that data encodes. Of c only Open may be set, which opens
// the stripes. Errors wrap ErrCorrupt, ErrVersion, ErrIncompatible or ErrParameter, or
// are those of Open.
func (c StripedConfig) Decode(data []byte) (*Striped, error) {
	if err := fields.Only(c, "Decode", "Open"); err != nil {
		return nil, fmt.Errorf("compose: decode striped: %w", err)
	}
	sealed, members, err := decodeMembers(data, envelope.KindStriped, MaxStripes, c.Open, true)
	if err != nil {
		return nil, fmt.Errorf("compose: decode striped: %w", err)
	}
	if n := len(members); n&(n-1) != 0 {
		return nil, fmt.Errorf("compose: decode striped: %w: %d stripes, not a power of two", bloomery.ErrCorrupt, n)
	}
	s, err := newStriped(members)
	switch h := sealed.Header; {
	case err != nil:
		return nil, fmt.Errorf("compose: decode striped: %w: %w", bloomery.ErrCorrupt, err)
	case s.hasher.Kind() != h.Hash || s.hasher.Check() != h.Check || h.Rate != 0 || h.Size != 0 || h.K != 0 || h.Capacity != 0:
		return nil, fmt.Errorf("compose: decode striped: %w: the header does not fit its stripes", bloomery.ErrCorrupt)
	}
	return s, nil
}

// Members returns the filters of the stripes. They must not be used while others
// use the Striped.
func (s *Striped) Members() []bloomery.Hashed {
	members := make([]bloomery.Hashed, len(s.stripes))
	for i := range s.stripes {
		members[i] = s.stripes[i].f
	}
	return slices.Clip(members)
}
