package web

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// slowClient takes a few pieces of an answer, and notes how long it may take for each.
type slowClient struct {
	*httptest.ResponseRecorder
	takes int
	times []time.Duration
}

func (s *slowClient) SetWriteDeadline(at time.Time) error {
	s.times = append(s.times, time.Until(at))
	return nil
}

func (s *slowClient) WriteString(data string) (int, error) {
	if s.takes--; s.takes < 0 {
		return 0, errors.New("it takes no more")
	}
	return s.Body.WriteString(data)
}

// TestSlowFiles sends a file in pieces, each in its time: who takes none of it is not waited for.
func TestSlowFiles(t *testing.T) {
	data := strings.Repeat("0123456789", 50_000)
	for takes, pieces := range map[int]int{0: 1, 3: 4, 100: 8} {
		s := &slowClient{ResponseRecorder: httptest.NewRecorder(), takes: takes}
		c := &call{w: s}
		c.send(data)
		want := data[:min(len(data), takes*pieceBytes)]
		if s.Body.String() != want {
			t.Errorf("%d pieces: %d bytes have come, want %d", takes, s.Body.Len(), len(want))
		}
		times := s.times
		if takes >= pieces { // all of it was taken: the last time is that of what is buffered
			times = times[:len(times)-1]
		}
		if len(times) != pieces {
			t.Errorf("%d pieces: %d times were set, want %d", takes, len(times), pieces)
		}
		for _, d := range times {
			if d > pieceTime {
				t.Errorf("a piece has %v, want at most %v", d, pieceTime)
			}
		}
	}
}
