// Command packets drops duplicate packets of a stream that never ends with a Stable, which
// forgets the oldest packets and never fills, beside a plain Bloom filter, which does.
//
//	go run ./examples/packets
package main

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	rate  = 0.001 // of new packets that may be dropped
	batch = 4096  // packets that are made, and then looked at, in one go
)

// traffic is a stream in which one packet in four has come before. The horizon is within how
// many packets it is to be recognised.
type traffic struct{ packets, horizon int }

var (
	sample = traffic{packets: 1_000_000, horizon: 10_000}
	full   = traffic{packets: 100_000_000, horizon: 1_000_000}
)

// figures is what became of the packets.
type figures struct {
	packets, distinct int
	within, missed    int                  // duplicates within the horizon of packets that passed, and those that passed, too: none
	older, olderFound int                  // duplicates from before it, and those that were dropped all the same
	wrong, rescued    int                  // new packets that were dropped, and those of which a duplicate passed later
	plainWrong        int                  // the same with a plain filter
	plainLast         int                  // the same among the last packets, as many as the horizon
	last              int                  // new packets among these
	stable, exactMap  int                  // bytes
	best              time.Duration        // a packet, in the fastest batch
	lost              map[[8]byte]struct{} // packets that were dropped when they were new
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	c := demo.Pick(o, sample, full)
	seen, err := counting.Config{Capacity: c.horizon, ErrorRate: rate}.NewStable()
	if err != nil {
		return figures{}, err
	}
	plain, err := bloom.Config{Capacity: c.horizon, ErrorRate: rate}.New()
	if err != nil {
		return figures{}, err
	}
	f := figures{packets: c.packets, stable: int(seen.Stats().Bytes), best: time.Hour, lost: map[[8]byte]struct{}{}}
	s := stream{rng: rand.New(rand.NewPCG(1, 2)), arrived: make([]int, 3*c.horizon/2)}
	packets := make([]packet, 0, batch)
	for sent := 0; sent < c.packets; sent += len(packets) {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		packets = s.next(packets[:0], min(batch, c.packets-sent))
		for i := range packets {
			packets[i].hash = seen.Hash(packets[i].key[:])
		}
		start := time.Now()
		for i, p := range packets { // what a router does
			if packets[i].dropped = seen.ContainsHash(p.hash); !packets[i].dropped {
				_ = seen.InsertHash(p.hash) // a Stable is never full
			}
		}
		f.best = min(f.best, time.Since(start)/time.Duration(len(packets)))
		for _, p := range packets {
			f.count(p, c.horizon, !plain.AddHash(p.hash), s.sent > c.packets-c.horizon)
		}
	}
	f.distinct = s.distinct
	f.exactMap = demo.Heap(func() any {
		last := map[[8]byte]struct{}{}
		for i := range c.horizon {
			last[id(i)] = struct{}{}
		}
		return last
	})
	return f, nil
}

// packet is a packet as a filter sees it. age is how many packets came since it came first, 0
// for a new one.
type packet struct {
	key     [8]byte // of addresses, ports, identification and checksum
	age     int
	hash    uint64
	dropped bool
}

// stream makes packets. arrived has when each of the last new ones came.
type stream struct {
	rng            *rand.Rand
	arrived        []int
	distinct, sent int
}

func (s *stream) next(to []packet, n int) []packet {
	for range n {
		s.sent++
		if back := 1 + s.rng.IntN(len(s.arrived)); s.rng.IntN(4) == 0 && back <= s.distinct {
			first := s.distinct - back
			to = append(to, packet{key: id(first), age: s.sent - s.arrived[first%len(s.arrived)]})
		} else {
			to = append(to, packet{key: id(s.distinct)})
			s.arrived[s.distinct%len(s.arrived)] = s.sent
			s.distinct++
		}
	}
	return to
}

// id is what identifies a packet.
func id(number int) (key [8]byte) {
	binary.BigEndian.PutUint64(key[:], uint64(number))
	return key
}

// count notes what became of a packet, and whether a plain filter had dropped it, too.
func (f *figures) count(p packet, horizon int, plain, last bool) {
	_, lost := f.lost[p.key]
	switch {
	case p.age == 0:
		f.wrong += one(p.dropped)
		f.plainWrong += one(plain)
		f.last += one(last)
		f.plainLast += one(last && plain)
		if p.dropped {
			f.lost[p.key] = struct{}{}
		}
	case lost:
		if !p.dropped {
			f.rescued++
			delete(f.lost, p.key)
		}
	case p.age <= horizon:
		f.within++
		f.missed += one(!p.dropped)
	default:
		f.older++
		f.olderFound += one(p.dropped)
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("packets", f.packets)
	t.Count("different ones", f.distinct)
	t.Count("duplicates within the horizon", f.within)
	t.Count("of these passed on", f.missed)
	t.Percent("older duplicates that were dropped", float64(f.olderFound)/float64(f.older))
	t.Count("new packets dropped", f.wrong)
	t.Count("of these delivered by a duplicate", f.rescued)
	t.Percent("false positive rate asked", rate)
	t.Percent("measured", float64(f.wrong)/float64(f.distinct))
	t.Percent("new packets dropped by a plain filter", float64(f.plainWrong)/float64(f.distinct))
	t.Percent("by a plain filter, at the end", float64(f.plainLast)/float64(f.last))
	t.Bytes("stable filter", f.stable)
	t.Varying("exact map of the horizon", demo.Bytes(f.exactMap))
	t.Time("time a packet, best batch", f.best)
	return t
}
