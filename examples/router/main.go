// Command router is a coordinator over the data of many nodes. It asks filters where a row may be
// before it asks a node, and nodes ask a filter before they read a table.
//
//	go run ./examples/router
//	go run ./examples/router -addr localhost:6379
package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/examples/internal/served"
)

func main() { demo.MainServer(run) }

// Rates fall towards the data: a mistake of cluster and node together costs a call of a node, one of
// a table a read of a disk.
const (
	clusterRate = 0.05
	nodeRate    = 0.01
	tableRate   = 0.001
	copies      = 2
	prefix      = "router:" // of all names on the server
	cluster     = prefix + "cluster"
)

// size is how much data there is: tables of a node, rows of a table.
type size struct{ nodes, tables, rows, lookups int }

func (s size) stored() int { return s.nodes * s.tables * s.rows / copies }

var (
	sample = size{nodes: 16, tables: 6, rows: 1_000, lookups: 10_000}
	full   = size{nodes: 100, tables: 50, rows: 200, lookups: 100_000}
)

// router knows where rows may be. Rows are on any nodes: there is no rule to compute them by.
type router struct {
	figures
	nodes   []*node
	filters *served.Client
}

type figures struct {
	size
	absent       tally    // rows that never were there
	deleted      [2]tally // while filters keep them, and after the next summaries
	wrong        int      // answers
	calls, reads int      // of nodes, of tables
	gone         int      // deletes that filters have counted
	repaired     int      // rows of which a copy was missing
	bytes        int      // of all filters on the server, with their sources
	decisions    []time.Duration
}

// tally counts lookups of rows that are not there, and the calls of nodes for them.
type tally struct{ lookups, calls int }

func (t tally) String() string { return demo.Count(t.calls) + " for " + demo.Count(t.lookups) }

// run looks up rows, half of which never were there. Of the others a twentieth is deleted: half of the
// lookups come while filters keep those, half after nodes have sent their summaries again.
func run(ctx context.Context, o demo.Options) (figures, error) {
	client, err := served.Connect(ctx, o.Addr, nil)
	if err != nil {
		return figures{}, err
	}
	defer client.Close()
	s := demo.Pick(o, sample, full)
	rng := rand.New(rand.NewPCG(15, 16))
	r := &router{figures{size: s}, fill(s, rng), client}
	r.remove() // what an earlier run has left
	defer r.remove()
	for version := 1; version <= 2 && err == nil; version++ {
		err = r.send(strconv.Itoa(version))
		for i := 0; i < s.stored() && version == 1 && err == nil; i += 20 {
			err = r.delete(row(i))
		}
		for i := 0; i < s.lookups/2 && err == nil; i++ {
			err = r.compare(rng.IntN(2*s.stored()), &r.deleted[version-1])
		}
	}
	slices.Sort(r.decisions)
	return r.figures, err
}

func row(i int) string { return "row-" + strconv.Itoa(i) }

// send has each node send two summaries of its rows: one for its own filter, and one that is a source of
// the filter of the cluster. They take the place of the version before, so that rows which the node has
// deleted leave. Versions that come late or twice change nothing.
func (r *router) send(version string) error {
	nodeBytes := 0
	for _, n := range r.nodes {
		own, err := n.summary(r.tables*r.rows*11/10, nodeRate) // some nodes have more rows than others
		if err != nil {
			return err
		}
		shared, err := n.summary(r.stored(), clusterRate)
		if err != nil {
			return err
		}
		replies, err := r.filters.Pipe(
			[]string{"FILTER.LOAD", n.name, "1", own, "FROM", n.name, "VERSION", version},
			[]string{"FILTER.LOAD", cluster, "1", shared, "FROM", n.name, "VERSION", version},
			[]string{"MEMORY", "USAGE", n.name},
			[]string{"MEMORY", "USAGE", cluster})
		if err != nil {
			return err
		}
		nodeBytes += int(replies[2].Int)
		r.bytes = nodeBytes + int(replies[3].Int)
	}
	return nil
}

