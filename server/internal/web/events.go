package web

// Server-sent events.

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

var eventRoutes = []route{
	{"GET", "/api/v1/events", (*call).events, reads, "Server-sent events: the overview every second, and the filters of a view that have changed."},
}

const (
	// eventEvery is the time between two events. A look at very many filters
	// takes long, so it waits for eventShare times as long after one, so that a
	// stream takes at most 1/eventShare of a processor; but not for longer than
	// eventMost: the look may have waited, for a pause or for a processor.
	eventEvery = time.Second
	eventShare = 20
	eventMost  = 10 * time.Second
	// eventWrite is how long a client may take for an event.
	eventWrite = 10 * time.Second
	// eventFilters is how many filters a view has, if the client names no other:
	// those that need care first.
	eventFilters = 5
)

// events sends events until the client leaves or the server ends. Every round is a
// request of its own: who may not ask any more gets nothing more.
func (c *call) events() error {
	q := c.r.URL.Query()
	if q.Get("sort") == "" {
		q.Set("sort", "verdict")
	}
	v, err := readView(q, eventFilters)
	if err != nil {
		return err
	}
	select {
	case c.h.streams <- struct{}{}:
		defer func() { <-c.h.streams }()
	default:
		return problem{http.StatusServiceUnavailable, "too_many_streams", fmt.Sprintf("%d clients already receive events", mostStreams)}
	}
	s := stream{call: c, control: http.NewResponseController(c.w), view: v, sent: map[string]string{}}
	overview, filters, err := s.look()
	if err != nil {
		return err
	}
	s.begin()
	if c.r.Method == http.MethodHead {
		return nil
	}
	for {
		began := time.Now()
		if s.send("overview", overview) != nil || filters != nil && s.send("filters", filters) != nil {
			return nil // the client has gone
		}
		wait := restAfter(s.took) - time.Since(began)
		select {
		case <-c.r.Context().Done():
			return nil
		case <-c.h.ended:
			return nil
		case <-time.After(wait):
		}
		if overview, filters, err = s.look(); err != nil {
			p := asProblem(err)
			_ = s.send("problem", object{"code": p.code, "message": p.message})
			return nil
		}
	}
}

// restAfter returns how long a stream waits after a look that took so long.
func restAfter(took time.Duration) time.Duration {
	return min(max(eventEvery, eventShare*took), eventMost)
}

// stream is the events of one client.
type stream struct {
	call    *call
	control *http.ResponseController
	view    view
	sent    map[string]string // rows by name, as they were sent
	order   string            // of the names
	total   int64
	took    time.Duration // of the last look
}

// begin writes the head of the response.
func (s *stream) begin() {
	head := s.call.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no")
	s.call.w.WriteHeader(http.StatusOK)
}

// look returns what is to be sent: the overview, and the filters of the view that are
// not as they were, nil if all are.
func (s *stream) look() (overview, filters object, err error) {
	began := time.Now()
	c := &call{h: s.call.h, w: s.call.w, r: s.call.r, watching: true}
	defer c.close()
	if err := c.identify(); err != nil {
		return nil, nil, err
	}
	if overview, err = c.overview(); err != nil {
		return nil, nil, err
	}
	total, rows, err := c.look(s.view)
	if err != nil {
		return nil, nil, err
	}
	filters, err = s.changes(total, rows)
	s.took = time.Since(began)
	return overview, filters, err
}

// changes returns the rows that are not as they were sent, with the order of all.
func (s *stream) changes(total int64, rows []object) (object, error) {
	changed, names := []object{}, []any{}
	var order strings.Builder
	now := make(map[string]string, len(rows))
	for _, row := range rows {
		data, err := encode(row)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(row["ref"], row["name"])
		names = append(names, row["ref"])
		order.WriteString(name + "\n")
		if now[name] = string(data); s.sent[name] != string(data) {
			changed = append(changed, row)
		}
	}
	if len(changed) == 0 && order.String() == s.order && total == s.total {
		return nil, nil
	}
	s.sent, s.order, s.total = now, order.String(), total
	return object{"total": total, "refs": names, "filters": changed}, nil
}

// send writes an event. The time that other responses may take does not hold for a
// stream; where it cannot be set, that of the program around us does.
func (s *stream) send(name string, v any) error {
	data, err := encode(v) // one line
	if err != nil {
		return err
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(eventWrite))
	if _, err := fmt.Fprintf(s.call.w, "event: %s\ndata: %s\n", name, data); err != nil {
		return err
	}
	return s.control.Flush()
}
