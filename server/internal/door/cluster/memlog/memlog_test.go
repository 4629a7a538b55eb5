package memlog

// What the log does when it is told to: the tests of a cluster rely on it.

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var errFull = errors.New("full")

// kept returns all messages of a lane.
func (l *Log) kept(lane int) (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.streams[lane].messages {
		list = append(list, string(m))
	}
	return list
}

// TestFaults publishes one message with each fault: what is kept, what is answered, and
// when.
func TestFaults(t *testing.T) {
	const answer = 2 * time.Second
	for name, c := range map[string]struct {
		faults     Faults
		down, full bool
		want       error
		after      time.Duration
		kept       int
	}{
		"none":          {Faults{Answer: answer}, false, false, nil, 0, 1},
		"lost":          {Faults{Lost: 1, Answer: answer}, false, false, errAnswer, answer, 0},
		"unacked":       {Faults{Unacked: 1, Answer: answer}, false, false, errAnswer, answer, 1},
		"twice":         {Faults{Twice: 1, Answer: answer}, false, false, nil, 0, 2},
		"down":          {Faults{Answer: answer}, true, false, errAnswer, answer, 0},
		"full":          {Faults{Answer: answer}, false, true, errFull, 0, 0},
		"full and down": {Faults{Answer: answer}, true, true, errAnswer, answer, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New(1, Faults{})
			l.SetFaults(c.faults)
			l.SetDown(c.down)
			l.SetFull(c.full)
			n, began := l.Node(errFull), time.Now()
			var got []error
			var at time.Duration
			n.Publish(0, []byte("m"), func(err error) { got, at = append(got, err), time.Since(began) })
			if n.Wait(); len(got) != 1 || !errors.Is(got[0], c.want) || at != c.after || len(l.kept(0)) != c.kept || l.Messages(0) != uint64(c.kept) {
				t.Errorf("%s: answered %v after %v, %v are kept, want %v after %v, and %d", name, got, at, l.kept(0), c.want, c.after, c.kept)
			}
			_, _, err := n.Head(0)
			if _, other := n.Read(0, 1); (err != nil) != c.down || (other != nil) != c.down {
				t.Errorf("%s: head %v, read %v", name, err, other)
			}
		})
	}
}

// TestDelays asks that what is on its way takes up to the delay, in whole milliseconds.
func TestDelays(t *testing.T) {
	const delay = 3 * time.Millisecond
	l := New(1, Faults{Delay: delay})
	seen := map[time.Duration]bool{}
	for range 1000 {
		seen[l.delay()] = true
	}
	for d := time.Duration(0); d <= delay; d += time.Millisecond {
		if !seen[d] || len(seen) != 4 {
			t.Errorf("delays are %v, want %v to be one", seen, d)
		}
	}
	if l.SetFaults(Faults{}); l.delay() != 0 {
		t.Error("a delay without delays")
	}
	hits := 0
	for range 10000 {
		if l.chance(0) {
			t.Fatal("what never happens has")
		}
		if l.chance(0.25) {
			hits++
		}
	}
	if hits < 2200 || hits > 2800 { // 7 standard deviations
		t.Errorf("a chance of a quarter has come true %d times of 10000", hits)
	}
}

// TestCopiesComeLater asks that with a delay messages are kept a little after they were
// published, and a second copy a little after the answer.
func TestCopiesComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, Faults{Twice: 1, Delay: 20 * time.Millisecond})
		n, lateFirst, lateSecond := l.Node(errFull), 0, 0
		for i := range 50 {
			answered, at := 0, time.Time{}
			n.Publish(0, nil, func(error) { answered, at = len(l.kept(0))-2*i, time.Now() })
			if synctest.Wait(); len(l.kept(0)) == 2*i {
				lateFirst++
			}
			if n.Wait(); answered != 1 || len(l.kept(0)) != 2*i+2 {
				t.Fatalf("%d copies at the answer, %d in the end", answered, len(l.kept(0))-2*i)
			}
			if time.Since(at) > 0 {
				lateSecond++
			}
		}
		if lateFirst < 35 || lateSecond < 35 { // 20 of 21 delays are longer than nothing
			t.Errorf("the first copy was late %d times of 50, the second %d", lateFirst, lateSecond)
		}
	})
}

