// What plan prints: the advice, the table of kinds, and JSON.

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/sizing"
)

// planned is the answer of plan.
type planned struct {
	asked, solved sizing.Params
	needs         sizing.Needs
	advice        sizing.Advice
	assumed       bool // the number of keys was not given
	queries       *queriesJSON
	universe      uint64 // keys that there are, for a filter that is published
}

// planJSON is that with --json.
type planJSON struct {
	Textbook *paramsJSON   `json:"textbook,omitempty"`
	Rate     float64       `json:"rate"`
	Take     string        `json:"take"`
	Kinds    []choiceJSON  `json:"kinds"`
	Others   []choiceJSON  `json:"others"`
	Exact    []choiceJSON  `json:"exact"`
	Refused  []refusalJSON `json:"refused"`
	Warnings []warningJSON `json:"warnings"`
	Better   *paramsJSON   `json:"better,omitempty"`
	Queries  *queriesJSON  `json:"queries,omitempty"`
}

type paramsJSON struct {
	N uint64  `json:"n"`
	P float64 `json:"p"`
	M uint64  `json:"m"`
	K int     `json:"k"`
}

type choiceJSON struct {
	Name       string   `json:"name"`
	Make       string   `json:"make"`
	Bytes      uint64   `json:"bytes"`
	BitsPerKey float64  `json:"bits_per_key"`
	ErrorRate  float64  `json:"error_rate"`
	Keys       uint64   `json:"keys"`
	Asked      float64  `json:"asked"`
	Hashes     int      `json:"hashes"`
	Lookup     int      `json:"lookup"`
	Insert     int      `json:"insert"`
	Reasons    []string `json:"reasons"`
}

type refusalJSON struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type warningJSON struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (p planned) json() planJSON {
	j := planJSON{
		Rate: p.advice.ErrorRate, Take: p.advice.Take(), Kinds: choicesJSON(p.advice.Kinds),
		Others: choicesJSON(p.advice.Others), Exact: choicesJSON(p.advice.Exact),
		Refused: []refusalJSON{}, Warnings: []warningJSON{}, Queries: p.queries,
	}
	if best, ok := p.better(); ok {
		t := paramsJSON(best)
		j.Better = &t
	}
	if known(p.solved) == 3 {
		t := paramsJSON(p.solved)
		j.Textbook = &t
	}
	for _, r := range p.advice.Refused {
		j.Refused = append(j.Refused, refusalJSON(r))
	}
	for _, w := range p.advice.Warnings {
		j.Warnings = append(j.Warnings, warningJSON{string(w.Code), warningText(w)})
	}
	return j
}

func choicesJSON(choices []sizing.Choice) []choiceJSON {
	all := []choiceJSON{}
	for _, c := range choices {
		all = append(all, choiceJSON(c))
	}
	return all
}

// text is the answer for people, in lines of at most width characters: first what
// to use, then why.
func (p planned) text(s *shell, width int) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(wrapped(fmt.Sprintf(format, args...), width, "  ") + "\n")
	}
	take, _, _ := strings.Cut(p.advice.String(), "\n")
	line("%s", take)
	if q := p.solved; known(q) == 3 {
		line(strings.ReplaceAll("textbook: n = %s keys, p = %s, m = %s bits (%s), k = %d", " = ", noBreak+"="+noBreak),
			grouped(q.N), rateText(q.P), grouped(q.M), bytesText((q.M+7)/8), q.K)
		b.WriteString(p.betterText())
		if p.assumed {
			line("for %s keys, since n is not given: %.2f bits per key", grouped(q.N), float64(q.M)/float64(q.N))
		}
	}
	if p.asked.N > 0 && known(p.asked) == 1 && p.universe == 0 {
		line("for a false positive rate of %s, since p is not given", shareText(usualRate))
	}
	b.WriteString("\n" + p.table(width))
	if p.universe > 0 {
		b.WriteString("\n")
		line("%s", p.anonymityText())
	}
	if len(p.advice.Others) > 0 {
		b.WriteString("\nalso possible, but better in nothing:\n")
		var g grouping
		for _, c := range p.advice.Others {
			g.add(c.Name, c.Reasons[len(c.Reasons)-1])
		}
		b.WriteString(g.text(width))
	}
	if len(p.advice.Refused) > 0 {
		b.WriteString("\ncannot serve here:\n")
		var g grouping
		for _, r := range p.advice.Refused {
			g.add(r.Name, r.Reason)
		}
		b.WriteString(g.text(width))
	}
	if len(p.advice.Warnings) > 0 {
		b.WriteString("\n")
		for _, w := range p.advice.Warnings {
			text := wrapped("note: "+warningText(w), width, "  ")
			b.WriteString(s.paint(s.out, yellow, "note:") + strings.TrimPrefix(text, "note:") + "\n")
		}
	}
	return b.String()
}

