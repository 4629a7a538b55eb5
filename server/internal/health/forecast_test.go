package health_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/health"
)

// regime is how items come for a while.
type regime struct {
	pace  float64 // items a second
	swing float64 // how much of the pace goes up and down with the day
	until time.Duration
}

// coming is a filter that items come to in one regime after the other.
type coming struct {
	regimes []regime
	items   float64
	at      time.Duration
	changed time.Duration // when the present regime began
}

// rate returns the items a second at the present moment.
func (c *coming) rate() float64 {
	r := &c.regimes[0]
	return r.pace * (1 + r.swing*math.Sin(2*math.Pi*c.at.Hours()/24))
}

// pass lets time pass, as chance has it.
func (c *coming) pass(d time.Duration, r *rand.Rand) {
	if c.at += d; c.at >= c.regimes[0].until && len(c.regimes) > 1 {
		c.regimes, c.changed = c.regimes[1:], c.at
	}
	n := c.rate() * d.Seconds()
	c.items += math.Floor(max(0, n+math.Sqrt(n)*r.NormFloat64()) + r.Float64())
}

// Contains is for a filter that has nothing but a number of items.
func (c *coming) Contains([]byte) bool { return false }

func (c *coming) Stats() bloomery.Stats {
	return bloomery.Stats{Kind: "bloom", Capacity: 1e9, Items: uint64(c.items), Asked: 0.01, Saturation: 0.4, Bytes: 1000}
}

// TestForecasts has items come to 500 filters in bursts, with rests, steadily, and by
// day and night. Ten minutes after their pace has changed no forecast is off by more
// than a factor of two, and a filter at rest has none; after twenty it is there.
func TestForecasts(t *testing.T) {
	s := newSource()
	k := s.keeper()
	r := random(54)
	const most = 2 * time.Hour
	var list []*filter
	for range 500 {
		c := &coming{}
		for end := time.Duration(0); end < most; {
			v := regime{}
			switch r.IntN(4) {
			case 0: // a burst
				v.pace = math.Exp(8 + 5*r.Float64())
				end += time.Duration(float64(20*time.Minute) * r.Float64())
			case 1: // a rest
				end += time.Duration(float64(time.Hour) * r.Float64())
			default: // steady, or by day and night
				v.pace = math.Exp(7 * r.Float64())
				if r.IntN(2) == 0 {
					v.swing = 0.9 * r.Float64()
				}
				end += time.Duration(float64(time.Hour) * r.Float64())
			}
			v.until = end
			c.regimes = append(c.regimes, v)
		}
		f := s.add(c)
		f.change = func(l *health.Look) { l.Layers = 1000 } // it is never probed
		list = append(list, f)
	}
	forecasts, wrong, without := 0, 0, 0
	for at := time.Duration(0); at < most; at += time.Minute {
		for _, f := range list {
			c := f.hashed.(*coming)
			before := c.items
			c.pass(time.Minute, r)
			f.version += uint64(c.items-before+255) / 256
		}
		s.run(k, time.Minute)
		if at%(5*time.Minute) != 2*time.Minute {
			continue
		}
		k.Reports(func(id uint64, v *health.Report) {
			c := list[id-1].hashed.(*coming)
			quiet, want := c.at-c.changed, c.rate()
			switch {
			case quiet < 10*time.Minute:
			case v.Pace > 0 || v.Pace == 0 && want > 0.3:
				forecasts++
				if v.Pace > 2*want || v.Pace < want/2 {
					wrong++
					t.Errorf("filter %d at %v, %v after its pace has changed: %v items a second, want %v", id, at, quiet, v.Pace, want)
				}
			case quiet > 20*time.Minute && v.Pace < 0 && (want == 0 || want > 1):
				without++
			}
		})
	}
	t.Logf("%d forecasts, %d wrong, %d not made", forecasts, wrong, without)
	if forecasts < 1000 || without > forecasts/50 {
		t.Errorf("%d forecasts were made and %d were not", forecasts, without)
	}
}
