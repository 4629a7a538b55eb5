package quotient

import (
	"fmt"
	"iter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/batches"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

var (
	_ bloomery.Hashed   = (*Filter)(nil)
	_ bloomery.Inserter = (*Filter)(nil)
	_ bloomery.Deleter  = (*Filter)(nil)
	_ bloomery.Counter  = (*Filter)(nil)
)

// Filter is a quotient filter with counts. It keeps a fingerprint of every key,
// so keys can be deleted, counted, listed by hash, put together with those of
// another Filter, and moved to a larger array without the keys themselves.
//
// Keys with the same fingerprint are one key to it: with the chance of the
// false positive rate, deleting a key that was never inserted removes another
// one. Delete only what was inserted, and there is never a false negative.
//
// Make one with New or Config.New. A zero Filter is empty and cannot be
// changed or encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Filter struct {
	core
	alloc func(bytes int) ([]byte, error)
}

// New returns a Filter for n keys with false positive rate p. It panics if n is
// less than 1 or p is not between 0 and 1: use Config.New for values that are
// not constants.
func New(n int, p float64) *Filter {
	f, err := Config{Capacity: n, ErrorRate: p}.New()
	if err != nil {
		panic(err)
	}
	return f
}

// New returns a Filter. Its errors wrap ErrParameter or ErrTooLarge, or are
// those of Alloc.
func (c Config) New() (*Filter, error) {
	q, rate, err := c.shape()
	if err != nil {
		return nil, fmt.Errorf("quotient: new: %w", err)
	}
	data, err := memory.ByteArray(int(arrayBytes(q)), c.Alloc)
	if err != nil {
		return nil, fmt.Errorf("quotient: new: %w", err)
	}
	return &Filter{core{
		table: newTable(q, data), hasher: c.Hasher, shape: q, capacity: uint64(c.Capacity), rate: rate,
	}, c.Alloc}, nil
}

