package main

import (
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
)

// idleNode is what a node takes that nobody uses.
type idleNode struct {
	share  float64 // of a processor
	memory int     // bytes
}

func (n idleNode) percent() float64   { return 100 * n.share }
func (n idleNode) megabytes() float64 { return float64(n.memory) / 1e6 }

// idle leaves nodes alone for a while, and reads what they take during a second such
// while.
func idle(o options, nodes []*process.Process) ([]idleNode, error) {
	time.Sleep(o.idle)
	list := make([]idleNode, len(nodes))
	before := make([]time.Duration, len(nodes))
	began := time.Now()
	for i := range list {
		var err error
		if before[i], err = nodes[i].CPU(); err != nil {
			return nil, err
		}
	}
	time.Sleep(o.idle)
	for i := range list {
		after, err := nodes[i].CPU()
		if err != nil {
			return nil, err
		}
		list[i].share = (after - before[i]).Seconds() / time.Since(began).Seconds()
		if list[i].memory, err = nodes[i].Memory(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
