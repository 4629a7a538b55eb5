package redisbloom

import "math"

// Min returns the smallest value, NaN if there is none.
func (t *TDigest) Min() float64 {
	if t.Observations() == 0 {
		return math.NaN()
	}
	return t.min
}

// Max returns the largest value, NaN if there is none.
func (t *TDigest) Max() float64 {
	if t.Observations() == 0 {
		return math.NaN()
	}
	return t.max
}

// CDF returns the estimated share of values below v, those equal to v counted
// half. It compresses the digest. It is NaN for fewer than two values, as in
// RedisBloom, and if v is NaN.
func (t *TDigest) CDF(v float64) float64 {
	t.Compress()
	switch {
	case t.merged == 0 || v != v:
		return math.NaN()
	case v < t.min:
		return 0
	case v > t.max:
		return 1
	case t.merged == 1:
		return 0.5
	}
	whole, last := float64(t.mergedSum), t.merged-1
	if first := t.mean(0); v < first {
		if v == t.min {
			return 0.5 / whole
		}
		return (1 + float64((v-t.min)/(first-t.min)*(t.size(0)/2-1))) / whole
	}
	if end := t.mean(last); v > end {
		if v == t.max {
			return 1 - 0.5/whole
		}
		return 1 - (1+float64((t.max-v)/(t.max-end)*(t.size(last)/2-1)))/whole
	}
	before := 0.0
	for i := range last {
		low, high := t.mean(i), t.mean(i+1)
		if low == v {
			return (before + t.run(i)/2) / whole
		}
		if low <= v && v < high {
			return t.between(i, v, before) / whole
		}
		before += t.size(i)
	}
	return 1 - 0.5/whole
}

// run returns the weight of node i and those behind it that have its mean.
func (t *TDigest) run(i int) float64 {
	sum := 0.0
	for j := i; j < t.merged && t.mean(j) == t.mean(i); j++ {
		sum += t.size(j)
	}
	return sum
}

// between returns how many values are below v, which lies between nodes i and
// i+1, with before in front of node i. A node of weight 1 is one value, right
// at its mean; the others are spread to both sides of it.
func (t *TDigest) between(i int, v, before float64) float64 {
	w, next := t.size(i), t.size(i+1)
	if w == 1 && next == 1 {
		return before + 1
	}
	a, b := 0.0, 0.0
	if w == 1 {
		a = 0.5
	}
	if next == 1 {
		b = 0.5
	}
	width := (w+next)/2 - a - b
	return before + w/2 + a + float64(width*(v-t.mean(i)))/(t.mean(i+1)-t.mean(i))
}

// Quantile returns the estimated value below which the share q of all values
// is, q from 0 to 1. It compresses the digest. It is NaN for fewer than two
// values, as in RedisBloom, and for a q out of range.
func (t *TDigest) Quantile(q float64) float64 {
	t.Compress()
	if !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	return t.at(float64(q * float64(t.mergedSum)))
}

// at returns the value at index x of all values in their order.
func (t *TDigest) at(x float64) float64 {
	switch t.merged {
	case 0:
		return math.NaN()
	case 1:
		return t.mean(0)
	}
	whole, last := float64(t.mergedSum), t.merged-1
	first, end := t.size(0), t.size(last)
	switch {
	case first > 1 && x < first/2:
		return t.min + float64((x-1)/(first/2-1)*(t.mean(0)-t.min))
	case x > whole-1:
		return t.max
	case end > 1 && whole-x <= end/2:
		return t.max - float64((whole-x-1)/(end/2-1)*(t.max-t.mean(last)))
	}
	before := first / 2
	for i := range last {
		w, next := t.size(i), t.size(i+1)
		d := (w + next) / 2
		if before+d > x {
			return t.inside(i, x-before, before+d-x)
		}
		before += d
	}
	return t.max
}

// inside returns the value that is left behind node i and right before the
// next one.
func (t *TDigest) inside(i int, left, right float64) float64 {
	if t.size(i) == 1 {
		if left < 0.5 {
			return t.mean(i)
		}
		left -= 0.5
	}
	if t.size(i+1) == 1 {
		if right <= 0.5 {
			return t.mean(i + 1)
		}
		right -= 0.5
	}
	return average(t.mean(i), right, t.mean(i+1), left)
}

