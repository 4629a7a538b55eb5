package compose

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

// Layers asks filters one after the other, and then an exact set: a Bloom filter
// that stops most absent keys in one memory access, a cuckoo filter that stops
// most of the rest, and a function that looks the key up where it is stored.
//
//	Contains ──► layer 0 ──yes──► layer 1 ──yes──► Exact
//	               │no              │no              │
//	               ▼                ▼                ▼
//	             false            false        the right answer
//
// Every layer uses a salted hash of a key, so that their false positives are
// independent: what passes all of them is the product of their rates. Layers
// counts what each of them stopped.
//
// Its encoding is that of its filters, without the function: LayersConfig.Decode takes
// it again. Counts are not encoded.
//
// Make one with NewLayers. It has no UnmarshalBinary and no Clone, see Quorum.
//
// Safe for concurrent readers if its layers and the exact function are; a writer
// needs exclusion.
type Layers struct{ layers }

// layers is what Layers and their view have in common.
type layers struct {
	noJSON
	hasher  hashing.Hasher
	members []bloomery.Hashed
	exact   func(key []byte) bool

	queries atomic.Uint64
	stopped []atomic.Uint64 // by each layer, and by exact
	passed  atomic.Uint64
}

// NewLayers returns Layers that ask these filters in their order. They must be
// different filters with the same hash, and are as a rule empty. exact reports whether a key is really in the set;
// nil means that there is no such function, and a key that passes all filters
// counts as found. Errors wrap ErrParameter or ErrIncompatible.
func NewLayers(exact func(key []byte) bool, layers ...bloomery.Hashed) (*Layers, error) {
	if len(layers) == 0 {
		return nil, fmt.Errorf("compose: new layers: %w: there are none", bloomery.ErrParameter)
	}
	for i, m := range layers {
		if m == nil {
			return nil, fmt.Errorf("compose: new layers: %w: layer %d is nil", bloomery.ErrParameter, i)
		}
	}
	if err := checkMembers(layers); err != nil {
		return nil, fmt.Errorf("compose: new layers: %w", err)
	}
	hasher, err := hasherOf(layers[0])
	if err != nil {
		return nil, fmt.Errorf("compose: new layers: %w", err)
	}
	l := &Layers{}
	l.set(hasher, layers, exact)
	return l, nil
}

func (l *layers) set(hasher hashing.Hasher, members []bloomery.Hashed, exact func(key []byte) bool) {
	l.hasher, l.members, l.exact = hasher, slices.Clone(members), exact
	l.stopped = make([]atomic.Uint64, len(members)+1)
}

// Members returns the layers in their order.
func (l *layers) Members() []bloomery.Hashed { return slices.Clone(l.members) }

// Hash returns the hash of key that all layers have.
func (l *layers) Hash(key []byte) uint64 { return l.hasher.Hash(key) }

// Hasher returns the hasher of all layers.
func (l *layers) Hasher() hashing.Hasher { return l.hasher }

// layerHash returns the hash of a key in layer i. The first one uses the hash
// as it is, so that a filter that is there already can be it.
func layerHash(h uint64, i int) uint64 {
	if i == 0 {
		return h
	}
	return bloomery.Salted(h, uint64(i))
}

// Contains reports whether key is in the set. With an exact function the answer is
// certain; without one, true may be a false positive.
func (l *layers) Contains(key []byte) bool {
	return l.pass(l.hasher.Hash(key)) && l.confirm(key)
}

// ContainsString is Contains for a string.
func (l *layers) ContainsString(key string) bool { return l.Contains([]byte(key)) }

// ContainsHash reports whether all filters contain the key whose hash is h. The exact
// function, which needs the key, is not asked.
func (l *layers) ContainsHash(h uint64) bool {
	if !l.pass(h) {
		return false
	}
	l.passed.Add(1)
	return true
}

// pass asks all filters.
func (l *layers) pass(h uint64) bool {
	if len(l.members) == 0 {
		return false
	}
	l.queries.Add(1)
	for i, m := range l.members {
		if !m.ContainsHash(layerHash(h, i)) {
			l.stopped[i].Add(1)
			return false
		}
	}
	return true
}

