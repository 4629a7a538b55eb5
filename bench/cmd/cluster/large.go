package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"time"

	"github.com/bloomery/bloomery/bench/internal/report"
)

// A filter that is larger than a node: 119 MiB, twice, at six nodes of 64 MiB.
const (
	largeKeys   = 100_000_000
	largeMemory = "64MiB"
)

// measureLarge fills such a filter, asks for it everywhere, loses a node, removes it, adds one, copies the cluster under
// load, and makes another one of the copy. only may say moves, or backup.
func measureLarge(o options, n *nodes, only *regexp.Regexp) (*report.Table, error) {
	t := &report.Table{Head: []string{fmt.Sprintf("six nodes of %s, a filter of %d keys at 1%%", largeMemory, largeKeys), "target", "value", "", ""}}
	n.more = append(n.more, "--max-memory", largeMemory)
	if err := startSpread(n); err != nil {
		return t, err
	}
	began := time.Now()
	if err := at(n.all[0].Addr(), fmt.Sprintf("FILTER.CREATE large bloom CAPACITY %d ERROR 0.01 PARTS 128", largeKeys)); err != nil {
		return t, err
	}
	for _, p := range n.all { // all of them know it
		if err := awaitAnswer(p.Addr(), patience, "FILTER.INFO", "large"); err != nil {
			return t, err
		}
	}
	added, err := n.fillLarge(min(o.keys, largeKeys), o.fill)
	if err != nil {
		return t, err
	}
	o.keys = added // what is asked for
	took := time.Since(began)
	t.Row(fmt.Sprintf("%d keys added", o.keys), "–", fmt.Sprintf("%.0f s", took.Seconds()), fmt.Sprintf("%.0f keys/s", float64(o.keys)/took.Seconds()), "")
	if err := n.ask(o, t, "filled", spreadNodes); err != nil {
		return t, err
	}
	if only.MatchString("moves") {
		if err := n.loseLarge(o, t); err != nil {
			return t, err
		}
	}
	if only.MatchString("backup") {
		err = n.backupLarge(o, t, added)
	}
	return t, err
}

// loseLarge loses a node, removes it, and adds one.
func (n *nodes) loseLarge(o options, t *report.Table) error {
	lost := spreadNodes - 1
	number, err := field(n.all[lost].Addr(), "cluster", "cluster_node")
	if err != nil {
		return err
	}
	n.all[lost].Kill()
	n.all = n.all[:lost]
	began := time.Now()
	if err := n.ask(o, t, "one node killed", lost); err != nil {
		return err
	}
	if _, err := n.command("cluster", "leave", strconv.FormatUint(number, 10), "--yes", "--addr", n.all[0].Addr()); err != nil {
		return err
	}
	if err := n.settle(); err != nil {
		return err
	}
	if err := n.ask(o, t, fmt.Sprintf("removed, its shards learned by others after %.0f s", time.Since(began).Seconds()), lost); err != nil {
		return err
	}
	began = time.Now()
	if err := n.launch(lost, "again"); err != nil {
		return err
	}
	if err := awaitAnswer(n.all[lost].Addr(), patience, "PING"); err != nil {
		return err
	}
	if _, err := n.toLearn(spreadNodes + 1); err != nil {
		return err
	}
	if err := n.settle(); err != nil {
		return err
	}
	return n.ask(o, t, fmt.Sprintf("another one added, which has its share after %.0f s", time.Since(began).Seconds()), lost+1)
}

// ask asks nodes for keys that were added, and for others, and adds what they say to the table.
func (n *nodes) ask(o options, t *report.Table, when string, count int) error {
	lacks, wrong, refused := 0, 0, 0
	rng := rand.New(rand.NewPCG(8, 9))
	for _, p := range n.all[:count] {
		c, err := dial(p.Addr())
		if err != nil {
			return err
		}
		there, absent := make([]uint64, sample), make([]uint64, sample)
		for i := range there {
			there[i], absent[i] = rng.Uint64N(o.keys), largeKeys+rng.Uint64N(largeKeys)
		}
		missing := func(numbers []uint64) (n int, err error) {
			for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
				if n, err = c.missing("FILTER.HAS", "large", numbers); !isDown(err) || time.Now().After(end) {
					return n, err
				}
				refused++
			}
		}
		lost, err := missing(there)
		if err == nil {
			lacks += lost
			lost, err = missing(absent)
			wrong += len(absent) - lost
		}
		c.close()
		if err != nil {
			return fmt.Errorf("%s: %w", when, err)
		}
	}
	t.Row(when+": keys lost", "0", fmt.Sprintf("**%d** of %d", lacks, sample*count), fmt.Sprintf("refused %d times; false positives %.2f%%", refused, 100*float64(wrong)/float64(sample*count)), verdict(lacks == 0))
	return nil
}
