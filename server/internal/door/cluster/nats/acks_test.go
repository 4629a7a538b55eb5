package nats

// Answers to publications: to whom they go, and when.

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster"

	"github.com/nats-io/nats.go"
)

// answers collects what the done of a publication is called with.
type answers struct {
	list []error
	at   []time.Duration
}

func (a *answers) done(began time.Time) func(error) {
	return func(err error) { a.list, a.at = append(a.list, err), append(a.at, time.Since(began)) }
}

// TestAnswersCountOnce asks that a publication is answered once, at once if it is kept,
// and after failIn at the earliest if it is not.
func TestAnswersCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		for name, c := range map[string]struct {
			wait   time.Duration // before the answers
			errs   []error
			want   error
			wantAt time.Duration
		}{
			"kept":                {0, []error{nil}, nil, 0},
			"kept twice":          {time.Second, []error{nil, nil}, nil, time.Second},
			"kept, then not":      {time.Second, []error{nil, broken}, nil, time.Second},
			"not kept, early":     {0, []error{broken}, broken, failIn},
			"not kept, late":      {failIn, []error{broken}, broken, failIn},
			"failed, then kept":   {failIn / 2, []error{broken, nil}, nil, failIn / 2},
			"failed early, twice": {failIn / 2, []error{broken, broken}, broken, failIn},
		} {
			a, got := &acks{open: map[uint64]sent{}}, new(answers)
			token, ok := a.expect(0, got.done(time.Now()))
			if !ok {
				t.Fatal("no answer is expected of a log that is open")
			}
			time.Sleep(c.wait)
			for _, err := range c.errs {
				a.settle(token, err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(got.list) != 1 || got.list[0] != c.want || got.at[0] != c.wantAt || len(a.open) != 0 {
				t.Errorf("%s: answered with %v after %v, want %v once after %v; %d are open", name, got.list, got.at, c.want, c.wantAt, len(a.open))
			}
		}
	})
}

// TestAnswersEnd asks that a publication without an answer fails after ackIn, or when the
// log is closed, and that none is taken after that.
func TestAnswersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, early, late := &acks{open: map[uint64]sent{}}, new(answers), new(answers)
		began := time.Now()
		first, _ := a.expect(0, early.done(began))
		time.Sleep(time.Second)
		second, _ := a.expect(0, late.done(began))
		if first == second {
			t.Fatalf("two messages have the token %d", first)
		}
		time.Sleep(ackIn - time.Second)
		if a.expire(time.Now()); len(early.list) != 0 {
			t.Errorf("%v in time is answered with %v", ackIn, early.list)
		}
		time.Sleep(time.Millisecond)
		if a.expire(time.Now()); len(early.list) != 1 || !errors.Is(early.list[0], errNoAck) || len(late.list) != 0 {
			t.Errorf("after %v: %v, and %v for a later one", ackIn, early.list, late.list)
		}
		third := new(answers)
		last, _ := a.expect(0, third.done(began))
		a.settle(last, errNoLeader) // it waits for failIn
		a.failAll(errClosed)
		if len(late.list) != 1 || late.list[0] != errClosed || len(third.list) != 1 || third.list[0] != errClosed {
			t.Errorf("when the log is closed: %v, %v", late.list, third.list)
		}
		time.Sleep(time.Minute)
		if synctest.Wait(); len(third.list) != 1 {
			t.Errorf("answered after the end: %v", third.list)
		}
		if _, ok := a.expect(0, func(error) {}); ok {
			t.Error("a log that is closed expects an answer")
		}
		l := &Log{}
		l.acks.ended = true
		refused := new(answers)
		if l.Publish(0, nil, refused.done(began)); len(refused.list) != 1 || refused.list[0] != errClosed {
			t.Errorf("a publication to a log that is closed: %v", refused.list)
		}
	})
}

// TestElectionsAnswer asks that messages on their way to a lane fail when it has a new
// leader, which sends them again, and that those of other lanes do not.
func TestElectionsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, moved, other, late := &acks{open: map[uint64]sent{}}, new(answers), new(answers), new(answers)
		began := time.Now()
		a.expect(1, moved.done(began))
		a.expect(2, other.done(began))
		time.Sleep(time.Second)
		token, _ := a.expect(1, late.done(began))
		a.elected(1)
		a.settle(token, nil) // the new leader had it already
		time.Sleep(failIn)
		synctest.Wait()
		if len(moved.list) != 1 || !errors.Is(moved.list[0], errElected) || moved.at[0] != time.Second {
			t.Errorf("a message of before the election: %v after %v, want %v after 1s", moved.list, moved.at, errElected)
		}
		if len(late.list) != 1 || late.list[0] != nil || len(other.list) != 0 {
			t.Errorf("a message that was kept: %v; one of another lane: %v", late.list, other.list)
		}
	})
}

// TestFullStreams asks which codes of JetStream mean that a stream has no room.
func TestFullStreams(t *testing.T) {
	for code, want := range map[string]bool{"10077": true, "10047": true, "10023": true, "10076": false, "10071": false, "503": false} {
		m := nats.NewMsg("x")
		m.Data = []byte(`{"error":{"code":400,"err_code":` + code + `,"description":"x"}}`)
		if err := verdict(m); err == nil || errors.Is(err, cluster.ErrFull) != want {
			t.Errorf("code %s: %v, want full: %v", code, err, want)
		}
	}
	status := nats.NewMsg("x")
	status.Header.Set("Status", "503")
	status.Data = []byte(`{"stream":"s"}`) // an acknowledgement, whatever its header says
	if err := verdict(status); err != nil {
		t.Errorf("an acknowledgement with a header: %v", err)
	}
}
