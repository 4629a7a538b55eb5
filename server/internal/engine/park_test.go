package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/following"
)

// TestParkedAgain parks a call that is short of memory again and again, as each change of its filter does: it is woken once in its
// time, and not once for each change.
func TestParkedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{}
		s := &Session{}
		x := Contents{&Context{e: e, s: s}}
		woken := 0
		s.park = parking{wake: func() { woken++ }, wait: &wait{news: &following.News{}, timer: time.NewTimer(time.Hour)}}
		for range 1000 {
			x.Park(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if woken != 1 {
			t.Errorf("it was woken %d times, want once", woken)
		}
		x.Park(100 * time.Millisecond)
		e.unpark(s)
		time.Sleep(time.Second)
		if woken != 1 {
			t.Errorf("it was woken %d times when it waits no more", woken-1)
		}
	})
}
