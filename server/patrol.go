package server

// What the server does at intervals: idle clients, expired keys, its folder.

import (
	"context"
	"runtime"
	"time"
)

// How often the server looks after its connections and its keys.
const (
	patrolEvery = time.Second
	sweepEvery  = 100 * time.Millisecond
	sweepMost   = 1000
	// lookAfter is how long a call waits for news before its client is looked for: it may
	// have closed along with its question. Many get news sooner than that.
	lookAfter = 3 * time.Second
)

// watch is what the patrol noted about a connection when it last looked. Time is
// that of a monotonic clock: steps of the wall clock do not matter.
type watch struct {
	state  uint64
	unsent int
	since  time.Time // of the last progress
}

// patrol closes connections that are idle for too long, and those that do not
// take their replies or stop in the middle of a command.
func (s *Server) patrol(ctx context.Context) {
	every(ctx, patrolEvery, func() { s.inspect(time.Now()) })
}

// every calls f at intervals until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}

// inspect looks at every connection once. No lock is held while something is
// written to the log.
func (s *Server) inspect(now time.Time) {
	idle := time.Duration(s.settings.Timeout.Load()) * time.Second
	for _, c := range s.connections() {
		if c.ending.Load() != open {
			continue
		}
		if why := c.overdue(now, idle, s.config.WriteTimeout); why != "" {
			s.log.Info("client closed", "client", c.session.Addr, "reason", why)
			c.kill()
		} else if now.Sub(c.watch.since) >= lookAfter && c.unseen.Swap(false) {
			_ = c.nc.SetReadDeadline(longAgo)
		}
	}
}

// overdue returns why a connection is to be closed, "" if it is not. A client
// whose commands are at work is never overdue: it is the server's turn.
func (c *conn) overdue(now time.Time, idle, stalled time.Duration) string {
	w := &c.watch
	state := c.state.Load()
	phase, unsent := state%phases, 0
	if phase == writing {
		unsent = c.unsent()
	}
	if state != w.state || unsent != w.unsent || w.since.IsZero() {
		*w = watch{state, unsent, now}
		return ""
	}
	switch quiet := now.Sub(w.since); {
	case phase == waiting && idle > 0 && quiet >= idle && c.session.Monitor() == nil:
		return "it sent nothing for the idle timeout"
	case phase == partial && (quiet >= stalled || idle > 0 && quiet >= idle):
		return "it stopped in the middle of a command"
	case phase == writing && quiet >= stalled:
		return "it does not take its replies"
	}
	return ""
}

// sweep removes keys that are past their deadline.
func (s *Server) sweep(ctx context.Context) {
	every(ctx, sweepEvery, func() {
		s.limitHeap()
		s.engine.Sample(time.Now())
		for s.engine.Sweep(sweepMost) == sweepMost && ctx.Err() == nil {
			runtime.Gosched()
		}
	})
}
