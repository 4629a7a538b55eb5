package main

import (
	"fmt"
	"os"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
)

// oneRun is what a run gave.
type oneRun struct {
	rate float64 // items per second
	cpu  float64 // seconds of processor time of the servers, per item
	each float64 // items of a message of the cluster
}

// result is all runs of a case, by round.
type result struct {
	c              benchCase
	cluster, local []oneRun
}

// ratios returns, round by round, what is held against the target.
func (r result) ratios() (list []float64) {
	for i := range r.cluster {
		over := r.cluster[i].cpu / r.local[i].cpu
		if r.c.reads {
			over = 1 / over
		}
		list = append(list, over)
	}
	return list
}

// measure puts the cluster and a single server under each load in turn, round by
// round. They take turns in going first. Adds go to all nodes, reads to another one
// in each round.
func measure(o options, n *nodes, list []benchCase) ([]result, error) {
	local, err := process.Start(localPort, n.program, "serve", "--log-level", "error", "--addr", fmt.Sprintf("127.0.0.1:%d", localPort),
		"--dir", n.dir+"/local", "--fsync", "always")
	if err != nil {
		return nil, err
	}
	defer local.Stop()
	if err := fillRead(o, local, list, n.all[0].Addr()); err != nil {
		return nil, err
	}
	return takeTurns(o, n.all[:logNodes], []*process.Process{local}, list)
}

// takeTurns puts a cluster, and another one or a single server, under each load in turn.
func takeTurns(o options, cluster, other []*process.Process, list []benchCase) ([]result, error) {
	results := make([]result, len(list))
	for round := range o.rounds {
		began := time.Now()
		for i, c := range list {
			results[i].c = c
			sides := []struct {
				servers []*process.Process
				runs    *[]oneRun
			}{{cluster, &results[i].cluster}, {other, &results[i].local}}
			for k := range sides {
				side := sides[(k+round)%2]
				if c.reads {
					side.servers = side.servers[round%len(side.servers):][:1]
				}
				r, err := c.run(o, side.servers)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
				*side.runs = append(*side.runs, r)
			}
			fmt.Fprintf(os.Stderr, "%s: %.2f\n", c.name, results[i].ratios()[round])
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, time.Since(began).Round(time.Second))
	}
	return results, nil
}

// settling is how long servers have before a run for what they do behind the
// answers of the one before.
const settling = 300 * time.Millisecond

// run makes the filters of a case and puts servers under its load.
func (c benchCase) run(o options, servers []*process.Process) (oneRun, error) {
	if err := at(servers[0].Addr(), c.before...); err != nil {
		return oneRun{}, err
	}
	var addrs []string
	for _, p := range servers {
		addrs = append(addrs, p.Addr())
	}
	time.Sleep(settling)
	sent, err := messages(addrs)
	if err != nil {
		return oneRun{}, err
	}
	before, err := cpu(servers...)
	if err != nil {
		return oneRun{}, err
	}
	began := time.Now()
	items, err := c.drive(addrs, o.time)
	took := time.Since(began)
	if err != nil {
		return oneRun{}, err
	}
	after, err := cpu(servers...)
	if err != nil {
		return oneRun{}, err
	}
	if items == 0 {
		return oneRun{}, fmt.Errorf("no item within %v of %v", o.time, o.capacity)
	}
	more, err := messages(addrs)
	if err != nil {
		return oneRun{}, err
	}
	return oneRun{
		rate: float64(items) / took.Seconds(), cpu: (after - before).Seconds() / float64(items),
		each: float64(items) / max(1, float64(more-sent)),
	}, nil
}

// fillRead makes the filters that are read, with every second of the numbers that
// are asked for, on a single server, and copies them to clusters.
func fillRead(o options, local *process.Process, list []benchCase, to ...string) error {
	made := map[string]bool{}
	for _, c := range list {
		if !c.reads || made[c.filter] {
			continue
		}
		made[c.filter] = true
		create, add := fmt.Sprintf("FILTER.CREATE %s bloom CAPACITY %d", c.filter, o.capacity), "FILTER.ADD"
		if c.command[:2] == "BF" {
			create, add = fmt.Sprintf("BF.RESERVE %s 0.01 %d", c.filter, o.capacity), "BF.MADD"
		}
		if err := at(local.Addr(), create); err != nil {
			return err
		}
		if err := fill(local.Addr(), add, c.filter, o.capacity, 2); err != nil {
			return err
		}
		for _, addr := range to {
			if err := copyFilter(local.Addr(), addr, c.filter); err != nil {
				return err
			}
		}
	}
	return nil
}
