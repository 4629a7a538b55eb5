package staging

// Copies of digests, made in pieces.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// copiedNodes is how many nodes are copied under a lock at a time.
const copiedNodes = 1 << 14

var (
	// errRewritten means that nodes of a digest have changed while it was copied.
	errRewritten = errors.New("staging: the digest was rewritten")
	// errStopped means that a copy was given up.
	errStopped = errors.New("staging: the client is gone")
)

// compressed returns a compressed copy of a digest, and the version that it is of.
// The caller releases it. The error is ErrRetry if the digest is gone, errStopped, or that of its
// memory.
func (a Area) compressed(p *contents.Part) (store.ReadyDigest, error) {
	for {
		r, err := a.copyNodes(p)
		if errors.Is(err, errRewritten) { // a large one is not soon again: it was compressed, or is small now
			continue
		}
		if err == nil {
			r.Digest.Compress()
		}
		return r, err
	}
}

// copyNodes copies a digest as it is now, in pieces. Values may be added meanwhile: they leave the nodes as they are that
// are there.
func (a Area) copyNodes(p *contents.Part) (r store.ReadyDigest, err error) {
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
		err = a.copyPieces(p, r.Digest, stats.MergedNodes, stats.MergedNodes+stats.UnmergedNodes)
	}
	if err != nil {
		r.Digest.Release()
	}
	return r, err
}

// copyPieces copies the nodes, of which so many are merged. The caller holds a read lock,
// which is given up between two pieces.
func (a Area) copyPieces(p *contents.Part, to *redisbloom.TDigest, merged, all int) error {
	var buf []byte
	began := p.TDigest().Rewritten()
	for at := 0; at < all; {
		end := min(at+copiedNodes, all)
		if at < merged {
			end = min(end, merged)
		}
		buf = p.TDigest().AppendNodes(buf[:0], at, end)
		if err := to.LoadNodes(buf, at >= merged); err != nil {
			return err
		}
		if at = end; at == all {
			continue
		}
		p.RUnlock()
		stopped := a.run.Stopped()
		p.RLock() // others have had their turn
		switch {
		case stopped:
			return errStopped
		case p.Gone():
			return contents.ErrRetry
		case p.TDigest().Rewritten() != began:
			return errRewritten
		}
	}
	return nil
}
