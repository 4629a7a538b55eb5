package main

import (
	"time"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// tally counts lookups of rows that are not there, and the calls of nodes for them.
type tally struct{ lookups, calls int }

func (t *tally) add(calls int) { t.lookups, t.calls = t.lookups+1, t.calls+calls }

type figures struct {
	size
	absent       tally    // rows that never were there
	deleted      [2]tally // while filters keep them, and after the next summaries
	wrong        int      // answers
	calls, reads int      // of nodes, of tables
	gone         int      // deletes that filters have counted
	repaired     int      // rows of which a copy was missing
	median, p99  time.Duration

	clusterBytes, nodeBytes int // of filters on the server, with sources
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
	t.Text("calls for deleted rows", demo.Count(f.deleted[0].calls)+" for "+demo.Count(f.deleted[0].lookups))
	t.Text("after the next summaries", demo.Count(f.deleted[1].calls)+" for "+demo.Count(f.deleted[1].lookups))
	t.Count("missing copies found and written", f.repaired)
	t.Varying("filter of the cluster, with a source for each node", demo.Bytes(f.clusterBytes))
	t.Varying("filters of nodes, with their sources", demo.Bytes(f.nodeBytes))
	t.Time("a decision", f.median)
	t.Time("99th percentile", f.p99)
	return t
}
