package store

// Growing and folding a filter in use.

import (
	"github.com/bloomery/bloomery"
	bloomfilter "github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
)

// FilterGrow turns a bloom filter into a scalable one whose first layer it is. No key is
// lost.
type FilterGrow struct {
	Rate  float64 // of the scalable filter
	Equal bool    // its layers have equal shares of that: below LevelShares
}

func (o *FilterGrow) op() Op {
	if o.Equal {
		return OpFilterGrow
	}
	return OpFilterScale
}

func (o *FilterGrow) fields(c coder, r *Record) coder { return c.target(r).float(&o.Rate) }

func (o *FilterGrow) change(s *State, p *Part, _ *Record, res *Result) int64 {
	c := p.contents.(*filter)
	f, ok := c.f.(*bloomfilter.Filter)
	if !ok {
		res.Err = ErrType
		return 0
	}
	data, err := o.grown(f)
	if err == nil {
		err = s.replace(c, data)
	}
	res.Err, res.Changed = err, err == nil
	return 0
}

// grown returns the encoding of a scalable filter whose first layer is f.
func (o *FilterGrow) grown(f *bloomfilter.Filter) ([]byte, error) {
	if o.Equal {
		return EqualLayers(f, o.Rate-f.Stats().Asked, o.Rate)
	}
	s, err := f.Scalable(o.Rate)
	if err != nil {
		return nil, err
	}
	return encoded(s)
}

// LevelSplitFolds is the level of a cluster from which on a FilterFold can be for a filter of
// kind split: nodes of earlier levels would leave it as it is. No release has that level yet.
const LevelSplitFolds = LevelShards

// FilterFold halves the array of a filter. No key is lost.
type FilterFold struct{}

func (*FilterFold) op() Op                          { return OpFilterFold }
func (*FilterFold) fields(c coder, r *Record) coder { return c.target(r) }

func (*FilterFold) change(s *State, p *Part, _ *Record, res *Result) int64 {
	c := p.contents.(*filter)
	var data []byte
	half, err := folded(c.f)
	if err == nil {
		data, err = encoded(half)
	}
	if err == nil {
		err = s.replace(c, data)
	}
	res.Err, res.Changed = err, err == nil
	return 0
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
	case *bloomfilter.Split:
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
	if !ok || p.Gone() {
		return nil, ErrRetry
	}
	return folded(c.f)
}

// replace puts the filter that data encodes in the place of that of c, in memory of
// the state.
func (s *State) replace(c *filter, data []byte) error {
	if c.sourced() {
		return ErrSourced
	}
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
	c.abandon()
	fresh.news, fresh.aside = c.news, c.aside // the same items
	s.become(c, fresh)
	return nil
}
