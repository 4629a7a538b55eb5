package bloom

import (
	"fmt"
	"io"
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
)

var (
	_ bloomery.Hashed = (*Concurrent)(nil)
	_ bloomery.Adder  = (*Concurrent)(nil)
)

const (
	// stripes is the number of locks.
	stripes = 256
	// Batches lock the stripes of a run together.
	runs      = 16
	runLength = stripes / runs
	// stripeBatch is how many keys are sorted by run at once: enough that a
	// run gets 256 of them, few enough for the stack.
	stripeBatch = 4096
	// fewKeys is the batch size up to which each key takes its lock: no more
	// locks than sorting would take.
	fewKeys = stripes
)

// Concurrent is a Filter for many goroutines. The array is cut into 256 stripes
// with a lock each: adding locks one stripe, a batch sorts its keys and takes
// each lock once. Reading takes no lock. Of several goroutines that add the
// same new key exactly one gets true.
//
//	array    [ stripe 0 ][ stripe 1 ]      ...      [ stripe 255 ]
//	locks      L0          L1                         L255
//
// A key is found by every Contains that begins after its Add has returned.
// It takes the same bits per key as Filter and 16 KiB for the locks.
//
// Make one with NewConcurrent, Config.NewConcurrent or Filter.Concurrent; for a
// zero Concurrent see Filter.
//
// Safe for concurrent use.
type Concurrent struct {
	base
	blocks []kernel.Block
	shift  uint // a block's stripe is its number >> shift
	locks  [stripes]lock
}

// lock is a mutex in a cache line of its own: neighbours must not slow each
// other down.
type lock struct {
	sync.Mutex
	_ [56]byte
}

// NewConcurrent is New for a Concurrent.
func NewConcurrent(n int, p float64) *Concurrent {
	c, err := Config{Capacity: n, ErrorRate: p}.NewConcurrent()
	if err != nil {
		panic(err)
	}
	return c
}

// NewConcurrent is Config.New for a Concurrent.
func (c Config) NewConcurrent() (*Concurrent, error) {
	f, err := c.newFilter("NewConcurrent")
	if err != nil {
		return nil, fmt.Errorf("bloom: new concurrent: %w", err)
	}
	return f.Concurrent(), nil
}

// Concurrent returns a Concurrent that takes over the array of f, which must
// not be used any more. This is how a Concurrent is read from a file.
func (f *Filter) Concurrent() *Concurrent {
	c := &Concurrent{}
	c.take(f)
	return c
}

// take takes over the array of a filter.
func (f *Concurrent) take(from *Filter) {
	f.base, f.blocks, f.shift = from.base, from.blocks, 0
	for (len(f.blocks)-1)>>f.shift >= stripes {
		f.shift++
	}
	*from = Filter{}
}

// Clone returns a Filter with the same keys: all whose Add returned before
// Clone was called, and some of those that are added meanwhile.
func (f *Concurrent) Clone() *Filter {
	to, from := memory.Words(len(f.blocks)*8), kernel.Words(f.blocks)
	for i := range from {
		to[i] = atomic.LoadUint64(&from[i])
	}
	return &Filter{lines{f.base, kernel.Blocks(to)}}
}

// AppendBinary appends the encoding of the filter to dst. It is that of a Filter, and has what
// Clone has: all keys whose add returned before. The copy takes as much memory as the filter.
func (f *Concurrent) AppendBinary(dst []byte) ([]byte, error) { return f.Clone().AppendBinary(dst) }

// MarshalBinary returns the encoding of the filter, see AppendBinary.
func (f *Concurrent) MarshalBinary() ([]byte, error) { return f.Clone().MarshalBinary() }

// WriteTo writes the encoding of the filter to w, see AppendBinary.
func (f *Concurrent) WriteTo(w io.Writer) (int64, error) { return f.Clone().WriteTo(w) }

// UnmarshalBinary is Filter.UnmarshalBinary for a Concurrent, which no other goroutine may use
// meanwhile.
func (f *Concurrent) UnmarshalBinary(data []byte) error {
	from := Filter{lines{base: base{hasher: f.hasher}}}
	if err := from.UnmarshalBinary(data); err != nil {
		return err
	}
	f.take(&from)
	return nil
}

