//go:build ignore

// Plot draws the bits per key of every kind against the false positive rate,
// from the figures of the adviser, as docs/img/bits-per-key.svg.
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"strings"

	"github.com/bloomery/bloomery/sizing"
)

// The drawing, in pixels, and its axes: rates from 10% to 1e-8, up to 70 bits.
const (
	width, height            = 860, 560
	left, right, top, bottom = 64, 836, 52, 500

	keys             = 1_000_000
	highest, lowest  = 1e-1, 1e-8
	mostBits         = 70
	stepsOfTen       = 24 // points of a curve for each factor of ten
	legendX, legendY = 84, 74
)

// curve is one line of the plot. The dashes separate lines without colours.
type curve struct {
	label, colour, dash string
	bits                func(p float64) (float64, bool)
}

var curves = []curve{
	{"split: Parquet's layout", "#b45309", "", kind("split")},
	{"bloom, concurrent: one cache line per key", "#2563eb", "", kind("bloom")},
	{"scalable, before it grows", "#a855f7", "9 5", kind("scalable")},
	{"standard, partitioned, sliced", "#16a34a", "", kind("standard")},
	{"cuckoo", "#db2777", "", kind("cuckoo")},
	{"quotient", "#0891b2", "9 5", kind("quotient")},
	{"fuse: 8, 16 or 32 bits", "#65a30d", "4 3", kind("fuse")},
	{"ribbon", "#dc2626", "", kind("ribbon")},
	{"least possible: log2(1/p)", "#808080", "2 5", func(p float64) (float64, bool) { return -math.Log2(p), true }},
}

// kind returns the bits per key of a kind that is made for the keys it holds.
func kind(name string) func(p float64) (float64, bool) {
	return func(p float64) (float64, bool) {
		a, err := sizing.Advise(sizing.Needs{Keys: keys, ErrorRate: p, Immutable: true})
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range a.Kinds {
			if c.Name == name {
				return c.BitsPerKey, true
			}
		}
		return 0, false // the kind does not go as low
	}
}

func main() {
	out := flag.String("out", "../docs/img/bits-per-key.svg", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(draw()), 0o644); err != nil {
		log.Fatal(err)
	}
}

func draw() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" `+
		`aria-label="Bits per key against false positive rate for every kind of filter">`+"\n", width, height, width, height)
	b.WriteString(`<style>
text { font: 14px system-ui, sans-serif; fill: #6e7781 }
.title { font-size: 17px; font-weight: 600 }
.grid { stroke: #80808040; stroke-width: 1 }
.axis { stroke: #808080; stroke-width: 1.5 }
.curve { fill: none; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } .curve { filter: brightness(1.4) } }
</style>
`)
	axes(&b)
	for i, c := range curves {
		fmt.Fprintf(&b, `<path class="curve" stroke="%s" stroke-dasharray="%s" d="%s"/>`+"\n", c.colour, c.dash, c.path())
		y := legendY + 24*i
		fmt.Fprintf(&b, `<path class="curve" stroke="%s" stroke-dasharray="%s" d="M%d %dh40"/>`, c.colour, c.dash, legendX, y)
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", legendX+50, y+5, c.label)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// axes draws the grid with a line for each factor of ten and each ten bits.
func axes(b *strings.Builder) {
	fmt.Fprintf(b, `<text class="title" x="%d" y="28">Bits per key against false positive rate, a million keys</text>`+"\n", left)
	for bits := 0; bits <= mostBits; bits += 10 {
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fH%d"/>`, left, y(float64(bits)), right)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n", left-8, y(float64(bits))+5, bits)
	}
	for digits := 1; digits <= 8; digits++ {
		at := x(math.Pow10(-digits))
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %dV%d"/>`, at, top, bottom)
		label := fmt.Sprintf("1e-%d", digits)
		if digits <= 3 {
			label = []string{"10%", "1%", "0.1%"}[digits-1]
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, bottom+22, label)
	}
	fmt.Fprintf(b, `<path class="axis" fill="none" d="M%d %dV%dH%d"/>`+"\n", left, top, bottom, right)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">false positive rate: share of absent keys that are reported as present</text>`+"\n", (left+right)/2, bottom+48)
	fmt.Fprintf(b, `<text transform="translate(20 %d) rotate(-90)" text-anchor="middle">bits per key</text>`+"\n", (top+bottom)/2)
}

func x(p float64) float64 {
	return left + (right-left)*math.Log(highest/p)/math.Log(highest/lowest)
}

func y(bits float64) float64 { return bottom - (bottom-top)*bits/mostBits }

// path joins the points of a curve that are inside the drawing.
func (c curve) path() string {
	var b strings.Builder
	move := "M"
	decades := math.Round(math.Log10(highest / lowest))
	for i := range int(decades)*stepsOfTen + 1 {
		p := highest * math.Pow(10, -float64(i)/stepsOfTen)
		bits, ok := c.bits(p)
		if !ok || bits > mostBits {
			move = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", move, x(p), y(bits))
		move = "L"
	}
	return b.String()
}
