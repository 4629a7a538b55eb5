package compose

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

const (
	// DefaultReports is how many reports a Corrected holds by default.
	DefaultReports = 1 << 16
	// MaxReports bounds the reports of a Corrected.
	MaxReports = 1 << 28
	// inserts are counted by so many counters: of the reports that are about to be made
	// an insert makes one in so many outdated by chance.
	counters = 1 << 10
)

// Corrected is a filter of any family that is told which of its answers were wrong,
// and does not give them again: a set of reported hashes that is asked after a yes. A no
// costs nothing more.
//
//	found, moment := c.Ask(key)
//	if found && !store.Has(key) {
//		c.Report(moment)
//	}
//
// It never denies a key that was added, under two rules. Report only keys that the store
// denied after Ask. And whoever adds a key stores it first and inserts it then, or
// inserts it once more after it was stored: a report that is on its way meanwhile is outdated and is
// refused, see Report. All inserts must go through the Corrected, never directly into the
// filter.
//
// Two keys with the same 64-bit hash are one key to every filter, so a report of one
// denies the other. By chance that is rare, reports times keys in 2^64. With a hash that
// others know it can be done on purpose: where others choose keys, make the filter with a secret
// key (hashing.Keyed), or with a seed that they do not know.
//
// A report takes 11 to 12 bytes. When there is no room for more, the older half of
// them is dropped. The counters of inserts take 8 KiB, if the filter takes keys.
//
// Make one with NewCorrected, and read one with CorrectedConfig.Decode. It has no
// UnmarshalBinary and no Clone: its filter is of any family, and only the caller knows
// how to open that.
//
// Safe for concurrent use if its filter is, as bloom.Concurrent and Striped are. If its
// filter is safe for concurrent readers only, inserting, deleting and what encodes
// need the exclusion that it needs; Ask and Report count as reading. Merge and Clear need
// exclusion.
type Corrected struct {
	corrected
	bare    atomic.Pointer[bloom.Filter] // the filter, if it is one and there are no reports
	inserts []atomic.Uint64              // nil if the filter takes no keys
	life    uint64                       // random, never 0: moments of others are refused
	most    int                          // reports

	reporting atomic.Bool // a report is being taken
	mu        sync.Mutex  // guards what follows and every change of reports
	dropped   uint64
	refused   atomic.Uint64 // also without the lock
}

// corrected is what a Corrected and its view have in common.
type corrected struct {
	noJSON
	filter  bloomery.Hashed
	hasher  hashing.Hasher
	reports atomic.Pointer[reportSet] // nil before the first
}

// Moment identifies a positive answer of Ask, for Report. The zero Moment is that of a
// negative one. It is of use to the Corrected that made it, and to no other.
type Moment struct {
	hash, inserts, life uint64
}

// NewCorrected returns a Corrected over f that holds so many reports, 2 to MaxReports; 0
// stands for DefaultReports. From now on keys are inserted by way of the Corrected. Errors wrap
// ErrParameter or ErrIncompatible.
func NewCorrected(reports int, f bloomery.Hashed) (*Corrected, error) {
	c, err := newCorrected(reports, f)
	if err != nil {
		return nil, fmt.Errorf("compose: new corrected: %w", err)
	}
	return c, nil
}

func newCorrected(reports int, f bloomery.Hashed) (*Corrected, error) {
	if reports == 0 {
		reports = DefaultReports
	}
	switch {
	case f == nil:
		return nil, fmt.Errorf("%w: the filter is nil", bloomery.ErrParameter)
	case reports < 2 || reports > MaxReports:
		return nil, fmt.Errorf("%w: %d reports, want 2 to %d", bloomery.ErrParameter, reports, MaxReports)
	case isCorrected(f):
		return nil, fmt.Errorf("%w: the filter is corrected already", bloomery.ErrParameter)
	}
	hasher, err := hasherOf(f)
	if err != nil {
		return nil, err
	}
	c := &Corrected{corrected: corrected{filter: f, hasher: hasher}, life: rand.Uint64() | 1, most: reports}
	c.publish(nil)
	if writable(0, f) == nil {
		c.inserts = make([]atomic.Uint64, counters)
	}
	return c, nil
}

// isCorrected reports whether a filter has reports of its own.
func isCorrected(f bloomery.Hashed) bool {
	switch f.(type) {
	case *Corrected, *correctedView:
		return true
	}
	return false
}

// Filter returns the filter that is corrected. No keys may be inserted into it.
func (c *corrected) Filter() bloomery.Hashed { return c.filter }

