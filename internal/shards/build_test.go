package shards_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/shards"
)

func TestAllowed(t *testing.T) {
	d := &disk{}
	for _, c := range []struct {
		scratch shards.Scratch
		memory  int
		want    int
	}{
		{d, 0, 1 << 30},
		{d, 1 << 20, 1 << 20},
		{d, 1<<20 + 1, 1<<20 + 1},
		{d, math.MaxInt, math.MaxInt},
		{d, 1<<20 - 1, 0},
		{d, 1, 0},
		{d, -1, 0},
		{nil, 0, 0},
		{nil, 1 << 30, 0},
	} {
		got, err := shards.Allowed(c.scratch, c.memory)
		if refused := errors.Is(err, bloomery.ErrParameter); refused != (c.want == 0) || got != c.want {
			t.Errorf("Allowed(%v, %d) = %d, %v, want %d", c.scratch != nil, c.memory, got, err, c.want)
		}
	}
}

func TestProgress(t *testing.T) {
	var reads, builds []uint64
	busy := false
	p := shards.NewProgress(func(read, built uint64) {
		if busy {
			t.Error("two reports at once")
		}
		busy = true
		reads, builds = append(reads, read), append(builds, built)
		busy = false
	})
	p.Read(10)
	p.Read(30)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { p.Built(3) })
	}
	wg.Wait()
	if !slices.Equal(reads[:3], []uint64{10, 30, 30}) || !slices.Equal(builds, []uint64{0, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30}) {
		t.Errorf("reports of %v read, %v built", reads, builds)
	}
	shards.NewProgress(nil).Built(1) // must not panic
}

// Workers work at the same time: two calls that wait for each other end.
func TestEachIsParallel(t *testing.T) {
	var met sync.WaitGroup
	met.Add(2)
	done := make(chan error)
	go func() {
		done <- shards.Each(t.Context(), 2, 2, func(int, int) error {
			met.Done()
			met.Wait()
			return nil
		})
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the calls come one after the other")
	}
}

// Each returns after the last call has.
func TestEachWaits(t *testing.T) {
	var done atomic.Int32
	for range 20 {
		done.Store(0)
		err := shards.Each(t.Context(), 4, 4, func(_, i int) error {
			time.Sleep(time.Duration(i) * time.Millisecond)
			done.Add(1)
			return nil
		})
		if got := done.Load(); got != 4 || err != nil {
			t.Fatalf("%d of 4 calls are done (%v)", got, err)
		}
	}
}

// An error of the last blocks is one of AddSeq, and one reader that stops ends
// the payload.
func TestSpillEnds(t *testing.T) {
	hs := random(1000, 8)
	s := shards.NewSpill(&disk{room: 7000}, 1<<18, 0)
	if err := s.AddSeq(t.Context(), slices.Values(hs), nil); !errors.Is(err, errFull) {
		t.Errorf("AddSeq: %v, want %v", err, errFull)
	}
	s = spilled(t, &disk{room: 1 << 20}, 1<<18, hs)
	runs, err := s.Store(random(20_000, 9))
	if err != nil {
		t.Fatal(err)
	}
	var all []uint64
	for piece, err := range s.Payload([]uint64{1, 2}, [][]shards.Run{runs, runs}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, piece...)
	}
	if want := slices.Concat([]uint64{1, 2}, random(20_000, 9), random(20_000, 9)); !slices.Equal(all, want) {
		t.Errorf("the payload has %d words, want %d, or others", len(all), len(want))
	}
	for stop := range 4 {
		pieces := 0
		for _, err := range s.Payload([]uint64{1}, [][]shards.Run{runs, runs}) {
			if err != nil {
				t.Fatal(err)
			}
			if pieces++; pieces > stop {
				break // what yields after that panics
			}
		}
	}
}
