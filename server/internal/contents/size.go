package contents

// How much the work on contents touches.

import (
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// sized is contents that know what work on them touches.
type sized interface {
	size(effort.Adding) effort.Size
}

// SizeOf returns the size of the filter or sketch that an entry stands for, when
// something was added to it. That of a string is zero.
func SizeOf(e *catalog.Entry, a effort.Adding) (s effort.Size) {
	for _, p := range Parts(e) {
		p.RLock()
		if a.Enough(&s) {
			p.RUnlock()
			break
		}
		if c, ok := p.contents.(sized); ok && !p.Gone() {
			s.With(c.size(a))
			a.Before, _ = p.Filter().(*bloomfilter.Scalable)
		}
		p.RUnlock()
	}
	s.InParts(uint64(PartCount(e)), LookParts)
	return s
}

// LookParts is how many parts of a filter are looked at to describe it.
const LookParts = 16

func (b bloom) size(a effort.Adding) effort.Size   { return effort.Bloom(b.Bloom, a) }
func (c cuckoo) size(a effort.Adding) effort.Size  { return effort.Cuckoo(c.Shape(), a) }
func (c countMin) size(effort.Adding) effort.Size  { return effort.CountMin(c.Bytes(), c.depth) }
func (t tdigest) size(a effort.Adding) effort.Size { return effort.TDigest(t.Bytes(), a) }
func (t topK) size(effort.Adding) effort.Size {
	return effort.TopK(t.Bytes(), uint64(t.K()), uint64(t.Depth()))
}

func (c *Filter) size(a effort.Adding) effort.Size {
	if c.f == nil {
		return effort.Size{}
	}
	bytes, grown := uint64(keepFrom), uint64(0)
	if c.own != nil { // that of a small one takes long to find out
		bytes = c.Bytes()
	}
	if a.Items > 0 {
		grown, _ = c.Growth(a.Items)
	}
	if c.plan.Load().Hasher.Kind() != hashing.SipHash {
		a.Hashes = a.Items // they can be chosen, too
	}
	return effort.Filter(c.f, bytes, uint64(layersOf(c.f)), grown, a)
}

// size is that of the filter which a shadow is, or of the hashes of a static one.
func (d *Draft) size(a effort.Adding) effort.Size {
	if d.inner != nil {
		return d.inner.size(a)
	}
	const hash = 64
	return effort.Size{Bytes: d.Bytes(), Item: hash, Arrays: 1}
}

func newCountMinSize(header []byte, bytes uint64, a effort.Adding) effort.Size {
	p, _, _ := redisbloom.ParseCountMinHeader(header)
	s := effort.CountMin(bytes, p.Depth)
	s.Grown = effort.Made(bytes, a, p.Depth)
	return s
}

// collected is what a slot of a TOPK takes besides its bytes: it lies on the heap, and the collector follows it.
const collected = 32

func newTopKSize(header []byte, bytes uint64, a effort.Adding) effort.Size {
	p, _ := redisbloom.ParseTopKHeader(header)
	s := effort.TopK(bytes, uint64(p.K), uint64(p.Depth))
	s.Bytes += uint64(p.K) * collected
	s.Grown = effort.Made(bytes, a, uint64(p.Depth))
	return s
}

func newTDigestSize(_ []byte, bytes uint64, a effort.Adding) effort.Size {
	return effort.TDigest(bytes, a)
}

func newFilterSize(header []byte, bytes uint64, a effort.Adding) effort.Size {
	p, o, err := parseCreation(header)
	if err != nil {
		return effort.Size{}
	}
	if p.KeyID == "" {
		a.Hashes = a.Items
	}
	_, outline, _ := CutPlan(header)
	s := effort.New{Kind: o.Kind().Name, Outline: outline, Bytes: bytes, Parts: 1 << p.Parts}.Size(a)
	s.InParts(1<<p.Parts, LookParts)
	return s
}

// CheckReach returns an error if the filter of a part was made of keys whose hashes are
// more alike than inserts allow: each command on it would take long.
func (p *Part) CheckReach() (err error) {
	p.look(true, func(c Contents) {
		if f, ok := c.(*Filter); ok {
			err = effort.CheckReach(f.f)
		}
	})
	return err
}
