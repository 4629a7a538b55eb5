// Command router is a coordinator over the data of many nodes. It asks filters where a row may be
// before it asks a node, and nodes ask a filter before they read a table.
//
//	go run ./examples/router
//	go run ./examples/router -addr localhost:6379
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/examples/internal/served"
)

func main() { demo.MainServer(run) }

// Rates fall towards the data: a mistake of the cluster's filter costs a question to all filters of
// nodes, one of those a call of a node, one of a table a read of a disk.
const (
	clusterRate = 0.05
	nodeRate    = 0.01
	tableRate   = 0.001
	copies      = 2
	prefix      = "router:" // of all names on the server
)

// size is how much data there is.
type size struct{ nodes, tables, rows, lookups int } // tables of a node, rows of a table

var (
	sample = size{nodes: 16, tables: 6, rows: 1_000, lookups: 10_000}
	full   = size{nodes: 32, tables: 20, rows: 4_000, lookups: 200_000}
)

// router knows where rows may be. Rows are on any nodes: there is no rule to compute them by.
type router struct {
	nodes   []*node
	filters *served.Client
	f       figures
}

type figures struct {
	size
	absent, deleted           int // lookups of rows that never were there, or no more
	wrong                     int // answers
	calls, reads              int // of nodes, of tables
	absentCalls, deletedCalls int // for rows that never were there, and for deleted ones
	repaired                  int // rows of which a copy was missing
	decision                  time.Duration
	stored                    int // rows
	nodeBytes, tableBytes     int
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	s := sample
	if o.Full {
		s = full
	}
	server, err := served.Start(ctx, o.Addr)
	if err != nil {
		return figures{}, err
	}
	defer server.Close()
	client, err := server.Client(ctx)
	if err != nil {
		return figures{}, err
	}
	defer client.Close()
	r := &router{filters: client, f: figures{size: s}}
	rows := s.nodes * s.tables * s.rows / copies
	if err := r.create(ctx, rows); err != nil {
		return figures{}, err
	}
	defer r.remove()

	// A twentieth of the rows is deleted, and one of a hundred has lost a copy.
	rng := rand.New(rand.NewPCG(15, 16))
	for i := 0; i < rows; i += 20 {
		if err := r.delete(row(i)); err != nil {
			return figures{}, err
		}
	}
	for range s.lookups {
		if err := r.compare(rng.IntN(2*rows), rows); err != nil {
			return figures{}, err
		}
	}
	r.f.decision /= time.Duration(s.lookups)
	return r.f, ctx.Err()
}

func row(i int) string { return "row-" + strconv.Itoa(i) }

func nodeName(i int) string { return fmt.Sprintf("%snode:%02d", prefix, i) }

// create fills the nodes. Each sends a summary of its rows, which the server takes unless it has a
// later one.
func (r *router) create(ctx context.Context, rows int) error {
	r.nodes = fill(r.f.size, rows)
	r.remove() // what an earlier run has left
	commands := [][]string{
		{"FILTER.CREATE", prefix + "cluster", "bloom", "CAPACITY", strconv.Itoa(rows), "ERROR", fmt.Sprint(clusterRate)},
	}
	for i := range rows {
		commands = append(commands, []string{"FILTER.ADD", prefix + "cluster", row(i)})
	}
	for i, n := range r.nodes {
		if err := n.seal(ctx); err != nil {
			return err
		}
		summary, err := n.rows.MarshalBinary()
		if err != nil {
			return err
		}
		commands = append(commands, []string{"FILTER.LOAD", nodeName(i), "1", string(summary), "VERSION", "1"})
		r.f.nodeBytes += int(n.rows.Stats().Bytes)
		for _, t := range n.tables {
			r.f.tableBytes += int(t.filter.Stats().Bytes)
		}
	}
	r.f.stored = rows
	for some := range slices.Chunk(commands, 500) {
		if _, err := r.filters.Pipe(some...); err != nil {
			return err
		}
	}
	return nil
}

