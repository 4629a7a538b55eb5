package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/bloomery/bloomery/bench/internal/process"
)

const (
	bigFilters = 8 // that share the keys of a large cluster
	sample     = 10_000
)

func bigFilter(i int) string { return "big" + strconv.Itoa(i) }

// fillCluster gives the cluster its keys: a server without a log adds them, and the
// filters are copied.
func fillCluster(o options, n *nodes) error {
	began := time.Now()
	builder, err := process.Start(builderPort, n.program, "serve", "--log-level", "error", "--addr", fmt.Sprintf("127.0.0.1:%d", builderPort), "--dir", "")
	if err != nil {
		return err
	}
	defer builder.Stop()
	each := o.keys / bigFilters
	for first := 0; first < bigFilters; first += 2 {
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for k := range errs {
			wg.Go(func() {
				name := bigFilter(first + k)
				if errs[k] = at(builder.Addr(), fmt.Sprintf("FILTER.CREATE %s bloom CAPACITY %d", name, each)); errs[k] == nil {
					errs[k] = fill(builder.Addr(), "FILTER.ADD", name, each, 1)
				}
			})
		}
		wg.Wait()
		for k, err := range errs {
			if err != nil {
				return err
			}
			if err := copyFilter(builder.Addr(), n.all[0].Addr(), bigFilter(first+k)); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(os.Stderr, "filled with %d keys: %s\n", each*bigFilters, time.Since(began).Round(time.Second))
	return nil
}

// joined is how a node came into the cluster.
type joined struct {
	serves  time.Duration // from its start to its first answer
	checked int           // numbers it was asked for that had been acknowledged before its start
	lacked  int           // those that it did not know
	later   int           // numbers acknowledged before FILTER.READ OWNER asked for them
	missed  int           // those that it did not know
}

// joinOne starts a fourth node, which keeps no log, while a client goes on writing.
// From the first moment at which it answers, it is asked for what had been
// acknowledged before it was started.
func joinOne(o options, n *nodes, round int) (j joined, err error) {
	w, err := write(n.all[0].Addr(), "joining")
	if err != nil {
		return j, err
	}
	for w.acked.Load() < 10*writerBatch {
		time.Sleep(writerPause)
		select {
		case err := <-w.done:
			return j, err
		default:
		}
	}
	before := w.acked.Load()
	began := time.Now()
	if err := n.launch(logNodes, "new"+strconv.Itoa(round)); err != nil {
		return j, err
	}
	node := n.all[logNodes]
	defer func() { node.Kill(); n.all[logNodes] = nil }()
	if err := awaitAnswer(node.Addr(), patience, "BF.EXISTS", w.filter, "0"); err != nil {
		return j, err
	}
	j.serves = time.Since(began)
	c, err := dial(node.Addr())
	if err != nil {
		return j, err
	}
	defer c.close()
	if j.lacked, err = c.missing("BF.MEXISTS", w.filter, upTo(before)); err != nil {
		return j, err
	}
	j.checked = int(before)
	rng := rand.New(rand.NewPCG(2, uint64(round)))
	for i := range bigFilters {
		numbers := make([]uint64, sample)
		for k := range numbers {
			numbers[k] = rng.Uint64N(o.keys / bigFilters)
		}
		lacks, err := c.missing("FILTER.HAS", bigFilter(i), numbers)
		if err != nil {
			return j, err
		}
		j.lacked += lacks
		j.checked += sample
	}
	if err := c.run("FILTER.READ OWNER"); err != nil {
		return j, err
	}
	later := w.acked.Load()
	if j.missed, err = c.missing("BF.MEXISTS", w.filter, upTo(later)); err != nil {
		return j, err
	}
	j.later = int(later)
	fmt.Fprintf(os.Stderr, "a new node serves after %v: lacks %d of %d\n", j.serves.Round(time.Millisecond), j.lacked, j.checked)
	return j, w.end()
}
