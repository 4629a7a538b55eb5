// The drawing of plan --plot: the false positive rate as keys are added.

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/guptarohit/asciigraph"

	"github.com/bloomery/bloomery/sizing"
)

// The drawing, in characters; over so many times the keys asked for.
const (
	plotHeight   = 14
	plotFrame    = 4 // around the figures of the axis
	plotMinWidth = 20
	plotMaxWidth = 72
	plotOverfill = 2
	plotDigits   = 3 // of the highest rate, at least
)

// plot draws the false positive rate in percent as keys are added, up to twice as
// many as there should be.
func (p planned) plot(width int) (string, error) {
	if known(p.solved) < 3 {
		return "", solveHint(errors.New("--plot needs two of n, p and m"))
	}
	shapes, names := p.shapes()
	if len(shapes) == 0 {
		return "", errors.New("--plot: no layout has a rate as low")
	}
	highest := 0.0
	for _, shape := range shapes {
		highest = max(highest, 100*shape.Rate(plotOverfill*float64(p.solved.N)))
	}
	decimals := plotDecimals(highest)
	figure := func(x float64) string { return strconv.FormatFloat(math.Abs(x), 'f', decimals, 64) } // a rounded 0 may be negative
	points := min(max(width-len(figure(highest))-plotFrame, plotMinWidth), plotMaxWidth)
	var curves [][]float64
	for _, shape := range shapes {
		curve := make([]float64, points)
		for i := range curve {
			keys := float64(p.solved.N) * plotOverfill * float64(i) / float64(points-1)
			curve[i] = 100 * shape.Rate(keys)
		}
		curves = append(curves, curve)
	}
	graph := asciigraph.PlotMany(curves, asciigraph.Height(plotHeight), asciigraph.LowerBound(0), asciigraph.YAxisValueFormatter(figure))
	title := names[0]
	if len(curves) == 2 {
		if curves[0][points-1] < curves[1][points-1] {
			slices.Reverse(names)
		}
		title = fmt.Sprintf("at the right: %s above, %s below", names[0], names[1])
	}
	head := fmt.Sprintf("false positive rate in percent over the number of keys (%s; asked: %s)", title, shareText(math.Min(p.solved.P, 1)))
	return fmt.Sprintf("%s\n%s\n%s%s\n", wrapped(head, width, "  "), graph,
		strings.Repeat(" ", axisWidth(graph)), keysAxis(p.solved.N, points)), nil
}

// shapes are the layouts that reach the rate, with their names.
func (p planned) shapes() (shapes []sizing.Shape, names []string) {
	for _, l := range []struct {
		layout sizing.Layout
		name   string
	}{{sizing.Blocked, "bloom"}, {sizing.Standard, "standard"}} {
		shape, err := l.layout.Size(p.solved.N, p.solved.P)
		if i := slices.IndexFunc(p.advice.Kinds, func(c sizing.Choice) bool { return c.Name == l.name }); i >= 0 {
			shape, err = sizing.Shape{Layout: l.layout, Bits: 8 * p.advice.Kinds[i].Bytes / uint64(max(p.needs.Sets, 1)), K: p.advice.Kinds[i].Hashes}, nil
			shape.Bits -= shape.Bits % l.layout.Unit()
		}
		if err == nil {
			shapes, names = append(shapes, shape), append(names, l.name)
		}
	}
	return shapes, names
}

// plotDecimals is how many decimals a rate needs so that the highest one has
// enough digits.
func plotDecimals(highest float64) int {
	if highest <= 0 {
		return plotDigits
	}
	return max(plotDigits, plotDigits-1-int(math.Floor(math.Log10(highest))))
}

// keysAxis is the line below the drawing: 0, n keys in the middle, and twice as
// many at the end, where there is room for them.
func keysAxis(n uint64, points int) string {
	middle, end := grouped(n), grouped(plotOverfill*n)
	left := max(points/2-1, 1)
	right := points - 1 - left - len(middle) - len(end)
	if right < 1 {
		return "0" + strings.Repeat(" ", max(points-1-len(end), 1)) + end
	}
	return "0" + strings.Repeat(" ", left) + middle + strings.Repeat(" ", right) + end
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
