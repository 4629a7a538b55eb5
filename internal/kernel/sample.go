package kernel

import (
	"math"
	"math/bits"
)

const (
	// firstSample is how many lines Sample looks at to begin with, 64 KiB, and
	// mostSample how many at most, 1 MiB: some 50 microseconds.
	firstSample = 1 << 10
	mostSample  = 1 << 14
	// sampleRun is how many lines of a sample lie together: half a kilobyte,
	// which memory gives away nearly as fast as a line.
	sampleRun = 8
	// lineBits is the number of bits in a line.
	lineBits = 512
	// sampleSigma is the standard deviation of the rate that Sample aims at, as
	// a share of the rate.
	sampleSigma = 0.02
)

// Sampled is what a sample says about an array of bits.
type Sampled struct {
	Fill  float64 // share of set bits
	Rate  float64 // that follows from it
	Sigma float64 // standard deviation of Rate, 0 if all was looked at
}

// Sample estimates the fill of an array of so many lines of 512 bits, and the
// rate that follows from the fill. count returns the number of set bits in a
// line.
//
// How far the rate is off depends on the layout: it grows with about the k-th
// power of the fill, and in blocked layouts the fill differs more from line to
// line than by chance alone. So the lines of the sample themselves show how much
// they differ, and where 64 KiB leave more than 2% of the rate, or the absolute
// tolerance if that is more, up to 1 MiB is read.
func Sample(lines int, count func(line int) uint64, rate func(fill float64) float64, tolerance float64) Sampled {
	s := sampleOf(lines, firstSample, count, rate)
	aim := max(tolerance, sampleSigma*s.Rate)
	if s.Sigma <= aim {
		return s
	}
	more := s.Sigma / aim // more than 1, or +Inf
	return sampleOf(lines, int(min(firstSample*more*more*1.1, mostSample)), count, rate)
}

// sampleOf is Sample with a given number of lines, which it rounds up to whole
// runs.
func sampleOf(lines, sample int, count func(line int) uint64, rate func(fill float64) float64) Sampled {
	runs := (sample + sampleRun - 1) / sampleRun
	sample = runs * sampleRun
	if sample >= lines {
		sum := uint64(0)
		for i := range lines {
			sum += count(i)
		}
		fill := float64(sum) / (float64(max(lines, 1)) * lineBits)
		return Sampled{Fill: fill, Rate: rate(fill)}
	}
	var sum, squares uint64
	for i := range runs {
		high, low := bits.Mul64(uint64(i), uint64(lines-sampleRun))
		at, _ := bits.Div64(high, low, uint64(runs))
		for j := range sampleRun {
			n := count(int(at) + j)
			sum += n
			squares += n * n
		}
	}
	n := float64(sample)
	mean := float64(sum) / n
	variance := (float64(squares) - n*mean*mean) / (n - 1)
	left := 1 - n/float64(lines) // what was not looked at
	sigma := math.Sqrt(max(0, variance)/n*left) / lineBits
	fill := mean / lineBits
	return Sampled{
		Fill:  fill,
		Rate:  rate(fill),
		Sigma: (rate(min(1, fill+sigma)) - rate(max(0, fill-sigma))) / 2,
	}
}
