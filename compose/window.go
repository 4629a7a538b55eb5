package compose

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed = (*Window)(nil)
	_ bloomery.Adder  = (*Window)(nil)
)

// batch is how many keys are hashed before their hashes are looked up: 2 KiB of
// stack.
const batch = 256

// Window is a Bloom filter of the keys of the last span of time. The span has g
// generations; a key that was added in generation G is found until generation
// G + g is over, and is then dropped with all keys of its generation.
//
//	generation   G-6   G-5   G-4   G-3   G-2   G-1    G
//	             [   ][   ][   ][   ][   ][   ][ adds go here ]
//	              |
//	              dropped by Advance(G + 1)
//
// There is no clock in it: Advance is the only way in which time passes. Adding a
// key again writes it to the present generation, so that it stays for another
// span.
//
// The generations are filters with the same hash. Blocks of the same number lie next
// to each other, so a lookup reads neighbouring cache lines:
//
//	block 0 of all generations        block 1 of all generations
//	[ block ][ block ] ... [ block ]  [ block ][ block ] ... [ block ]  ...
//
// A block is half a cache line, as in bloom.Split: a lookup then reads half as
// many lines. Where that would take more than an eighth more memory, which is at
// low rates, a block is a whole line, as in bloom.Filter.
//
// With WindowConfig.Rotate every generation has a secret of its own, and an array
// of its own, of whole lines.
//
// Make one with NewWindow or WindowConfig.New. A zero Window is empty and cannot be
// changed or encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Window struct{ window }

// window is what a Window and a WindowView have in common.
type window struct {
	noJSON
	hasher   hashing.Hasher
	size     sizing.Window
	capacity uint64
	rate     float64
	rotate   bool

	current uint64
	words   []uint64           // of all generations
	lines   kernel.Generations // over words, unless rotate
	salts   []uint64           // of each slot, if rotate
	counts  []uint64           // keys that were new to each slot; nil if that is not known
	dropped []dropped          // what is to be cleared, nil for nothing
}

// NewWindow returns a Window for n keys per span with false positive rate p and
// so many generations in a span, none of which takes more than 1.5 times its even
// share: see WindowConfig.Burst. It panics if a value is out of its range: use
// WindowConfig.New for values that are not constants.
func NewWindow(n int, p float64, generations int) *Window {
	if generations == 0 {
		panic(fmt.Sprintf("compose: new window: %v: 0 generations", bloomery.ErrParameter))
	}
	w, err := WindowConfig{Capacity: n, ErrorRate: p, Generations: generations}.New()
	if err != nil {
		panic(err)
	}
	return w
}

// attach gives w its array, which is empty or what was read.
func (w *window) attach(words []uint64) {
	w.words = words
	switch {
	case w.rotate:
		w.salts = make([]uint64, w.ways())
		w.salt()
	case w.size.Shape.Layout == sizing.Split:
		w.lines = kernel.NewSplitGenerations(kernel.SplitBlocks(words), w.ways())
	default:
		w.lines = kernel.NewGenerations(kernel.Blocks(words), w.ways())
	}
}

// ways returns the number of generations that are kept.
func (w *window) ways() int { return w.size.Generations + 1 }

// slot returns where generation n lies.
func (w *window) slot(n uint64) int { return int(n % uint64(w.ways())) }

// apart returns the array of a slot of a rotating window.
func (w *window) apart(slot int) []kernel.Block {
	each := len(w.words) / w.ways()
	return kernel.Blocks(w.words[slot*each : (slot+1)*each])
}

// salt derives the secret of every generation from the keyed hash.
func (w *window) salt() {
	for back := range uint64(w.ways()) {
		if back > w.current {
			break
		}
		n := w.current - back
		w.salts[w.slot(n)] = w.hasher.Hash(binary.LittleEndian.AppendUint64([]byte("bloomery window generation "), n))
	}
}

// Generation returns the number of the present generation. It is 0 at first.
func (w *window) Generation() uint64 { return w.current }

// Hash returns the window's hash of key.
func (w *window) Hash(key []byte) uint64 { return w.hasher.Hash(key) }

