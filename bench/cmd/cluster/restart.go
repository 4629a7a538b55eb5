package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// restarted is how a cluster came back of which all nodes were killed.
type restarted struct {
	serves  time.Duration // from the start to the first answer of the last node
	writes  time.Duration // from the start to the first write acknowledged
	checked int           // numbers acknowledged before, asked for at every node
	lost    int           // those that a node did not know
}

// restartAll kills all nodes while clients write, starts them, and looks for what was
// acknowledged.
func restartAll(o options, n *nodes, round int) (r restarted, err error) {
	writers := make([]*writer, logNodes)
	for i, addr := range n.addrs() {
		if writers[i], err = write(addr, "killed"+strconv.Itoa(i)); err != nil {
			return r, err
		}
	}
	time.Sleep(o.time)
	n.kill()
	for _, w := range writers {
		if err := w.end(); err == nil || w.acked.Load() == 0 {
			return r, fmt.Errorf("the load ended with %d acknowledged and %w", w.acked.Load(), err)
		}
	}
	began := time.Now()
	wrote := make(chan error, 1)
	go func() {
		err := awaitAnswer("127.0.0.1:"+strconv.Itoa(nodePort), patience, "BF.ADD", "after"+strconv.Itoa(round), "x")
		r.writes = time.Since(began)
		wrote <- err
	}()
	took, err := n.start("BF.EXISTS", writers[0].filter, "0")
	if err != nil {
		return r, err
	}
	r.serves = slices.Max(took)
	for _, addr := range n.addrs() {
		c, err := dial(addr)
		if err != nil {
			return r, err
		}
		for _, w := range writers {
			lacks, err := c.missing("BF.MEXISTS", w.filter, upTo(w.acked.Load()))
			if err != nil {
				c.close()
				return r, err
			}
			r.lost += lacks
			r.checked += int(w.acked.Load())
		}
		c.close()
	}
	err = <-wrote
	fmt.Fprintf(os.Stderr, "all nodes serve after %v: lost %d of %d\n", r.serves.Round(time.Millisecond), r.lost, r.checked)
	return r, err
}