// TestTails asks what a tail delivers: in order, from where it was asked to, not what
// was purged, nothing while it is held, and some again if it is told to.
func TestTails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, Faults{})
		n := l.Node(errFull)
		for i := range 9 {
			l.Append(0, fmt.Append(nil, i+1))
		}
		if err := n.Purge(0, 4); err != nil {
			t.Fatal(err)
		}
		if first, last, err := n.Head(0); first != 4 || last != 9 || err != nil {
			t.Errorf("head %d, %d, %v", first, last, err)
		}
		for seq, want := range map[uint64]string{3: "", 4: "4", 9: "9", 10: ""} {
			if b, err := n.Read(0, seq); string(b) != want || err != nil || (b == nil) != (want == "") {
				t.Errorf("message %d is %q, %v, want %q", seq, b, err, want)
			}
		}
		follow := func(from uint64) (got *[]string, stop func()) {
			got = new([]string)
			stop, err := n.Tail(0, from, func(seq uint64, msg []byte) { *got = append(*got, fmt.Sprint(seq, "=", string(msg))) })
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return got, stop
		}
		old, stopOld := follow(1)
		late, stopLate := follow(8)
		want := []string{"4=4", "5=5", "6=6", "7=7", "8=8", "9=9"}
		if !slices.Equal(*old, want) || !slices.Equal(*late, want[4:]) {
			t.Errorf("tails %v, %v", *old, *late)
		}
		n.Hold(0, true)
		l.Append(0, []byte("10"))
		if synctest.Wait(); len(*late) != 2 {
			t.Errorf("a lane that is held delivers %v", *late)
		}
		n.Hold(0, false)
		if synctest.Wait(); len(*late) != 3 || (*late)[2] != "10=10" {
			t.Errorf("a lane that is held no more has delivered %v", *late)
		}
		stopLate()
		l.Append(0, []byte("11"))
		if synctest.Wait(); len(*late) != 3 || len(*old) != 8 {
			t.Errorf("a tail that was stopped has %v, the other %v", *late, *old)
		}
		stopOld()
		// The message is the log's again afterwards.
		var own []byte
		stop, err := n.Tail(0, 11, func(_ uint64, msg []byte) { own = msg })
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		if string(own) != "\xff\xff" || !slices.Equal(l.kept(0), []string{"4", "5", "6", "7", "8", "9", "10", "11"}) {
			t.Errorf("a message that was delivered is %q, kept are %v", own, l.kept(0))
		}
		l.Truncate(0, 5)
		if _, last, _ := n.Head(0); last != 5 {
			t.Errorf("the log ends at %d, want 5", last)
		}
		if err := n.Purge(0, 100); err != nil {
			t.Fatal(err)
		}
		if first, last, _ := n.Head(0); first != 6 || last != 5 {
			t.Errorf("an empty log has head %d, %d", first, last)
		}
	})
}

// TestTailsAgain asks that a tail delivers old messages once more, all in order besides,
// and takes its time.
func TestTailsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, Faults{Again: 0.5, Delay: 40 * time.Millisecond})
		n := l.Node(errFull)
		for i := range 50 {
			l.Append(0, fmt.Append(nil, i+1))
		}
		began, took, high, again := time.Now(), time.Duration(0), uint64(0), 0
		stop, err := n.Tail(0, 1, func(seq uint64, msg []byte) {
			switch {
			case string(msg) != fmt.Sprint(seq):
				t.Errorf("message %d is %q", seq, msg)
			case seq == high+1:
				high, took = seq, time.Since(began)
			case seq > high || seq+4 < high:
				t.Errorf("message %d behind %d", seq, high)
			default:
				again++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if stop(); high != 50 || again < 10 || again > 150 {
			t.Errorf("delivered up to %d, %d again", high, again)
		}
		if took < 100*time.Millisecond || took > 1500*time.Millisecond { // up to 10 ms each
			t.Errorf("it took %v", took)
		}
	})
}

// TestKilled asks that a dead node is told nothing, and that a message of it may be kept
// or not.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, Faults{Delay: 10 * time.Millisecond})
		n, other := l.Node(errFull), l.Node(errFull)
		delivered := 0
		if _, err := n.Tail(0, 1, func(uint64, []byte) { delivered++ }); err != nil {
			t.Fatal(err)
		}
		n.Kill()
		for range 100 {
			n.Publish(0, []byte("m"), func(error) { t.Error("a dead node is answered") })
		}
		n.Wait()
		synctest.Wait()
		if kept := len(l.kept(0)); kept < 20 || kept > 99 || delivered != 0 {
			t.Errorf("%d of 100 messages are kept, %d were delivered", kept, delivered)
		}
		before, answered := len(l.kept(0)), 0
		other.Publish(0, []byte("m"), func(error) { answered++ })
		if other.Wait(); answered != 1 || len(l.kept(0)) != before+1 {
			t.Error("another node is dead, too")
		}
	})
}

// TestLanes asks that lanes are made once, and that another number of them is an error.
func TestLanes(t *testing.T) {
	l := New(1, Faults{})
	n := l.Node(errFull)
	if err := n.Lanes(2, false); err == nil || len(l.streams) != 1 {
		t.Errorf("lanes that are missing: %v, %d streams", err, len(l.streams))
	}
	for range 2 {
		if err := n.Lanes(2, true); err != nil || len(l.streams) != 4 {
			t.Errorf("two lanes: %v, %d streams", err, len(l.streams))
		}
	}
	if err := n.Lanes(2, false); err != nil {
		t.Error(err)
	}
	if err := n.Lanes(3, true); err == nil || len(l.streams) != 4 {
		t.Errorf("three lanes instead of two: %v", err)
	}
	if first, last, err := n.Head(3); first != 1 || last != 0 || err != nil {
		t.Errorf("head of an empty lane: %d, %d, %v", first, last, err)
	}
}