// average returns the mean of x1 and x2 with their weights, kept between them.
func average(x1, w1, x2, w2 float64) float64 {
	if !(x1 <= x2) {
		x1, w1, x2, w2 = x2, w2, x1, w1
	}
	y := (float64(x1*w1) + float64(x2*w2)) / (w1 + w2)
	if !(y < x2) {
		y = x2
	}
	if x1 > y {
		return x1
	}
	return y
}

// ByRank returns the estimated value of a rank: 0 is the smallest. It is +Inf
// for a rank that no value has, and NaN if there are no values or rank is
// negative. It compresses the digest unless the answer is known without.
func (t *TDigest) ByRank(rank int64) float64 {
	n := t.Observations()
	switch {
	case n == 0 || rank < 0:
		return math.NaN()
	case rank == 0:
		return t.min
	case rank >= n:
		return math.Inf(1)
	}
	return t.byRank(rank)
}

// ByRevRank is ByRank with ranks from the other end: 0 is the largest value. It
// is -Inf for a rank that no value has.
func (t *TDigest) ByRevRank(rank int64) float64 {
	n := t.Observations()
	switch {
	case n == 0 || rank < 0:
		return math.NaN()
	case rank == 0:
		return t.max
	case rank >= n:
		return math.Inf(-1)
	}
	return t.byRank(n - rank - 1)
}

func (t *TDigest) byRank(rank int64) float64 {
	t.Compress()
	n := float64(t.Observations())
	x := float64(float64(rank) / n * n)
	if x < 1 {
		return t.min
	}
	return t.at(x)
}

// Rank returns the estimated number of values below v, plus half of those equal
// to it: -1 if v is below all, the number of values if it is above all, -2 if
// there are none. It compresses the digest unless v is outside. RedisBloom has
// no answer for the only value of a digest and gives -9223372036854775808 on
// most machines; this is that number on all.
func (t *TDigest) Rank(v float64) int64 {
	n := t.Observations()
	switch {
	case n == 0:
		return -2
	case v < t.min:
		return -1
	case v > t.max:
		return n
	}
	x := float64(t.CDF(v) * float64(n))
	if x != x {
		return math.MinInt64
	}
	whole, part := math.Modf(x)
	if part > 0.5 {
		whole++
	}
	return atMost(whole, n)
}

// atMost returns x, which is not negative, as an integer of at most n: a float64
// of large numbers may be above it.
func atMost(x float64, n int64) int64 {
	if x >= float64(n) {
		return n
	}
	return int64(x)
}

// RevRank is Rank from the other end: the estimated number of values above v.
// It is -1 if v is above all and the number of values if it is below all.
func (t *TDigest) RevRank(v float64) int64 {
	n := t.Observations()
	switch {
	case n == 0:
		return -2
	case v < t.min:
		return n
	case v > t.max:
		return -1
	}
	x := float64(t.CDF(v) * float64(n))
	if x != x {
		return math.MinInt64
	}
	return n - atMost(math.Round(x), n)
}

// TrimmedMean returns the estimated mean of the values whose share of smaller
// ones is between low and high, 0 <= low < high <= 1. It compresses the digest.
// It is NaN for fewer than two values, as in RedisBloom, and if low and high
// are not in that order.
func (t *TDigest) TrimmedMean(low, high float64) float64 {
	t.Compress()
	if !(low >= 0 && low < high && high <= 1) || t.merged == 0 {
		return math.NaN()
	}
	if t.merged == 1 {
		return t.mean(0)
	}
	whole := float64(t.mergedSum)
	from, to := math.Floor(float64(whole*low)), math.Ceil(float64(whole*high))
	done, sum, count := 0.0, 0.0, 0.0
	for i := 0; i < t.merged && done < to; i++ {
		w := t.size(i)
		a := w - min(max(0, from-done), w)
		a = min(max(0, to-done), a)
		sum += float64(t.mean(i) * a)
		count += a
		done += w
	}
	return sum / count
}
