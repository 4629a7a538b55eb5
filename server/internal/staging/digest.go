package staging

// Large digests, compressed outside of all locks.

import (
	"errors"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Compress compresses a digest in a copy, outside of all locks, and has the copy take its
// place unless it has changed meanwhile. It is not for a cluster: no other machine has the
// copy, and each compresses by itself, see store.State.Prepare. The reply says why that was
// not possible, and is None if it was tried.
func (a Area) Compress(entry *catalog.Entry) answer.Reply {
	ready, size, failed := a.copyDigest(entry)
	if failed.Kind != answer.None {
		return failed
	}
	_, failed = a.run.ApplyPiece(contents.PartOf(entry), store.Record{ID: entry.ID, Body: &store.TDigestCompress{Ready: &ready}})
	ready.Digest.Release() // by now it is what was there before
	a.run.Unhold(size)
	return failed
}

// WithDigest calls f with a compressed copy of a digest, outside of all locks. The reply
// says why that was not possible, and is None if it was.
func (a Area) WithDigest(entry *catalog.Entry, f func(*redisbloom.TDigest)) answer.Reply {
	ready, size, failed := a.copyDigest(entry)
	if failed.Kind == answer.None {
		f(ready.Digest)
		ready.Digest.Release()
		a.run.Unhold(size)
	}
	return failed
}

// copyDigest returns a compressed copy of a digest, and what is counted for it.
func (a Area) copyDigest(entry *catalog.Entry) (ready contents.ReadyDigest, size int, failed answer.Reply) {
	p := contents.PartOf(entry)
	p.RLock()
	size = int(p.Bytes())
	p.RUnlock()
	if !a.run.Hold(size) {
		return ready, 0, answer.Fail(answer.TextOOM)
	}
	ready, err := a.compressed(p)
	if err == nil {
		return ready, size, answer.Reply{}
	}
	a.run.Unhold(size)
	switch {
	case errors.Is(err, contents.ErrRetry):
		return ready, 0, answer.Fail(answer.TextNotFound)
	case errors.Is(err, errStopped):
		return ready, 0, answer.Fail(answer.TextStopped)
	}
	return ready, 0, answer.Fail(answer.TextOOM)
}

// compressAll compresses the digests of names that are not, as a merge does with its
// sources. Those that are gone are for the merge to answer.
func (a Area) compressAll(names [][]byte) answer.Reply {
	for _, name := range names {
		var entry *catalog.Entry
		a.run.Look(func() { entry = a.state.Names.Lookup(name, a.run.Milliseconds()) })
		if entry == nil || entry.Kind != catalog.TDigest || a.run.Stopped() {
			continue
		}
		p := contents.PartOf(entry)
		p.RLock()
		due := !p.Gone() && !p.TDigest().Compressed()
		p.RUnlock()
		if !due {
			continue
		}
		failed := answer.Reply{}
		if large, _ := p.LargeDigest(0); large {
			failed = a.Compress(entry)
		} else {
			_, failed = a.run.ApplyPiece(p, store.Record{ID: entry.ID, Body: &store.TDigestCompress{}})
		}
		if failed.Kind != answer.None && failed.Text != answer.TextNotFound {
			return failed
		}
	}
	return answer.Reply{}
}
