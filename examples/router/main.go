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
	nodes     []*node
	filters   *served.Client
	decisions []time.Duration
	f         figures
}

// run looks up rows, half of which never were there. Of the others a twentieth is deleted: half of the
// lookups come while filters keep those, half after nodes have sent their summaries again.
func run(ctx context.Context, o demo.Options) (figures, error) {
	s := sample
	if o.Full {
		s = full
	}
	client, err := served.Connect(ctx, o.Addr, nil)
	if err != nil {
		return figures{}, err
	}
	defer client.Close()
	r := &router{filters: client, nodes: fill(s), f: figures{size: s}}
	r.remove() // what an earlier run has left
	defer r.remove()
	rng := rand.New(rand.NewPCG(15, 16))
	for version := 1; version <= 2 && err == nil; version++ {
		err = r.send(version)
		for i := 0; i < s.stored() && version == 1 && err == nil; i += 20 {
			err = r.delete(row(i))
		}
		for i := 0; i < s.lookups/2 && err == nil; i++ {
			err = r.compare(rng.IntN(2*s.stored()), &r.f.deleted[version-1])
		}
	}
	if err != nil {
		return figures{}, err
	}
	slices.Sort(r.decisions)
	r.f.median, r.f.p99 = r.decisions[len(r.decisions)/2], r.decisions[len(r.decisions)*99/100]
	return r.f, ctx.Err()
}

func row(i int) string { return "row-" + strconv.Itoa(i) }

// send has each node send two summaries of its rows: one for its own filter, and one that is a source of
// the filter of the cluster. They take the place of the version before, so that rows which the node has
// deleted leave. Versions that come late or twice change nothing.
func (r *router) send(version int) error {
	r.f.nodeBytes = 0
	for _, n := range r.nodes {
		own := n.summary(r.f.tables*r.f.rows*11/10, nodeRate) // some nodes have more rows than others
		shared := n.summary(r.f.stored(), clusterRate)
		v := strconv.Itoa(version)
		replies, err := r.filters.Pipe(
			[]string{"FILTER.LOAD", n.name, "1", own, "FROM", n.name, "VERSION", v},
			[]string{"FILTER.LOAD", cluster, "1", shared, "FROM", n.name, "VERSION", v},
			[]string{"MEMORY", "USAGE", n.name},
			[]string{"MEMORY", "USAGE", cluster})
		if err != nil {
			return err
		}
		r.f.nodeBytes += int(replies[2].Int)
		r.f.clusterBytes = int(replies[3].Int)
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
		r.f.calls++
		ok = nodes[i].get(key, &r.f.reads)
	}
	if err != nil || !ok || len(nodes) >= copies {
		return ok, err
	}
	r.f.repaired++
	to := r.nodes[(slices.Index(r.nodes, nodes[0])+1)%len(r.nodes)]
	to.put(key) // before the filter knows: its no must never be wrong
	_, err = r.filters.Do("FILTER.ADD", to.name, key)
	return ok, err
}

// delete deletes a row where it is. Filters keep it until the next summaries come, and count it.
func (r *router) delete(key string) error {
	nodes, err := r.where(key)
	if err != nil {
		return err
	}
	keep := []string{cluster}
	for _, n := range nodes {
		if n.delete(key) {
			keep = append(keep, n.name)
		}
	}
	for _, name := range keep {
		reply, err := r.filters.Do("FILTER.GONE", name, key)
		if err != nil {
			return err
		}
		r.f.gone += int(reply.Array[0].Int)
	}
	return nil
}

// compare looks up a row and counts.
func (r *router) compare(i int, deleted *tally) error {
	before := r.f.calls
	ok, err := r.get(row(i))
	calls := r.f.calls - before
	switch {
	case i >= r.f.stored():
		r.f.absent.add(calls)
	case i%20 == 0:
		deleted.add(calls)
	}
	if there := i < r.f.stored() && i%20 != 0; ok != there {
		r.f.wrong++
	}
	return err
}