// Hash returns the filter's hash of key.
func (c *corrected) Hash(key []byte) uint64 { return c.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (c *corrected) Hasher() hashing.Hasher { return c.hasher }

// Contains reports whether key may be in the set. False is certain.
func (c *corrected) Contains(key []byte) bool { return c.ContainsHash(c.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (c *corrected) ContainsString(key string) bool { return c.ContainsHash(c.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (c *corrected) ContainsHash(h uint64) bool {
	return c.filter != nil && c.filter.ContainsHash(h) && !c.denies(h)
}

// ContainsHash is Contains for a key whose hash is h. Before the first report the filter that is
// corrected most is called by its type, so that the compiler puts it here: a load and a branch
// are all that is there besides.
func (c *Corrected) ContainsHash(h uint64) bool {
	if f := c.bare.Load(); f != nil {
		return f.ContainsHash(h)
	}
	return c.corrected.ContainsHash(h)
}

// publish replaces the reports. The lock is held, or there is no other user.
func (c *Corrected) publish(r *reportSet) {
	c.reports.Store(r)
	var bare *bloom.Filter
	if r == nil {
		bare, _ = c.filter.(*bloom.Filter)
	}
	c.bare.Store(bare)
}

// denies reports whether h was reported.
func (c *corrected) denies(h uint64) bool {
	r := c.reports.Load()
	return r != nil && r.has(h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is shorter
// than hs.
func (c *corrected) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if c.filter == nil {
		clear(dst)
		return
	}
	c.filter.ContainsHashes(dst, hs)
	r := c.reports.Load()
	if r == nil {
		return
	}
	for i, found := range dst {
		if found && r.has(hs[i]) {
			dst[i] = false
		}
	}
}

// correctedHashes are the hashes of a batch, which would escape, see quorumScratch.
var correctedHashes = sync.Pool{New: func() any { return new([batch]uint64) }}

// ContainsKeys is ContainsHashes for keys.
func (c *corrected) ContainsKeys(dst []bool, keys [][]byte) { correctedContains(c, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (c *corrected) ContainsStrings(dst []bool, keys []string) { correctedContains(c, dst, keys) }

func correctedContains[K []byte | string](c *corrected, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	hs := correctedHashes.Get().(*[batch]uint64)
	defer correctedHashes.Put(hs)
	for len(keys) > 0 {
		n := hashing.HashBatch(c.hasher, hs[:], keys)
		c.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// Ask is Contains, and returns the moment of a yes, for a report if that turns out to
// be wrong.
func (c *Corrected) Ask(key []byte) (bool, Moment) { return c.AskHash(c.hasher.Hash(key)) }

// AskString is Ask for a string.
func (c *Corrected) AskString(key string) (bool, Moment) { return c.AskHash(c.hasher.HashString(key)) }

// AskHash is Ask for a key whose hash is h.
func (c *Corrected) AskHash(h uint64) (bool, Moment) {
	m := Moment{hash: h, inserts: c.inserted(h), life: c.life}
	if !c.ContainsHash(h) {
		return false, Moment{}
	}
	return true, m
}

// inserted returns the count of inserts that h is among.
func (c *Corrected) inserted(h uint64) uint64 {
	if c.inserts == nil {
		return 0
	}
	return c.inserts[h%counters].Load()
}

// Report says that the yes of a moment was wrong: the store was asked after it, and
// the key is not there. It reports whether that was taken, so that the key is denied
// from now on, until it is inserted.
//
// It is refused, changes nothing and is counted if the key may have been inserted since
// that moment; if the moment is that of a no or of another Corrected. With w inserts since, of
// any keys, one that would be right is refused in about w of 1,024 cases.
func (c *Corrected) Report(m Moment) bool {
	if m.life != c.life || m.life == 0 || m.hash <= removed {
		c.refused.Add(1)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Before the count is compared: an insert counts before it looks at this. Either it is
	// seen here, or it waits for the lock and takes the hash out again.
	c.reporting.Store(true)
	defer c.reporting.Store(false)
	if c.inserted(m.hash) != m.inserts {
		c.refused.Add(1)
		return false
	}
	c.hold(m.hash)
	return true
}

// hold adds a hash to the reports. The lock is held.
func (c *Corrected) hold(h uint64) {
	r := c.reports.Load()
	if r == nil {
		r = &reportSet{newTable(leastSlots), newTable(leastSlots)}
		c.publish(r)
	}
	if r.has(h) { // two have reported it at once
		return
	}
	young := r.young.(*table)
	if young.len() >= (c.most+1)/2 {
		c.dropped += uint64(r.old.len())
		r = &reportSet{newTable(leastSlots), young}
		young = r.young.(*table)
		c.publish(r)
	}
	if young.full() {
		young = young.grown()
		young.put(h)
		c.publish(&reportSet{young, r.old})
		return
	}
	young.put(h)
}

// inserting makes moments before now outdated and takes a report of h out.
func (c *Corrected) inserting(h uint64) {
	c.inserts[h%counters].Add(1)
	if !c.reporting.Load() && !c.denies(h) { // in this order: who ended a report has published it
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(h)
}

// forget takes h out of the reports. The lock is held.
func (c *Corrected) forget(h uint64) {
	if r := c.reports.Load(); r != nil && h > removed {
		if !r.young.(*table).remove(h) {
			r.old.(*table).remove(h)
		}
	}
}

// CorrectedStats counts reports.
type CorrectedStats struct {
	// Held is how many hashes are reported, Room how many can be, Bytes their memory.
	Held  uint64 `json:"held"`
	Room  uint64 `json:"room"`
	Bytes uint64 `json:"bytes"`
	// Dropped is how many made room for younger ones, Refused how many came too late.
	// They are counted since the Corrected was made or read.
	Dropped uint64 `json:"dropped"`
	Refused uint64 `json:"refused"`
}

// Counts returns what became of the reports so far.
func (c *Corrected) Counts() CorrectedStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := CorrectedStats{Room: uint64(c.most), Dropped: c.dropped, Refused: c.refused.Load()}
	st.Held, st.Bytes = c.held()
	return st
}

// held returns the number of reports and their memory.
func (c *corrected) held() (n, bytes uint64) {
	r := c.reports.Load()
	if r == nil {
		return 0, 0
	}
	return uint64(r.len()), uint64(r.young.bytes() + r.old.bytes())
}

// String returns Stats as a line of text.
func (c *corrected) String() string { return c.Stats().String() }

// Stats describes the filter. Bytes has 32/3 for each report, which its table takes when it is
// full; see Counts for the memory of the present tables. Predicted is the rate of keys that nobody
// reported.
func (c *corrected) Stats() bloomery.Stats {
	if c.filter == nil {
		return bloomery.Stats{Kind: "corrected"}
	}
	st := c.filter.Stats()
	st.Kind = "corrected"
	held, _ := c.held()
	st.Bytes += (32*held + 2) / 3
	return st
}
