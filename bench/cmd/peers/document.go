package main

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/bench/internal/library"
	"github.com/bloomery/bloomery/bench/internal/report"
)

// notes are written by hand: what falls short, and why.
//
//go:embed notes.md
var notes string

// protocol says how the figures come about.
//
//go:embed protocol.md
var protocol string

// document is everything that was measured.
type document struct {
	options
	args     []string
	started  time.Time
	runs     []tierRun
	accuracy map[string][]spend
}

// targets returns the section on what we aim at, with the aims that were missed.
func (d document) targets() string {
	vs := verdicts(d.runs)
	missed := slices.DeleteFunc(slices.Clone(vs), func(v verdict) bool { return !v.missed })
	return "## What we aim at\n\n" + report.Paragraph(fmt.Sprintf(aims, len(missed), len(vs))) + "\n" + targetTable(missed).String() + "\n" +
		d.spaceTargets().String() + "\n"
}

const aims = `%d of %d aims are missed, in bold: how many times as fast ("at least") or as slow ("at most") we are
	at the worst size.`

// spaceTargets lists what we aim at in bits per key.
func (d document) spaceTargets() *report.Table {
	t := &report.Table{Head: []string{"bits per key of bloom.Filter, a million keys", "aim", "measured", "met"}}
	for i, most := range []float64{10.0, 15.7, 22.2} {
		s := d.accuracy["bloom.Filter"][i]
		ok := s.bitsPerKey <= most && s.rate.Mean <= rates[i]+3*s.rate.Sigma
		t.Row(percent(rates[i]), fmt.Sprintf("at most %g", most),
			fmt.Sprintf("%.2f, error %s", s.bitsPerKey, percent(s.rate.Mean)), yesNo(ok))
	}
	return t
}

// markdown returns the document.
func (d document) markdown(ctx context.Context) *report.Document {
	doc := report.New("Benchmarks", "make bench-peers")
	doc.Add(report.Origin(ctx, d.command(), d.started))
	if d.quick {
		doc.Add("**Made with -quick: the figures are worth little.**")
	}
	doc.Add(protocol)
	doc.Add(d.targets())
	doc.Add(notes)
	doc.Section("How much faster")
	doc.Text("Times of the peer over our time, by size of the array, with " + d.tiers() + ". The times themselves are in bench/results/peers.md.")
	doc.Table(d.ratios(comparisons()))
	doc.Text("Our time over the floor, and over that of the plain filter.")
	doc.Table(d.ratios(costs()))
	doc.Section("Size and error")
	doc.Text("A million random keys, each library as configured for the rate.")
	doc.Table(d.space())
	doc.Text("An error in bold is above what was asked for by more than three standard deviations. " +
		"[Promises](promises.md#in-short) has notes on how some libraries are sized.")
	return doc
}

// nanoseconds returns the document of all times.
func (d document) nanoseconds(ctx context.Context) *report.Document {
	doc := report.New("Nanoseconds per key", "make bench-peers")
	doc.Text("The times behind docs/evidence/benchmarks.md, by instruction set, library, call and size of the array.")
	doc.Add(report.Origin(ctx, d.command(), d.started))
	for _, r := range d.runs {
		doc.Section(r.Tier.String())
		for _, s := range sections {
			if t := d.times(r, s.name); !t.Empty() {
				doc.Subsection(report.Title(s.name))
				doc.Table(t)
			}
		}
	}
	return doc
}

// command returns what was typed.
func (d document) command() string {
	return strings.TrimSpace("cd bench && go run ./cmd/peers " + strings.Join(d.args, " "))
}

// tiers names the instruction sets, in the order of a cell.
func (d document) tiers() string {
	names := make([]string, len(d.runs))
	for i, r := range d.runs {
		names[i] = r.Tier.String()
	}
	return strings.Join(names, "/")
}

// ratios has a row for each comparison and a column for each size, with a
// ratio for each instruction set.
func (d document) ratios(cs []comparison) *report.Table {
	t := &report.Table{Head: []string{"what", "keys"}}
	for _, mib := range d.sizes {
		t.Head = append(t.Head, sizeName(mib))
	}
	for _, c := range cs {
		row, found := []string{c.title, c.keys}, false
		for _, mib := range d.sizes {
			cell := make([]string, len(d.runs))
			for i, r := range d.runs {
				x := c.ratio(r, mib)
				found = found || x != 0
				cell[i] = report.Number(x)
			}
			row = append(row, strings.Join(cell, "/"))
		}
		if found {
			t.Row(row...)
		}
	}
	return t
}

// times has a row for each loop of a section and a column for each size.
func (d document) times(r tierRun, section string) *report.Table {
	t := &report.Table{Head: []string{"library", "call", "keys"}}
	for _, mib := range d.sizes {
		t.Head = append(t.Head, sizeName(mib))
	}
	var seen []sample
	for _, s := range r.Samples {
		if s.Section != section {
			continue
		}
		s.MiB, s.NS = 0, 0
		if slices.Contains(seen, s) {
			continue
		}
		seen = append(seen, s)
		row := []string{s.Who, string(s.Call), s.Keys}
		for _, mib := range d.sizes {
			row = append(row, report.Number(r.exactly(s, mib)))
		}
		t.Row(row...)
	}
	return t
}

// exactly returns the time of one loop at a size, or 0.
func (r tierRun) exactly(of sample, mib int) float64 {
	of.MiB = mib
	for _, s := range r.Samples {
		ns := s.NS
		if s.NS = 0; s == of {
			return ns
		}
	}
	return 0
}

// space has the bits per key and the error of each library.
func (d document) space() *report.Table {
	t := &report.Table{Head: []string{"library"}}
	for _, p := range rates {
		t.Head = append(t.Head, "bits per key, "+percent(p), "error")
	}
	for _, l := range library.All() {
		row := []string{l.Title()}
		for i, s := range d.accuracy[l.Name] {
			if s.bitsPerKey == 0 { // it does not go so low
				row = append(row, "-", "-")
				continue
			}
			e := percent(s.rate.Mean)
			if s.rate.Mean > rates[i]+3*s.rate.Sigma {
				e = "**" + e + "**"
			}
			row = append(row, fmt.Sprintf("%.2f", s.bitsPerKey), e)
		}
		t.Row(row...)
	}
	return t
}

func percent(p float64) string { return fmt.Sprintf("%.3g%%", 100*p) }
