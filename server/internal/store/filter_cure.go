package store

// Growing and folding a filter in use.

import (
	"math"

	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// grow turns a bloom filter into a scalable one whose first layer it is. No key is
// lost.
func (s *State) grow(c *filter, r *Record, res *Result) {
	f, ok := c.f.(*bloomfilter.Filter)
	if !ok {
		res.Err = ErrType
		return
	}
	data, err := grown(f, r.Op, math.Float64frombits(uint64(r.Position)))
	if err == nil {
		err = s.replace(c, data)
	}
	res.Err, res.Changed = err, err == nil
}

// grown returns the encoding of a scalable filter of rate p whose first layer is f.
func grown(f *bloomfilter.Filter, op Op, p float64) ([]byte, error) {
	if op == OpFilterGrow {
		return EqualLayers(f, p-f.Stats().Asked, p)
	}
	s, err := f.Scalable(p)
	if err != nil {
		return nil, err
	}
	return encoded(s)
}

// fold halves the array of a filter. No key is lost.
func (s *State) fold(c *filter, res *Result) {
	var data []byte
	half, err := folded(c.f)
	if err == nil {
		data, err = encoded(half)
	}
	if err == nil {
		err = s.replace(c, data)
	}
	res.Err, res.Changed = err, err == nil
}

// folded returns a filter of half the size with the same keys. The error is ErrType
// if its kind cannot be folded, and wraps bloomery.ErrIncompatible if its size
// cannot be.
func folded(f bloomery.Hashed) (bloomery.Hashed, error) {
	switch f := f.(type) {
	case *bloomfilter.Filter:
		half, err := f.Fold(2)
		if err != nil {
			return nil, err
		}
		return half, nil
	case *bloomfilter.Standard:
		half, err := f.Fold(2)
		if err != nil {
			return nil, err
		}
		return half, nil
	}
	return nil, ErrType
}

// Folded returns what the part would be at half its size. It belongs to nobody else.
// Errors are ErrRetry if the filter is gone, ErrType if its kind cannot be folded, and
// wrap bloomery.ErrIncompatible if its size cannot be.
func (p *Part) Folded() (bloomery.Hashed, error) {
	p.RLock()
	defer p.RUnlock()
	c, ok := p.contents.(*filter)
	if !ok || p.gone {
		return nil, ErrRetry
	}
	return folded(c.f)
}

// replace puts the filter that data encodes in the place of that of c, in memory of
// the state.
func (s *State) replace(c *filter, data []byte) error {
	header, err := codec.Peek(data)
	if err != nil {
		return err
	}
	plan, err := s.share(c.plan.Load().Plan, header.Kind, header.Hash, header.Check)
	if err != nil {
		return err
	}
	fresh, err := s.newContents(plan, func(config codec.Config) (bloomery.Hashed, error) { return config.Open(data) })
	if err != nil {
		return err
	}
	fresh.news = c.news // the same items
	s.become(c, fresh)
	return nil
}
