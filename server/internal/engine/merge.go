package engine

// Merges that are done outside of all locks.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

// mergesOutside reports whether an op is a merge that would hold locks for long.
func (e *Engine) mergesOutside(s *Session, op *Op) bool {
	return merges(op) && e.shared == nil && !s.alone && e.state.MergeBytes(&op.Record) > staging.MergeAtOnce
}

// mergeOutside merges sketches in a copy. It leaves the call without an answer if a key is
// gone: it is prepared again.
func (e *Engine) mergeOutside(s *Session, c *Call, op *Op) {
	failed, err := s.ctx.Staging().Merge(&op.Record, op.NoMemory)
	if failed.Kind != answer.None {
		c.Answer(failed)
		return
	}
	c.cmd.Reply(c, &store.Result{Outcome: contents.Outcome{Err: err}})
}
