package contents

// TDIGEST as contents.

import (
	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// tdigest is a TDIGEST as contents. It is one pointer: an interface holds it
// without an allocation.
type tdigest struct{ *redisbloom.TDigest }

var (
	_ Contents = tdigest{}
	_ Detailed = tdigest{}
)

// IsTDigest reports whether contents are a TDIGEST.
func IsTDigest(c Contents) bool { return Is[tdigest](c) }

// TDigest returns the TDIGEST of a part, nil if it is of another kind. It belongs
// to the lock of p.
func (p *Part) TDigest() *redisbloom.TDigest {
	c, _ := p.contents.(tdigest)
	return c.TDigest
}

func (tdigest) Kind() catalog.Kind { return catalog.TDigest }

// Growth returns 0: there is room for all nodes from the beginning.
func (tdigest) Growth(int) (most uint64, sure bool) { return 0, true }

func (t tdigest) Freeze() (Frozen, error) {
	z, err := t.TDigest.Freeze()
	return frozenDigest{z}, err
}

// frozenDigest is the copy of a digest: that of a fork, which nobody changes.
type frozenDigest struct{ *redisbloom.Frozen }

func (frozenDigest) apart() {}

func (t tdigest) Stats() bloomery.Stats {
	s := t.TDigest.Stats()
	nodes := s.MergedNodes + s.UnmergedNodes
	return bloomery.Stats{
		Kind: "tdigest", Items: uint64(t.Observations()), Exact: true, Bits: 128 * uint64(s.Capacity), Bytes: s.Bytes,
		Saturation: float64(nodes) / float64(s.Capacity),
	}
}

// Details shows the compression and the nodes.
func (t tdigest) Details() []Detail {
	s := t.TDigest.Stats()
	return []Detail{
		{Name: "compression", Whole: s.Compression},
		{Name: "capacity_nodes", Whole: int64(s.Capacity)},
		{Name: "merged_nodes", Whole: int64(s.MergedNodes)},
		{Name: "unmerged_nodes", Whole: int64(s.UnmergedNodes)},
		{Name: "compressions", Whole: s.Compressions},
	}
}

// AppendHeader appends all of the digest: it has no chunks.
func (t tdigest) AppendHeader(b []byte) []byte {
	b, _ = t.AppendBinary(b) // there is no error but for a digest that was never made
	return b
}

func (tdigest) ScanDump(int64) (next int64, chunk []byte) { return 0, nil }

// largeDigest is from how many nodes on a digest is compressed outside of locks.
const largeDigest = 1 << 14

// Digest returns contents that are a TDIGEST.
func Digest(t *redisbloom.TDigest) Contents { return tdigest{t} }

// LargeDigest reports whether the digest of a part, which needs so many more nodes, takes
// long to compress, and whether that is to be done now: it is not compressed, or full.
func (p *Part) LargeDigest(more int) (large, due bool) {
	if p.Run() == maxRun {
		return false, false
	}
	p.RLock()
	defer p.RUnlock()
	t := p.TDigest()
	if p.Gone() || t == nil {
		return false, false
	}
	s := t.Stats()
	if more > 0 { // one that is full when it is compressed is halved, which takes little
		return true, s.UnmergedNodes > 0 && s.MergedNodes+s.UnmergedNodes+more >= s.Capacity
	}
	return true, !t.Compressed()
}

// ReadyDigest is a digest as a record leaves it, if the part has the version that it was forked from. The record then takes
// it, and has nothing to compress.
type ReadyDigest struct {
	Version uint64
	Digest  *redisbloom.TDigest
	aside   uint64 // bytes that are set aside for it
}

// ReadyDigest returns what change makes of the digest of a part, outside of its lock, and nil if change refuses it or there is
// no memory for another one. DropDigest gives that back.
func (s *Supply) ReadyDigest(p *Part, change func(*redisbloom.TDigest) error) *ReadyDigest {
	t, version := p.ForkDigest()
	if t == nil {
		return nil
	}
	r := &ReadyDigest{version, t, t.Size()}
	if !s.setAside(r.aside) {
		r.aside = 0
	} else if t.Add() == nil && change(t) == nil { // the first takes an array
		return r
	}
	s.DropDigest(r)
	return nil
}

// DropDigest gives back what a record has left of a digest: that which was there before, or the one that it has not taken. It
// does nothing for nil.
func (s *Supply) DropDigest(r *ReadyDigest) {
	if r != nil {
		r.Digest.Release()
		s.giveBack(r.aside)
	}
}

// NewDigest returns an empty digest in the memory of s.
func (s *Supply) NewDigest(p redisbloom.TDigestParams) (*redisbloom.TDigest, error) {
	p.Memory = s.arena
	return redisbloom.NewTDigest(p)
}

func tdigestBytes(header []byte) (uint64, error) {
	p, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return 0, err
	}
	return p.Bytes()
}

func newTDigest(header []byte, m *memory.Arena) (Contents, error) {
	p, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return nil, err
	}
	p.Memory = m
	t, err := redisbloom.NewTDigest(p)
	if err != nil {
		return nil, err
	}
	return tdigest{t}, t.Begin(header)
}

// loadTDigest makes room for all nodes when they have come, so that the digest takes as much memory as
// before.
func loadTDigest(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewTDigestLoader(first, size, m)
	return loader[*redisbloom.TDigest]{l, func(v *redisbloom.TDigest) (Contents, error) { return tdigest{v}, v.Add() }}, err
}
