package report

import (
	"fmt"
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

// Span returns the lowest and the highest of values, in a format of fmt.
func Span(values []float64, format string) string {
	return fmt.Sprintf(format+" – "+format, slices.Min(values), slices.Max(values))
}

// Title returns s with its first letter in upper case.
func Title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
