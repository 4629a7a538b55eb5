package health_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/server/internal/health"
)

// source is filters of the library, with a clock that moves when it is told to.
type source struct {
	filters map[uint64]*filter
	ids     []uint64
	now     time.Time
	worked  time.Duration
}

func newSource() *source {
	return &source{filters: map[uint64]*filter{}, now: time.Unix(1_700_000_000, 0)}
}

// keeper returns a Keeper of the source whose clocks are those of the source.
func (s *source) keeper() *health.Keeper {
	return health.New(health.Config{
		Source: s, Now: func() time.Time { return s.now }, Work: func() time.Duration { return s.worked }, Seed: 1,
	})
}

// filter is a filter of the source.
type filter struct {
	s       *source
	id      uint64
	hashed  bloomery.Filter
	asks    func(r *rand.Rand) int
	version uint64
	bytes   uint64 // 0 for what the filter says
	held    bool   // by a writer
	probed  int    // how often
	cost    time.Duration
	change  func(*health.Look)
}

// add puts a filter of the library in.
func (s *source) add(f bloomery.Filter) *filter {
	v := &filter{s: s, id: uint64(len(s.ids) + 1), hashed: f, cost: 5 * time.Microsecond}
	s.filters[v.id] = v
	s.ids = append(s.ids, v.id)
	return v
}

func (s *source) remove(f *filter) {
	delete(s.filters, f.id)
	s.ids = slices.DeleteFunc(s.ids, func(id uint64) bool { return id == f.id })
}

func (s *source) Subject(id uint64) health.Subject {
	if f := s.filters[id]; f != nil {
		return f
	}
	return nil
}

func (s *source) Walk(cursor uint64, visit func(health.Subject)) uint64 {
	const few = 16
	for range few {
		if cursor >= uint64(len(s.ids)) {
			return 0
		}
		visit(s.filters[s.ids[cursor]])
		cursor++
	}
	if cursor >= uint64(len(s.ids)) {
		return 0
	}
	return cursor
}

func (s *source) Len() int { return len(s.ids) }

func (f *filter) ID() uint64 { return f.id }

func (f *filter) Version() (uint64, bool) { return f.version, !f.held }

func (f *filter) Bytes() (uint64, bool) {
	if f.bytes > 0 {
		return f.bytes, !f.held
	}
	return f.hashed.Stats().Bytes, !f.held
}

func (f *filter) Probe(r *rand.Rand) (yes int, ok bool) {
	f.s.worked += f.cost
	if f.held {
		return 0, false
	}
	f.probed++
	if f.asks != nil {
		return f.asks(r), true
	}
	h := f.hashed.(bloomery.Hashed)
	for range health.Batch {
		if h.ContainsHash(r.Uint64()) {
			yes++
		}
	}
	return yes, true
}

func (f *filter) Look() (health.Look, bool) {
	f.s.worked += f.cost
	l := health.Look{Stats: f.hashed.Stats(), Version: f.version, Layers: 1, Parts: 1}
	if f.bytes > 0 {
		l.Bytes = f.bytes
	}
	if f.change != nil {
		f.change(&l)
	}
	return l, !f.held
}

// fill adds n random keys to the filter.
func (f *filter) fill(n int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range n {
		switch v := f.hashed.(type) {
		case bloomery.Adder:
			v.AddHash(r.Uint64())
		case bloomery.Inserter:
			_ = v.InsertHash(r.Uint64())
		}
	}
	f.version += uint64(n/256 + 1)
}

// run lets a Keeper work for so long on the clock of the source.
func (s *source) run(k *health.Keeper, d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		p := k.Step()
		if p.Idle {
			s.now = end
			return
		}
		s.now = s.now.Add(min(p.Owed+p.Spare, end.Sub(s.now)))
	}
}

// report returns what is known of a filter.
func report(t *testing.T, k *health.Keeper, f *filter) health.Report {
	t.Helper()
	r, ok := k.Report(f)
	if !ok {
		t.Fatalf("Report(%d) reports that the filter is gone", f.id)
	}
	return r
}

// sized is copied: to work out a size takes longer than to fill the filter.
var sized = bloom.New(1000, 0.01)

// small returns a filter for 1,000 keys that has n.
func (s *source) small(n int) *filter {
	f := s.add(sized.Clone())
	f.fill(n, uint64(len(s.ids)))
	return f
}
