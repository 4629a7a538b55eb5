package store

// Large digests, copied and compressed outside of all locks.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

const (
	// largeDigest is from how many nodes on a digest is compressed outside of locks.
	largeDigest = 1 << 14
	// copiedNodes is how many nodes are copied under a lock at a time.
	copiedNodes = 1 << 14
	// copyTries is how often a copy begins again because the digest has changed. The
	// last one is made under one lock.
	copyTries = 8
)

// errChanged means that a digest has changed while it was copied.
var errChanged = errors.New("store: the digest has changed")

// ReadyDigest is a digest as TDigestCompress leaves it, if the part has the version that it
// was copied from. The record then takes it instead of compressing.
type ReadyDigest struct {
	Version uint64
	Digest  *redisbloom.TDigest
}

// LargeDigest reports whether the digest of a part, which needs so many more nodes, takes
// long to compress, and whether that is to be done now: it is not compressed, or full.
func (p *Part) LargeDigest(more int) (large, due bool) {
	if p.Run() == maxRun {
		return false, false
	}
	p.RLock()
	defer p.RUnlock()
	t := p.TDigest()
	if p.Gone() || t == nil {
		return false, false
	}
	s := t.Stats()
	if more > 0 { // one that is full when it is compressed is halved, which takes little
		return true, s.UnmergedNodes > 0 && s.MergedNodes+s.UnmergedNodes+more >= s.Capacity
	}
	return true, !t.Compressed()
}

// CompressedDigest returns a compressed copy of a digest, and the version that it is of.
// The caller releases it. The error is ErrRetry if the digest is gone, or that of its
// memory.
func (s *State) CompressedDigest(p *Part) (ReadyDigest, error) {
	for try := 1; ; try++ {
		r, err := s.copyNodes(p, try == copyTries)
		if errors.Is(err, errChanged) {
			continue
		}
		if err == nil {
			r.Digest.Compress()
		}
		return r, err
	}
}

// copyNodes copies a digest, in pieces or at once.
func (s *State) copyNodes(p *Part, atOnce bool) (r ReadyDigest, err error) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return r, ErrRetry
	}
	r.Version = p.version
	t := p.TDigest()
	header, stats := t.AppendHeader(nil), t.Stats()
	params, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return r, err
	}
	params.Memory = s.memory
	if r.Digest, err = redisbloom.NewTDigest(params); err != nil {
		return r, err
	}
	if err = r.Digest.Begin(header); err == nil && r.Digest.Observations() == 0 { // a single value is in the header
		err = s.copyPieces(p, r, stats.MergedNodes, stats.MergedNodes+stats.UnmergedNodes, atOnce)
	}
	if err != nil {
		r.Digest.Release()
	}
	return r, err
}

// copyPieces copies the nodes, of which so many are merged. The caller holds a read lock,
// which is given up between two pieces.
func (s *State) copyPieces(p *Part, r ReadyDigest, merged, all int, atOnce bool) error {
	var buf []byte
	for at := 0; at < all; {
		to := min(at+copiedNodes, all)
		if at < merged {
			to = min(to, merged)
		}
		buf = p.TDigest().AppendNodes(buf[:0], at, to)
		if err := r.Digest.LoadNodes(buf, at >= merged); err != nil {
			return err
		}
		if at = to; atOnce || at == all {
			continue
		}
		p.RUnlock()
		p.RLock() // others have had their turn
		switch {
		case p.Gone():
			return ErrRetry
		case p.version != r.Version:
			return errChanged
		}
	}
	return nil
}

// TDigests returns the union of digests. The error is ErrCondition if one of them has
// changed or stop reports true, else what Apply would answer.
func (s *State) TDigests(m *Merging, o *TDigestMerge, stop func() bool) (*Sum, error) {
	sources := m.sources
	if m.target != nil && !o.Override {
		sources = append([]merged{{m.target, PartOf(m.target)}}, sources...)
	}
	compression, err := m.compression(o)
	if err != nil {
		return nil, err
	}
	digest, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: compression, Memory: s.memory})
	if err != nil {
		return nil, err
	}
	for _, v := range sources {
		if stop() || m.Changed() {
			digest.Release()
			return nil, ErrCondition
		}
		copied, err := s.CompressedDigest(v.part)
		if err == nil {
			err = digest.Merge(copied.Digest)
			copied.Digest.Release()
		} else if errors.Is(err, ErrRetry) {
			err = ErrMissing
		}
		if err != nil {
			digest.Release()
			return nil, err
		}
	}
	nodes := nodesOf(digest)
	next := func() (b Body, err error) {
		if len(nodes) > 0 {
			b, nodes = nodes[0], nodes[1:]
		}
		return b, nil
	}
	return &Sum{kind: catalog.TDigest, header: digest.AppendHeader(nil), next: next, digest: digest}, nil
}

// compression returns the compression of a union, as that of TDigestMerge does.
func (m *Merging) compression(o *TDigestMerge) (most int64, err error) {
	if o.Compression > 0 {
		return o.Compression, nil
	}
	of := m.sources
	if m.target != nil && !o.Override {
		of = []merged{{m.target, PartOf(m.target)}}
	}
	for _, v := range of {
		v.part.RLock()
		if v.part.Gone() {
			err = ErrMissing
		} else {
			most = max(most, v.part.TDigest().Stats().Compression)
		}
		v.part.RUnlock()
	}
	return most, err
}
