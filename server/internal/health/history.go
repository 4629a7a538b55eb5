package health

// The history of a filter, a day long.

import (
	"math"
	"time"
)

// The history of a filter: a point every 5 minutes of a day.
const (
	historyPoints = 288
	historyEvery  = 5 * time.Minute
)

// Point is the state of a filter at a moment of its history.
type Point struct {
	At    int64  `json:"at"` // seconds since 1970
	Items uint64 `json:"items"`
	// Saturation, Predicted and Probed are those of Report; Probed is -1
	// where there were too few probes.
	Saturation float32 `json:"saturation"`
	Predicted  float32 `json:"predicted"`
	Probed     float32 `json:"probed"`
	// AddP99 and HasP99 are the 99th percentiles of latency in microseconds.
	AddP99 float32 `json:"add_p99_us"`
	HasP99 float32 `json:"has_p99_us"`
}

// history is the latest points, oldest first once it is full at next.
type history struct {
	points []Point
	next   int
}

// add keeps a point, in the place of the oldest if there are 288.
func (h *history) add(p Point) {
	if len(h.points) < historyPoints {
		h.points = append(h.points, p)
		return
	}
	h.points[h.next] = p
	h.next = (h.next + 1) % historyPoints
}

// last returns the latest point.
func (h *history) last() (Point, bool) {
	if len(h.points) == 0 {
		return Point{}, false
	}
	return *h.latest(0), true
}

// all returns the points, oldest first.
func (h *history) all() []Point {
	return append(append([]Point(nil), h.points[h.next:]...), h.points[:h.next]...)
}

// latest returns the i-th latest point, 0 for the last.
func (h *history) latest(i int) *Point {
	n := len(h.points)
	return &h.points[(h.next+n-1-i)%n]
}

// noPace is a pace that is not known.
const noPace = -1

// What a pace is seen from.
const (
	paceSpan  = historyEvery     // the least of a span
	paceMost  = 30 * time.Minute // the most of the later one
	paceItems = 100              // in the later one: chance makes no pace of so many
	loadMost  = time.Hour        // for which one load fills the last of a filter
)

// pace returns how many items a second come, if the pace is steady. It looks at the shortest span of 5 to
// 30 minutes in which 100 items came: the last minutes and the span before must have the same pace, within
// a factor of two and chance. So a load that is over has no pace, and one that has just begun has none yet.
// The pace is 0 if no items came for 10 minutes, and negative if it is not steady or not known yet.
func (h *history) pace(now time.Time, items uint64) float64 {
	var tail, tailItems float64 // the shortest span, and what came in it
	for i := range h.points {
		begin := h.latest(i)
		age := now.Sub(time.Unix(begin.At, 0))
		switch {
		case age < 0 || age > paceMost && tail > 0:
			return noPace
		case age < paceSpan:
			continue
		}
		came, span := float64(items)-float64(begin.Items), age.Seconds()
		if came <= 0 && age >= 2*paceSpan {
			return 0
		}
		if tail == 0 {
			tail, tailItems = span, came
		}
		if came >= paceItems {
			if v := came / span; near(tailItems, v*tail) && h.before(i, v, span) {
				return v
			}
			return noPace
		}
	}
	return noPace
}

// filling reports whether a filter that has so many items for an hour has more now: it fills, and not
// only by one load.
func (h *history) filling(items uint64, nearly float64) bool {
	var since *Point
	for i := len(h.points) - 1; i >= 0; i-- {
		switch p := h.latest(i); {
		case float64(p.Items) < nearly:
			since = nil
		case since == nil:
			since = p
		case p.At-since.At >= int64(loadMost/time.Second):
			return items > p.Items
		}
	}
	return false
}

// before reports whether items came at a pace before the i-th latest point, in a span at least half as
// long as span.
func (h *history) before(i int, pace, span float64) bool {
	end := h.latest(i)
	for j := i + 1; j < len(h.points); j++ {
		begin := h.latest(j)
		if earlier := float64(end.At - begin.At); earlier >= span/2 {
			return near(float64(end.Items)-float64(begin.Items), pace*earlier)
		}
	}
	return false
}

// near reports whether a number of items is as expected, but for a factor of two and one standard deviation.
func near(n, expected float64) bool {
	chance := math.Sqrt(expected)
	return n >= expected/2-chance && n <= 2*expected+chance
}
