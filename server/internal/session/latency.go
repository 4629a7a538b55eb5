package session

// LATENCY: events that took long.

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// latencySamples is how many samples of an event are kept.
const latencySamples = 160

// Latency keeps, by event, when something took longer than a threshold. The zero
// value is turned off.
//
// Safe for concurrent use.
type Latency struct {
	millis atomic.Int64 // 0 turns it off

	// mu guards events.
	mu     sync.Mutex
	events map[string]*latencyEvent
}

type latencyEvent struct {
	samples []LatencySample // oldest first
	most    int64
}

// LatencySample is the longest time, in milliseconds, that an event took in one
// second.
type LatencySample struct{ Second, Millis int64 }

// LatencyEvent is what is known of an event: its samples, oldest first, and the
// longest of all times, also of those that are not kept any more.
type LatencyEvent struct {
	Name    string
	Samples []LatencySample
	Most    int64
}

// Threshold returns from how many milliseconds on an event is kept, 0 for none.
func (l *Latency) Threshold() int64 { return l.millis.Load() }

// SetThreshold sets from how many milliseconds on an event is kept; 0 turns that
// off.
func (l *Latency) SetThreshold(millis int64) { l.millis.Store(millis) }

// Over reports whether something that took so long is to be kept.
func (l *Latency) Over(took time.Duration) bool {
	t := l.millis.Load()
	return t > 0 && took.Milliseconds() >= t
}

// Add keeps that an event took so long.
func (l *Latency) Add(name string, at time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events == nil {
		l.events = map[string]*latencyEvent{}
	}
	e := l.events[name]
	if e == nil {
		e = &latencyEvent{}
		l.events[name] = e
	}
	second, millis := at.Unix(), took.Milliseconds()
	e.most = max(e.most, millis)
	if n := len(e.samples); n > 0 && e.samples[n-1].Second == second {
		e.samples[n-1].Millis = max(e.samples[n-1].Millis, millis)
		return
	}
	if len(e.samples) == latencySamples {
		e.samples = append(e.samples[:0], e.samples[1:]...)
	}
	e.samples = append(e.samples, LatencySample{second, millis})
}

// Events returns all events in the order of their names.
func (l *Latency) Events() []LatencyEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []LatencyEvent
	for _, name := range slices.Sorted(maps.Keys(l.events)) {
		e := l.events[name]
		all = append(all, LatencyEvent{name, slices.Clone(e.samples), e.most})
	}
	return all
}

// Reset forgets the events of these names, all if there are none, and returns how
// many it has forgotten.
func (l *Latency) Reset(names ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.events)
	if len(names) == 0 {
		clear(l.events)
	}
	for _, name := range names {
		delete(l.events, name)
	}
	return before - len(l.events)
}
