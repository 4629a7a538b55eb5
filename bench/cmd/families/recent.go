package main

import (
	"context"
	"fmt"

	"github.com/decred/dcrd/container/apbf"

	"github.com/bloomery/bloomery/compose"
)

// The contestants of filters that forget.
const (
	defaultWindow = "compose.Window at its default"
	agePartition  = "dcrd apbf, the last n keys"
	burstRate     = "error in %, generations with 1.5 times the mean"
	forgotten     = "of the last n keys, not found"
)

// recent fills filters that forget for three times their span, and asks what they keep
// and find then. The promises differ: a window keeps a span of time, whose fullest
// generations have 1.5 times the mean; apbf keeps the last n keys.
func recent(p float64) func(context.Context, *bench) error {
	return func(_ context.Context, b *bench) error {
		keys, others := keysOf(present, 3*b.n), keysOf(absent, min(2_000_000, 20*b.n))
		last := keys[2*b.n:]
		even, burst := compose.NewWindow(b.n, p, windowSpan), compose.NewWindow(b.n, p, windowSpan)
		const full = windowSpan + 1 // generations that a window keeps
		for i := range 3 * windowSpan {
			even.Advance(uint64(i))
			even.AddKeys(nil, keys[i*b.n/windowSpan:(i+1)*b.n/windowSpan])
			burst.Advance(uint64(i))
			if i%full < 5 { // as many as the promise allows are as full as it allows
				burst.AddKeys(nil, keys[i*b.n/windowSpan%(2*b.n):][:b.n/4])
			}
		}
		b.note(defaultWindow, bits, float64(even.Shape().Bits())/float64(b.n))
		b.note(defaultWindow, rate, errorOf(others, even.ContainsKeys))
		b.note(defaultWindow, burstRate, errorOf(others, burst.ContainsKeys))
		b.note(defaultWindow, forgotten, float64(lost(last, even.ContainsKeys)))
		there := pack(spread(last))
		lookups(b, defaultWindow, single, b.pass()/4, there, others, each(even.Contains))
		lookups(b, defaultWindow, batch, b.pass()/4, there, others, even.ContainsKeys)

		aged := apbf.NewFilter(uint32(b.n), p)
		for _, key := range keys {
			aged.Add(key)
		}
		b.note(agePartition, bits, float64(aged.Size())*8/float64(b.n))
		b.note(agePartition, rate, errorOf(others, each(aged.Contains)))
		b.note(agePartition, forgotten, float64(lost(last, each(aged.Contains))))
		lookups(b, agePartition, single, b.pass()/4, there, others, each(aged.Contains))
		b.turns(b.rounds)
		return nil
	}
}

// windowSpan is the number of generations of a span.
const windowSpan = 6

// recentRates are the rates that filters which forget are asked for, with the bits per
// key of a window at its default.
var recentRates = []struct{ rate, bits float64 }{{0.01, 26}, {0.001, 36}}

func recentExperiments() []experiment {
	var all []experiment
	for _, r := range recentRates {
		all = append(all, experiment{fmt.Sprintf("recent-%g", r.rate), 100_000, fmt.Sprintf(`Filters that forget, for 100,000 keys at
			%g. Keys of 8 bytes, hashing included. A window promises the keys of a span of time, apbf the last n keys.`, r.rate), recent(r.rate)})
	}
	return all
}

func recentAims() []aim {
	var all []aim
	for _, r := range recentRates {
		from := fmt.Sprintf("recent-%g/n=100000", r.rate)
		name := fmt.Sprintf("Window at its default, %g, ", r.rate)
		all = append(all,
			atMost(r.bits, name+bits, figureAt(at(from, defaultWindow, bits))),
			atMost(100*r.rate, name+"even traffic, "+rate, figureAt(at(from, defaultWindow, rate))),
			atMost(105*r.rate, name+burstRate, figureAt(at(from, defaultWindow, burstRate)))) // chance moves it by 2%
	}
	return all
}
