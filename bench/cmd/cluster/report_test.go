package main

import (
	"strings"
	"testing"
	"time"
)

// TestPage holds the tables to figures that are known.
func TestPage(t *testing.T) {
	list := cases(1000)
	add, read := list[0], list[len(list)-1]
	f := figures{
		start: 11 * time.Second,
		idle:  []idleNode{{0.01, 40e6}, {0.012, 44e6}, {0.02, 42e6}},
		results: []result{
			{add, []oneRun{{1000, 6e-6, 900}, {1200, 8e-6, 1000}, {1100, 4e-6, 1100}}, []oneRun{{2000, 1e-6, 0}, {2000, 1e-6, 0}, {2000, 1e-6, 0}}},
			{read, []oneRun{{1000, 2e-6, 0}}, []oneRun{{2000, 1e-6, 0}}},
		},
		joins: []joined{{serves: 2 * time.Second, checked: 100, later: 10}, {serves: 61 * time.Second, checked: 100, lacked: 1, later: 10}},
		ends:  []restarted{{serves: 12 * time.Second, writes: 13 * time.Second, checked: 500}},
	}
	doc := page(options{root: "..", rounds: 3, keys: 800, idle: time.Minute}, f).String()
	for _, want := range []string{
		"# Benchmarks of the cluster\n", "`make bench-cluster` writes this file", "- Commit: ", "- Load average in the minute before: ",
		"| BF.MADD of 1,000 | 1100 | 6.00 | 1000 | 2000 | 1.00 | **6.00** | 5.00–7.00 | ≤ 7 | met |\n",
		"| FILTER.HAS of 100, pipeline 16 | 1000 | 2.00 | 2000 | 1.00 | **0.50** | 0.50–0.50 | ≥ 0.9 | **missed** |\n",
		": of a processor | ≤ 1.5% | 1.20% | 1.00%–2.00% | **missed** |\n",
		": memory | ≤ 45 MB | 42 MB | 40 MB–44 MB | met |\n",
		"all serve after | ≤ 30 s | 12.0 s | 12.0 s–12.0 s | met |\n",
		"asked for at each node | 0 | 0 of 500 |  | met |\n",
		"it serves after | ≤ 60 s | 31.5 s | 2.0 s–61.0 s | **missed** |\n",
		"first answers lacked | 0 | 1 of 200 |  | **missed** |\n",
		"`FILTER.READ OWNER` lacked | 0 | 0 of 20 |  | met |\n",
		"| three new nodes form a cluster | – | 11.0 s |  |  |\n",
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %q:\n%s", want, doc)
		}
	}
}
