package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/guptarohit/asciigraph"

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

// text is the answer for people.
func (p planned) text(s *shell) string {
	var b strings.Builder
	take, _, _ := strings.Cut(p.advice.String(), "\n")
	fmt.Fprintf(&b, "%s\n", take)
	if q := p.solved; known(q) == 3 {
		fmt.Fprintf(&b, "textbook: n = %s keys, p = %s, m = %s bits (%s), k = %d\n",
			grouped(q.N), rateText(q.P), grouped(q.M), bytesText((q.M+7)/8), q.K)
		b.WriteString(p.betterText())
		if p.assumed {
			fmt.Fprintf(&b, "for %s keys, since n is not given: %.2f bits per key\n", grouped(q.N), float64(q.M)/float64(q.N))
		}
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kind\tbytes\tbits/key\trate\treads\twhat it is")
	for _, c := range p.advice.Kinds {
		choiceRow(w, c)
	}
	for _, c := range p.advice.Exact {
		choiceRow(w, c)
	}
	_ = w.Flush() // to memory
	if larger := p.larger(); len(larger) > 0 {
		fmt.Fprintf(&b, "\nlarger than m; in %s their rate is: %s\n", bytesText((p.asked.M+7)/8), strings.Join(larger, ", "))
	}
	b.WriteString(p.anonymityText())
	if len(p.advice.Others) > 0 {
		b.WriteString("\nalso possible, but better in nothing:\n")
		for _, c := range p.advice.Others {
			fmt.Fprintf(&b, "  %s: %s\n", c.Name, c.Reasons[len(c.Reasons)-1])
		}
	}
	if len(p.advice.Refused) > 0 {
		b.WriteString("\ncannot serve here:\n")
		for _, r := range p.advice.Refused {
			fmt.Fprintf(&b, "  %s: %s\n", r.Name, r.Reason)
		}
	}
	if len(p.advice.Warnings) > 0 {
		b.WriteString("\n")
		for _, w := range p.advice.Warnings {
			fmt.Fprintf(&b, "%s %s\n", s.paint(s.out, yellow, "note:"), warningText(w))
		}
	}
	return b.String()
}

// roundingShare is the part of a size by which kinds may exceed it that differ
// from the textbook in rounding only.
const roundingShare = 256

// larger lists the kinds that keep the rate only with more than the size given,
// with the rate that they have in it.
func (p planned) larger() []string {
	var texts []string
	for _, c := range p.advice.Kinds {
		if p.asked.M == 0 || c.Bytes <= (p.asked.M+p.asked.M/roundingShare+7)/8 {
			continue
		}
		rate := "too large at any rate"
		if r, ok := p.rateIn(c.Name); ok {
			rate = shareText(r)
		}
		texts = append(texts, c.Name+" "+rate)
	}
	return texts
}

// rateIn returns the lowest rate at which a kind fits into the size given, found
// to within a thousandth.
func (p planned) rateIn(name string) (float64, bool) {
	needs := p.needs
	needs.Memory = (p.asked.M + 7) / 8
	fits := func(rate float64) bool {
		needs.ErrorRate = rate
		a, err := sizing.Advise(needs)
		return err == nil && slices.ContainsFunc(slices.Concat(a.Kinds, a.Others), func(c sizing.Choice) bool { return c.Name == name })
	}
	low, high := p.solved.P, 0.999
	if !fits(high) {
		for high = 0.5; high > low && !fits(high); high /= 2 { // some kinds have no high rates
		}
		if high <= low {
			return 0, false
		}
	}
	for high/low > 1.001 {
		if middle := math.Sqrt(low * high); fits(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, true
}

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

func choiceRow(w *tabwriter.Writer, c sizing.Choice) {
	size, rate := "-", "exact"
	if c.Bytes > 0 {
		size = bytesText(c.Bytes)
	}
	if c.ErrorRate > 0 {
		rate = shareText(c.ErrorRate)
	}
	reason := ""
	if len(c.Reasons) > 0 {
		reason = c.Reasons[0]
	}
	fmt.Fprintf(w, "%s\t%s\t%.2f\t%s\t%d\t%s\n", c.Name, size, c.BitsPerKey, rate, c.Lookup, reason)
}

// The drawing, in characters; over so many times the keys asked for.
const (
	plotHeight    = 14
	plotMargin    = 12 // for the axis
	plotMinWidth  = 20
	plotMaxWidth  = 72
	plotOverfill  = 2
	plotPrecision = 3
)

// plot draws the error rate in percent as keys are added, up to twice as many
// as there should be.
func (p planned) plot(width int) (string, error) {
	if known(p.solved) < 3 {
		return "", solveHint(errors.New("--plot needs two of n, p and m"))
	}
	points := min(max(width-plotMargin, plotMinWidth), plotMaxWidth)
	var curves [][]float64
	var names []string
	for _, layout := range []sizing.Layout{sizing.Blocked, sizing.Standard} {
		shape, err := layout.Size(p.solved.N, p.solved.P)
		if err != nil {
			continue // the layout does not go as low
		}
		curve := make([]float64, points)
		for i := range curve {
			keys := float64(p.solved.N) * plotOverfill * float64(i) / float64(points-1)
			curve[i] = 100 * shape.Rate(keys)
		}
		curves = append(curves, curve)
		names = append(names, map[sizing.Layout]string{sizing.Blocked: "bloom", sizing.Standard: "standard"}[layout])
	}
	if len(curves) == 0 {
		return "", errors.New("--plot: no layout goes as low")
	}
	graph := asciigraph.PlotMany(curves, asciigraph.Height(plotHeight), asciigraph.Precision(plotPrecision),
		asciigraph.LowerBound(0))
	title := names[0]
	if len(curves) == 2 {
		if curves[0][points-1] < curves[1][points-1] {
			slices.Reverse(names)
		}
		title = fmt.Sprintf("at the right: %s above, %s below", names[0], names[1])
	}
	middle := points / 2
	axis := strings.Repeat(" ", axisWidth(graph)) + "0" + strings.Repeat(" ", max(middle-2, 0)) + grouped(p.solved.N)
	axis += strings.Repeat(" ", max(axisWidth(graph)+points-len(axis)-len(grouped(plotOverfill*p.solved.N)), 1)) + grouped(plotOverfill*p.solved.N)
	return fmt.Sprintf("error rate in percent over the number of keys (%s; asked: %s)\n%s\n%s\n",
		title, shareText(math.Min(p.solved.P, 1)), graph, axis), nil
}

// axisWidth is how many characters stand before the curve.
func axisWidth(graph string) int {
	first, _, _ := strings.Cut(graph, "\n")
	for i, r := range []rune(first) {
		if r == '┤' || r == '┼' {
			return i
		}
	}
	return 0
}