// confirm asks the exact function for a key that passed all filters.
func (l *layers) confirm(key []byte) bool {
	if l.exact != nil && !l.exact(key) {
		l.stopped[len(l.members)].Add(1)
		return false
	}
	l.passed.Add(1)
	return true
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is shorter
// than hs.
func (l *layers) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	s := layersScratches.Get().(*layersScratch)
	defer layersScratches.Put(s)
	for len(hs) > 0 {
		n := min(len(hs), batch)
		l.passed.Add(l.passBatch(dst[:n], hs[:n], s))
		dst, hs = dst[n:], hs[n:]
	}
}

// layersScratch is memory for a batch, see quorumScratch.
type layersScratch struct {
	hs, salted [batch]uint64
	found      [batch]bool
	left       [batch]uint8 // which keys no layer has stopped
}

var layersScratches = sync.Pool{New: func() any { return new(layersScratch) }}

// passBatch asks every filter for the keys that those before it contain, and returns how
// many pass all.
func (l *layers) passBatch(dst []bool, hs []uint64, s *layersScratch) uint64 {
	clear(dst)
	if len(l.members) == 0 {
		return 0
	}
	l.queries.Add(uint64(len(hs)))
	left := s.left[:len(hs)]
	for i := range left {
		left[i] = uint8(i)
	}
	for i, m := range l.members {
		for j, k := range left {
			s.salted[j] = layerHash(hs[k], i)
		}
		m.ContainsHashes(s.found[:len(left)], s.salted[:len(left)])
		n := 0
		for j, k := range left {
			if s.found[j] {
				left[n] = k
				n++
			}
		}
		l.stopped[i].Add(uint64(len(left) - n))
		left = left[:n]
	}
	for _, k := range left {
		dst[k] = true
	}
	return uint64(len(left))
}

// ContainsKeys sets dst[i] to Contains(keys[i]). It panics if dst is shorter than keys.
func (l *layers) ContainsKeys(dst []bool, keys [][]byte) {
	layersContain(l, dst, keys, func(key []byte) bool { return l.confirm(key) })
}

// ContainsStrings is ContainsKeys for strings.
func (l *layers) ContainsStrings(dst []bool, keys []string) {
	layersContain(l, dst, keys, func(key string) bool { return l.confirm([]byte(key)) })
}

func layersContain[K []byte | string](l *layers, dst []bool, keys []K, confirm func(K) bool) {
	dst = dst[:len(keys):len(dst)]
	s := layersScratches.Get().(*layersScratch)
	defer layersScratches.Put(s)
	for len(keys) > 0 {
		n := hashing.HashBatch(l.hasher, s.hs[:], keys)
		passed := l.passBatch(dst[:n], s.hs[:n], s)
		if l.exact == nil {
			l.passed.Add(passed)
		} else {
			for i, found := range dst[:n] {
				dst[i] = found && confirm(keys[i])
			}
		}
		dst, keys = dst[n:], keys[n:]
	}
}

