package main

import (
	"fmt"
	"math"
	"strings"
)

// The drawing: two panels, single lookups and batches, with logarithmic axes.
const (
	width, height       = 980, 600
	top, bottom         = 64, 470
	panel, gap, left    = 420, 56, 64
	leastBits, mostBits = 6., 130.
	leastTime, mostTime = 5., 500.
)

var colours = []string{
	"#2563eb", "#16a34a", "#65a30d", "#b45309", "#a855f7", "#6b7280", "#111827",
	"#f59e0b", "#db2777", "#0891b2", "#ea580c", "#84cc16", "#7c3aed", "#dc2626",
}

// draw returns the plot. Each kind is a line from 1% to 0.01%, with a large
// point at 1%; kinds outside of the drawing are in the table only.
func draw(all []figure, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" `+
		`aria-label="Time of a lookup against bits per key for every kind of filter">`+"\n", width, height, width, height)
	b.WriteString(`<style>
text { font: 13px system-ui, sans-serif; fill: #6e7781 }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #80808040; stroke-width: 1 }
.axis { stroke: #808080; stroke-width: 1.5 }
.line { fill: none; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } .line, circle { filter: brightness(1.5) } }
</style>
`)
	axes(&b, 0, fmt.Sprintf("One by one, %g million keys", float64(n)/1e6))
	axes(&b, 1, "In batches")
	for i, name := range drawn(all) {
		colour := colours[i%len(colours)]
		lines(&b, all, name, colour)
		x, y := left+i%5*184, bottom+74+i/5*24
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="6" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", x, y-4, colour, x+12, y, name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawn returns the kinds that are inside of the drawing at 1%.
func drawn(all []figure) (names []string) {
	for _, f := range all {
		if f.rate == rates[0] && f.bitsPerKey < mostBits {
			names = append(names, f.kind)
		}
	}
	return names
}

func lines(b *strings.Builder, all []figure, name, colour string) {
	for p := range 2 {
		var path strings.Builder
		move := "M"
		for _, f := range all {
			if f.kind != name || f.bitsPerKey > mostBits {
				continue
			}
			t := f.one
			if p == 1 {
				t = f.batch
			}
			radius := 3.5
			if f.rate == rates[0] {
				radius = 6
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", move, atBits(p, f.bitsPerKey), atTime(t))
			move = "L"
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`, atBits(p, f.bitsPerKey), atTime(t), radius, colour)
		}
		fmt.Fprintf(b, `<path class="line" stroke="%s" d="%s"/>`+"\n", colour, path.String())
	}
}

func axes(b *strings.Builder, p int, title string) {
	x0, x1 := atBits(p, leastBits), atBits(p, mostBits)
	fmt.Fprintf(b, `<text class="title" x="%.1f" y="36">%s</text>`+"\n", x0, title)
	for _, bits := range []float64{6, 8, 10, 15, 20, 30, 50, 80, 120} {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %dV%d"/>`, atBits(p, bits), top, bottom)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%g</text>`+"\n", atBits(p, bits), bottom+20, bits)
	}
	for _, t := range []float64{5, 10, 20, 50, 100, 200, 500} {
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/>`, x0, atTime(t), x1)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end">%g</text>`+"\n", x0-8, atTime(t)+4, t)
	}
	fmt.Fprintf(b, `<path class="axis" fill="none" d="M%.1f %dV%dH%.1f"/>`+"\n", x0, top, bottom, x1)
	fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">bits per key at 1%% (large), 0.1%% and 0.01%%</text>`+"\n", (x0+x1)/2, bottom+42)
	if p == 0 {
		fmt.Fprintf(b, `<text transform="translate(18 %d) rotate(-90)" text-anchor="middle">ns per lookup, half of the keys present</text>`+"\n", (top+bottom)/2)
	}
}

func atBits(p int, bits float64) float64 {
	share := math.Log(bits/leastBits) / math.Log(mostBits/leastBits)
	return left + float64(p*(panel+gap)) + panel*share
}

func atTime(t float64) float64 {
	share := math.Log(min(max(t, leastTime), mostTime)/leastTime) / math.Log(mostTime/leastTime)
	return bottom - (bottom-top)*share
}
