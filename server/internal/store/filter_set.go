package store

// What is asked of a filter, changed.

// LevelNews is the level of a cluster from which on plans have a number of changes to keep. No
// release has that level yet.
const LevelNews = LevelRebuilds

// MaxNews is the largest number of changes that a filter may be asked to keep.
const MaxNews = 1 << 28

// FilterSet changes how many changes of a filter are kept for who follows it: see Plan.
type FilterSet struct{ News uint64 }

func (*FilterSet) op() Op                            { return OpFilterSet }
func (o *FilterSet) fields(c coder, r *Record) coder { return c.target(r).uvarint(&o.News) }

// change gives the filter a plan of its own: plans are shared.
func (o *FilterSet) change(_ *State, p *Part, _ *Record, res *Result) int64 {
	c := p.contents.(*filter)
	own := *c.plan.Load()
	if own.News == o.News || o.News > MaxNews {
		return 0
	}
	before := own.newsBytes()
	own.News = o.News
	c.plan.Store(&own)
	res.Changed = true
	return int64(own.newsBytes()) - int64(before)
}

// pass does the same where other nodes hold the filter: what they ask of it, every node says.
func (o *FilterSet) pass(s *State, c *elsewhere) {
	v := c.plan.Load()
	if v == nil || v.News == o.News || o.News > MaxNews {
		return
	}
	own := v.Plan
	own.News = o.News
	if set, err := s.share(own, *v.kind, v.hasher.Kind(), v.hasher.Check()); err == nil {
		c.plan.Store(set)
	}
}

// SetBytes returns how many bytes more a filter takes that keeps so many changes.
func SetBytes(p *Part, news uint64) uint64 {
	own := *p.asked()
	before := own.newsBytes()
	own.News = news
	return max(own.newsBytes(), before) - before
}