// grouping lists names by the reason that they share.
type grouping struct {
	reasons []string
	names   map[string][]string
}

func (g *grouping) add(name, reason string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[reason] == nil {
		g.reasons = append(g.reasons, reason)
	}
	g.names[reason] = append(g.names[reason], name)
}

// text has a line for each reason, or several if it is long.
func (g *grouping) text(width int) string {
	var b strings.Builder
	for _, reason := range g.reasons {
		b.WriteString(wrapped("  "+strings.Join(g.names[reason], ", ")+": "+reason, width, "    ") + "\n")
	}
	return b.String()
}

// table lists the kinds to choose from and the exact sets. The last column is
// broken into lines.
func (p planned) table(width int) string {
	rows := [][]string{p.columns("kind", "size", "keys", "bits/key", "rate", "k", "reads", "what it is")}
	for _, c := range slices.Concat(p.advice.Kinds, p.advice.Exact) {
		rows = append(rows, p.choiceRow(c))
	}
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, w := range widths {
			fmt.Fprintf(&line, "%-*s  ", w, row[i])
		}
		indent := strings.Repeat(" ", line.Len())
		if line.Len()+leastReason > width { // no room beside: below
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
			indent = "    "
			line.Reset()
			line.WriteString(indent)
		}
		reason := wrapped(indent+row[last], width, indent)
		b.WriteString(line.String() + strings.TrimPrefix(reason, indent) + "\n")
	}
	return b.String()
}

// columns leaves out the keys and the k of a row where they are the same in all.
func (p planned) columns(name, size, keys, perKey, rate, k, reads, reason string) []string {
	row := []string{name, size}
	if p.asked.M != 0 && p.asked.N == 0 {
		row = append(row, keys)
	}
	row = append(row, perKey, rate)
	if p.asked.K != 0 {
		row = append(row, k)
	}
	return append(row, reads, reason)
}

// leastReason is how narrow the last column of the table may be.
const leastReason = 24

// remedies are those that on the command line are a flag.
var remedies = map[sizing.Code]string{
	sizing.NoHeadroom: "Give the largest number that may come as n, or --needs growth.",
	sizing.Adversary:  "Use a secret that is not in the program (--key-file), and do not show answers for free.",
}

// warningText is a warning in the words of the command line.
func warningText(w sizing.Warning) string {
	if remedy, ok := remedies[w.Code]; ok {
		return w.Problem() + " " + remedy
	}
	return w.String()
}

// choiceRow returns the cells of a kind or an exact set.
func (p planned) choiceRow(c sizing.Choice) []string {
	size, rate, k, reason := "-", "exact", "none", ""
	if c.Bytes > 0 {
		size = bytesText(c.Bytes)
	}
	if c.ErrorRate > 0 {
		rate = shareText(c.ErrorRate)
	}
	if c.Hashes > 0 {
		k = strconv.Itoa(c.Hashes)
	}
	if len(c.Reasons) > 0 {
		reason = c.Reasons[0]
	}
	return p.columns(c.Name, size, grouped(c.Keys), fmt.Sprintf("%.2f", c.BitsPerKey), rate, k, strconv.Itoa(c.Lookup), reason)
}
