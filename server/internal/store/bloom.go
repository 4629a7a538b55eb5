package store

// BF as contents of a part.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// bloom is a BF as contents. It is one pointer: an interface holds it without
// an allocation.
type bloom struct{ *redisbloom.Bloom }

var _ Contents = bloom{}

// Bloom returns the BF of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) Bloom() *redisbloom.Bloom {
	b, _ := p.contents.(bloom)
	return b.Bloom
}

func (bloom) Kind() catalog.Kind { return catalog.Bloom }

func (b bloom) Growth(n int) (most uint64, sure bool) { return b.GrowBytes(n), true }

func (b bloom) Freeze() (Frozen, error) { return b.Bloom.Freeze() }

func (b bloom) Apply(r *Record, res *Result) (grown int64) {
	switch r.Op {
	case OpAdd:
		return b.add(r, res)
	case OpBloomChunk:
		res.Err = b.LoadChunk(r.Position, r.Value)
		res.Changed = res.Err == nil && len(r.Value) > 0
	default:
		res.Err = ErrType
	}
	return 0
}

func (b bloom) add(r *Record, res *Result) (grown int64) {
	if cap(res.Bools) < len(r.Digests) {
		res.Bools = make([]bool, len(r.Digests))
	}
	res.Bools = res.Bools[:len(r.Digests)]
	layers, items := b.Layers(), b.Items()
	var before uint64
	if r.Room > 0 {
		before = b.Bytes()
	}
	res.Done, res.Err = b.AddDigests(res.Bools, r.Digests, r.Room)
	res.Changed = b.Items() != items
	if b.Layers() != layers {
		grown = int64(b.Bytes() - before)
	}
	return grown
}

func bloomBytes(r *Record) (uint64, error) { return r.Bloom.Bytes() }

func newBloom(r *Record, m *redisbloom.Memory) (Contents, error) {
	p := r.Bloom
	p.Memory = m
	b, err := redisbloom.NewBloom(p)
	return bloom{b}, err
}

func bloomDumpBytes(r *Record) (uint64, error) {
	h, err := redisbloom.ParseBloomHeader(r.Value)
	if err != nil {
		return 0, err
	}
	return h.Bytes(), nil
}

func newBloomDump(r *Record, m *redisbloom.Memory) (Contents, error) {
	h, err := redisbloom.ParseBloomHeader(r.Value)
	if err != nil {
		return nil, err
	}
	b, err := h.New(m)
	return bloom{b}, err
}

// bloomLoader is a Loader of a BF.
type bloomLoader struct {
	*redisbloom.Loader[*redisbloom.Bloom]
}

func loadBloom(first []byte, size int64, m *redisbloom.Memory) (Loader, error) {
	l, err := redisbloom.NewBloomLoader(first, size, m)
	return bloomLoader{l}, err
}

func (l bloomLoader) Done() (Contents, error) {
	b, err := l.Loader.Done()
	return bloom{b}, err
}
