package compose

import (
	"fmt"
	"math"
	"slices"
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
// It has no encoding, since it holds a function: write the layers themselves.
// Make one with NewLayers.
//
// Safe for concurrent readers if its layers and the exact function are; a writer
// needs exclusion.
type Layers struct {
	noJSON
	hasher hashing.Hasher
	layers []bloomery.Hashed
	exact  func(key []byte) bool

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
	return &Layers{
		hasher: hasher, layers: slices.Clone(layers), exact: exact,
		stopped: make([]atomic.Uint64, len(layers)+1),
	}, nil
}

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
func (l *Layers) Contains(key []byte) bool {
	if len(l.layers) == 0 {
		return false
	}
	h := l.hasher.Hash(key)
	l.queries.Add(1)
	for i, m := range l.layers {
		if !m.ContainsHash(layerHash(h, i)) {
			l.stopped[i].Add(1)
			return false
		}
	}
	if l.exact != nil && !l.exact(key) {
		l.stopped[len(l.layers)].Add(1)
		return false
	}
	l.passed.Add(1)
	return true
}

// ContainsString is Contains for a string.
func (l *Layers) ContainsString(key string) bool { return l.Contains([]byte(key)) }

// Insert adds or inserts key into every layer. Layers that count, such as a cuckoo
// filter, get it once more if it is there already, so that Delete removes one copy.
// The error wraps ErrFull, or ErrIncompatible for a layer that takes no keys; layers
// before the one that refused hold the key then, which is harmless.
func (l *Layers) Insert(key []byte) error {
	l.made()
	h := l.hasher.Hash(key)
	for i, m := range l.layers {
		if err := writable(i, m); err != nil {
			return fmt.Errorf("compose: insert: %w: layer %d takes no keys", bloomery.ErrIncompatible, i)
		}
	}
	for i, m := range l.layers {
		if err := put(m, layerHash(h, i)); err != nil {
			return fmt.Errorf("compose: insert: layer %d: %w", i, err)
		}
	}
	return nil
}

// InsertString is Insert for a string.
func (l *Layers) InsertString(key string) error { return l.Insert([]byte(key)) }

// Delete removes one copy of a key that was inserted from the layers that can
// delete, and reports whether one of them did. Others keep it: their false
// positives are stopped by the next.
func (l *Layers) Delete(key []byte) bool {
	l.made()
	h, deleted := l.hasher.Hash(key), false
	for i, m := range l.layers {
		if d, ok := m.(bloomery.Deleter); ok {
			deleted = d.DeleteHash(layerHash(h, i)) || deleted
		}
	}
	return deleted
}

// DeleteString is Delete for a string.
func (l *Layers) DeleteString(key string) bool { return l.Delete([]byte(key)) }

// made panics for a zero Layers.
func (l *Layers) made() {
	if len(l.layers) == 0 {
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
func (l *Layers) Counts() LayersStats {
	n := len(l.layers)
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
func (l *Layers) String() string { return l.Stats().String() }

// Stats describes all layers together: Items is that of the last layer, and
// Predicted the share of absent keys that pass all filters, which is the share
// for which the exact function is called in vain.
func (l *Layers) Stats() bloomery.Stats {
	if len(l.layers) == 0 {
		return bloomery.Stats{Kind: "layers"}
	}
	st := bloomery.Stats{Kind: "layers", Asked: 1, Predicted: 1}
	all := make([]bloomery.Stats, len(l.layers))
	var relative float64
	for i, m := range l.layers {
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

var _ bloomery.Filter = (*Layers)(nil)
