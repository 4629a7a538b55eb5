package engine

import (
	"runtime"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// Commands that nobody waits for any more.

// Stopped reports whether a long command is to be given up: its client was killed, as
// the end of the server does after it has waited, or is gone. Commands ask between two
// pieces, under no lock. A transaction is never given up: all of it is run, or nothing.
func (x *Context) Stopped() bool {
	x.GiveWay()
	return x.e.stopped(x.s)
}

// GiveWay lets others run between two pieces of a long command. The runtime stops a goroutine by itself only after 10 milliseconds:
// if 20 clients send long commands, a short one of another client would wait that long for each of them.
func (x *Context) GiveWay() {
	const often = time.Millisecond / 2
	if !x.s.alone && time.Since(began)-time.Duration(x.s.gaveWay.Load()) > often {
		runtime.Gosched()
		x.s.gaveWay.Store(int64(time.Since(began)))
	}
}

var began = time.Now()

// Killed is Stopped for a command that is done although its client has left by itself.
func (x *Context) Killed() bool { return x.s.killed() }

// GaveUp is Stopped, and then it answers.
func (x *Context) GaveUp(c *Call) bool {
	stopped := x.Stopped()
	if stopped {
		c.Fail(answer.TextStopped)
	}
	return stopped
}

func (e *Engine) stopped(s *Session) bool {
	return !s.alone && !s.multi && s.left()
}

// left reports whether the client was killed, or is gone.
func (s *Session) left() bool { return s.Ended() || s.Gone != nil && s.Gone() }

// killed reports whether the rest of a command of very many items is left: its client
// was killed. One that has gone by itself may have sent what is to be kept.
func (s *Session) killed() bool { return s.Ended() && !s.alone }
