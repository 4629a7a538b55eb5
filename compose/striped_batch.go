package compose

import (
	"fmt"
	"iter"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

// stripedBatch is how many hashes are sorted by stripe at once.
const stripedBatch = 4096

// stripedScratch sorts a batch by stripe.
type stripedScratch struct {
	stripe []uint16 // of each hash
	ends   []int    // behind the last hash of each stripe
	hs     []uint64 // sorted by stripe
	index  []int    // where each was
	found  []bool
}

// sorted calls visit for every stripe that has some of hs, in their order, with
// where they stand in hs.
func (s *Striped) sorted(hs []uint64, visit func(t *stripe, hs []uint64, index []int, found []bool)) {
	c, ok := s.scratch.Get().(*stripedScratch)
	if !ok {
		c = &stripedScratch{
			stripe: make([]uint16, stripedBatch), ends: make([]int, len(s.stripes)),
			hs: make([]uint64, stripedBatch), index: make([]int, stripedBatch), found: make([]bool, stripedBatch),
		}
	}
	defer s.scratch.Put(c)
	clear(c.ends)
	for i, h := range hs {
		to := bloomery.Route(h, s.bits)
		c.stripe[i] = uint16(to)
		c.ends[to]++
	}
	start := 0
	for i, n := range c.ends { // first the beginnings; placing moves them to the ends
		c.ends[i], start = start, start+n
	}
	for i, h := range hs {
		at := &c.ends[c.stripe[i]]
		c.hs[*at], c.index[*at] = h, i
		*at++
	}
	from := 0
	for i, to := range c.ends {
		if to > from {
			visit(&s.stripes[i], c.hs[from:to], c.index[from:to], c.found[from:to])
		}
		from = to
	}
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It takes each lock once for
// 4,096 keys. It panics if dst is shorter than hs.
func (s *Striped) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	if len(s.stripes) == 0 {
		clear(dst)
		return
	}
	for len(hs) > 0 {
		n := min(len(hs), stripedBatch)
		part := dst[:n]
		s.sorted(hs[:n], func(t *stripe, hs []uint64, index []int, found []bool) {
			t.mu.RLock()
			t.f.ContainsHashes(found, hs)
			t.mu.RUnlock()
			for i, at := range index {
				part[at] = found[i]
			}
		})
		dst, hs = dst[n:], hs[n:]
	}
}

// ContainsKeys is ContainsHashes for keys.
func (s *Striped) ContainsKeys(dst []bool, keys [][]byte) { stripedContains(s, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (s *Striped) ContainsStrings(dst []bool, keys []string) { stripedContains(s, dst, keys) }

func stripedContains[K []byte | string](s *Striped, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	hs := make([]uint64, min(len(keys), stripedBatch))
	for len(keys) > 0 {
		n := hashing.HashBatch(s.hasher, hs, keys)
		s.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// StripedError is the error of a batch some of whose keys were not inserted.
type StripedError struct {
	// Missing are the places of the keys that were not inserted, ascending.
	Missing []int
	// Err is the first error; it wraps ErrFull.
	Err error
}

// Error implements error.
func (e *StripedError) Error() string {
	return fmt.Sprintf("compose: insert: %d keys were not inserted: %v", len(e.Missing), e.Err)
}

// Unwrap returns the cause.
func (e *StripedError) Unwrap() error { return e.Err }

// InsertHashes inserts hs, those of a stripe in their order, and takes each lock
// once for 4,096 of them. A stripe that is full does not keep keys out of the
// others: n is how many were inserted, and a *StripedError names those that were
// not.
func (s *Striped) InsertHashes(hs []uint64) (n int, err error) {
	s.made()
	var failed StripedError
	for base := 0; base < len(hs); base += stripedBatch {
		s.sorted(hs[base:min(base+stripedBatch, len(hs))], func(t *stripe, hs []uint64, index []int, _ []bool) {
			t.mu.Lock()
			done, err := insertAll(t.f, hs)
			t.mu.Unlock()
			n += done
			if err == nil {
				return
			}
			if failed.Err == nil {
				failed.Err = err
			}
			for _, at := range index[done:] {
				failed.Missing = append(failed.Missing, base+at)
			}
		})
	}
	if failed.Err == nil {
		return n, nil
	}
	slices.Sort(failed.Missing)
	return n, &failed
}

// insertAll puts hs into a filter, in order, up to the first that it refuses.
func insertAll(f bloomery.Hashed, hs []uint64) (int, error) {
	if a, ok := f.(bloomery.Adder); ok {
		a.AddHashes(nil, hs)
		return len(hs), nil
	}
	if b, ok := f.(interface {
		InsertHashes([]uint64) (int, error)
	}); ok {
		return b.InsertHashes(hs)
	}
	in := f.(bloomery.Inserter)
	for i, h := range hs {
		if err := in.InsertHash(h); err != nil {
			return i, err
		}
	}
	return len(hs), nil
}

// InsertKeys is InsertHashes for keys.
func (s *Striped) InsertKeys(keys [][]byte) (n int, err error) {
	hs := make([]uint64, len(keys))
	s.hasher.HashKeys(hs, keys)
	return s.InsertHashes(hs)
}

// InsertStrings is InsertHashes for strings.
func (s *Striped) InsertStrings(keys []string) (n int, err error) {
	hs := make([]uint64, len(keys))
	s.hasher.HashStrings(hs, keys)
	return s.InsertHashes(hs)
}

// InsertSeq inserts the keys of seq one by one and stops at the first failure. It
// does not retain keys.
func (s *Striped) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	for key := range seq {
		if err := s.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
