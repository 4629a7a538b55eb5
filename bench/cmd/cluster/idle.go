package main

import (
	"time"
)

// idleNode is what a node takes that nobody uses.
type idleNode struct {
	share  float64 // of a processor
	memory int     // bytes
}

// idle leaves the cluster alone for a while, and reads what the nodes take during a
// second such while.
func idle(o options, n *nodes) ([]idleNode, error) {
	time.Sleep(o.idle)
	list := make([]idleNode, logNodes)
	before := make([]time.Duration, logNodes)
	began := time.Now()
	for i := range list {
		var err error
		if before[i], err = n.all[i].CPU(); err != nil {
			return nil, err
		}
	}
	time.Sleep(o.idle)
	for i := range list {
		after, err := n.all[i].CPU()
		if err != nil {
			return nil, err
		}
		list[i].share = (after - before[i]).Seconds() / time.Since(began).Seconds()
		if list[i].memory, err = n.all[i].Memory(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
