package peers

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestBegin asks several questions before it waits for the first answer, of all lengths.
func TestBegin(t *testing.T) {
	a, _ := couple(t, testConfig(t), echo)
	for _, size := range []int{0, 100, shortBytes + 1, directBytes + 1, 3 * directBytes} {
		var all []Pending
		for i := range 5 {
			body := bytes.Repeat([]byte{byte(i)}, size)
			p, err := a.Begin(2, Question{Body: body, Room: size, Soon: long, Patience: long}, nil)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		for i, p := range all {
			if got, err := p.Await(); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, size)) {
				t.Errorf("%d bytes: %d bytes, %v", size, len(got), err)
			}
		}
	}
	allFree(t, a)
	if _, err := a.Begin(3, Question{}, nil); !errors.Is(err, ErrUnsent) {
		t.Errorf("to a node that is nowhere: %v", err)
	}
}

// TestSlow waits for answers that take long: whoever waits is told so, and may wait on, or not.
func TestSlow(t *testing.T) {
	release := make(chan struct{})
	a, _ := couple(t, plain, func(q *Asked, to []byte) []byte {
		q.Aside()
		<-release
		return append(to, q.Body...)
	})
	begin := func() Pending {
		p, err := a.Begin(2, Question{Body: []byte("q"), Room: 1, Soon: time.Millisecond, Patience: long}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first, second, third := begin(), begin(), begin()
	for _, p := range []Pending{first, second} {
		if _, err := p.Await(); !errors.Is(err, ErrSlow) {
			t.Errorf("it has answered: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := first.AwaitAll(ctx); !errors.Is(err, ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
	close(release)
	if got, err := second.AwaitAll(t.Context()); err != nil || string(got) != "q" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := third.AwaitAll(t.Context()); err != nil || string(got) != "q" {
		t.Errorf("%q, %v", got, err)
	}
	allFree(t, a)
	eventually(t, "nothing is looked after any more", func() bool { return !a.sweeper.runs.Load() })
}

// TestSlowTwice asks twice whether there is an answer, and then leaves: who was told that it takes long does not
// wait to be told again.
func TestSlowTwice(t *testing.T) {
	a, b := couple(t, plain, func(q *Asked, to []byte) []byte {
		<-q.Context().Done()
		return to
	})
	p, err := a.Begin(2, Question{Soon: time.Millisecond, Patience: long}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Await(); !errors.Is(err, ErrSlow) {
			t.Errorf("it has answered: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.AwaitAll(ctx); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	eventually(t, "the other node knows", func() bool { return asked(b) == 0 })
	allFree(t, a)
}

// TestSlowUnseen waits for an answer that takes long, without having been told so.
func TestSlowUnseen(t *testing.T) {
	release := make(chan struct{})
	a, _ := couple(t, plain, func(q *Asked, to []byte) []byte {
		q.Aside()
		<-release
		return append(to, q.Body...)
	})
	p, err := a.Begin(2, Question{Body: []byte("q"), Room: 1, Soon: time.Millisecond, Patience: long}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it takes long", func() bool { return !a.sweeper.runs.Load() })
	go func() {
		for len(p.a.calls[p.slot].done) > 0 { // whoever waits is told now
			runtime.Gosched()
		}
		close(release)
	}()
	if got, err := p.AwaitAll(t.Context()); err != nil || string(got) != "q" {
		t.Errorf("%q, %v", got, err)
	}
	allFree(t, a)
}

// TestBusy fills all slots: Begin does not wait for one.
func TestBusy(t *testing.T) {
	release := make(chan struct{})
	a, _ := couple(t, plain, func(q *Asked, to []byte) []byte {
		q.Aside()
		<-release
		return to
	})
	var all []Pending
	for {
		p, err := a.Begin(2, Question{Soon: long, Patience: long}, nil)
		if err != nil {
			if !errors.Is(err, ErrUnsent) || !errors.Is(err, errBusy) || len(all) != classSlots {
				t.Errorf("%d are on their way: %v", len(all), err)
			}
			break
		}
		all = append(all, p)
	}
	if _, err := a.Begin(2, Question{Body: make([]byte, MaxBody)}, nil); !errors.Is(err, errBusy) {
		t.Errorf("a long one: %v", err)
	}
	close(release)
	for _, p := range all {
		if _, err := p.Await(); err != nil {
			t.Error(err)
		}
	}
	allFree(t, a)
}

// TestBeginKilled ends the connection while questions are awaited.
func TestBeginKilled(t *testing.T) {
	a, b := couple(t, testConfig(t), func(q *Asked, to []byte) []byte {
		<-q.Context().Done()
		return to
	})
	p, err := a.Begin(2, Question{Soon: long, Patience: long}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is being answered", func() bool { return asked(b) == 1 })
	_ = (*a.links.Load())[2].line.Load().raw.Close()
	if _, err := p.Await(); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// asked returns how many questions a node is answering.
func asked(n *Node) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for a := range n.lines {
		a.mu.Lock()
		for _, q := range a.asked {
			if q != nil {
				count++
			}
		}
		a.mu.Unlock()
	}
	return count
}

// TestAside has questions wait at the other node, one behind the other: each is read though those before it
// are not answered, and the connection ends when all of it is over.
func TestAside(t *testing.T) {
	release := make(chan struct{})
	a, b := couple(t, testConfig(t), func(q *Asked, to []byte) []byte {
		q.Aside()
		q.Aside() // once is enough
		<-release
		return append(to, q.Body...)
	})
	var all sync.WaitGroup
	for i := range 5 {
		body := []byte{byte(i)}
		all.Go(func() {
			if got, err := a.Ask(t.Context(), 2, Question{Body: body, Room: 1}, nil); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%v, %v", got, err)
			}
		})
		eventually(t, "it is being answered", func() bool { return asked(b) == i+1 })
	}
	close(release)
	all.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
