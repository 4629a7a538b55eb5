package web

// Numbers as people write them, for the templates.

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// figureFuncs write numbers as people do, in the templates of the tabs.
var figureFuncs = template.FuncMap{
	"whole": ofWhole(grouped), "short": ofWhole(short), "bytes": ofWhole(byteSize), "age": ofWhole(age), "calls": ofWhole(calls),
	"percent": ofNumber(percent), "micros": ofNumber(micros), "width": ofNumber(barWidth),
	"between": func(low, high any) string { return between(numberOf(low), numberOf(high)) },
	"seconds": ofWhole(func(ms int64) int64 { return ms / 1000 }), "plain": ofWhole(func(n int64) int64 { return n }),
	"lower": strings.ToLower, "command": commandShown, "add": func(a, b int) int { return a + b }, "given": func(v any) bool { return v != nil },
}

// ofWhole has a function take what an object holds, which may be nothing.
func ofWhole[R any](f func(int64) R) func(any) R { return func(v any) R { return f(wholeOf(v)) } }

// ofNumber is ofWhole for other numbers.
func ofNumber[R any](f func(float64) R) func(any) R { return func(v any) R { return f(numberOf(v)) } }

// grouped writes 64,000.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// calls writes a number of calls.
func calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return grouped(n) + " calls"
}

// short writes 1.2 M: three digits and a power of ten.
func short(n int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if float64(n) >= unit.size {
			return digits3(float64(n)/unit.size) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// leastShown is the least rate that is written out: nobody counts more zeros.
const leastShown = 1e-8

// percent writes a rate: 0.98%.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case v > 0 && v < leastShown:
		return "under " + digits3(100*leastShown) + "%"
	}
	return digits3(100*v) + "%"
}

// between writes the interval of a rate: 0.9–1.1%.
func between(low, high float64) string {
	if high < leastShown || low > 0 && low < leastShown {
		return percent(low) + " – " + percent(high)
	}
	return digits3(100*low) + "–" + digits3(100*high) + "%"
}

// byteSize writes 1.2 MiB.
func byteSize(n int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := float64(uint64(1) << (10 * (4 - i))); float64(n) >= size {
			return digits3(float64(n)/size) + " " + unit
		}
	}
	return grouped(n) + " B"
}

// digits3 writes a number with three digits, and no more than it has.
func digits3(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0)
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// age writes a number of seconds in its two largest units: 3 d 4 h.
func age(seconds int64) string {
	if seconds < 1 {
		return "0 s"
	}
	units := []struct {
		size int64
		name string
	}{{365 * 86400, "y"}, {86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}
	for i, u := range units {
		if seconds < u.size {
			continue
		}
		text := strconv.FormatInt(seconds/u.size, 10) + " " + u.name
		if i+1 < len(units) {
			if rest := seconds % u.size / units[i+1].size; rest > 0 {
				text += " " + strconv.FormatInt(rest, 10) + " " + units[i+1].name
			}
		}
		return text
	}
	return "0 s"
}

// micros writes a time that is given in microseconds.
func micros(v float64) string {
	if v <= 0 {
		return "–"
	}
	d := time.Duration(v * float64(time.Microsecond))
	switch {
	case d < time.Millisecond:
		return digits3(v) + " µs"
	case d < time.Second:
		return digits3(v/1e3) + " ms"
	}
	return digits3(v/1e6) + " s"
}

// shown writes a name as a person can read it: what is not text is escaped.
func shown(name string) string {
	if name == "" {
		return `""`
	}
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}

// barWidth returns the width of a bar of 100 for a share.
func barWidth(share float64) float64 {
	if math.IsNaN(share) {
		return 0
	}
	return math.Round(1000*min(max(share, 0), 1)) / 10
}

// cell is one of the density picture.
type cell struct {
	X, Y  int
	Level int // 0 to 9
	Share float64
}

// densityColumns is how many cells stand side by side in the density picture.
const densityColumns = 32

// densityCells places the shares of the pieces of an array, row by row.
func densityCells(shares []float64) []cell {
	cells := make([]cell, len(shares))
	for i, s := range shares {
		level := 0
		if s > 0 {
			level = min(1+int(9*s), 9)
		}
		cells[i] = cell{i % densityColumns, i / densityColumns, level, s}
	}
	return cells
}