// remove takes the filters off a server that others use, too.
func (r *router) remove() {
	del := []string{"DEL", cluster}
	for _, n := range r.nodes {
		del = append(del, n.name)
	}
	_, _ = r.filters.Do(del...)
}

// where returns the nodes that may have a row. One command asks the filters of the cluster and of all
// nodes; a row that the cluster does not have is nowhere.
func (r *router) where(key string) (nodes []*node, err error) {
	start := time.Now()
	reply, err := r.filters.Do("FILTER.WHERE", prefix+"*", key)
	if err != nil {
		return nil, err
	}
	r.decisions = append(r.decisions, time.Since(start))
	found := map[string]bool{}
	for _, name := range reply.Array[1].Array { // the key, and the names
		found[string(name.Text)] = true
	}
	for _, n := range r.nodes {
		if found[cluster] && found[n.name] {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// get reports whether a row is there. If fewer nodes than it has copies may have it, one is missing for
// certain, and is written again: filters find it without a call of any other node.
func (r *router) get(key string) (ok bool, err error) {
	nodes, err := r.where(key)
	for i := 0; i < len(nodes) && !ok; i++ {
		r.calls++
		_, ok = nodes[i].find(key, &r.reads)
	}
	if err != nil || !ok || len(nodes) >= copies {
		return ok, err
	}
	r.repaired++
	to := r.nodes[(slices.Index(r.nodes, nodes[0])+1)%len(r.nodes)]
	to.tables[0].put(key) // before the filter knows: its no must never be wrong
	_, err = r.filters.Do("FILTER.ADD", to.name, key)
	return ok, err
}

// delete deletes a row where it is. Filters keep it until the next summaries come, and count it.
func (r *router) delete(key string) error {
	nodes, err := r.where(key)
	if err != nil {
		return err
	}
	gone := [][]string{{"FILTER.GONE", cluster, key}}
	for _, n := range nodes {
		if t, ok := n.find(key, new(int)); ok {
			delete(t.rows, key)
			gone = append(gone, []string{"FILTER.GONE", n.name, key})
		}
	}
	replies, err := r.filters.Pipe(gone...)
	for _, reply := range replies {
		r.gone += int(reply.Array[0].Int)
	}
	return err
}

// compare looks up a row, of which every twentieth was deleted, and counts.
func (r *router) compare(i int, deleted *tally) error {
	before := r.calls
	ok, err := r.get(row(i))
	tally, there := &r.absent, false
	if i < r.stored() {
		tally, there = deleted, i%20 != 0
	}
	if !there {
		tally.lookups++
		tally.calls += r.calls - before
	}
	if ok != there {
		r.wrong++
	}
	return err
}

func (f figures) Table() demo.Table {
	var t demo.Table
	all := f.lookups * f.nodes
	t.Text("nodes, tables, rows", demo.Count(f.nodes)+", "+demo.Count(f.nodes*f.tables)+", "+demo.Count(f.stored()))
	t.Count("lookups", f.lookups)
	t.Count("wrong answers", f.wrong)
	t.Text("node calls, and without filters", demo.Count(f.calls)+", "+demo.Count(all))
	t.Percent("node calls saved", 1-float64(f.calls)/float64(all))
	t.Text("table reads, and without filters", demo.Count(f.reads)+", "+demo.Count(all*f.tables))
	t.Percent("table reads saved", 1-float64(f.reads)/float64(all*f.tables))
	t.Percent("false positive rate asked, of cluster and nodes", clusterRate*nodeRate)
	t.Percent("measured", float64(f.absent.calls)/float64(f.absent.lookups*f.nodes))
	t.Count("deletes that FILTER.GONE has counted", f.gone)
	t.Text("calls for deleted rows", f.deleted[0].String())
	t.Text("after the next summaries", f.deleted[1].String())
	t.Count("missing copies found and written", f.repaired)
	t.Varying("filters on the server, with a source for each node", demo.Bytes(f.bytes))
	t.Time("a decision", f.decisions[len(f.decisions)/2])
	t.Time("99th percentile", f.decisions[len(f.decisions)*99/100])
	return t
}
