// Package figures reads numbers as people write them: 10M, 64KiB, 0.1%, 1 in
// 1000. It is the one parser for the command line and the page. k, M, G are
// powers of ten, Ki, Mi, Gi powers of two.
package figures

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// unitLetters are units by their first letter.
const unitLetters = "kmgtpe"

// Count reads a number of things below 2^63: 1000, 1e6, 10M, 1.5k, 1_000_000,
// 1,000,000.
func Count(s string) (uint64, error) {
	s = ungrouped(s)
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		return n, nil // all digits count
	}
	x, unit, err := split(s)
	if err != nil {
		return 0, fmt.Errorf("%w (1000, 1e6, 10M)", err)
	}
	factor, ok := scale(unit, "")
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit (1000, 1e6, 10M)", s)
	}
	return whole(x*factor, s)
}

// Rate reads a share of all, more than 0 and less than 1: 0.01, 1e-6, 0.1%,
// 1in1000, 1/1000.
func Rate(s string) (float64, error) {
	lower := strings.ReplaceAll(strings.ToLower(s), " ", "")
	for _, between := range []string{"in", "/"} {
		one, all, ok := strings.Cut(lower, between)
		if !ok {
			continue
		}
		x, err := Count(one)
		y, err2 := Count(all)
		if err != nil || err2 != nil {
			return 0, fmt.Errorf("%q is not a rate (0.01, 1e-6, 0.1%%, 1in1000)", s)
		}
		return rate(float64(x)/float64(y), s)
	}
	x, unit, err := split(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w (0.01, 1e-6, 0.1%%, 1in1000)", err)
	case unit == "%":
		x /= 100
	case unit != "":
		return 0, fmt.Errorf("%q has an unknown unit (0.01, 1e-6, 0.1%%, 1in1000)", s)
	}
	return rate(x, s)
}

func rate(p float64, s string) (float64, error) {
	if !(p > 0 && p < 1) {
		return 0, fmt.Errorf("rate %s is not between 0 and 1", s)
	}
	return p, nil
}

// Share reads a number from 0 on, which may be larger than 1: 0.5, 50%, 2.
func Share(s string) (float64, error) {
	x, unit, err := split(s)
	if unit == "%" {
		x, unit = x/100, ""
	}
	if err != nil || unit != "" || !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%q is not a number from 0 on (0.5, 50%%, 2)", s)
	}
	return x, nil
}

// Size reads an amount of memory in bytes: 65536, 64KiB, 64M, 1.5GB. As for the
// server, M is a million and MB and MiB are 2^20.
func Size(s string) (int64, error) {
	x, unit, err := split(s)
	if err != nil {
		return 0, fmt.Errorf("%w of bytes (65536, 64KiB, 2GB)", err)
	}
	if strings.HasSuffix(unit, "b") && len(unit) == 2 {
		unit = unit[:1] + "ib"
	}
	factor, ok := scale(unit, "b")
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit (65536, 64KiB, 2GB)", s)
	}
	n, err := whole(math.Floor(x*factor), s)
	return int64(n), err
}

// Bits reads the size of an array in bits: a plain number is bits, one with a
// unit of bytes is bytes.
func Bits(s string) (uint64, error) {
	lower := strings.ToLower(strings.TrimSpace(s))
	for _, suffix := range []string{"bits", "bit"} {
		if cut, ok := strings.CutSuffix(lower, suffix); ok {
			return Count(cut)
		}
	}
	if !strings.HasSuffix(lower, "b") {
		return Count(lower)
	}
	n, err := Size(lower)
	if err == nil && n > math.MaxInt64/8 {
		return 0, fmt.Errorf("%q is not a whole number of bits below 2^63", s)
	}
	return 8 * uint64(n), err
}

// groups is a number whose digits are grouped by commas, as this project prints
// them. 1,5 is not one: it would be 15 to some and 1.5 to others.
var groups = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+($|[^0-9,])`)

// ungrouped removes the commas between groups of three digits.
func ungrouped(s string) string {
	if !groups.MatchString(s) {
		return s
	}
	return strings.ReplaceAll(s, ",", "")
}

// split cuts a number into its figure and what stands behind it, in lower case.
func split(text string) (float64, string, error) {
	s := strings.ToLower(strings.ReplaceAll(ungrouped(strings.TrimSpace(text)), "_", ""))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	// An exponent is no unit. Of inf and nan no digits are left.
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, "", fmt.Errorf("%q is not a number", text)
	}
	return x, s[len(digits):], nil
}

// scale returns the factor of a unit: k, kb and ki, kib and so on; what follows
// the letter must be empty or tail.
func scale(unit, tail string) (float64, bool) {
	if unit == "" || unit == tail {
		return 1, true
	}
	power := strings.IndexByte(unitLetters, unit[0]) + 1
	rest := strings.TrimPrefix(unit[1:], "i")
	if power == 0 || rest != "" && rest != tail {
		return 0, false
	}
	base := 1000.0
	if strings.HasPrefix(unit[1:], "i") {
		base = 1024
	}
	return math.Pow(base, float64(power)), true
}

// whole turns a figure into a whole number that is exactly it.
func whole(x float64, s string) (uint64, error) {
	if x < 0 || x != math.Trunc(x) || x >= 1<<63 {
		return 0, fmt.Errorf("%q is not a whole number below 2^63", s)
	}
	return uint64(x), nil
}