// Hasher returns the hasher of the window.
func (w *window) Hasher() hashing.Hasher { return w.hasher }

// Shape returns the size of each generation, their number and the burst.
func (w *window) Shape() sizing.Window { return w.size }

// Contains reports whether key may have been added in the last span. False is
// certain.
func (w *window) Contains(key []byte) bool { return w.ContainsHash(w.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (w *window) ContainsString(key string) bool { return w.ContainsHash(w.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (w *window) ContainsHash(h uint64) bool {
	switch {
	case len(w.words) == 0:
		return false
	case !w.rotate:
		return w.find(h)
	}
	for slot, salt := range w.salts {
		if kernel.Has(w.apart(slot), w.size.Shape.K, bloomery.Salted(h, salt)) {
			return true
		}
	}
	return false
}

// find is ContainsHash for a window that does not rotate.
func (w *window) find(h uint64) bool {
	found := w.lines.Find(w.size.Shape.K, h)
	if w.dropped != nil {
		found &= w.kept(w.block(h))
	}
	return found != 0
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times faster
// than as many single calls. It panics if dst is shorter than hs.
func (w *window) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	switch {
	case len(w.words) == 0:
		clear(dst)
		return
	case w.dropped != nil:
		for i, h := range hs {
			dst[i] = w.find(h)
		}
		return
	case !w.rotate:
		w.lines.FindAll(dst, w.size.Shape.K, hs)
		return
	}
	var salted [batch]uint64
	var found [batch]bool
	for len(hs) > 0 {
		n := min(len(hs), batch)
		clear(dst[:n])
		for slot, salt := range w.salts {
			for i, h := range hs[:n] {
				salted[i] = bloomery.Salted(h, salt)
			}
			kernel.HasAll(found[:n], w.apart(slot), w.size.Shape.K, salted[:n])
			for i, f := range found[:n] {
				dst[i] = dst[i] || f
			}
		}
		dst, hs = dst[n:], hs[n:]
	}
}

// ContainsKeys is ContainsHashes for keys.
func (w *window) ContainsKeys(dst []bool, keys [][]byte) { windowContains(w, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (w *window) ContainsStrings(dst []bool, keys []string) { windowContains(w, dst, keys) }

func windowContains[K []byte | string](w *window, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(w.hasher, hs[:], keys)
		w.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// Add adds key to the present generation and reports whether no generation held
// it. False means that the key was, or seemed to be, there already.
func (w *Window) Add(key []byte) bool { return w.AddHash(w.hasher.Hash(key)) }

// AddString is Add for a string.
func (w *Window) AddString(key string) bool { return w.AddHash(w.hasher.HashString(key)) }

// AddHash is Add for a key whose hash is h.
func (w *Window) AddHash(h uint64) bool {
	w.made()
	k, slot := w.size.Shape.K, w.slot(w.current)
	if !w.rotate {
		fresh := !w.find(h)
		w.set(slot, h)
		return fresh
	}
	fresh := !w.ContainsHash(h)
	w.count(slot, kernel.Set(w.apart(slot), k, bloomery.Salted(h, w.salts[slot])))
	return fresh
}

// set adds a hash to a slot of a window that does not rotate.
func (w *Window) set(slot int, h uint64) {
	if w.dropped != nil {
		w.wipe(w.block(h))
	}
	w.count(slot, w.lines.Set(w.size.Shape.K, slot, h))
}

// count counts a hash that was added to a slot, if it was not there.
func (w *Window) count(slot int, fresh bool) {
	if fresh {
		w.counts[slot]++
	}
}

// AddHashes adds all of hs, in order. If dst is not nil, dst[i] is what
// AddHash(hs[i]) would have returned; it panics if dst is then shorter than hs.
func (w *Window) AddHashes(dst []bool, hs []uint64) {
	w.made()
	if dst != nil {
		dst = dst[:len(hs):len(dst)]
	}
	k, slot := w.size.Shape.K, w.slot(w.current)
	for i, h := range hs {
		switch {
		case dst != nil:
			dst[i] = w.AddHash(h)
		case w.rotate:
			w.count(slot, kernel.Set(w.apart(slot), k, bloomery.Salted(h, w.salts[slot])))
		default:
			w.set(slot, h)
		}
	}
}

// AddKeys is AddHashes for keys.
func (w *Window) AddKeys(dst []bool, keys [][]byte) { windowAdd(w, dst, keys) }

// AddStrings is AddHashes for strings.
func (w *Window) AddStrings(dst []bool, keys []string) { windowAdd(w, dst, keys) }

func windowAdd[K []byte | string](w *Window, dst []bool, keys []K) {
	if dst != nil {
		dst = dst[:len(keys):len(dst)]
	}
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(w.hasher, hs[:], keys)
		if dst != nil {
			w.AddHashes(dst[:n], hs[:n])
			dst = dst[n:]
		} else {
			w.AddHashes(nil, hs[:n])
		}
		keys = keys[n:]
	}
}

// AddSeq adds all keys of seq. It does not retain them.
func (w *Window) AddSeq(seq iter.Seq[[]byte]) {
	w.made()
	for key := range seq {
		w.AddHash(w.hasher.Hash(key))
	}
}

// Advance makes generation n the present one and drops those that are then more
// than a span old. Numbers may be left out: they stand for generations without
// keys. An n that is not larger than Generation changes nothing, so a clock that
// steps back does no harm. The cost is that of clearing the dropped generations.
func (w *Window) Advance(n uint64) {
	w.made()
	if n <= w.current {
		return
	}
	w.finish()
	if steps := n - w.current; steps >= uint64(w.ways()) {
		w.Clear()
	} else {
		for back := range steps {
			w.drop(w.slot(n - back))
		}
	}
	w.current = n
	if w.rotate {
		w.salt()
	}
}

func (w *Window) drop(slot int) {
	w.counts[slot] = 0
	if w.rotate {
		clear(w.apart(slot))
		return
	}
	w.lines.Clear(slot)
}

// Clear removes all keys. The present generation keeps its number.
func (w *Window) Clear() {
	w.made()
	clear(w.words)
	clear(w.counts)
	w.dropped = nil
}

// Union adds all keys of o to w, each to the generation that it is in. Both must
// have the same shape, hash and present generation, else the error wraps
// ErrIncompatible, names the first difference and leaves w as it was.
func (w *Window) Union(o *Window) error {
	w.made()
	if err := w.compatible(&o.window); err != nil {
		return fmt.Errorf("compose: union: %w", err)
	}
	w.finish()
	for i, word := range o.whole() {
		w.words[i] |= word
	}
	w.recount()
	return nil
}

// compatible returns nil if the arrays of two windows mean the same.
func (w *window) compatible(o *window) error {
	switch {
	case w.size.Shape.Layout != o.size.Shape.Layout:
		return fmt.Errorf("%w: %v layout and %v layout", bloomery.ErrIncompatible, w.size.Shape.Layout, o.size.Shape.Layout)
	case w.size.Shape != o.size.Shape:
		return fmt.Errorf("%w: %d bits with %d hashes and %d bits with %d hashes", bloomery.ErrIncompatible,
			w.size.Shape.Bits, w.size.Shape.K, o.size.Shape.Bits, o.size.Shape.K)
	case w.size.Generations != o.size.Generations:
		return fmt.Errorf("%w: %d generations and %d generations", bloomery.ErrIncompatible, w.size.Generations, o.size.Generations)
	case w.rotate != o.rotate:
		return fmt.Errorf("%w: only one of them rotates its secret", bloomery.ErrIncompatible)
	case w.current != o.current:
		return fmt.Errorf("%w: generation %d and generation %d", bloomery.ErrIncompatible, w.current, o.current)
	}
	return envelope.SameHash(w.hasher, o.hasher)
}

// Clone returns a Window of its own memory with the same keys.
func (w *Window) Clone() *Window {
	if len(w.words) == 0 {
		return new(Window)
	}
	c := &Window{w.window}
	words := memory.Words(len(w.words))
	copy(words, w.whole())
	c.attach(words)
	c.dropped = nil
	if w.counts == nil { // that of a view
		c.recount()
	} else {
		c.counts = slices.Clone(w.counts)
	}
	return c
}

// recount estimates the keys of each slot from all of its bits.
func (w *Window) recount() {
	shape, blocks := w.size.Shape, w.blocks()
	w.counts = make([]uint64, w.ways())
	for slot := range w.counts {
		set := uint64(0)
		for i := range blocks {
			set += w.ones(slot, i)
		}
		w.counts[slot] = uint64(min(math.Round(shape.Count(float64(set)/float64(shape.Bits))), 1<<63))
		if set > 0 {
			w.counts[slot] = max(1, w.counts[slot]) // 0 is for a slot without bits
		}
	}
}

// Added returns how many keys were new to their generation when they were added, over
// all generations that are kept; of a window that was read or united, as many as its
// bits show. Stats estimates the same from a sample, and is far off when few keys are
// in a large window.
func (w *Window) Added() (n uint64) {
	for _, c := range w.counts {
		n += c
	}
	return n
}

// made panics for a zero Window.
func (w *window) made() {
	if len(w.words) == 0 {
		panic("compose: a zero Window: make it with NewWindow or WindowConfig.New")
	}
}

// ones returns how many bits are set in block i of a generation.
func (w *window) ones(slot int, i uint64) (n uint64) {
	switch {
	case w.kept(i)>>slot&1 == 0:
		return 0
	case !w.rotate:
		return w.lines.Ones(slot, i)
	}
	for _, word := range w.apart(slot)[i] {
		n += uint64(bits.OnesCount64(word))
	}
	return n
}

// String returns Stats as a line of text.
func (w *window) String() string { return w.Stats().String() }

// Stats describes the state of the window. Items is the sum over all generations:
// a key that was added in several counts several times. Predicted is the rate over
// all generations. The fill of large windows is sampled, so it costs the same for
// every size.
func (w *window) Stats() bloomery.Stats {
	st := bloomery.Stats{
		Kind: "window", Capacity: w.capacity, Asked: w.rate,
		Bits: w.size.Bits(), Bytes: uint64(len(w.words)) * 8,
	}
	if len(w.words) == 0 {
		return st
	}
	var items, variance float64
	for slot := range w.ways() {
		s := w.sample(slot)
		items += w.size.Shape.Count(s.Fill)
		st.Saturation += s.Fill / float64(w.ways())
		st.Predicted += s.Rate
		variance += s.Sigma * s.Sigma
	}
	st.Items = uint64(min(math.Round(items), 1<<63))
	if math.IsInf(items, 1) {
		st.Items = math.MaxUint64
	}
	st.Predicted = min(1, st.Predicted)
	st.PredictedSigma = math.Sqrt(variance)
	return st
}

// Past describes the generation that is so many before the present one, 0 being the
// present. Capacity is what it may take of the keys of a span. It panics if back is
// not in 0..Shape().Generations.
func (w *window) Past(back int) bloomery.Stats {
	if back < 0 || back >= w.ways() {
		panic("compose: a generation that a Window does not keep")
	}
	shape := w.size.Shape
	st := bloomery.Stats{
		Kind: "window", Capacity: w.size.Most(w.capacity), Asked: w.rate,
		Bits: shape.Bits, Bytes: shape.Bits / 8,
	}
	if len(w.words) == 0 || uint64(back) > w.current {
		return st
	}
	s := w.sample(w.slot(w.current - uint64(back)))
	items := shape.Count(s.Fill)
	st.Saturation, st.Predicted, st.PredictedSigma, st.Items = s.Fill, s.Rate, s.Sigma, math.MaxUint64
	if !math.IsInf(items, 1) {
		st.Items = uint64(min(math.Round(items), 1<<63))
	}
	return st
}

// sample returns fill and rate of one generation.
func (w *window) sample(slot int) kernel.Sampled {
	shape := w.size.Shape
	rate := func(fill float64) float64 { return shape.Rate(shape.Count(fill)) }
	unit := shape.Layout.Unit()
	count := func(i int) uint64 { return w.ones(slot, uint64(i)) * (sizing.BlockBits / unit) } // as of a whole line
	return kernel.Sample(int(shape.Bits/unit), count, rate, 0)
}
