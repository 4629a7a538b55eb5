// Command fraud flags payments that look stolen: a card that pays often within two hours, at
// merchants where it was not seen for a day. A Window has the pairs of card and merchant, two
// Spectrals count the payments of each card; exact maps beside them say what they should flag.
//
//	go run ./examples/fraud
package main

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	span     = 24    // hours for which a pair is known, a generation of the window each
	often    = 10    // payments of a card in this hour and the one before that are usual
	pairRate = 0.001 // of new pairs that may be taken for known: a flag is missed
	cardRate = 0.1   // of cards whose payments may be counted too high; the frequent ones hardly are
	habits   = 5     // merchants of a card
)

// business is how much is paid, with what.
type business struct {
	cards, merchants int
	hourly           int // payments by all cards
	couriers         int // cards that pay 20 times an hour, at their usual merchants
	stolen           int // cards that are used 30 times in one hour, anywhere
	hours            int
}

var (
	sample = business{cards: 20_000, merchants: 2_000, hourly: 8_000, couriers: 50, stolen: 100, hours: 48}
	full   = business{cards: 1_000_000, merchants: 50_000, hourly: 400_000, couriers: 2_500, stolen: 4_800, hours: 48}
)

// payment is a card and a merchant.
type payment struct{ card, merchant uint32 }

func (p payment) key() (key [8]byte) {
	binary.BigEndian.PutUint32(key[:], p.card)
	binary.BigEndian.PutUint32(key[4:], p.merchant)
	return key
}

// sketches decide in little memory.
type sketches struct {
	pairs     *compose.Window
	now, past *counting.Spectral // payments of each card in this hour and the one before
}

// pay notes a payment and reports whether to flag it.
func (s *sketches) pay(p payment) bool {
	key := p.key()
	unknown := s.pairs.Add(key[:])
	_ = s.now.Insert(key[:4]) // a counter of 32 bits cannot be full here
	return unknown && s.now.Count(key[:4])+s.past.Count(key[:4]) > often
}

func (s *sketches) hour(hour int) {
	s.pairs.Advance(uint64(hour))
	s.now, s.past = s.past, s.now
	s.now.Clear()
}

// maps decide exactly.
type maps struct {
	pairs     map[payment]uint8 // the hour in which a pair paid last
	now, past map[uint32]int
	at        uint8
}

func (m *maps) pay(p payment) bool {
	last, known := m.pairs[p]
	m.pairs[p] = m.at
	m.now[p.card]++
	return (!known || m.at-last > span) && m.now[p.card]+m.past[p.card] > often
}

func (m *maps) hour(hour int) {
	m.at = uint8(hour)
	m.now, m.past = m.past, m.now
	clear(m.now)
}

// figures is what was flagged.
type figures struct {
	payments, flagged int // by the maps
	missed, wrong     int // flagged by the maps alone, and by the sketches alone
	window, spectrals int // bytes
	exactMaps         int
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	b := demo.Pick(o, sample, full)
	s, err := newSketches(b)
	if err != nil {
		return figures{}, err
	}
	f := figures{window: int(s.pairs.Stats().Bytes), spectrals: int(s.now.Stats().Bytes + s.past.Stats().Bytes)}
	m := &maps{map[payment]uint8{}, map[uint32]int{}, map[uint32]int{}, 0}
	rng := rand.New(rand.NewPCG(1, 2))
	for hour := range b.hours {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		s.hour(hour)
		m.hour(hour)
		b.payments(rng, hour, func(p payment) {
			f.payments++
			switch flagged, should := s.pay(p), m.pay(p); {
			case flagged && !should:
				f.wrong++
			case should:
				f.flagged++
				if !flagged {
					f.missed++
				}
			}
		})
	}
	f.exactMaps = demo.Heap(func() any {
		again := &maps{pairs: map[payment]uint8{}, now: map[uint32]int{}, past: map[uint32]int{}}
		for p, at := range m.pairs {
			if m.at-at <= span {
				again.pairs[p] = at
			}
		}
		for card := range m.now {
			again.now[card], again.past[card] = 1, 1
		}
		return again
	})
	return f, nil
}

func newSketches(b business) (s *sketches, err error) {
	all := b.hourly + 20*b.couriers
	s = new(sketches)
	if s.pairs, err = (compose.WindowConfig{Capacity: all * span, ErrorRate: pairRate, Generations: span, Burst: 1.1}.New()); err != nil {
		return nil, err
	}
	c := counting.Config{Capacity: min(b.cards, all), ErrorRate: cardRate}
	if s.now, err = c.NewSpectral(); err != nil {
		return nil, err
	}
	s.past, err = c.NewSpectral()
	return s, err
}

// payments makes those of an hour. Couriers have the first cards.
func (b business) payments(rng *rand.Rand, hour int, pay func(payment)) {
	usual := func(card int) payment {
		return payment{uint32(card), uint32((uint64(card)*7919 + rng.Uint64N(habits)*104729) % uint64(b.merchants))}
	}
	anywhere := func(card int) payment { return payment{uint32(card), uint32(rng.IntN(b.merchants))} }
	for range b.hourly {
		card := b.couriers + rng.IntN(b.cards-b.couriers)
		if rng.IntN(10) == 0 {
			pay(anywhere(card))
		} else {
			pay(usual(card))
		}
	}
	for i := range 20 * b.couriers {
		pay(usual(i % b.couriers))
	}
	if hour < span {
		return // couriers are new to everybody on the first day
	}
	for range b.stolen / (b.hours - span) {
		card := b.couriers + rng.IntN(b.cards-b.couriers)
		for range 30 {
			pay(anywhere(card))
		}
	}
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("payments", f.payments)
	t.Count("flagged by exact maps", f.flagged)
	t.Count("of these missed by the sketches", f.missed)
	t.Count("flagged by the sketches alone", f.wrong)
	t.Bytes("window of pairs", f.window)
	t.Bytes("two spectrals of cards", f.spectrals)
	t.Varying("exact maps of 4-byte numbers", demo.Bytes(f.exactMaps))
	return t
}
