package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Units of numbers, by their first letter.
const unitLetters = "kmgtpe"

// splitUnit cuts a number into its figure and what stands behind it, in lower
// case.
func splitUnit(s string) (float64, string, error) {
	s = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "_", ""))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	// An exponent is no unit, nor are inf and nan numbers.
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, "", fmt.Errorf("%q is no number", s)
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
		return 0, fmt.Errorf("%q is no whole number below 2^63", s)
	}
	return uint64(x), nil
}

// parseCount reads a number of things: 1000, 1e6, 10M, 1.5k, 1_000_000.
func parseCount(s string) (uint64, error) {
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		return n, nil // all digits count
	}
	x, unit, err := splitUnit(s)
	if err != nil {
		return 0, fmt.Errorf("%w (1000, 1e6, 10M)", err)
	}
	factor, ok := scale(unit, "")
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit (1000, 1e6, 10M)", s)
	}
	return whole(x*factor, s)
}

// parseRate reads a share of all: 0.01, 1e-6, 0.1%, 1in1000, 1/1000.
func parseRate(s string) (float64, error) {
	lower := strings.ReplaceAll(strings.ToLower(s), " ", "")
	for _, between := range []string{"in", "/"} {
		one, all, ok := strings.Cut(lower, between)
		if !ok {
			continue
		}
		x, err := parseCount(one)
		if err != nil {
			return 0, err
		}
		y, err := parseCount(all)
		if err != nil {
			return 0, err
		}
		return rate(float64(x)/float64(y), s)
	}
	x, unit, err := splitUnit(s)
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

// parseShare reads a number from 0 on, which may be larger than 1: 0.5, 50%, 2.
func parseShare(s string) (float64, error) {
	x, unit, err := splitUnit(s)
	if unit == "%" {
		x, unit = x/100, ""
	}
	if err != nil || unit != "" || !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%q is no number from 0 on (0.5, 50%%, 2)", s)
	}
	return x, nil
}

// parseSize reads an amount of memory in bytes: 65536, 64KiB, 64M, 1.5GB. As
// for the server, M is a million and MB and MiB are 2^20.
func parseSize(s string) (int64, error) {
	x, unit, err := splitUnit(s)
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

// parseBits reads the size of an array: a plain number is bits, one with a unit
// of bytes is bytes.
func parseBits(s string) (uint64, error) {
	lower := strings.ToLower(strings.TrimSpace(s))
	for _, suffix := range []string{"bits", "bit"} {
		if cut, ok := strings.CutSuffix(lower, suffix); ok {
			return parseCount(cut)
		}
	}
	if !strings.HasSuffix(lower, "b") {
		return parseCount(lower)
	}
	n, err := parseSize(lower)
	if err == nil && n > math.MaxInt64/8 {
		return 0, fmt.Errorf("%q is no whole number of bits below 2^63", s)
	}
	return 8 * uint64(n), err
}

// number is a flag that is read by one of the functions above.
type number[T int64 | uint64 | float64] struct {
	value T
	text  string // as it was given, or the default
	kind  string
	parse func(string) (T, error)
}

var _ pflag.Value = (*number[uint64])(nil)

// Set implements pflag.Value.
func (v *number[T]) Set(s string) error {
	x, err := v.parse(s)
	if err != nil {
		return err
	}
	v.value, v.text = x, s
	return nil
}

// String implements pflag.Value.
func (v *number[T]) String() string { return v.text }

// Type implements pflag.Value.
func (v *number[T]) Type() string { return v.kind }

// countFlag is a flag for a number of things, at least 1, without a default.
func countFlag() number[uint64] { return newNumber("N", "", atLeastOne(parseCount)) }

// rateFlag is a flag for an error rate; the default may be empty.
func rateFlag(text string) number[float64] { return newNumber("P", text, parseRate) }

// shareFlag is a flag for a number from 0 on.
func shareFlag(text string) number[float64] { return newNumber("X", text, parseShare) }

// sizeFlag is a flag for an amount of memory, at least 1 byte.
func sizeFlag(text string) number[int64] { return newNumber("SIZE", text, atLeastOne(parseSize)) }

// randomSeed asks for a seed that nobody can guess beforehand.
const randomSeed = "random"

// seedFlag is a flag for the seed of a hash.
func seedFlag() number[uint64] {
	return newNumber("S", "", func(s string) (uint64, error) {
		if s == randomSeed {
			return rand.Uint64(), nil
		}
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no whole number from 0 to 2^64-1, and not random", s)
		}
		return n, nil
	})
}

// atLeastOne makes a function refuse 0, which would mean nothing, or something
// else than it says.
func atLeastOne[T int64 | uint64](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		n, err := parse(s)
		if err == nil && n < 1 {
			return 0, errors.New("must be at least 1")
		}
		return n, err
	}
}

func newNumber[T int64 | uint64 | float64](kind, text string, parse func(string) (T, error)) number[T] {
	v := number[T]{kind: kind, parse: parse}
	if text == "" {
		return v
	}
	if err := v.Set(text); err != nil {
		panic("bloomery: a default is wrong: " + err.Error()) // written in the program
	}
	return v
}
