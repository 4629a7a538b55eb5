package staging

// Copies of digests, made in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// copiedNodes is how many nodes are copied under a lock at a time.
	copiedNodes = 1 << 14
	// copyTries is how often a copy begins again because the digest has changed. The
	// last one is made under one lock.
	copyTries = 8
)

// errChanged means that a digest has changed while it was copied.
var errChanged = errors.New("staging: the digest has changed")

// compressed returns a compressed copy of a digest, and the version that it is of.
// The caller releases it. The error is ErrRetry if the digest is gone, or that of its
// memory.
func (a Area) compressed(p *contents.Part) (store.ReadyDigest, error) {
	for try := 1; ; try++ {
		r, err := a.copyNodes(p, try == copyTries)
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
func (a Area) copyNodes(p *contents.Part, atOnce bool) (r store.ReadyDigest, err error) {
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return r, contents.ErrRetry
	}
	r.Version = p.Changes()
	t := p.TDigest()
	header, stats := t.AppendHeader(nil), t.Stats()
	params, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return r, err
	}
	if r.Digest, err = a.state.NewDigest(params); err != nil {
		return r, err
	}
	if err = r.Digest.Begin(header); err == nil && r.Digest.Observations() == 0 { // a single value is in the header
		err = copyPieces(p, r, stats.MergedNodes, stats.MergedNodes+stats.UnmergedNodes, atOnce)
	}
	if err != nil {
		r.Digest.Release()
	}
	return r, err
}

// copyPieces copies the nodes, of which so many are merged. The caller holds a read lock,
// which is given up between two pieces.
func copyPieces(p *contents.Part, r store.ReadyDigest, merged, all int, atOnce bool) error {
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
			return contents.ErrRetry
		case p.Changes() != r.Version:
			return errChanged
		}
	}
	return nil
}