// Insert adds or inserts key into every layer. Layers that count, such as a cuckoo
// filter, get it once more if it is there already, so that Delete removes one copy.
// The error wraps ErrFull, or ErrIncompatible for a layer that takes no keys; layers
// before the one that refused give it back if they can delete, and else hold it, which is
// harmless.
func (l *Layers) Insert(key []byte) error { return l.InsertHash(l.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (l *Layers) InsertString(key string) error { return l.InsertHash(l.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (l *Layers) InsertHash(h uint64) error {
	l.made()
	if err := l.writable(); err != nil {
		return fmt.Errorf("compose: insert: %w", err)
	}
	for i, m := range l.members {
		if err := put(m, layerHash(h, i)); err != nil {
			l.takeBack(h, i)
			return fmt.Errorf("compose: insert: layer %d: %w", i, err)
		}
	}
	return nil
}

// takeBack deletes what was just inserted into the first n layers, if they can delete.
func (l *Layers) takeBack(h uint64, n int) {
	for i, m := range l.members[:n] {
		if d, ok := m.(bloomery.Deleter); ok {
			d.DeleteHash(layerHash(h, i))
		}
	}
}

// writable returns an error unless all layers take keys.
func (l *layers) writable() error {
	for i, m := range l.members {
		if writable(i, m) != nil {
			return fmt.Errorf("%w: layer %d takes no keys", bloomery.ErrIncompatible, i)
		}
	}
	return nil
}

// InsertHashes inserts hs in order and stops at the first failure; n is how many
// were inserted.
func (l *Layers) InsertHashes(hs []uint64) (n int, err error) {
	for i, h := range hs {
		if err := l.InsertHash(h); err != nil {
			return i, err
		}
	}
	return len(hs), nil
}

// InsertKeys is InsertHashes for keys.
func (l *Layers) InsertKeys(keys [][]byte) (n int, err error) {
	for i, key := range keys {
		if err := l.Insert(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// InsertStrings is InsertHashes for strings.
func (l *Layers) InsertStrings(keys []string) (n int, err error) {
	for i, key := range keys {
		if err := l.InsertString(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// InsertSeq is InsertKeys for a sequence. It does not retain keys.
func (l *Layers) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	for key := range seq {
		if err := l.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Delete removes one copy of a key that was inserted from the layers that can
// delete, and reports whether one of them did. Others keep it: their false
// positives are stopped by the next. It reports false, and changes nothing, if one of
// the layers denies the key.
func (l *Layers) Delete(key []byte) bool { return l.DeleteHash(l.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (l *Layers) DeleteString(key string) bool { return l.DeleteHash(l.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h.
func (l *Layers) DeleteHash(h uint64) bool {
	l.made()
	deleted := false
	for i, m := range l.members {
		if !m.ContainsHash(layerHash(h, i)) { // it is absent, and what looks like it elsewhere is another's
			return false
		}
	}
	for i, m := range l.members {
		if d, ok := m.(bloomery.Deleter); ok {
			deleted = d.DeleteHash(layerHash(h, i)) || deleted
		}
	}
	return deleted
}

// made panics for a zero Layers.
func (l *Layers) made() {
	if len(l.members) == 0 {
		panic("compose: a zero Layers: make it with NewLayers")
	}
}

// LayersStats counts queries.
type LayersStats struct {
	// Queries is how many keys were looked up, Found how many passed.
	Queries uint64 `json:"queries"`
	Found   uint64 `json:"found"`
	// Stopped is how many each layer stopped, in their order; Exact how many
	// passed all layers and were not in the set.
	Stopped []uint64 `json:"stopped"`
	Exact   uint64   `json:"exact"`
}

// Counts returns what became of the queries so far.
func (l *layers) Counts() LayersStats {
	n := len(l.members)
	st := LayersStats{Queries: l.queries.Load(), Found: l.passed.Load(), Stopped: make([]uint64, n)}
	if n == 0 {
		return st
	}
	st.Exact = l.stopped[n].Load()
	for i := range st.Stopped {
		st.Stopped[i] = l.stopped[i].Load()
	}
	return st
}

// String returns Stats as a line of text.
func (l *layers) String() string { return l.Stats().String() }

// Stats describes all layers together: Items is that of the last layer, and
// Predicted the share of absent keys that pass all filters, which is the share
// for which the exact function is called in vain.
func (l *layers) Stats() bloomery.Stats {
	if len(l.members) == 0 {
		return bloomery.Stats{Kind: "layers"}
	}
	st := bloomery.Stats{Kind: "layers", Asked: 1, Predicted: 1}
	all := make([]bloomery.Stats, len(l.members))
	var relative float64
	for i, m := range l.members {
		all[i] = m.Stats()
		st.Asked *= all[i].Asked
		st.Predicted *= all[i].Predicted
		if all[i].Predicted > 0 {
			r := all[i].PredictedSigma / all[i].Predicted
			relative += r * r
		}
	}
	sum(&st, all)
	last := all[len(all)-1]
	st.Items, st.Exact, st.Capacity = last.Items, last.Exact, last.Capacity
	st.PredictedSigma = st.Predicted * math.Sqrt(relative)
	return st
}

var (
	_ bloomery.Hashed   = (*Layers)(nil)
	_ bloomery.Inserter = (*Layers)(nil)
	_ bloomery.Deleter  = (*Layers)(nil)
)
