package store

// Records that change a filter besides its items: its size, what is asked of it, what is said of it.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
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

func (o *FilterGrow) change(s *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	grown, res.Err = s.Scale(p.Contents().(*contents.Filter), o.Rate, o.Equal)
	res.Changed = res.Err == nil
	return grown
}

// LevelSplitFolds is the level of a cluster from which on a FilterFold can be for a filter of
// kind split: nodes of earlier levels would leave it as it is. No release has that level yet.
const LevelSplitFolds = LevelShards

// LevelFoldOf is the level of a cluster from which on a FilterFold says which array it halves. No
// release has that level yet.
const LevelFoldOf = LevelRebuilds

// FilterFold halves the array of a filter. No key is lost.
type FilterFold struct {
	// Bits is how many bits the array has. One of another size stays as it is, and the error is
	// ErrCondition: two calls at once halve it once. 0 is any size, as nodes of earlier levels have it.
	Bits uint64
}

func (o *FilterFold) op() Op {
	if o.Bits != 0 {
		return OpFilterFoldOf
	}
	return OpFilterFold
}

func (o *FilterFold) fields(c coder, r *Record) coder {
	if c = c.target(r); o.Bits != 0 {
		c = c.uvarint(&o.Bits)
		c.bad = c.bad || o.Bits == 0
	}
	return c
}

func (o *FilterFold) change(s *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	if o.Bits != 0 && p.ArrayBits() != o.Bits {
		res.Err = ErrCondition
		return 0
	}
	grown, res.Err = s.Fold(p.Contents().(*contents.Filter))
	res.Changed = res.Err == nil
	return grown
}

// LevelNews is the level of a cluster from which on plans have a number of changes to keep. No
// release has that level yet.
const LevelNews = LevelRebuilds

// FilterSet changes how many changes of a filter are kept for who follows it: see Plan. N of its result is how many that are.
type FilterSet struct{ News uint64 }

func (*FilterSet) op() Op                            { return OpFilterSet }
func (o *FilterSet) fields(c coder, r *Record) coder { return c.target(r).uvarint(&o.News) }

func (o *FilterSet) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	grown, res.Changed = p.Contents().(*contents.Filter).SetNews(o.News)
	res.N = int64(p.Asked().News)
	return grown
}

// LevelGone is the level of a cluster from which on filters keep something aside. No release has
// that level yet.
const LevelGone = LevelShards

// FilterGone counts the hashes that a filter has, of items that were deleted elsewhere.
type FilterGone struct{ Hashes []uint64 }

func (*FilterGone) op() Op                            { return OpFilterGone }
func (o *FilterGone) fields(c coder, r *Record) coder { return c.target(r).hashes(&o.Hashes) }

// Len implements Items.
func (o *FilterGone) Len() int { return len(o.Hashes) }

// Give implements Items.
func (*FilterGone) Give(uint64) {}

// Hold implements Items.
func (o *FilterGone) Hold(_ []redisbloom.Digest, hashes []uint64) { o.Hashes = hashes }

func (o *FilterGone) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	return p.Contents().(*contents.Filter).Gone(o.Hashes, &res.Outcome)
}
