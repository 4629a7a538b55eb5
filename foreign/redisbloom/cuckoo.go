package redisbloom

import (
	"iter"

	"github.com/bloomery/bloomery"
	machine "github.com/bloomery/bloomery/internal/redisbloom"
)

// Cuckoo is RedisBloom's CF: a list of cuckoo filters of one byte an item, from which
// items can be deleted. The zero value contains nothing and can only be unmarshaled into.
type Cuckoo struct {
	noJSON
	m *machine.Cuckoo
}

// CuckooConfig is what CF.RESERVE asks for. Capacity must be set; another field that is 0
// has RedisBloom's default.
type CuckooConfig struct {
	// Capacity is the number of items of the first filter of the list.
	Capacity uint64
	// BucketSize is the number of slots of a bucket, 1 to 255; the default is 2.
	BucketSize uint16
	// MaxIterations is how often an insert may move an item before the list grows; the
	// default is 20.
	MaxIterations uint16
	// Expansion is the factor from one filter to the next; the default is 1.
	Expansion uint16
	// NonScaling makes a list that never grows: Expansion does not count.
	NonScaling bool
}

// NewCuckoo returns an empty filter. The error wraps bloomery.ErrParameter or
// bloomery.ErrTooLarge.
func NewCuckoo(c CuckooConfig) (*Cuckoo, error) {
	p := machine.CuckooParams{Capacity: c.Capacity, BucketSize: c.BucketSize, MaxIterations: c.MaxIterations, Expansion: c.Expansion}
	if p.BucketSize == 0 {
		p.BucketSize = 2
	}
	if p.MaxIterations == 0 {
		p.MaxIterations = 20
	}
	if p.Expansion == 0 {
		p.Expansion = 1
	}
	if c.NonScaling {
		p.Expansion = 0
	}
	m, err := machine.NewCuckoo(p)
	if err != nil {
		return nil, err
	}
	return &Cuckoo{m: m}, nil
}

// LoadCuckoo returns the filter whose chunks CF.SCANDUMP answered, each with its number.
// Its errors are those of LoadBloom.
func LoadCuckoo(chunks iter.Seq2[int64, []byte]) (*Cuckoo, error) {
	m, err := load(chunks, func(header []byte) (*machine.Cuckoo, error) {
		h, err := machine.ParseCuckooHeader(header)
		if err != nil {
			return nil, err
		}
		return h.New(nil)
	})
	if err != nil {
		return nil, err
	}
	return &Cuckoo{m: m}, nil
}

// Chunks yields what CF.SCANDUMP answers and CF.LOADCHUNK takes. The filter must not
// change meanwhile, and the bytes are its own.
func (c *Cuckoo) Chunks() iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		if c.m == nil {
			return
		}
		for at, data, err := c.m.ScanDump(0); at != 0 && err == nil; at, data, err = c.m.ScanDump(at) {
			if !yield(at, data) {
				return
			}
		}
	}
}

// Insert adds key once more, as CF.ADD does. The error wraps bloomery.ErrFull or
// bloomery.ErrTooLarge, and then nothing has changed.
func (c *Cuckoo) Insert(key []byte) error {
	if c.m == nil {
		return errZero("insert", "Cuckoo")
	}
	return c.m.Insert(key)
}

// InsertNew adds key if the filter does not seem to hold it, as CF.ADDNX does, and
// reports whether it did. Its error is that of Insert.
func (c *Cuckoo) InsertNew(key []byte) (bool, error) {
	if c.m == nil {
		return false, errZero("insert", "Cuckoo")
	}
	return c.m.InsertNX(key)
}

// Contains reports whether key may be in the filter.
func (c *Cuckoo) Contains(key []byte) bool { return zeroOr(c.m).Contains(key) }

// Count returns how often key may be in the filter.
func (c *Cuckoo) Count(key []byte) uint64 { return zeroOr(c.m).Count(key) }

// Delete removes key once and reports whether it was there. Deleting a key that was
// never inserted can remove another.
func (c *Cuckoo) Delete(key []byte) bool { return c.m != nil && c.m.Delete(key) }

// Stats returns the state of the filter.
func (c *Cuckoo) Stats() bloomery.Stats { return zeroOr(c.m).Stats() }

// String returns Stats as a line of text.
func (c *Cuckoo) String() string { return c.Stats().String() }

// MarshalBinary returns the filter as DUMP answers it. The error wraps
// bloomery.ErrParameter for a zero Cuckoo; there is no other.
func (c *Cuckoo) MarshalBinary() ([]byte, error) { return marshal(c.m != nil, "Cuckoo", c.m.Payload) }

// UnmarshalBinary replaces the filter by that of a dump. The error is that of [Open],
// or wraps bloomery.ErrIncompatible if the dump is of another kind; then nothing has
// changed.
func (c *Cuckoo) UnmarshalBinary(dump []byte) error {
	m, err := open[machine.Cuckoo](dump, "Cuckoo")
	if err == nil {
		c.m = m
	}
	return err
}
