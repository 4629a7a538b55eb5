// Command adcap shows each user an ad at most once in 24 hours: a Window of the pairs of user
// and ad that were shown, beside an exact map of the same.
//
//	go run ./examples/adcap
package main

import (
	"context"
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"

	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	span = 24    // hours in which no ad comes twice, a generation of the window each
	rate = 0.001 // of new ads that may be hidden
)

// campaign is how much is offered.
type campaign struct {
	users, ads uint64
	hourly     int // offers, on average
	hours      int
}

var (
	sample = campaign{users: 2_000, ads: 400, hourly: 7_000, hours: 72}
	full   = campaign{users: 300_000, ads: 5_000, hourly: 200_000, hours: 72}
)

// figures is what became of the offers.
type figures struct {
	offers, shown    int
	repeated         int // shown again within 24 hours: never
	known            int // hidden because they were shown within 24 hours
	late             int // hidden in the hour after that, which the oldest generation still has
	wrong            int // hidden and not shown before: false positives
	pairs            int // in the exact map at the end
	window, exactMap int // bytes
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	c := demo.Pick(o, sample, full)
	// All offers of a day may be shown. By day come 50% more than on average, which is
	// what a window has room for by default.
	w, err := compose.WindowConfig{Capacity: c.hourly * span, ErrorRate: rate, Generations: span}.New()
	if err != nil {
		return figures{}, err
	}
	f := figures{window: int(w.Stats().Bytes)}
	shown := map[uint64]uint8{} // the hour in which a pair was shown last
	rng := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(rng, 1.1, 20, c.ads-1)
	for hour := range c.hours {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		w.Advance(uint64(hour))
		for pair, at := range shown {
			if hour-int(at) > span {
				delete(shown, pair)
			}
		}
		for range atHour(c.hourly, hour) {
			f.offer(w, shown, hour, rng.Uint64N(c.users)<<32|popular.Uint64())
		}
	}
	f.pairs = len(shown)
	f.exactMap = demo.Heap(func() any {
		again := map[uint64]uint8{}
		maps.Copy(again, shown)
		return again
	})
	return f, nil
}

// offer shows an ad to a user unless the window has the pair. The map is not asked: it only
// counts what the window does.
func (f *figures) offer(w *compose.Window, shown map[uint64]uint8, hour int, pair uint64) {
	f.offers++
	key := binary.BigEndian.AppendUint64(nil, pair)
	at, before := shown[pair]
	age := hour - int(at)
	if !w.Contains(key) {
		if before && age < span {
			f.repeated++
		}
		w.Add(key)
		f.shown++
		shown[pair] = uint8(hour)
		return
	}
	switch {
	case !before:
		f.wrong++
	case age < span:
		f.known++
	default:
		f.late++
	}
}

// atHour returns how many offers come in an hour: from half of the mean at night to half as
// many again by day.
func atHour(mean, hour int) int {
	return int(float64(mean) * (1 + 0.5*math.Sin(2*math.Pi*float64(hour)/24)))
}

// newOffers is how many offers were of ads that the user had not seen: those that a false
// positive can hide.
func (f figures) newOffers() int { return f.offers - f.known - f.late }

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("offers", f.offers)
	t.Count("ads shown", f.shown)
	t.Count("shown twice within 24 hours", f.repeated)
	t.Count("hidden, shown within 24 hours", f.known)
	t.Count("hidden for up to an hour longer", f.late)
	t.Count("wrongly hidden", f.wrong)
	t.Percent("false positive rate asked", rate)
	t.Percent("measured", float64(f.wrong)/float64(f.newOffers()))
	t.Bytes("window", f.window)
	t.Count("pairs that it holds at the end", f.pairs)
	t.Varying("exact map of them", demo.Bytes(f.exactMap))
	t.Varying("memory saved", demo.Percent(1-float64(f.window)/float64(f.exactMap)))
	return t
}
