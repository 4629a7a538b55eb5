package engine

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/bloomery/bloomery/server/internal/door"
)

// hungNode is a router to one node, which answers when it is let.
type hungNode struct {
	door.Router
	node          *Engine
	let           chan struct{}
	asked, asking atomic.Int64
}

func (r *hungNode) Ask(nodes []uint32, q *door.Question) (a door.Answer, err error) {
	if nodes[0] != 2 {
		return a, door.ErrDown
	}
	r.asked.Add(1)
	r.asking.Add(1)
	defer r.asking.Add(-1)
	<-r.let
	return door.Answer{Body: r.node.help(q.Body, q.Room, func() {})}, nil
}

// TestGrantsEndAtHungNode ends 1,000 grants of a node that does not answer: one goroutine tells it, another node does not
// wait for that, and all are told in the next question. When the engine has ended, nothing is told any more.
func TestGrantsEndAtHungNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := small()
		other, _ := small()
		r := &hungNode{node: other, let: make(chan struct{})}
		e.router = r
		end := func(node uint32, numbers ...int64) {
			e.ungrant(&granted{nodes: slices.Repeat([]uint32{node}, len(numbers)), numbers: numbers})
			synctest.Wait()
		}
		numbers := make([]int64, 1000)
		for i := range numbers {
			numbers[i] = other.grants.give(other, 10)
		}
		end(2, numbers[:1]...)
		end(2, numbers[1:]...)
		end(3, 1, 2, 3)
		if n := r.asking.Load(); n != 1 {
			t.Errorf("%d goroutines wait for a node that does not answer, want 1", n)
		}
		if len(e.ended.of) != 1 {
			t.Errorf("%d nodes are still to be told, want 1", len(e.ended.of))
		}
		close(r.let)
		synctest.Wait()
		if asked, open, used := r.asked.Load(), len(other.grants.open), other.Budget.Used(); asked != 2 || open != 0 || used != 0 {
			t.Errorf("after %d questions %d grants of %d bytes are open, want none after 2", asked, open, used)
		}
		r.let = make(chan struct{})
		end(2, 1)
		end(2, slices.Repeat([]int64{2}, mostEnded)...)
		if n := len(e.ended.of[2]); n != mostEnded {
			t.Errorf("%d bytes are kept for a node that does not answer, want %d", n, mostEnded)
		}
		over := make(chan struct{})
		go func() {
			e.Ended()
			close(over)
		}()
		synctest.Wait()
		close(r.let)
		<-over
		asked := r.asked.Load()
		if end(2, 1); r.asked.Load() != asked || len(e.ended.of) != 0 {
			t.Error("a node is told something when the engine has ended")
		}
	})
}
