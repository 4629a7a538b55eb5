package compose

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/fields"
)

var _ bloomery.Hashed = (*Quorum)(nil)

// MaxMembers bounds the members of a Quorum.
const MaxMembers = 255

// Quorum is n filters that hold the same keys, of which at least m must contain a
// key. Each uses a salted hash of its own, so that their false positives are
// independent. With m = n the false positive rate is the product of their
// rates; with a smaller m it is larger, but up to n - m members may be lost,
// replaced by empty ones or damaged without a false negative.
//
//	m of n, each at 1%    rate of the quorum
//	2 of 2                0.01%
//	2 of 3                0.03%
//	3 of 3                0.0001%
//	3 of 5                0.001%
//
// Make one with NewQuorum or QuorumConfig.New, and read one with QuorumConfig.Decode. It
// has no UnmarshalBinary and no Clone: its members are of any family, and
// only the caller knows how to open those.
//
// Safe for concurrent readers if its members are; a writer needs exclusion.
type Quorum struct{ quorum }

// quorum is what a Quorum and its view have in common.
type quorum struct {
	noJSON
	hasher  hashing.Hasher
	need    int
	members []bloomery.Hashed
	salts   []uint64
}

// NewQuorum returns a Quorum that needs so many of its members to agree. They must
// have the same hash, be different filters that take keys, and be empty, or be the members of a Quorum from
// before in their order. Errors wrap ErrParameter or ErrIncompatible.
func NewQuorum(need int, members ...bloomery.Hashed) (*Quorum, error) {
	q, err := newQuorum(need, members)
	if err != nil {
		return nil, fmt.Errorf("compose: new quorum: %w", err)
	}
	return q, nil
}

func newQuorum(need int, members []bloomery.Hashed) (*Quorum, error) {
	switch n := len(members); {
	case n < 1 || n > MaxMembers:
		return nil, fmt.Errorf("%w: %d members, a quorum has 1 to %d", bloomery.ErrParameter, n, MaxMembers)
	case need < 1 || need > n:
		return nil, fmt.Errorf("%w: %d of %d members cannot agree", bloomery.ErrParameter, need, n)
	}
	for i, m := range members {
		if err := writable(i, m); err != nil {
			return nil, err
		}
	}
	q, err := agree(need, members)
	if err != nil {
		return nil, err
	}
	return &Quorum{q}, nil
}

// agree returns the quorum of members that may or may not take keys.
func agree(need int, members []bloomery.Hashed) (quorum, error) {
	if err := checkMembers(members); err != nil {
		return quorum{}, err
	}
	hasher, err := hasherOf(members[0])
	if err != nil {
		return quorum{}, err
	}
	q := quorum{hasher: hasher, need: need, members: slices.Clone(members), salts: make([]uint64, len(members))}
	for i := range q.salts { // secret if the hash is
		q.salts[i] = hasher.Hash(binary.LittleEndian.AppendUint64([]byte("bloomery quorum member "), uint64(i)))
	}
	return q, nil
}

// Members returns the members in their order.
func (q *quorum) Members() []bloomery.Hashed { return slices.Clone(q.members) }

// Need returns how many members must agree.
func (q *quorum) Need() int { return q.need }

// Hash returns the quorum's hash of key.
func (q *quorum) Hash(key []byte) uint64 { return q.hasher.Hash(key) }

// Hasher returns the hasher of all members.
func (q *quorum) Hasher() hashing.Hasher { return q.hasher }

