package cluster

import (
	"errors"
	"testing"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

func FuzzAnswerRun(f *testing.F) {
	f.Add([]byte{answerGiven, 2, 5, 6, 'b'})
	f.Add([]byte{answerRefused, 'n', 'o'})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, places, err := (&Door{}).readAnswer(b, nil)
		if err == nil && (len(places) == 0 || a.Place != places[0] || len(a.Body) > len(b)) {
			t.Errorf("%x came as %v, %v", b, a, places)
		}
	})
}

// TestBadQuestions asks that questions which no node sends run nothing.
func TestBadQuestions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := open(t, memlog.New(1, memlog.Faults{}), Config{})
		d.OnQuestion(func([]byte, int, func()) []byte {
			t.Error("it was run")
			return nil
		})
		for _, q := range [][]byte{{}, {5}, {5, 2, 0, 0}, {5, 1, 99, 0}, {0xff, 0xff, 0xff, 0x7f, 0}, {5, 0xff, 0x7f}} {
			if _, err := d.answerRun(q, func() {}); !errors.Is(err, errQuestion) {
				t.Errorf("%x: %v", q, err)
			}
		}
	})
}
