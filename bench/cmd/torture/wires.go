//go:build linux

package main

// The wires between nodes: this program carries their packets, and loses or delays
// what a fault asks for.

import (
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// wire is what happens to packets from one node to another.
type wire struct {
	Cut   bool          // none arrives
	Loss  float64       // how many do not, 0 to 1
	Delay time.Duration // how long they take, and up to as much again
}

// wires connect the nodes, each with each.
//
// Safe for concurrent use.
type wires struct {
	ports []io.ReadWriter
	links [][]*link // by sender and receiver

	passed, lost atomic.Int64
}

// link is the way from one node to another.
type link struct {
	rule  atomic.Pointer[wire]
	late  chan parcel
	begin sync.Once
}

// parcel is a packet that waits.
type parcel struct {
	packet []byte
	due    time.Time
}

func newWires(ports []io.ReadWriter) *wires {
	w := &wires{ports: ports, links: make([][]*link, len(ports))}
	for from := range ports {
		for range ports {
			l := &link{late: make(chan parcel, 4096)}
			l.rule.Store(&wire{})
			w.links[from] = append(w.links[from], l)
		}
		go w.carry(from)
	}
	return w
}

// set changes what happens to packets from one node to another, by their numbers.
func (w *wires) set(from, to int, rule wire) { w.links[from][to].rule.Store(&rule) }

// mend makes all wires good.
func (w *wires) mend() {
	for _, row := range w.links {
		for _, l := range row {
			l.rule.Store(&wire{})
		}
	}
}

// carry passes on what a node sends, until its port is closed.
func (w *wires) carry(from int) {
	rng := rand.New(rand.NewPCG(uint64(from), 7))
	buf := make([]byte, 64<<10)
	for {
		n, err := w.ports[from].Read(buf)
		if err != nil {
			return
		}
		if to, ok := receiver(buf[:n], len(w.ports)); ok {
			w.pass(from, to, buf[:n], rng)
		}
	}
}

// receiver returns to which node a packet of IPv4 goes.
func receiver(packet []byte, nodes int) (to int, ok bool) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return 0, false
	}
	to = int(packet[19]) - 1
	return to, to >= 0 && to < nodes
}

func (w *wires) pass(from, to int, packet []byte, rng *rand.Rand) {
	l := w.links[from][to]
	rule := l.rule.Load()
	switch {
	case rule.Cut || rule.Loss > 0 && rng.Float64() < rule.Loss:
		w.lost.Add(1)
	case rule.Delay > 0:
		l.begin.Do(func() { go w.deliver(l, to) })
		due := time.Now().Add(rule.Delay + time.Duration(rng.Int64N(int64(rule.Delay))))
		select {
		case l.late <- parcel{append([]byte(nil), packet...), due}:
		default:
			w.lost.Add(1)
		}
	default:
		w.passed.Add(1)
		_, _ = w.ports[to].Write(packet) // a packet that does not arrive is sent again
	}
}

// deliver passes on what was delayed, in its order. What waits when a wire is cut is
// lost.
func (w *wires) deliver(l *link, to int) {
	for p := range l.late {
		time.Sleep(time.Until(p.due))
		if l.rule.Load().Cut {
			w.lost.Add(1)
			continue
		}
		w.passed.Add(1)
		_, _ = w.ports[to].Write(p.packet)
	}
}
