package bloomery

import (
	"math"
	"strconv"
)

// Stats is the state of a filter as it describes itself.
type Stats struct {
	// Kind is the name of the kind, as in "bloom" or "standard".
	Kind string `json:"kind"`
	// Capacity is the number of keys the filter is sized for, 0 if that is not
	// known.
	Capacity uint64 `json:"capacity"`
	// Items is the number of keys in the filter; Exact reports whether it was
	// counted (true) or estimated from the fill (false). An array with all bits
	// set could hold any number of keys: its estimate is math.MaxUint64. Of a large
	// array a sample is read; EstimateCount reads all of it and is nearer.
	Items uint64 `json:"items"`
	Exact bool   `json:"exact"`
	// Bits is the size of the filter's array, Bytes its memory.
	Bits  uint64 `json:"bits"`
	Bytes uint64 `json:"bytes"`
	// Saturation is the share of the array in use, from 0 to 1.
	Saturation float64 `json:"saturation"`
	// Overflow is the share of counters that are full and will not go down
	// again, 0 for kinds that have none.
	Overflow float64 `json:"overflow,omitempty"`
	// Asked is the false positive rate asked for at Capacity, Predicted the
	// rate that the model of the layout gives for the present fill.
	Asked     float64 `json:"asked"`
	Predicted float64 `json:"predicted"`
	// PredictedSigma is one standard deviation of Predicted due to sampling, 0
	// when the whole array was read.
	PredictedSigma float64 `json:"predicted_sigma,omitempty"`
	// Skew shows keys that were aimed at one place of a blocked filter: chance
	// alone fills a block as much as the fullest that was looked at with
	// probability 10^-Skew. Random keys give less than 6; Predicted does not
	// hold for keys that are aimed. 0 for layouts without blocks.
	Skew float64 `json:"skew,omitempty"`
}

// String returns one line for people, such as
//
//	bloom: about 1,000 keys of 1,000,000, 1.18 MiB, 0.07% full, false positive rate 0.0000012% (asked 1%)
func (s Stats) String() string {
	line := s.Kind + ": " + s.items()
	if s.Capacity > 0 {
		line += " of " + grouped(s.Capacity)
	}
	line += ", " + size(s.Bytes) + ", " + percent(s.Saturation) + " full"
	if s.Overflow > 0 {
		line += ", " + percent(s.Overflow) + " of counters full"
	}
	line += ", false positive rate " + s.rate()
	if s.Asked > 0 {
		line += " (asked " + percent(s.Asked) + ")"
	}
	return line
}

// negligible is a rate that is not written out unless a lower one was asked for:
// nobody counts so many zeros.
const negligible = 1e-10

// tiny is a share that would have too many zeros as a percentage.
const tiny = 1e-12

// rate is the predicted rate in words.
func (s Stats) rate() string {
	switch {
	case s.Predicted > 0 && s.Predicted < negligible && s.Asked > negligible:
		return "under " + percent(negligible)
	case s.Predicted > 0 && s.Predicted < tiny && !(s.Asked > 0 && s.Asked < tiny):
		return "under 1e-12"
	case s.PredictedSigma > 0:
		return percent(s.Predicted) + " ± " + percent(s.PredictedSigma)
	}
	return percent(s.Predicted)
}

// items is the number of keys in words.
func (s Stats) items() string {
	keys := " keys"
	if s.Items == 1 {
		keys = " key"
	}
	switch {
	case s.Exact:
		return grouped(s.Items) + keys
	case s.Items == math.MaxUint64:
		return "an unknown number of keys"
	}
	return "about " + grouped(s.Items) + keys
}

// grouped writes a number with commas: 1,000,000.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	text := make([]byte, 0, len(digits)+len(digits)/3)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text = append(text, ',')
		}
		text = append(text, digits[i])
	}
	return string(text)
}

// percent writes a share with two significant digits, and three from 1% on,
// and without an exponent unless it is tiny.
func percent(share float64) string {
	if share > 0 && share < tiny {
		return strconv.FormatFloat(share, 'g', 2, 64)
	}
	digits := 2
	if share >= 0.01 {
		digits = 3
	}
	x, err := strconv.ParseFloat(strconv.FormatFloat(100*share, 'g', digits, 64), 64)
	if err != nil { // cannot be: it was written above
		x = 100 * share
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + "%"
}

// size writes a number of bytes in units of powers of two.
func size(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	x, unit := float64(n)/1024, 0
	for ; x >= 1023.5 && unit < len(units)-1; unit++ {
		x /= 1024
	}
	digits := 0
	for limit := 100.0; limit > 1 && x < limit; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + " " + units[unit:unit+1] + "iB"
}