// remove takes the filters off a server that others use, too.
func (r *router) remove() {
	names := []string{"DEL", prefix + "cluster"}
	for i := range r.nodes {
		names = append(names, nodeName(i))
	}
	_, _ = r.filters.Do(names...)
}

// where returns the nodes that may have a row.
func (r *router) where(key string) ([]int, error) {
	start := time.Now()
	defer func() { r.f.decision += time.Since(start) }()
	reply, err := r.filters.Do("FILTER.HAS", prefix+"cluster", key)
	if err != nil || reply.Array[0].Int == 0 {
		return nil, err
	}
	if reply, err = r.filters.Do("FILTER.WHERE", prefix+"node:*", key); err != nil {
		return nil, err
	}
	var nodes []int
	for _, name := range reply.Array[1].Array { // the key, and the names
		i, err := strconv.Atoi(strings.TrimPrefix(string(name.Text), prefix+"node:"))
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, i)
	}
	return nodes, nil
}

// get returns a row. If fewer nodes than it has copies may have it, one is missing for certain, and
// is written again: filters find it without a call of any node.
func (r *router) get(key string) (value string, ok bool, err error) {
	nodes, err := r.where(key)
	if err != nil {
		return "", false, err
	}
	for _, i := range nodes {
		r.f.calls++
		if value, ok = r.nodes[i].get(key, &r.f.reads); ok {
			break
		}
	}
	if ok && len(nodes) < copies {
		r.f.repaired++
		return value, ok, r.put((nodes[0]+1)%len(r.nodes), key, value)
	}
	return value, ok, nil
}

// put writes a row to a node: the node first, the filter then.
func (r *router) put(i int, key, value string) error {
	if err := r.nodes[i].put(key, value); err != nil {
		return err
	}
	_, err := r.filters.Do("FILTER.ADD", nodeName(i), key)
	return err
}

// delete deletes a row where it really is. Nothing else may be deleted from a filter.
func (r *router) delete(key string) error {
	nodes, err := r.where(key)
	if err != nil {
		return err
	}
	for _, i := range nodes {
		if !r.nodes[i].delete(key) {
			continue // a false positive
		}
		if _, err := r.filters.Do("FILTER.DEL", nodeName(i), key); err != nil {
			return err
		}
	}
	return nil
}

// compare looks up a row and counts: rows from number `rows` on never were there.
func (r *router) compare(i, rows int) error {
	calls := r.f.calls
	value, ok, err := r.get(row(i))
	if err != nil {
		return err
	}
	switch deleted := i < rows && i%20 == 0; {
	case i >= rows:
		r.f.absent++
		r.f.absentCalls += r.f.calls - calls
	case deleted:
		r.f.deleted++
		r.f.deletedCalls += r.f.calls - calls
	}
	if there := i < rows && i%20 != 0; ok != there || ok && value != "value of "+row(i) {
		r.f.wrong++
	}
	return nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	all := f.lookups * f.nodes
	t.Text("nodes, tables, rows", demo.Count(f.nodes)+", "+demo.Count(f.nodes*f.tables)+", "+demo.Count(f.stored))
	t.Count("lookups", f.lookups)
	t.Count("of rows that are not there", f.absent+f.deleted)
	t.Count("wrong answers", f.wrong)
	t.Count("node calls without filters", all)
	t.Count("node calls with", f.calls)
	t.Percent("node calls saved", 1-float64(f.calls)/float64(all))
	t.Count("table reads without filters", all*f.tables)
	t.Count("table reads with", f.reads)
	t.Percent("table reads saved", 1-float64(f.reads)/float64(all*f.tables))
	t.Percent("false positive rate asked, of cluster and nodes", clusterRate*nodeRate)
	t.Percent("measured", float64(f.absentCalls)/float64(f.absent*f.nodes))
	t.Text("calls for deleted rows", demo.Count(f.deletedCalls)+" for "+demo.Count(f.deleted))
	t.Count("missing copies found and written", f.repaired)
	t.Bytes("filters of nodes", f.nodeBytes)
	t.Bytes("filters of tables", f.tableBytes)
	t.Time("a decision", f.decision)
	return t
}