// Contains reports whether key may be in enough members. False is certain while
// not more than n - m members have lost keys.
func (q *quorum) Contains(key []byte) bool { return q.ContainsHash(q.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (q *quorum) ContainsString(key string) bool { return q.ContainsHash(q.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h. It stops as soon as the
// members that are left cannot change the answer.
func (q *quorum) ContainsHash(h uint64) bool {
	yes, left := 0, len(q.members)
	for i, m := range q.members {
		if m.ContainsHash(bloomery.Salted(h, q.salts[i])) {
			if yes++; yes >= q.need {
				return true
			}
		}
		if left--; yes+left < q.need {
			return false
		}
	}
	return false
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is shorter
// than hs.
func (q *quorum) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	s := quorumScratches.Get().(*quorumScratch)
	defer quorumScratches.Put(s)
	for len(hs) > 0 {
		n := min(len(hs), batch)
		q.containsBatch(dst[:n], hs[:n], s)
		dst, hs = dst[n:], hs[n:]
	}
}

// quorumScratch is memory for a batch. It would escape, since members are behind
// an interface, so it is kept for the next call.
type quorumScratch struct {
	hs     [batch]uint64
	salted [batch]uint64
	found  [batch]bool
	yes    [batch]uint8
}

var quorumScratches = sync.Pool{New: func() any { return new(quorumScratch) }}

func (q *quorum) containsBatch(dst []bool, hs []uint64, s *quorumScratch) {
	n := len(hs)
	clear(s.yes[:n])
	for i, m := range q.members {
		for j, h := range hs {
			s.salted[j] = bloomery.Salted(h, q.salts[i])
		}
		m.ContainsHashes(s.found[:n], s.salted[:n])
		for j, f := range s.found[:n] {
			if f {
				s.yes[j]++
			}
		}
	}
	for j := range dst {
		dst[j] = q.need > 0 && int(s.yes[j]) >= q.need
	}
}

// ContainsKeys is ContainsHashes for keys.
func (q *quorum) ContainsKeys(dst []bool, keys [][]byte) { quorumContains(q, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (q *quorum) ContainsStrings(dst []bool, keys []string) { quorumContains(q, dst, keys) }

func quorumContains[K []byte | string](q *quorum, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	s := quorumScratches.Get().(*quorumScratch)
	defer quorumScratches.Put(s)
	for len(keys) > 0 {
		n := hashing.HashBatch(q.hasher, s.hs[:], keys)
		q.containsBatch(dst[:n], s.hs[:n], s)
		dst, keys = dst[n:], keys[n:]
	}
}

// Insert adds or inserts key into every member. Members that cannot be full never
// fail; else the error wraps ErrFull, names the member, and the members before it
// hold the key. With need below the number of members the key is found all the
// same, if enough of them took it.
func (q *Quorum) Insert(key []byte) error { return q.InsertHash(q.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (q *Quorum) InsertString(key string) error { return q.InsertHash(q.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (q *Quorum) InsertHash(h uint64) error {
	q.made()
	for i, m := range q.members {
		if err := put(m, bloomery.Salted(h, q.salts[i])); err != nil {
			return fmt.Errorf("compose: insert: member %d: %w", i, err)
		}
	}
	return nil
}

// made panics for a zero Quorum.
func (q *Quorum) made() {
	if len(q.members) == 0 {
		panic("compose: a zero Quorum: make it with NewQuorum or QuorumConfig.New")
	}
}

// InsertHashes inserts hs in order and stops at the first failure; n is how many
// were inserted.
func (q *Quorum) InsertHashes(hs []uint64) (n int, err error) {
	for i, h := range hs {
		if err := q.InsertHash(h); err != nil {
			return i, err
		}
	}
	return len(hs), nil
}

// InsertKeys is InsertHashes for keys.
func (q *Quorum) InsertKeys(keys [][]byte) (n int, err error) {
	for i, key := range keys {
		if err := q.Insert(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// InsertStrings is InsertHashes for strings.
func (q *Quorum) InsertStrings(keys []string) (n int, err error) {
	for i, key := range keys {
		if err := q.InsertString(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// InsertSeq is InsertKeys for a sequence. It does not retain keys.
func (q *Quorum) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	for key := range seq {
		if err := q.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// String returns Stats as a line of text.
func (q *quorum) String() string { return q.Stats().String() }

// Stats describes all members together. Items is that of the first; Asked and
// Predicted are joint rates: that at least Need members have the same false positive.
func (q *quorum) Stats() bloomery.Stats {
	st := bloomery.Stats{Kind: "quorum"}
	if len(q.members) == 0 {
		return st
	}
	all := make([]bloomery.Stats, len(q.members))
	asked, predicted := make([]float64, len(all)), make([]float64, len(all))
	for i, m := range q.members {
		all[i] = m.Stats()
		asked[i], predicted[i] = all[i].Asked, all[i].Predicted
	}
	sum(&st, all)
	st.Items, st.Exact, st.Capacity = all[0].Items, all[0].Exact, all[0].Capacity
	st.Asked, st.Predicted = atLeast(q.need, asked), atLeast(q.need, predicted)
	st.PredictedSigma = sigmaOf(q.need, all)
	return st
}

// sigmaOf returns how far the sigmas of all members move their joint rate. It is linear
// in the rate of each: what matters is how probable it is that the answer depends on that
// member, as exactly one too few of the others have a false positive.
func sigmaOf(need int, all []bloomery.Stats) float64 {
	behind := make([][]float64, len(all)) // how many of those behind a member have it
	memory := make([]float64, len(all)*need)
	for i := len(all) - 1; i >= 0; i-- {
		behind[i] = memory[i*need : (i+1)*need]
		if i == len(all)-1 {
			behind[i][0] = 1
			continue
		}
		copy(behind[i], behind[i+1])
		oneMore(behind[i], all[i+1].Predicted)
	}
	before, variance := make([]float64, need), 0.0
	before[0] = 1
	for i, m := range all {
		depends := 0.0
		for k, p := range before {
			depends += p * behind[i][need-1-k]
		}
		d := depends * (min(1, m.Predicted+m.PredictedSigma) - m.Predicted)
		variance += d * d
		oneMore(before, m.Predicted)
	}
	return math.Sqrt(variance)
}

// oneMore takes one more independent event into account: exactly[i] is the probability
// that i of them happen.
func oneMore(exactly []float64, p float64) {
	for i := len(exactly) - 1; i > 0; i-- {
		exactly[i] = float64(exactly[i]*(1-p)) + float64(exactly[i-1]*p)
	}
	exactly[0] *= 1 - p
}

// atLeast returns the probability that at least m of independent events happen. The
// conversions keep the compiler from fusing a product and a sum: the result is in
// the encoding, and must be the same on every processor.
func atLeast(m int, p []float64) float64 {
	// exactly[i] is the probability that i of the events so far happened; the
	// last one stands for m and more.
	exactly := make([]float64, m+1)
	exactly[0] = 1
	for _, p := range p {
		exactly[m] += float64(exactly[m-1] * p)
		oneMore(exactly[:m], p)
	}
	return exactly[m]
}

func (q *quorum) header() envelope.Header {
	h := envelope.Header{
		Kind: envelope.KindQuorum, Hash: q.hasher.Kind(), Check: q.hasher.Check(), K: uint8(q.need), Extra: uint32(len(q.members)),
	}
	asked := make([]float64, len(q.members))
	for i, m := range q.members {
		st := m.Stats()
		if i == 0 {
			h.Capacity = st.Capacity
		}
		h.Size += st.Bits
		asked[i] = st.Asked
	}
	h.Rate = min(atLeast(q.need, asked), math.Nextafter(1, 0))
	return h
}

// AppendBinary appends the encoding of the quorum to dst: that of all members. The
// error wraps ErrIncompatible if a member has none, or has members itself.
func (q *Quorum) AppendBinary(dst []byte) ([]byte, error) {
	if len(q.members) == 0 {
		return dst, fmt.Errorf("compose: marshal quorum: %w", errZero)
	}
	out, err := encodeMembers(dst, q.header(), q.members)
	if err != nil {
		return dst, fmt.Errorf("compose: marshal quorum: %w", err)
	}
	return out, nil
}

// MarshalBinary returns the encoding of the quorum, see AppendBinary.
func (q *Quorum) MarshalBinary() ([]byte, error) { return q.AppendBinary(nil) }

// WriteTo writes the encoding of the quorum to w, member by member, without a copy of
// it in memory. Errors are those of AppendBinary, or those of w.
func (q *Quorum) WriteTo(w io.Writer) (int64, error) {
	if len(q.members) == 0 {
		return 0, fmt.Errorf("compose: marshal quorum: %w", errZero)
	}
	n, err := writeMembers(w, q.header(), q.members)
	if err != nil {
		err = fmt.Errorf("compose: write quorum: %w", err)
	}
	return n, err
}

// Decode returns the Quorum that data encodes. Of c only Open may be set, which opens
// the members. Errors wrap ErrCorrupt, ErrVersion, ErrIncompatible or ErrParameter, or
// are those of Open.
func (c QuorumConfig) Decode(data []byte) (*Quorum, error) {
	q, _, err := c.open("Decode", data, true)
	if err == nil {
		err = q.takesKeys()
	}
	if err != nil {
		return nil, fmt.Errorf("compose: decode quorum: %w", err)
	}
	return &Quorum{q}, nil
}

// MakeQuorum is Decode of what is not read: open makes the members. It is for programs of this module.
func MakeQuorum(b *envelope.Blank, open func(*envelope.Blank) (bloomery.Hashed, error)) (*Quorum, error) {
	members, err := makeMembers(b, open)
	var q quorum
	if err == nil {
		q, err = quorumOf(b.Header, members)
	}
	if err == nil {
		err = q.takesKeys()
	}
	if err != nil {
		return nil, fmt.Errorf("compose: make quorum: %w", err)
	}
	return &Quorum{q}, nil
}

// takesKeys returns an error unless keys can be put into all members.
func (q *quorum) takesKeys() error {
	for i, m := range q.members {
		if writable(i, m) != nil {
			return fmt.Errorf("%w: member %d takes no keys", bloomery.ErrCorrupt, i)
		}
	}
	return nil
}

// open returns the quorum that data encodes; verify checks its payload. name is that
// of the method that opens it.
func (c QuorumConfig) open(name string, data []byte, verify bool) (quorum, envelope.Sealed, error) {
	if err := fields.Only(c, name, "Open"); err != nil {
		return quorum{}, envelope.Sealed{}, err
	}
	sealed, members, err := decodeMembers(data, envelope.KindQuorum, MaxMembers, c.Open, verify)
	if err != nil {
		return quorum{}, sealed, err
	}
	q, err := quorumOf(sealed.Header, members)
	return q, sealed, err
}

// quorumOf returns the quorum of members that a header describes.
func quorumOf(h envelope.Header, members []bloomery.Hashed) (quorum, error) {
	need := int(h.K)
	if need < 1 || need > len(members) {
		return quorum{}, fmt.Errorf("%w: %d of %d members cannot agree", bloomery.ErrCorrupt, need, len(members))
	}
	q, err := agree(need, members)
	if err != nil {
		return quorum{}, fmt.Errorf("%w: %w", bloomery.ErrCorrupt, err)
	}
	want := q.header()
	if want.Payload = h.Payload; want != h {
		return quorum{}, fmt.Errorf("%w: the header does not fit the members", bloomery.ErrCorrupt)
	}
	return q, nil
}

// quorumView is a quorum over an encoding that stays where it lies.
type quorumView struct {
	quorum
	envelope.Viewed
}

// View returns a view of data, the encoding of a Quorum. Of c only Open may be set,
// which opens the members, as a rule as views: others can be changed through Members,
// and cannot be cloned. Errors are those of Decode.
func (c QuorumConfig) View(data []byte) (bloomery.View, error) {
	q, sealed, err := c.open("View", data, false)
	if err != nil {
		return nil, fmt.Errorf("compose: view quorum: %w", err)
	}
	return &quorumView{q, envelope.Hold(sealed, "compose")}, nil
}

// Verify checks the payload, that of members that are views included.
func (q *quorumView) Verify() error {
	return q.VerifyAnd(func() error { return verifyMembers(q.members) })
}

// Clone returns a Quorum, see bloomery.View.
func (q *quorumView) Clone() (bloomery.Hashed, error) {
	members, err := cloneMembers(q.members)
	if err != nil {
		return nil, fmt.Errorf("compose: clone quorum: %w", err)
	}
	return envelope.Hashed(NewQuorum(q.need, members...))
}
