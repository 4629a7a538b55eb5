package staging

// Sums of sketches, computed in pieces while others use them.

import (
	"errors"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// sum is what a merge makes: a sketch without a name, and the records that fill it.
type sum struct {
	stage   *store.Stage
	next    func() (store.Body, error) // nil if there are no more; valid until the next call
	release func()
}

// countMins returns the sum of sketches, in pieces of so many bytes at most.
func countMins(m *store.Merging, weights []int64, most int) (*sum, error) {
	sources, target := m.Parts()
	totals := make([]uint64, len(sources))
	var header []byte
	var width, depth uint64
	for i, p := range append(sources, target) {
		p.RLock()
		c, err := p.CountMin(), error(nil)
		switch {
		case p.Gone():
			err = store.ErrMissing
		case i == 0:
			header, width, depth = c.AppendHeader(nil), c.Width(), c.Depth()
		case c.Width() != width || c.Depth() != depth:
			err = bloomery.ErrIncompatible
		}
		if err == nil && i < len(totals) {
			totals[i] = c.Total()
		}
		p.RUnlock()
		if err != nil {
			return nil, err
		}
	}
	total, err := redisbloom.SumTotals(totals, weights)
	if err != nil {
		return nil, err
	}
	stage := store.StageDump(catalog.CountMin, redisbloom.CountMinHeader(header, total))
	return &sum{stage, cells(sources, weights, most), func() {}}, nil
}

// cells returns what makes the records of the counters.
func cells(sources []*contents.Part, weights []int64, most int) func() (store.Body, error) {
	var cells redisbloom.CellSum
	at, buf := 0, make([]byte, most)
	return func() (store.Body, error) {
		for i, p := range sources {
			n, ok := copyCells(p, buf[:most], at)
			if !ok {
				return nil, store.ErrMissing
			}
			if i == 0 {
				cells.Begin(n)
			}
			buf = buf[:n] // all sketches have the same size
			cells.Add(buf, weights[i])
		}
		if !cells.Fits() {
			return nil, redisbloom.ErrOverflow
		}
		if len(buf) == 0 {
			return nil, nil //nolint:nilnil // there are no more
		}
		at += len(buf)
		cells.Put(buf)
		return &store.CountMinChunk{Position: int64(at) + 1, Cells: buf}, nil
	}
}

// copyCells copies counters from a byte on, and returns how many bytes. It reports false
// if the sketch is gone.
func copyCells(p *contents.Part, dst []byte, at int) (int, bool) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return 0, false
	}
	cells := p.CountMin().Dump().Cells
	return copy(dst, cells[min(at, len(cells)):]), true
}

// tdigests returns the union of digests. The error is ErrCondition if one of them has
// changed or the client is gone, else what Apply would answer.
func (a Area) tdigests(m *store.Merging, o *store.TDigestMerge) (*sum, error) {
	sources, target := m.Parts()
	deciding := sources
	if target != nil && !o.Override {
		sources, deciding = append([]*contents.Part{target}, sources...), []*contents.Part{target}
	}
	compression, err := o.Compression, error(nil)
	if compression <= 0 {
		compression, err = largestCompression(deciding)
	}
	if err != nil {
		return nil, err
	}
	digest, err := a.state.NewDigest(redisbloom.TDigestParams{Compression: compression})
	if err != nil {
		return nil, err
	}
	for _, p := range sources {
		err := store.ErrCondition
		if !a.run.Stopped() && !m.Changed() {
			err = a.mergeDigest(digest, p)
		}
		if err != nil {
			digest.Release()
			return nil, err
		}
	}
	nodes := store.NodesOf(digest)
	next := func() (b store.Body, err error) {
		if len(nodes) > 0 {
			b, nodes = nodes[0], nodes[1:]
		}
		return b, nil
	}
	return &sum{store.StageDump(catalog.TDigest, digest.AppendHeader(nil)), next, digest.Release}, nil
}

// largestCompression returns the largest compression of digests.
func largestCompression(parts []*contents.Part) (most int64, err error) {
	for _, p := range parts {
		p.RLock()
		if p.Gone() {
			err = store.ErrMissing
		} else {
			most = max(most, p.TDigest().Stats().Compression)
		}
		p.RUnlock()
	}
	return most, err
}

// mergeDigest merges a copy of the digest of a part.
func (a Area) mergeDigest(digest *redisbloom.TDigest, p *contents.Part) error {
	copied, err := a.compressed(p)
	switch {
	case errors.Is(err, contents.ErrRetry):
		return store.ErrMissing
	case errors.Is(err, errStopped):
		return store.ErrCondition // Merge asks again, and ends
	case err != nil:
		return err
	}
	defer copied.Digest.Release()
	return digest.Merge(copied.Digest)
}
