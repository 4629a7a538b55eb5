package contents

// Copies of sketches that are merged.

import (
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// CopySketch returns a copy of a sketch that can be merged, and its version. It is nil if the sketch
// is gone.
func (s *Supply) CopySketch(p *Part) (c Contents, version uint64, err error) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return nil, 0, nil
	}
	switch v := p.contents.(type) {
	case countMin:
		sketch, err := v.Dump().New(s.arena)
		if err != nil {
			return nil, 0, err
		}
		return countMin{sketch, v.Depth()}, p.version, nil
	case tdigest:
		sketch, err := copyDigest(v, s.arena)
		if err != nil {
			return nil, 0, err
		}
		return tdigest{sketch}, p.version, nil
	}
	return nil, 0, ErrType
}

// Merges reports whether contents of a kind can be merged with others.
func Merges(k catalog.Kind) bool { return k == catalog.CountMin || k == catalog.TDigest }

// Sketch returns the encoding of a sketch that can be merged. The error is ErrRetry if it is gone.
func (p *Part) Sketch() ([]byte, error) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return nil, ErrRetry
	}
	switch v := p.contents.(type) {
	case countMin:
		return v.MarshalBinary()
	case tdigest:
		return v.MarshalBinary()
	}
	return nil, ErrType
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

// copyDigest returns a copy of a digest with all of its nodes, compressed or not.
func copyDigest(t tdigest, m *memory.Arena) (*redisbloom.TDigest, error) {
	header := t.TDigest.AppendHeader(nil)
	params, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return nil, err
	}
	params.Memory = m
	sketch, err := redisbloom.NewTDigest(params)
	if err != nil {
		return nil, err
	}
	merged, waiting := t.Nodes()
	for _, err := range []error{sketch.Begin(header), sketch.LoadNodes(merged, false), sketch.LoadNodes(waiting, true)} {
		if err != nil {
			sketch.Release()
			return nil, err
		}
	}
	return sketch, nil
}
