package text

// EX, PX, EXAT and PXAT: for how long a string is there.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// lifetime is for how long a string is there, as a client gives it: arg units of
// scale milliseconds, from now on unless absolute. A nil arg means that none was
// given.
type lifetime struct {
	arg      []byte
	scale    int64
	absolute bool
}

// option takes EX, PX, EXAT or PXAT and the number behind it from the front of
// args. It reports false if args do not begin so, or if there was one before.
func (l *lifetime) option(args [][]byte) bool {
	if len(args) < 2 || l.arg != nil {
		return false
	}
	switch {
	case answer.Is(args[0], "ex"), answer.Is(args[0], "exat"):
		l.scale = 1000
	case answer.Is(args[0], "px"), answer.Is(args[0], "pxat"):
		l.scale = 1
	default:
		return false
	}
	l.arg, l.absolute = args[1], len(args[0]) == len("exat")
	return true
}

// deadline returns when the lifetime ends, or the error text that the command of
// a name answers.
func (l *lifetime) deadline(x *engine.Context, command string) (at int64, text string) {
	n, ok := answer.ParseInt(l.arg)
	if !ok {
		return 0, answer.TextInteger
	}
	base := x.Milliseconds()
	if l.absolute {
		base = 0
	}
	at, ok = answer.DeadlineOf(n, l.scale, base)
	if !ok || n <= 0 {
		return 0, answer.TextExpire + command + "' command"
	}
	return at, ""
}
