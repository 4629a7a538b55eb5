package compose

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/bloomery/bloomery"
)

var (
	_ bloomery.Hashed   = (*Corrected)(nil)
	_ bloomery.Inserter = (*Corrected)(nil)
	_ bloomery.Deleter  = (*Corrected)(nil)
	_ bloomery.Counter  = (*Corrected)(nil)
)

// made panics for a zero Corrected.
func (c *Corrected) made() {
	if c.filter == nil {
		panic("compose: a zero Corrected: make it with NewCorrected")
	}
}

// Insert adds or inserts key, as its family does, and takes a report of it out. The
// error wraps ErrFull, or ErrIncompatible for a filter that takes no keys.
func (c *Corrected) Insert(key []byte) error { return c.InsertHash(c.hasher.Hash(key)) }

// InsertString is Insert for a string.
func (c *Corrected) InsertString(key string) error { return c.InsertHash(c.hasher.HashString(key)) }

// InsertHash is Insert for a key whose hash is h.
func (c *Corrected) InsertHash(h uint64) error {
	if err := c.writable(); err != nil {
		return err
	}
	err := put(c.filter, h)
	c.inserting(h) // also if there was no room: a filter of several may hold the key all the same
	return err
}

// writable returns an error unless the filter takes keys.
func (c *Corrected) writable() error {
	c.made()
	if c.inserts == nil {
		return fmt.Errorf("compose: insert: %w: a %s filter takes no keys", bloomery.ErrIncompatible, c.filter.Stats().Kind)
	}
	return nil
}

// InsertHashes inserts hs in order and stops at the first failure; n is how many
// were inserted.
func (c *Corrected) InsertHashes(hs []uint64) (n int, err error) {
	if err := c.writable(); err != nil {
		return 0, err
	}
	if a, ok := c.filter.(bloomery.Adder); ok {
		a.AddHashes(nil, hs)
		for _, h := range hs {
			c.inserting(h)
		}
		return len(hs), nil
	}
	for i, h := range hs {
		if err := c.InsertHash(h); err != nil {
			return i, err
		}
	}
	return len(hs), nil
}

// InsertKeys is InsertHashes for keys.
func (c *Corrected) InsertKeys(keys [][]byte) (n int, err error) {
	for i, key := range keys {
		if err := c.Insert(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// InsertStrings is InsertHashes for strings.
func (c *Corrected) InsertStrings(keys []string) (n int, err error) {
	for i, key := range keys {
		if err := c.InsertString(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}

// InsertSeq is InsertKeys for a sequence. It does not retain keys.
func (c *Corrected) InsertSeq(seq iter.Seq[[]byte]) (n int, err error) {
	for key := range seq {
		if err := c.Insert(key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Delete removes one occurrence of a key that was inserted. It reports false if the
// key is certainly absent, or if the family cannot delete. A key that was reported is
// absent: deleting it takes nothing from the keys that it was mistaken for.
func (c *Corrected) Delete(key []byte) bool { return c.DeleteHash(c.hasher.Hash(key)) }

// DeleteString is Delete for a string.
func (c *Corrected) DeleteString(key string) bool { return c.DeleteHash(c.hasher.HashString(key)) }

// DeleteHash is Delete for a key whose hash is h.
func (c *Corrected) DeleteHash(h uint64) bool {
	c.made()
	d, ok := c.filter.(bloomery.Deleter)
	return ok && !c.denies(h) && d.DeleteHash(h)
}

// Count returns an upper bound of how often key was inserted; families that do not
// count answer 0 or 1.
func (c *corrected) Count(key []byte) uint64 { return c.CountHash(c.hasher.Hash(key)) }

// CountString is Count for a string.
func (c *corrected) CountString(key string) uint64 { return c.CountHash(c.hasher.HashString(key)) }

// CountHash is Count for a key whose hash is h.
func (c *corrected) CountHash(h uint64) uint64 {
	if !c.ContainsHash(h) {
		return 0
	}
	if counter, ok := c.filter.(bloomery.Counter); ok {
		return counter.CountHash(h)
	}
	return 1
}

// Clear empties the filter, if its family can be emptied, else it panics and changes
// nothing. There are no reports and no moments after it.
func (c *Corrected) Clear() {
	c.made()
	f, ok := c.filter.(interface{ Clear() })
	if !ok {
		panic(fmt.Sprintf("compose: clear: a %T cannot be emptied", c.filter))
	}
	f.Clear()
	c.outdate()
	c.publish(nil)
}

// outdate makes all moments before now outdated.
func (c *Corrected) outdate() {
	for i := range c.inserts {
		c.inserts[i].Add(1)
	}
}

// Merge adds the keys of other, as the Union or Merge of its family does. A report of either is
// kept if the other denies the key, too. Moments before it are outdated. The error wraps
// ErrIncompatible if the filters differ in shape, hash or family, or cannot be united; it is
// ErrFull if there is no room.
func (c *Corrected) Merge(other *Corrected) error {
	c.made()
	if other == nil || other.filter == nil {
		return fmt.Errorf("compose: merge corrected: %w: other is nil or zero", bloomery.ErrParameter)
	}
	if c == other {
		return fmt.Errorf("compose: merge corrected: %w: other is the same filter", bloomery.ErrParameter)
	}
	unite := unionOf(c.filter, other.filter)
	if unite == nil {
		return fmt.Errorf("compose: merge corrected: %w: a %T and a %T cannot be united", bloomery.ErrIncompatible, c.filter, other.filter)
	}
	lost, more := c.reportsIn(other, true), other.reportsIn(c, false)
	if err := unite(); err != nil {
		return fmt.Errorf("compose: merge corrected: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outdate()
	for _, h := range lost {
		c.forget(h)
	}
	for _, h := range more {
		c.hold(h)
	}
	return nil
}

// reportsIn returns those reports of c that other contains, or those that it denies.
func (c *Corrected) reportsIn(other *Corrected, contains bool) (hs []uint64) {
	r := c.reports.Load()
	if r == nil {
		return nil
	}
	for _, h := range r.young.appendTo(r.old.appendTo(nil)) {
		if other.ContainsHash(h) == contains {
			hs = append(hs, h)
		}
	}
	return hs
}

// unionOf returns what adds the keys of b to a, nil if there is no such method: it takes
// a filter of its own type, which no interface can say.
func unionOf(a, b bloomery.Hashed) func() error {
	for _, name := range []string{"Union", "Merge"} {
		m := reflect.ValueOf(a).MethodByName(name)
		if m.IsValid() && m.Type() == reflect.FuncOf([]reflect.Type{reflect.TypeOf(b)}, []reflect.Type{reflect.TypeFor[error]()}, false) {
			return func() error {
				err, _ := reflect.TypeAssert[error](m.Call([]reflect.Value{reflect.ValueOf(b)})[0])
				return err
			}
		}
	}
	return nil
}
