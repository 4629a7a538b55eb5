package engine

// What is held for clients.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Hold counts n more bytes (fewer if n is negative) that are held for the client
// of s, as [budget.Budget.Hold] does.
func (e *Engine) Hold(s *Session, n int) bool {
	s.Hold(n)
	return e.Budget.Hold(n)
}

// holdReply counts n bytes of a reply until it is written. It reports false, and
// counts nothing, if there is no room for them.
func (e *Engine) holdReply(s *Session, n int) bool {
	if !e.Hold(s, n) {
		e.Hold(s, -n)
		return false
	}
	s.replyBytes += n
	return true
}

// keepReply counts the reply to a call of a transaction, as far as the command has not
// done so since held bytes were: all replies are kept until the last one is made. If
// there is no room for that of a read, it becomes an error. Strings are not copied.
func (e *Engine) keepReply(s *Session, c *Call, held int) {
	if r := &c.Reply; len(r.Text) < freeReply && r.Elems == nil || c.cmd == nil || c.cmd.Group == traits.GroupString {
		return
	}
	n := c.Reply.Bytes() - (s.replyBytes - held)
	switch {
	case n <= 0 || e.holdReply(s, n):
	case c.cmd.writes():
		e.Hold(s, n)
		s.replyBytes += n
	default:
		c.Fail(answer.TextOOM)
	}
}

// freeReply is up to which length a text does not count.
const freeReply = 128
