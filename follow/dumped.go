package follow

// Copies of a BF or CF: what DUMP answers.

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// isDump reports whether data begins as an answer of DUMP, and not as an encoding.
func isDump(data []byte) bool { return len(data) > 0 && data[0] == rdb.Module }

// openDump returns the *redisbloom.Bloom or *redisbloom.Cuckoo of a dump.
func openDump(limits codec.Limits, data []byte) (any, error) {
	most := memory.Limit()
	if limits.Bytes > 0 {
		most = min(most, limits.Bytes)
	}
	if uint64(len(data)) > most {
		return nil, fmt.Errorf("%w: the filter takes %d bytes, the limit is %d", bloomery.ErrTooLarge, len(data), most)
	}
	v, err := redisbloom.OpenPayloadWithin(data, most)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case *redisbloom.Bloom, *redisbloom.Cuckoo:
		return v, nil
	}
	return nil, fmt.Errorf("%w: the dump is not one of a BF or CF", bloomery.ErrIncompatible)
}

// viewDump returns a view of a dump.
func viewDump(limits codec.Limits, data []byte) (bloomery.View, error) {
	v, err := openDump(limits, data)
	if err != nil {
		return nil, err
	}
	if c, ok := v.(*redisbloom.Cuckoo); ok {
		return &cuckooCopy{dumped{c, data}, c}, nil
	}
	b := v.(*redisbloom.Bloom)
	return &bloomCopy{dumped{b, data}, b}, nil
}

// dumped is what views of a BF and of a CF have in common.
type dumped struct {
	bloomery.Filter
	data []byte
}

func (d *dumped) String() string                        { return d.Stats().String() }
func (d *dumped) Verify() error                         { return nil } // it was, when it was opened
func (d *dumped) MarshalBinary() ([]byte, error)        { return bytes.Clone(d.data), nil }
func (d *dumped) AppendBinary(b []byte) ([]byte, error) { return append(b, d.data...), nil }

func (d *dumped) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(d.data)
	return int64(n), err
}

// Clone refuses: a filter of RedisBloom has no hashes of this library.
func (d *dumped) Clone() (bloomery.Hashed, error) {
	return nil, fmt.Errorf("follow: clone: %w: a copy of a BF or CF is what DUMP answers: open the bytes of MarshalBinary with package foreign/redisbloom", bloomery.ErrIncompatible)
}

// bloomCopy is a view of a BF. An item has two hashes there, of which no other can be made: by
// a hash alone it can only say that the item may be there.
type bloomCopy struct {
	dumped
	m *redisbloom.Bloom
}

var _ bloomery.View = (*bloomCopy)(nil)

func (c *bloomCopy) Hash([]byte) uint64           { return 0 }
func (c *bloomCopy) ContainsHash(uint64) bool     { return true }
func (c *bloomCopy) Contains(key []byte) bool     { return c.m.Contains(key) }
func (c *bloomCopy) ContainsString(s string) bool { return c.m.Contains([]byte(s)) }

func (c *bloomCopy) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	for i := range dst {
		dst[i] = true
	}
}

func (c *bloomCopy) ContainsKeys(dst []bool, keys [][]byte) {
	inGroups(dst, keys, c.m.Digest, c.m.ContainsDigests)
}

func (c *bloomCopy) ContainsStrings(dst []bool, keys []string) {
	inGroups(dst, keys, func(s string) redisbloom.Digest { return c.m.Digest([]byte(s)) }, c.m.ContainsDigests)
}

// cuckooCopy is a view of a CF.
type cuckooCopy struct {
	dumped
	m *redisbloom.Cuckoo
}

var _ bloomery.View = (*cuckooCopy)(nil)

func (c *cuckooCopy) Hash(key []byte) uint64       { return redisbloom.CuckooDigest(key) }
func (c *cuckooCopy) ContainsHash(h uint64) bool   { return c.m.ContainsDigest(h) }
func (c *cuckooCopy) Contains(key []byte) bool     { return c.m.Contains(key) }
func (c *cuckooCopy) ContainsString(s string) bool { return c.m.Contains([]byte(s)) }

func (c *cuckooCopy) ContainsHashes(dst []bool, hs []uint64) { c.m.ContainsDigests(dst, hs) }

func (c *cuckooCopy) ContainsKeys(dst []bool, keys [][]byte) {
	inGroups(dst, keys, redisbloom.CuckooDigest, c.m.ContainsDigests)
}

func (c *cuckooCopy) ContainsStrings(dst []bool, keys []string) {
	inGroups(dst, keys, func(s string) uint64 { return redisbloom.CuckooDigest([]byte(s)) }, c.m.ContainsDigests)
}

// inGroups asks for keys by their digests, some at a time.
func inGroups[K, D any](dst []bool, keys []K, digest func(K) D, ask func([]bool, []D)) {
	dst = dst[:len(keys):len(dst)]
	var digests [64]D
	for len(keys) > 0 {
		n := min(len(keys), len(digests))
		for i, key := range keys[:n] {
			digests[i] = digest(key)
		}
		ask(dst[:n], digests[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// addDumped returns a dump of a BF with more items.
func (s *server) addDumped(old, changes []byte) ([]byte, error) {
	v, err := openDump(s.config.Limits, old)
	if err != nil {
		return nil, err
	}
	b, ok := v.(*redisbloom.Bloom)
	if !ok {
		return nil, fmt.Errorf("%w: added items for a CF", bloomery.ErrCorrupt)
	}
	items, err := news.EachAdded(changes, b.NewestBits(), b.SetBit)
	if err != nil {
		return nil, err
	}
	b.CountAdded(items)
	return b.Payload(), nil
}

// redoDumped is redo for the dump of a CF.
func (s *server) redoDumped(old, changes []byte, room uint64) ([]byte, error) {
	v, err := openDump(s.config.Limits, old)
	if err != nil {
		return nil, err
	}
	c, ok := v.(*redisbloom.Cuckoo)
	if !ok {
		return nil, fmt.Errorf("%w: steps for a BF", bloomery.ErrCorrupt)
	}
	before := c.Bytes()
	err = news.EachStep(changes, func(step news.Step, h uint64) error {
		switch step {
		case news.Add:
			var code [1]int8
			left := leftOf(room, before, c.Bytes())
			_, err := c.InsertDigests(code[:], []uint64{h}, left)
			if errors.Is(err, memory.ErrRoom) {
				return errGrowth(c.GrowBytes(), left)
			}
			return err
		case news.Delete:
			var was [1]bool
			c.DeleteDigestsLazily(was[:], []uint64{h}, 0) // the source sends all of a filter that it has compacted
			return nil
		}
		return fmt.Errorf("%w: %w: step %d for a CF", bloomery.ErrCorrupt, errCannot, step)
	})
	if err != nil {
		return nil, err
	}
	return c.Payload(), nil
}
