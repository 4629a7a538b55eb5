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

	"github.com/bloomery/bloomery/bloom"
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
	tables      = 50        // of a node
	rows        = 200       // of a table
	copies      = 2         // of a row
	prefix      = "router:" // of all names on the server
	cluster     = prefix + "cluster"
)

// router knows where rows may be. Rows are on any nodes: there is no rule to compute them by.
type router struct {
	figures
	filters *served.Client
	nodes   []*node
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
	found := demo.Exact(served.Strings(reply.Array[1])) // after the key come the names
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
	ok = slices.ContainsFunc(nodes, func(n *node) bool {
		r.calls++
		return n.get(key, &r.reads)
	})
	if err != nil || !ok || len(nodes) >= copies {
		return ok, err
	}
	r.repaired++
	to := r.nodes[(slices.Index(r.nodes, nodes[0])+1)%len(r.nodes)]
	to.put(key, 0) // before the filter knows: its no must never be wrong
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
		if _, ok := n.rows[key]; ok {
			delete(n.rows, key)
			gone = append(gone, []string{"FILTER.GONE", n.name, key})
		}
	}
	_, err = r.filters.Pipe(gone...)
	return err
}

// send has each node send two summaries of its rows: one for its own filter, and one that is a source of
// the filter of the cluster. They take the place of the version before, so that rows which the node has
// deleted leave. Versions that come late or twice change nothing.
func (r *router) send(version string) error {
	bytes := 0
	for _, n := range r.nodes {
		own := n.summary(tables*rows*11/10, nodeRate) // some nodes have more rows than others
		shared := n.summary(r.stored, clusterRate)
		replies, err := r.filters.Pipe(
			[]string{"FILTER.LOAD", n.name, "1", own, "FROM", n.name, "VERSION", version},
			[]string{"FILTER.LOAD", cluster, "1", shared, "FROM", n.name, "VERSION", version},
			[]string{"MEMORY", "USAGE", n.name},
			[]string{"MEMORY", "USAGE", cluster})
		if err != nil {
			return err
		}
		bytes += int(replies[2].Int)
		r.bytes = bytes + int(replies[3].Int)
	}
	return nil
}

// node has rows in tables, each with a filter.
type node struct {
	name   string         // of its filter on the server
	rows   map[string]int // and the table that has each
	tables [tables]*bloom.Filter
}

func (n *node) put(key string, table int) {
	n.rows[key] = table
	n.tables[table].AddString(key)
}

// get reports whether a node has a row. It reads the tables that may have it.
func (n *node) get(key string, reads *int) bool {
	table, ok := n.rows[key]
	for i, t := range n.tables {
		if t.ContainsString(key) {
			*reads++
			if ok && i == table {
				return true
			}
		}
	}
	return false
}

// summary returns a filter of all rows, in the format of files.
func (n *node) summary(capacity int, rate float64) string {
	f := bloom.New(capacity, rate)
	for key := range n.rows {
		f.AddString(key)
	}
	data, _ := f.MarshalBinary() // fails for a zero filter alone
	return string(data)
}

type figures struct {
	size, stored   int // nodes, and rows in all
	lookups, wrong int
	calls, reads   int           // of nodes, of tables
	absent         demo.Share    // nodes for rows that never were there, and those called
	deleted        [2]demo.Share // deleted rows, and those for which a node was called: at first, and after summaries
	repaired       int           // rows of which a copy was missing
	bytes          int           // of all filters on the server, with their sources
	decisions      []time.Duration
}

// run looks up rows, half of which never were there. Of the others a twentieth is deleted: half of the
// lookups come while filters keep those, half after nodes have sent their summaries again.
func run(ctx context.Context, o demo.Options) (figures, error) {
	client, err := served.Connect(ctx, o.Addr, nil)
	if err != nil {
		return figures{}, err
	}
	defer client.Close()
	r := &router{filters: client}
	r.size, r.lookups = demo.Pick(o, 16, 100), demo.Pick(o, 10_000, 100_000)
	r.stored = r.size * tables * rows / copies
	rng := rand.New(rand.NewPCG(15, 16))
	r.fill(rng)
	remove := []string{"DEL", cluster} // from a server that others use, too
	for _, n := range r.nodes {
		remove = append(remove, n.name)
	}
	_, _ = client.Do(remove...) // what an earlier run has left
	defer func() { _, _ = client.Do(remove...) }()
	for version := range r.deleted {
		err := r.send(strconv.Itoa(version + 1))
		for i := 0; i < r.stored && version == 0 && err == nil; i += 20 {
			err = r.delete(row(i))
		}
		for i := 0; i < r.lookups/2 && err == nil; i++ {
			err = r.lookUp(rng.IntN(2*r.stored), &r.deleted[version])
		}
		if err != nil {
			return figures{}, err
		}
	}
	slices.Sort(r.decisions)
	return r.figures, ctx.Err()
}

func row(i int) string { return "row-" + strconv.Itoa(i) }

// fill spreads rows over nodes; of every hundredth row one copy is lost.
func (r *router) fill(rng *rand.Rand) {
	for i := range r.size {
		n := &node{name: prefix + "node:" + strconv.Itoa(i), rows: map[string]int{}}
		for t := range n.tables {
			n.tables[t] = bloom.New(rows*5/4, tableRate)
		}
		r.nodes = append(r.nodes, n)
	}
	for i := range r.stored {
		on := rng.Perm(r.size)[:copies]
		if i%100 == 1 {
			on = on[:1]
		}
		for _, at := range on {
			r.nodes[at].put(row(i), rng.IntN(tables))
		}
	}
}

// lookUp looks up a row, of which every twentieth was deleted, and counts.
func (r *router) lookUp(i int, deleted *demo.Share) error {
	before := r.calls
	ok, err := r.get(row(i))
	there := i < r.stored && i%20 != 0
	if ok != there {
		r.wrong++
	}
	switch calls := r.calls - before; {
	case i >= r.stored:
		r.absent.Yes, r.absent.All = r.absent.Yes+calls, r.absent.All+r.size
	case !there:
		deleted.Count(calls > 0)
	}
	return err
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Text("nodes, tables, rows", demo.Count(f.size)+", "+demo.Count(f.size*tables)+", "+demo.Count(f.stored))
	t.Count("lookups", f.lookups)
	t.Count("wrong answers", f.wrong)
	t.Count("node calls", f.calls)
	t.Percent("node calls saved", 1-float64(f.calls)/float64(f.lookups*f.size))
	t.Count("table reads", f.reads)
	t.Percent("table reads saved", 1-float64(f.reads)/float64(f.lookups*f.size*tables))
	t.Percent("false positive rate asked, of cluster and nodes", clusterRate*nodeRate)
	t.Percent("measured", f.absent.Rate())
	t.Text("deleted rows for which a node is called", f.deleted[0].String())
	t.Text("after the next summaries", f.deleted[1].String())
	t.Count("missing copies found and written", f.repaired)
	t.Varying("filters on the server, with a source for each node", demo.Bytes(f.bytes))
	t.Time("a decision", f.decisions[len(f.decisions)/2])
	t.Time("99th percentile", f.decisions[len(f.decisions)*99/100])
	return t
}
