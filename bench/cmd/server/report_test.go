package main

import (
	"strings"
	"testing"
	"time"
)

// timed returns a run of so many requests a second and so much CPU for each.
func timed(rate float64, cpu time.Duration) oneRun { return oneRun{rate: rate, cpu: cpu} }

// TestDocument holds the tables to runs whose ratios are known.
func TestDocument(t *testing.T) {
	ping := result{c: benchCase{name: "Redis PING", pipeline: 16, items: 1, redis: true}}
	ping.runs[redis] = []oneRun{timed(1000, 2*time.Microsecond), timed(1000, 2*time.Microsecond)}
	plain := result{c: benchCase{name: "BF.ADD", pipeline: 16, items: 1, target: 0.5}}
	plain.runs[ours] = []oneRun{timed(500, 4*time.Microsecond), timed(700, 2*time.Microsecond)}
	plain.runs[base] = []oneRun{timed(500, 8*time.Microsecond), timed(700, 4*time.Microsecond)}
	secure := result{c: benchCase{name: "BF.ADD", pipeline: 16, items: 1, tls: true}}
	secure.runs[ours] = []oneRun{timed(250, 8*time.Microsecond), timed(350, 4*time.Microsecond)}

	doc := speeds(options{root: "..", rounds: 2}, []result{ping, plain, secure})
	tlsReport(doc, []result{ping, plain, secure})
	for _, want := range []string{
		"# Server benchmarks\n", "`make bench-server` writes this file", "## Pipeline 16\n", "- Redis: ",
		"| Redis PING | 1000 | 2.00 | **1.00** | 1.00–1.00 | – |  |\n",
		"| BF.ADD | 600 | 3.00 | **0.75** | 0.50–1.00 | ≥ 0.50 | 0.50 |\n",
		"| BF.ADD | 16 | 300 | 6.00 | 600 | 3.00 | **0.50** | 0.50–0.50 | ≥ 0.60 | 0.50 |\n",
	} {
		if !strings.Contains(doc.String(), want) {
			t.Errorf("the document lacks %q:\n%s", want, doc)
		}
	}
}

// TestErrorOverSittings asks that rounds of one sitting count once for the error of a ratio.
func TestErrorOverSittings(t *testing.T) {
	if got := withError([]float64{1, 1, 1, 1.1, 1.1, 1.1}); got != "1.05" {
		t.Errorf("two sittings: %s, want no error", got)
	}
	if got := withError([]float64{1, 1, 1, 1.1, 1.1, 1.1, 1.2, 1.2, 1.2}); got != "1.10 ± 0.11" {
		t.Errorf("three sittings: %s, want 1.10 ± 0.11", got)
	}
}

func TestDurabilityPage(t *testing.T) {
	doc := durabilityPage(options{root: "..", rounds: 1}, [][]float64{{1000}, {900}, {400}}, []float64{10},
		map[string]float64{"Replay/bytes=64MiB adds/s": 4.25e6})
	for _, want := range []string{
		"| BF.ADD, a sync each second over no log | ≥ 0.85 | 0.90 | 0.90–0.90 |\n",
		"| BF.ADD with a sync before each reply, over syncs of the disk | ≥ 20 | 40 (400 adds/s, 10 syncs/s) | 40–40 |\n",
		"| replay | ≥ 3 M adds/s | 4.2 M adds/s |  |\n",
	} {
		if !strings.Contains(doc.String(), want) {
			t.Errorf("the document lacks %q:\n%s", want, doc)
		}
	}
}
