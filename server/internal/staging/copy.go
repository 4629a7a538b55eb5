package staging

// Copies of digests.

import (
	"errors"

	"github.com/bloomery/bloomery/server/internal/contents"
)

// errStopped means that a copy was given up.
var errStopped = errors.New("staging: the client is gone")

// compressed returns a compressed copy of a digest as it is now, and the version that it is of.
// The caller releases it. The error is ErrRetry if the digest is gone, errStopped, or that of its
// memory.
func (a Area) compressed(p *contents.Part) (r contents.ReadyDigest, err error) {
	if r.Digest, r.Version = p.ForkDigest(); r.Digest == nil {
		return r, contents.ErrRetry
	}
	if err = r.Digest.Add(); err == nil && a.run.Stopped() { // there is room for all nodes
		err = errStopped
	}
	if err != nil {
		r.Digest.Release()
		return r, err
	}
	r.Digest.Compress()
	return r, nil
}
