// Package figures reads numbers as people write them: 10M, 64KiB, 0.1%, 1 in
// 1000, 1h30m. It is the one parser for the command line, the page, the FILTER
// commands, the HTTP API and the settings. k, M, G are powers of ten, Ki, Mi, Gi
// powers of two.
package figures

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What each kind of number looks like, for what refuses one.
const (
	LikeCount    = "1000, 1e6, 10M"
	LikeRate     = "0.01, 1e-6, 0.1%, 1in1000"
	LikeSize     = "65536, 64KiB, 2GB"
	LikeDuration = "90s, 10m, 1h30m, 7d"
)

// mostText is the longest text of a number: nothing longer is looked at.
const mostText = 64

// unitLetters are units by their first letter.
const unitLetters = "kmgtpe"

// Count reads a number of things below 2^63: 1000, 1e6, 10M, 1.5k, 1_000_000,
// 1,000,000.
func Count(s string) (uint64, error) {
	if n, err := strconv.ParseUint(s, 10, 63); err == nil && len(s) <= mostText {
		return n, nil // all digits count
	}
	f, err := split(s)
	if err != nil {
		return 0, fmt.Errorf("%w (%s)", err, LikeCount)
	}
	if n, err := strconv.ParseUint(f.digits, 10, 63); err == nil && f.unit == "" {
		return n, nil
	}
	x, ok := f.times("")
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit (%s)", s, LikeCount)
	}
	return whole(x, s, LikeCount)
}

// Percent reads a whole number of percent: 50 and 50% are the same.
func Percent(s string) (uint64, error) {
	return Count(strings.TrimSuffix(s, "%"))
}

// Rate reads a share of all, more than 0 and less than 1: 0.01, 1e-6, 0.1%,
// 1in1000, 1/1000.
func Rate(s string) (float64, error) {
	if len(s) > mostText {
		return 0, tooLong(s)
	}
	lower := strings.ReplaceAll(strings.ToLower(s), " ", "")
	for _, between := range []string{"in", "/"} {
		one, all, ok := strings.Cut(lower, between)
		if !ok {
			continue
		}
		x, err := Count(one)
		y, err2 := Count(all)
		if err != nil || err2 != nil {
			return 0, fmt.Errorf("%q is not a rate (%s)", s, LikeRate)
		}
		return rate(float64(x)/float64(y), s)
	}
	f, err := split(s)
	if err != nil {
		return 0, fmt.Errorf("%w (%s)", err, LikeRate)
	}
	x, ok := f.share()
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit (%s)", s, LikeRate)
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
	f, err := split(s)
	x, ok := f.share()
	if err != nil || !ok || !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%q is not a number from 0 on (0.5, 50%%, 2)", clipped(s))
	}
	return x, nil
}

// Amount reads a number from 0 on, whole or not: 0.5, 12.5, 1k.
func Amount(s string) (float64, error) {
	f, err := split(s)
	x, ok := f.times("")
	if err != nil || !ok || !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%q is not a number from 0 on (0.5, 12, 1k)", clipped(s))
	}
	return x, nil
}

// Size reads an amount of memory in bytes: 65536, 64KiB, 64M, 1.5GB. As for the
// server, M is a million and MB and MiB are 2^20.
func Size(s string) (int64, error) {
	f, err := split(s)
	if err != nil {
		return 0, fmt.Errorf("%w of bytes (%s)", err, LikeSize)
	}
	if n, err := strconv.ParseInt(f.digits, 10, 64); err == nil && n >= 0 && f.unit == "" {
		return n, nil
	}
	if strings.HasSuffix(f.unit, "b") && len(f.unit) == 2 {
		f.unit = f.unit[:1] + "ib"
	}
	x, ok := f.times("b")
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit (%s)", s, LikeSize)
	}
	n, err := whole(math.Floor(x), s, LikeSize)
	return int64(n), err
}

// days are those in front of a duration.
var days = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)d`)

// Duration reads a time of at least 0: 90s, 10m, 1h30m, 7d, 1d12h. A day has 24
// hours. A number without a unit is none, but for 0.
func Duration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration (%s)", clipped(s), LikeDuration)
	if len(s) > mostText {
		return 0, bad
	}
	rest, sum := strings.ToLower(strings.TrimSpace(s)), time.Duration(0)
	if m := days.FindStringSubmatch(rest); m != nil {
		x, err := strconv.ParseFloat(m[1], 64)
		if x *= float64(24 * time.Hour); err != nil || x >= math.MaxInt64 {
			return 0, bad
		}
		if rest, sum = rest[len(m[0]):], time.Duration(x); rest == "" {
			return sum, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || strings.HasPrefix(rest, "-") || sum > math.MaxInt64-d {
		return 0, bad
	}
	return sum + d, nil
}

// Bits reads the size of an array in bits: a plain number is bits, one with a
// unit of bytes is bytes.
func Bits(s string) (uint64, error) {
	if len(s) > mostText {
		return 0, tooLong(s)
	}
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

// plain is a figure without its unit: decimal, not hexadecimal, infinite or nan.
var plain = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,6})?$`)

// figure is a number as it was written, in lower case.
type figure struct {
	digits string // which ParseFloat reads
	unit   string
}

// split cuts a number into its figure and what stands behind it.
func split(text string) (figure, error) {
	if len(text) > mostText {
		return figure{}, tooLong(text)
	}
	s := strings.ToLower(strings.ReplaceAll(ungrouped(strings.TrimSpace(text)), "_", ""))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	if !plain.MatchString(digits) { // an exponent is no unit
		return figure{}, fmt.Errorf("%q is not a number", text)
	}
	return figure{digits, s[len(digits):]}, nil
}

func tooLong(text string) error {
	return fmt.Errorf("%q and so on is too long for a number", clipped(text))
}

// clipped returns the beginning of a text, for a message.
func clipped(text string) string { return text[:min(len(text), mostText)] }

// tens returns the figure times a power of ten, rounded once: 1.001k is 1001. It is
// infinite if it is too large.
func (f figure) tens(power int) float64 {
	digits, exponent, _ := strings.Cut(f.digits, "e")
	n, _ := strconv.Atoi(exponent) // of at most six digits, or none
	x, _ := strconv.ParseFloat(digits+"e"+strconv.Itoa(n+power), 64)
	if x == 0 && strings.ContainsAny(digits, "123456789") {
		return math.NaN() // it is not 0, and too small to be told from it
	}
	return x
}

// share returns a figure that may be in percent. It reports false for another unit.
func (f figure) share() (float64, bool) {
	if f.unit == "%" {
		return f.tens(-2), true
	}
	return f.tens(0), f.unit == ""
}

// times returns a figure times its unit: k, kb and ki, kib and so on; what follows the
// letter must be empty or tail. It reports false for another unit.
func (f figure) times(tail string) (float64, bool) {
	if f.unit == "" || f.unit == tail {
		return f.tens(0), true
	}
	power := strings.IndexByte(unitLetters, f.unit[0]) + 1
	rest, binary := strings.CutPrefix(f.unit[1:], "i")
	switch {
	case power == 0 || rest != "" && rest != tail:
		return 0, false
	case binary:
		return math.Ldexp(f.tens(0), 10*power), true
	}
	return f.tens(3 * power), true
}

// whole turns a figure into a whole number that is exactly it.
func whole(x float64, s, like string) (uint64, error) {
	if x < 0 || x != math.Trunc(x) || x >= 1<<63 {
		return 0, fmt.Errorf("%q is not a whole number below 2^63 (%s)", s, like)
	}
	return uint64(x), nil
}