// Insert adds an occurrence of key. It returns an error that wraps ErrFull, and
// changes nothing, if 31 of 32 slots are in use, or if key is there MaxCount
// times: Resize makes room. It costs more the fuller the filter is. Keys whose hashes were
// chosen to be much alike are refused, too, before they cost far more: see MaxReach.
func (f *Filter) Insert(key []byte) error { return f.InsertHash(f.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (f *Filter) InsertString(key string) error { return f.InsertHash(f.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (f *Filter) InsertHash(h uint64) error {
	f.mustBeMade()
	quotient, remainder := f.split(h)
	room := f.shape.Limit() - f.used
	if room > 0 && f.insertHere(quotient, remainder) {
		f.used++
		f.items++
		f.distinct++
		return nil
	}
	s := f.find(quotient, remainder)
	if s.found && s.count == maxCount {
		return fmt.Errorf("quotient: insert: %w: the key is there %d times, which is as far as counters go", bloomery.ErrFull, s.count)
	}
	f.bound = f.mostStretch(f.used, f.counts)
	run := f.runOf(s)
	if run >= f.mostRun(f.counts) {
		return f.crowded()
	}
	slots, ok := f.insert(s, remainder, room)
	if !ok {
		if _, ok := f.free(s.block, 1); ok && room > maxEntry {
			return f.crowded()
		}
		return f.full()
	}
	f.run = max(f.run, run+slots)
	f.used += uint64(slots)
	f.items++
	if s.found {
		f.counts = true
	} else {
		f.distinct++
	}
	return nil
}

// InsertHashes inserts all of hs, in order. It stops at the first error, that
// of InsertHash, and returns how many were inserted.
func (f *Filter) InsertHashes(hs []uint64) (n int, err error) {
	f.mustBeMade()
	return batches.Insert(hs, func(h uint64) error { return f.InsertHash(h) })
}

// InsertKeys is InsertHashes for keys.
func (f *Filter) InsertKeys(keys [][]byte) (n int, err error) {
	f.mustBeMade()
	return batches.Insert(keys, func(key []byte) error { return f.Insert(key) })
}

// InsertStrings is InsertHashes for strings.
func (f *Filter) InsertStrings(keys []string) (n int, err error) {
	f.mustBeMade()
	return batches.Insert(keys, func(key string) error { return f.InsertString(key) })
}

// InsertSeq is InsertKeys for all keys of seq. It does not retain them.
func (f *Filter) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	f.mustBeMade()
	for key := range seq {
		if err := f.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// full returns the error of an insert for which there is no room.
func (f *Filter) full() error {
	return fmt.Errorf("quotient: insert: %w: %d of %d slots are in use by %d keys",
		bloomery.ErrFull, f.used, f.shape.Blocks*uint64(f.shape.Slots), f.distinct)
}

// Delete removes one occurrence of a key that was inserted. It reports false,
// and changes nothing, if the key is certainly absent.
func (f *Filter) Delete(key []byte) bool { return f.DeleteHash(f.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (f *Filter) DeleteString(key string) bool { return f.DeleteHash(f.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h.
func (f *Filter) DeleteHash(h uint64) bool {
	f.mustBeMade()
	s := f.find(f.split(h))
	if !s.found {
		return false
	}
	f.used -= uint64(f.remove(s))
	f.items--
	if s.count == 1 {
		f.distinct--
	}
	f.counts = f.items != f.distinct
	return true
}

// Merge adds the keys of o to f, with their counts. They must have the same
// hasher, and the same fingerprints: those of o may have more bits, as after
// fewer or more calls of Resize on filters that were made alike. Else the error
// wraps ErrIncompatible and names the difference. It wraps ErrFull if there is
// no room for all of them, or for a count. An error leaves f as it was. It
// takes the time to read both and an array of f's size on the Go heap.
func (f *Filter) Merge(o *Filter) error {
	f.mustBeMade()
	shift, err := f.compatible(&o.core)
	if err != nil {
		return fmt.Errorf("quotient: merge: %w", err)
	}
	fresh := newTable(f.shape, memory.Bytes(len(f.data)))
	b := builder{t: &fresh}
	if err := b.merge(f.walk(), o.walk(), shift, f.shape.Limit()); err != nil {
		return fmt.Errorf("quotient: merge: %w", err)
	}
	copy(f.data, fresh.data)
	f.setTotals(b.totals)
	f.reach = f.measured()
	return nil
}

// merge appends the entries of x, and those of y without the lowest bits of
// their fingerprints.
func (b *builder) merge(x, y walker, shift int, limit uint64) error {
	fx, ex, okx := x.next()
	fy, ey, oky := y.next()
	fy >>= shift
	for okx || oky {
		at, count := fx, uint64(0)
		if !okx || oky && fy < fx {
			at = fy
		}
		for okx && fx == at {
			count += ex.count
			fx, ex, okx = x.next()
		}
		for oky && fy == at {
			count += ey.count
			fy, ey, oky = y.next()
			fy >>= shift
		}
		if count > maxCount {
			return fmt.Errorf("%w: a key would be there %d times, counters go to %d", bloomery.ErrFull, count, maxCount)
		}
		if !b.append(at, count) || b.used > limit {
			return fmt.Errorf("%w: the keys take more than %d slots", bloomery.ErrFull, limit)
		}
	}
	b.finish()
	return nil
}

// Resize raises the capacity to n keys, counted with those that are there. It
// doubles the array as often as that takes, and does nothing if they fit. All that
// is there fits again. Each doubling costs a bit of the remainders: the
// rate with the same keys stays, that at the new capacity doubles, as Stats
// shows. If the remainders have not enough bits the error wraps ErrFull; others
// wrap ErrParameter or ErrTooLarge, or are those of Alloc. Errors leave the
// filter as it was.
func (f *Filter) Resize(n int) error {
	f.mustBeMade()
	if n < 1 {
		return fmt.Errorf("quotient: resize: %w: room for %d keys", bloomery.ErrParameter, n)
	}
	q, err := f.grown(uint64(n))
	if err != nil {
		return fmt.Errorf("quotient: resize: %w: %w", bloomery.ErrFull, err)
	}
	if q == f.shape {
		f.capacity = max(f.capacity, uint64(n))
		return nil
	}
	if err := f.rebuild(q); err != nil {
		return fmt.Errorf("quotient: resize: %w", err)
	}
	f.capacity = max(f.capacity, uint64(n))
	return nil
}

// rebuild moves all entries to a table of another shape.
func (f *Filter) rebuild(q sizing.Quotient) error {
	if err := memory.Fits(arrayBytes(q)); err != nil {
		return err
	}
	data, err := memory.ByteArray(int(arrayBytes(q)), f.alloc)
	if err != nil {
		return err
	}
	fresh := newTable(q, data)
	b := builder{t: &fresh}
	w := f.walk()
	for fingerprint, e, ok := w.next(); ok; fingerprint, e, ok = w.next() {
		if !b.append(fingerprint, e.count) {
			return fmt.Errorf("%w: the keys run over the last block", bloomery.ErrFull)
		}
	}
	b.finish()
	f.table, f.shape = fresh, q
	f.setTotals(b.totals)
	f.reach = f.measured()
	return nil
}

// Clone returns a Filter of its own memory with the same keys.
func (f *Filter) Clone() *Filter {
	c := &Filter{core: f.core}
	c.data = memory.Bytes(len(f.data))
	copy(c.data, f.data)
	return c
}

// Clear removes all keys.
func (f *Filter) Clear() {
	f.mustBeMade()
	clear(f.data)
	f.setTotals(totals{})
	f.reach = reach{}
}

// mustBeMade panics for a zero Filter, which cannot be changed.
func (f *Filter) mustBeMade() {
	if len(f.data) == 0 {
		panic("quotient: the filter is zero and cannot be changed: make it with New or Config.New")
	}
}
