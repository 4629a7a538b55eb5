package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// none stands for what was not measured.
const none = "-"

// Number returns x with three digits, and "-" for 0, which stands for what was
// not measured.
func Number(x float64) string {
	switch {
	case x == 0:
		return none
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Median returns the middle of values, of which there is at least one.
func Median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// MedianError returns the standard error of the median of values, from their absolute deviations from it, so
// that single slow moments of the machine count little. It is 0 for fewer than three.
func MedianError(values []float64) float64 {
	if len(values) < 3 {
		return 0
	}
	m := Median(values)
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - m)
	}
	const sigma, ofMedian = 1.4826, 1.2533 // of a normal distribution: deviation over median deviation; median over mean
	return sigma * ofMedian * Median(deviations) / math.Sqrt(float64(len(values)))
}

// Span returns the lowest and the highest of values, in a format of fmt.
func Span(values []float64, format string) string {
	return fmt.Sprintf(format+"–"+format, slices.Min(values), slices.Max(values))
}

// Quartiles returns what a quarter of values is at most, and what three quarters are,
// in a format of fmt. Of few values these are means of neighbours.
func Quartiles(values []float64, format string) string {
	values = slices.Sorted(slices.Values(values))
	at := func(share float64) float64 {
		x := share * float64(len(values)-1)
		low := int(x)
		high := min(low+1, len(values)-1)
		return values[low] + (x-float64(low))*(values[high]-values[low])
	}
	return fmt.Sprintf(format+"–"+format, at(0.25), at(0.75))
}

// Title returns s with its first letter in upper case.
func Title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