// Contains reports whether key may be in the set. False is certain.
func (f *Concurrent) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *Concurrent) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *Concurrent) ContainsHash(h uint64) bool {
	return len(f.blocks) > 0 && kernel.HasShared(f.blocks, f.shape.K, h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
func (f *Concurrent) ContainsHashes(dst []bool, hs []uint64) {
	if len(f.blocks) == 0 {
		clear(dst[:len(hs):len(dst)])
		return
	}
	kernel.HasAllShared(dst[:len(hs):len(dst)], f.blocks, f.shape.K, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (f *Concurrent) ContainsKeys(dst []bool, keys [][]byte) { concurrentContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *Concurrent) ContainsStrings(dst []bool, keys []string) { concurrentContains(f, dst, keys) }

func concurrentContains[K []byte | string](f *Concurrent, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Add adds key and reports whether the filter changed. False means that the
// key was, or seemed to be, there already.
func (f *Concurrent) Add(key []byte) bool { return f.AddHash(f.hasher.Hash(key)) }

// AddString is Add for a string.
func (f *Concurrent) AddString(key string) bool { return f.AddHash(f.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (f *Concurrent) AddHash(h uint64) bool {
	if len(f.blocks) == 0 {
		panicZero(concurrentConstructors)
	}
	l := &f.locks[f.stripe(h)]
	l.Lock()
	fresh := kernel.SetShared(f.blocks, f.shape.K, h)
	l.Unlock()
	return fresh
}

// stripe returns the number of the stripe that h belongs to.
func (f *Concurrent) stripe(h uint64) uint8 {
	block, _ := bits.Mul64(h, uint64(len(f.blocks)))
	return uint8(block >> f.shift)
}

// AddHashes adds all of hs; equal ones in order. If dst is not nil, dst[i] is
// what AddHash(hs[i]) would have returned; it panics if dst is then shorter
// than hs.
func (f *Concurrent) AddHashes(dst []bool, hs []uint64) {
	f.mustBeMade()
	if dst != nil {
		dst = dst[:len(hs):len(dst)]
	}
	for len(hs) > 0 {
		n := min(len(hs), stripeBatch)
		if n <= fewKeys {
			for i, h := range hs {
				if fresh := f.AddHash(h); dst != nil {
					dst[i] = fresh
				}
			}
			return
		}
		if dst == nil {
			f.addByRun(nil, hs[:n])
		} else {
			f.addByRun(dst[:n], hs[:n])
			dst = dst[n:]
		}
		hs = hs[n:]
	}
}

// addByRun sorts hs by run of stripes, keeping the order inside each, and
// takes each lock that is needed once. A run of 16 stripes gets enough keys of
// a large batch for the kernel to fetch lines ahead; a single stripe does not.
func (f *Concurrent) addByRun(dst []bool, hs []uint64) {
	var (
		of     [stripeBatch]uint8  // run of each key
		need   [runs]uint16        // which stripes of a run have keys
		ends   [runs]int           // where the next key of a run goes
		sorted [stripeBatch]uint64 // hs by run
		from   [stripeBatch]uint16 // place in hs of each sorted key
		fresh  [stripeBatch]bool   // answers by run
	)
	for i, h := range hs {
		s := f.stripe(h)
		of[i] = s / runLength
		need[s/runLength] |= 1 << (s % runLength)
		ends[s/runLength]++
	}
	at := 0
	for r, n := range ends {
		ends[r] = at
		at += n
	}
	for i, h := range hs {
		to := ends[of[i]]
		ends[of[i]]++
		sorted[to] = h
		from[to] = uint16(i)
	}

	// Goroutines begin at different runs, so that they do not follow each
	// other from lock to lock.
	first := int(of[0])
	for i := range runs {
		r := (first + i) % runs
		lo, hi := 0, ends[r]
		if r > 0 {
			lo = ends[r-1]
		}
		if lo == hi {
			continue
		}
		f.lockRun(r, need[r])
		if dst == nil {
			kernel.SetAllShared(nil, f.blocks, f.shape.K, sorted[lo:hi])
		} else {
			kernel.SetAllShared(fresh[lo:hi], f.blocks, f.shape.K, sorted[lo:hi])
		}
		f.unlockRun(r, need[r])
	}
	if dst != nil {
		for i, place := range from[:len(hs)] {
			dst[place] = fresh[i]
		}
	}
}

// lockRun takes the locks of a run whose bits are set in need, in ascending
// order: whoever holds several locks has taken them so.
func (f *Concurrent) lockRun(run int, need uint16) {
	for ; need != 0; need &= need - 1 {
		f.locks[run*runLength+bits.TrailingZeros16(need)].Lock()
	}
}

func (f *Concurrent) unlockRun(run int, need uint16) {
	for ; need != 0; need &= need - 1 {
		f.locks[run*runLength+bits.TrailingZeros16(need)].Unlock()
	}
}

// AddKeys is AddHashes for keys.
func (f *Concurrent) AddKeys(dst []bool, keys [][]byte) { concurrentAdd(f, dst, keys) }

// AddStrings is AddHashes for strings.
func (f *Concurrent) AddStrings(dst []bool, keys []string) { concurrentAdd(f, dst, keys) }

func concurrentAdd[K []byte | string](f *Concurrent, dst []bool, keys []K) {
	f.mustBeMade()
	if dst != nil {
		dst = dst[:len(keys):len(dst)]
	}
	var hs [stripeBatch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		keys = keys[n:]
		if dst == nil {
			f.AddHashes(nil, hs[:n])
			continue
		}
		f.AddHashes(dst[:n], hs[:n])
		dst = dst[n:]
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (f *Concurrent) AddSeq(seq iter.Seq[[]byte]) {
	f.mustBeMade()
	addSeq(f, f.hasher, stripeBatch, seq)
}

// concurrentConstructors is how to make a Concurrent.
const concurrentConstructors = "NewConcurrent, Config.NewConcurrent or Filter.Concurrent"

// mustBeMade panics for a zero Concurrent.
func (f *Concurrent) mustBeMade() {
	if len(f.blocks) == 0 {
		panicZero(concurrentConstructors)
	}
}

// Union adds all keys of o, which must not change meanwhile, see Filter.Union.
func (f *Concurrent) Union(o *Filter) error {
	f.mustBeMade()
	if err := f.compatible(&o.base); err != nil {
		return fmt.Errorf("bloom: union: %w", err)
	}
	words := o.words()
	f.eachStripe(func(first int, mine []uint64) {
		for i := range mine {
			if v := mine[i]; v|words[first+i] != v {
				atomic.StoreUint64(&mine[i], v|words[first+i])
			}
		}
	})
	return nil
}

// Clear removes all keys whose Add returned before Clear was called, and some
// of those that are added meanwhile, in whole or in part.
func (f *Concurrent) Clear() {
	f.mustBeMade()
	f.eachStripe(func(_ int, mine []uint64) {
		for i := range mine {
			atomic.StoreUint64(&mine[i], 0)
		}
	})
}

// eachStripe calls visit for the words of each stripe, under its lock, with the
// number of the first of them.
func (f *Concurrent) eachStripe(visit func(first int, words []uint64)) {
	words := kernel.Words(f.blocks)
	length := 8 << f.shift
	for s := 0; s*length < len(words); s++ {
		f.locks[s].Lock()
		visit(s*length, words[s*length:min((s+1)*length, len(words))])
		f.locks[s].Unlock()
	}
}

// String returns Stats as a line of text, with the count of EstimateCount: it reads
// the whole array.
func (f *Concurrent) String() string { return text(f) }

// Stats describes the state of the filter, see Filter.Stats.
func (f *Concurrent) Stats() bloomery.Stats {
	return f.stats("concurrent", kernel.Words(f.blocks), countShared, 0)
}

// EstimateCount estimates the number of different keys, see
// Filter.EstimateCount.
func (f *Concurrent) EstimateCount() uint64 {
	w := kernel.Words(f.blocks)
	return round(f.shape.Count(f.fill(countShared(w), uint64(len(w)))))
}

// countShared is count while others set bits.
func countShared(words []uint64) uint64 {
	var n int
	for i := range words {
		n += bits.OnesCount64(atomic.LoadUint64(&words[i]))
	}
	return uint64(n)
}
