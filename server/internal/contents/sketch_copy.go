package contents

// Copies of sketches that are merged.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// CopySketch returns a copy of a sketch that can be merged, and its version. It is nil if the sketch
// is gone.
func (s *Supply) CopySketch(p *Part) (c Contents, version uint64, err error) {
	if t, version := p.ForkDigest(); t != nil {
		return tdigest{t}, version, nil
	}
	p.RLock()
	defer p.RUnlock()
	v, ok := p.contents.(countMin)
	switch {
	case p.Gone():
		return nil, 0, nil
	case !ok:
		return nil, 0, ErrType
	}
	sketch, err := v.Dump().New(s.arena)
	if err != nil {
		return nil, 0, err
	}
	return countMin{sketch, v.Depth()}, p.version, nil
}

// Merges reports whether contents of a kind can be merged with others.
func Merges(k catalog.Kind) bool { return k == catalog.CountMin || k == catalog.TDigest }

// Sketch returns the encoding of a sketch that can be merged. The error is ErrRetry if it is gone.
func (p *Part) Sketch() ([]byte, error) {
	if t, _ := p.ForkDigest(); t != nil {
		defer t.Release()
		return t.MarshalBinary()
	}
	p.RLock()
	defer p.RUnlock()
	v, ok := p.contents.(countMin)
	switch {
	case p.Gone():
		return nil, ErrRetry
	case !ok:
		return nil, ErrType
	}
	return v.MarshalBinary()
}

// ForkDigest returns a fork of the digest of a part, which the caller releases, and its version. It is nil if the part is of
// another kind, or gone.
func (p *Part) ForkDigest() (t *redisbloom.TDigest, version uint64) {
	p.Lock()
	defer p.Unlock()
	if t = p.TDigest(); t == nil || p.Gone() {
		return nil, 0
	}
	return t.Fork(), p.version
}

// openSketch returns what Sketch has encoded.
func (s *Supply) openSketch(k catalog.Kind, data []byte) (Contents, error) {
	switch k {
	case catalog.CountMin:
		c, err := redisbloom.DecodeCountMin(data, s.arena)
		if err != nil {
			return nil, err
		}
		return countMin{c, c.Depth()}, nil
	case catalog.TDigest:
		t, err := redisbloom.DecodeTDigest(data, s.arena)
		if err != nil {
			return nil, err
		}
		return tdigest{t}, nil
	default:
		return nil, ErrType
	}
}
