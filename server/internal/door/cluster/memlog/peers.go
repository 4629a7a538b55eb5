package memlog

// Beats and questions between nodes of one process, for tests.

import (
	"context"
	"fmt"
	"slices"
	"sync"
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
	for _, s := range p.find(func(s *served) bool { return node != 0 && s.node == node }) {
		defer s.busy.Done()
		return s.answer(slices.Clone(question)), nil
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
