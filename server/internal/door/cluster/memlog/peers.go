package memlog

// Beats and questions between nodes of one process, for tests.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Peers is how nodes talk to each other in tests. It is a cluster.Peers for all of
// them; beats and answers take no time.
//
// Safe for concurrent use.
type Peers struct {
	// mu guards what follows.
	mu     sync.Mutex
	served []*served
	deaf   bool
	fault  func(node uint32) Fault
}

// Fault is what becomes of a question.
type Fault struct {
	Unsent  error         // it is not sent, and this is the error
	Delay   time.Duration // it takes so long to come
	Lost    error         // it is answered, and the answer is lost
	Instead []byte        // the node does nothing, and this is its answer
}

type served struct {
	node   uint32
	beat   func([]byte)
	answer func([]byte) []byte
	busy   sync.WaitGroup
}

// SetDeaf has all beats and questions be lost, or not.
func (p *Peers) SetDeaf(deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = deaf
}

// SetFault has questions to nodes meet faults; nil ends that.
func (p *Peers) SetFault(fault func(node uint32) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

func (p *Peers) faultOf(node uint32) (f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != nil {
		f = p.fault(node)
	}
	return f
}

// find returns the node that takes a call, and has them be waited for.
func (p *Peers) find(match func(*served) bool) (list []*served) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.served {
		if !p.deaf && match(s) {
			s.busy.Add(1)
			list = append(list, s)
		}
	}
	return list
}

// Announce implements cluster.Peers.
func (p *Peers) Announce(beat []byte) {
	for _, s := range p.find(func(*served) bool { return true }) {
		s.beat(slices.Clone(beat))
		s.busy.Done()
	}
}

// Ask implements cluster.Peers.
func (p *Peers) Ask(ctx context.Context, node uint32, question []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fault := p.faultOf(node)
	if fault.Unsent != nil {
		return nil, fault.Unsent
	}
	if fault.Instead != nil {
		return fault.Instead, nil
	}
	for _, s := range p.find(func(s *served) bool { return node != 0 && s.node == node }) {
		answer, question := make(chan []byte, 1), slices.Clone(question)
		go func() {
			defer s.busy.Done()
			time.Sleep(fault.Delay)
			answer <- s.answer(question)
		}()
		select {
		case b := <-answer:
			return b, fault.Lost
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("memlog: node %d: no answer", node)
}

// Serve implements cluster.Peers.
func (p *Peers) Serve(node uint32, beat func([]byte), answer func([]byte) []byte) (stop func(), err error) {
	s := &served{node: node, beat: beat, answer: answer}
	p.mu.Lock()
	p.served = append(p.served, s)
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.served = slices.DeleteFunc(p.served, func(other *served) bool { return other == s })
		p.mu.Unlock()
		s.busy.Wait()
	}, nil
}
