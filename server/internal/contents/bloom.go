package contents

// BF as contents.

import (
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/effort"
)

// bloom is a BF as contents. It is one pointer: an interface holds it without
// an allocation.
type bloom struct{ *redisbloom.Bloom }

var _ Contents = bloom{}

// IsBloom reports whether contents are a BF.
func IsBloom(c Contents) bool { return Is[bloom](c) }

// Bloom returns the BF of a part, nil if it is of another kind. It belongs to
// the lock of p.
func (p *Part) Bloom() *redisbloom.Bloom {
	b, _ := p.contents.(bloom)
	return b.Bloom
}

func (bloom) Kind() catalog.Kind                      { return catalog.Bloom }
func (b bloom) Growth(n int) (most uint64, sure bool) { return b.GrowBytes(n), true }
func (b bloom) Freeze() (Frozen, error)               { return b.Bloom.Freeze() }

func bloomDumpBytes(header []byte) (uint64, error) {
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		return 0, err
	}
	return h.Bytes(), nil
}

func newBloomDump(header []byte, m *memory.Arena) (Contents, error) {
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		return nil, err
	}
	b, err := h.New(m)
	return bloom{b}, err
}

func bloomDumpSize(header []byte, _ uint64, a effort.Adding) effort.Size {
	h, _ := redisbloom.ParseBloomHeader(header)
	return effort.NewBloom(h.Layers(a.Items), a)
}

func loadBloom(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewBloomLoader(first, size, m)
	return loader[*redisbloom.Bloom]{l, func(v *redisbloom.Bloom) (Contents, error) { return bloom{v}, nil }}, err
}
