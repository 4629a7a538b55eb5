package contents

// Growing and folding a filter in use.

import (
	"bytes"
	"math"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// Scale turns a bloom filter into a scalable one of a rate whose first layer it is, and returns by
// how many bytes that has grown. Its layers have equal shares of the rate if that is asked for.
func (s *Supply) Scale(c *Filter, rate float64, equal bool) (grown int64, err error) {
	f, ok := c.f.(*bloomfilter.Filter)
	if !ok {
		return 0, ErrType
	}
	if !equal && c.own != nil && c.own.bytes >= piecesFrom {
		return s.scaleInPlace(c, f, rate)
	}
	var data []byte
	if equal {
		data, err = EqualLayers(f, rate-f.Stats().Asked, rate)
	} else if scalable, failed := f.Scalable(rate); failed != nil {
		err = failed
	} else {
		data, err = encoded(scalable)
	}
	if err != nil {
		return 0, err
	}
	return s.replace(c, data)
}

// scaleInPlace is Scale of a large filter: its array becomes the first layer. Copies of it are told what is added to it
// as before.
func (s *Supply) scaleInPlace(c *Filter, f *bloomfilter.Filter, rate float64) (grown int64, err error) {
	if c.sourced() {
		return 0, ErrSourced
	}
	v := c.plan.Load()
	plan, err := s.share(v.Plan, *rows[envelope.KindScalable], v.Hasher.Kind(), v.Hasher.Check())
	if err != nil {
		return 0, err
	}
	scalable, err := bloomfilter.IntoScalable(f, rate, c.own.alloc)
	if err != nil {
		return 0, err
	}
	before := c.Bytes()
	c.abandon()
	c.f = scalable
	c.follow(plan)
	return int64(c.Bytes()) - int64(before), nil
}

// Fold halves the array of a filter, and returns by how many bytes that has grown.
func (s *Supply) Fold(c *Filter) (grown int64, err error) {
	return s.exchange(c, c.plan.Load(), func(config codec.Config) (bloomery.Hashed, error) { return folded(c.f, config.Alloc) })
}

// folded returns a filter of half the size with the same keys. The error is ErrType
// if its kind cannot be folded, and wraps bloomery.ErrIncompatible if its size
// cannot be.
func folded(f bloomery.Hashed, alloc memory.Alloc) (bloomery.Hashed, error) {
	switch f.(type) {
	case *bloomfilter.Filter, *bloomfilter.Standard, *bloomfilter.Split:
		return bloomfilter.FoldIn(f, 2, alloc)
	}
	return nil, ErrType
}

// ArrayBits returns how many bits the array of a filter has that can be folded, 0 of any other. The
// caller holds a lock.
func (p *Part) ArrayBits() uint64 {
	if f, ok := p.Filter().(interface{ Shape() sizing.Shape }); ok {
		return f.Shape().Bits
	}
	return 0
}

// Folded returns what the part would be at half its size. It belongs to nobody else. A large part is copied first, in
// pieces, so that nobody waits for it.
// Errors are ErrRetry if the filter is gone, ErrType if its kind cannot be folded, and
// wrap bloomery.ErrIncompatible if its size cannot be.
func (p *Part) Folded() (bloomery.Hashed, error) {
	p.RLock()
	size := int(p.Bytes())
	p.RUnlock()
	if size < piecesFrom {
		size = 0
	}
	data := bytes.NewBuffer(make([]byte, 0, size+size/1024)) // Grow would clear all of it at once, and nobody runs meanwhile
	switch copied, err := p.WriteLarge(data, false); {
	case err != nil:
		return nil, err
	case copied:
		hasher, _ := p.Hasher()
		f, err := codec.Config{Hasher: hasher}.Open(data.Bytes())
		if err != nil {
			return nil, err
		}
		return folded(f, nil)
	}
	p.RLock()
	defer p.RUnlock()
	c, ok := p.contents.(*Filter)
	if !ok || p.Gone() {
		return nil, ErrRetry
	}
	return folded(c.f, nil)
}

// replace puts the filter that data encodes in the place of that of c, and returns by how many
// bytes that has grown.
func (s *Supply) replace(c *Filter, data []byte) (grown int64, err error) {
	header, err := codec.Peek(data)
	if err != nil {
		return 0, err
	}
	plan, err := s.share(c.plan.Load().Plan, header.Kind, header.Hash, header.Check)
	if err != nil {
		return 0, err
	}
	return s.exchange(c, plan, func(config codec.Config) (bloomery.Hashed, error) { return config.Open(data) })
}

// exchange puts a filter that open makes, of the same items, in the place of that of c, and returns by how many bytes that
// has grown.
func (s *Supply) exchange(c *Filter, plan *Shared, open func(codec.Config) (bloomery.Hashed, error)) (grown int64, err error) {
	if c.sourced() {
		return 0, ErrSourced
	}
	fresh, err := s.newContents(plan, s.arena, open)
	if err != nil {
		return 0, err
	}
	before := c.Bytes()
	c.abandon()
	fresh.news, fresh.aside = c.news, c.aside // the same items
	c.become(fresh)
	return int64(c.Bytes()) - int64(before), nil
}

// EqualLayers returns the encoding of a scalable filter whose first layer is f, of kind
// bloom or standard. Its further layers have a fortieth of the rate each, and total is
// the rate of the whole. That is the oldest form of docs/format.md, kind 5: a record of
// before gives the same bytes for ever, and nodes of an older release can read them.
func EqualLayers(f bloomery.Hashed, rate, total float64) ([]byte, error) {
	counts, ok := f.(interface{ EstimateCount() uint64 })
	data, err := encoded(f)
	if !ok && err == nil {
		err = ErrType
	}
	if err != nil {
		return nil, err
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		return nil, err
	}
	const line = 8 // words
	h, words := sealed.Header, sealed.Words()
	lines := make([]uint64, 2*line, 2*line+len(words)+line)
	lines[0], lines[1] = math.Float64bits(total), 1
	copy(lines[line:], []uint64{
		uint64(h.Kind), h.Size, uint64(h.K), h.Capacity, math.Float64bits(h.Rate), min(counts.EstimateCount(), h.Size),
	})
	lines = append(lines, words...)
	lines = append(lines, make([]uint64, -len(words)&(line-1))...)
	h.Kind, h.K, h.Extra, h.Rate, h.Payload = envelope.KindScalable, 2, 1, rate, uint64(len(lines))*8
	return envelope.Append(nil, h, lines), nil
}
