package contents

// CF as contents.

import (
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// cuckoo is a CF as contents. It is one pointer: an interface holds it without
// an allocation.
type cuckoo struct{ *redisbloom.Cuckoo }

var _ Contents = cuckoo{}

// IsCuckoo reports whether contents are a CF.
func IsCuckoo(c Contents) bool { return Is[cuckoo](c) }

// Cuckoo returns the CF of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) Cuckoo() *redisbloom.Cuckoo {
	c, _ := p.contents.(cuckoo)
	return c.Cuckoo
}

func (cuckoo) Kind() catalog.Kind { return catalog.Cuckoo }

// Growth returns at most 2^62. Whether an insert makes a cuckoo filter grow is
// seen only when it is tried.
func (c cuckoo) Growth(n int) (most uint64, sure bool) {
	const (
		limit = 1 << 62
		extra = 8 << 10 // what a filter of many sub-filters keeps besides
	)
	step := c.GrowBytes()
	if step == 0 {
		return 0, false
	}
	if c.Expansion() == 1 {
		return min(step*uint64(n)+extra, limit), false
	}
	sum := uint64(extra)
	for range n {
		if sum += step; sum > limit || step > limit {
			return limit, false
		}
		step *= uint64(c.Expansion())
	}
	return sum, false
}

func (c cuckoo) Freeze() (Frozen, error) { return c.Cuckoo.Freeze() }

func (c cuckoo) ScanDump(iter int64) (next int64, chunk []byte) {
	next, chunk, _ = c.Cuckoo.ScanDump(iter)
	return next, chunk
}

func cuckooDumpBytes(header []byte) (uint64, error) {
	h, err := redisbloom.ParseCuckooHeader(header)
	if err != nil {
		return 0, err
	}
	return h.Bytes(), nil
}

func newCuckooDump(header []byte, m *memory.Arena) (Contents, error) {
	h, err := redisbloom.ParseCuckooHeader(header)
	if err != nil {
		return nil, err
	}
	c, err := h.New(m)
	return cuckoo{c}, err
}

func cuckooDumpSize(header []byte, bytes uint64, a effort.Adding) effort.Size {
	h, _ := redisbloom.ParseCuckooHeader(header)
	s := effort.Cuckoo(h.Shape(), a)
	s.Grown += effort.Made(bytes, a, 2)
	return s
}

func loadCuckoo(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewCuckooLoader(first, size, m)
	return loader[*redisbloom.Cuckoo]{l, func(v *redisbloom.Cuckoo) (Contents, error) { return cuckoo{v}, nil }}, err
}
