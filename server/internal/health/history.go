package health

// The history of a filter, a day long.

import "time"

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
	return h.points[(h.next+len(h.points)-1)%len(h.points)], true
}

// all returns the points, oldest first.
func (h *history) all() []Point {
	return append(append([]Point(nil), h.points[h.next:]...), h.points[:h.next]...)
}

// The span over which the pace of a filter is seen.
const (
	paceLeast = 10 * time.Minute
	paceMost  = time.Hour
)

// pace returns how many items a second have come, seen over 10 minutes at least
// and about an hour at most. It reports false if the history is too short, or if
// the clock was set back.
func (h *history) pace(now time.Time, items uint64) (perSecond float64, ok bool) {
	for i := range h.points {
		p := h.points[(h.next+i)%len(h.points)]
		age := now.Sub(time.Unix(p.At, 0))
		if age > paceMost {
			continue
		}
		if age < paceLeast {
			return 0, false
		}
		if items <= p.Items {
			return 0, true
		}
		return float64(items-p.Items) / age.Seconds(), true
	}
	return 0, false
}

// Slope returns how many items a second have come in a history, oldest first: the slope
// of the line with the least squares through its points. It reports false if the history
// is shorter than 10 minutes.
func Slope(points []Point, now time.Time) (perSecond float64, ok bool) {
	if len(points) < 2 || now.Sub(time.Unix(points[0].At, 0)) < paceLeast {
		return 0, false
	}
	var meanAt, meanItems float64
	for _, p := range points {
		meanAt += float64(p.At-points[0].At) / float64(len(points))
		meanItems += float64(p.Items) / float64(len(points))
	}
	var up, across float64
	for _, p := range points {
		dx := float64(p.At-points[0].At) - meanAt
		up += dx * (float64(p.Items) - meanItems)
		across += dx * dx
	}
	if across <= 0 {
		return 0, false
	}
	return up / across, true
}
