package answer

// Numbers as Redis reads and writes them.

import (
	"math"
	"strconv"
	"strings"
)

// ParseInt reads a signed 64-bit decimal as strictly as Redis does: no blanks,
// no plus sign, no leading zero, no "-0".
func ParseInt(arg []byte) (int64, bool) {
	digits := arg
	negative := len(arg) > 0 && arg[0] == '-'
	if negative {
		digits = arg[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(arg) == 1
	}
	var v uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0') // 19 digits fit into 64 bits
	}
	if negative {
		return -int64(v), v <= 1<<63
	}
	return int64(v), v <= math.MaxInt64
}

// ParseFloat reads a number as C's strtod does, over the whole argument. "nan"
// is refused, and so is a number that is not 0 and too small, or too large, to
// be told from 0 or infinity; "inf" is a number.
func ParseFloat(arg []byte) (float64, bool) {
	if v, ok := parsePlain(arg); ok {
		return v, true
	}
	s := string(arg)
	if s == "" || strings.ContainsRune(s, '_') {
		return 0, false
	}
	unsigned := strings.ToLower(strings.TrimLeft(s, "+-"))
	if len(s)-len(unsigned) > 1 {
		return 0, false
	}
	if strings.HasPrefix(unsigned, "0x") && !strings.Contains(unsigned, "p") {
		s += "p0" // C does not ask for an exponent
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) {
		return 0, false
	}
	if v == 0 && !isZero(unsigned) {
		return 0, false
	}
	return v, true
}

// tens are the powers of ten that a float64 holds exactly and parsePlain needs.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parsePlain reads what most numbers are: at most 15 digits, perhaps with a sign and
// a point. Their digits and the power of ten below them are exact, so that the
// quotient is rounded once, as it should be. It reports false if it does not know.
func parsePlain(arg []byte) (float64, bool) {
	digits := arg
	if len(arg) > 0 && arg[0] == '-' {
		digits = arg[1:]
	}
	if len(digits) == 0 || len(digits) > len(tens) {
		return 0, false
	}
	n, point := uint64(0), -1
	for i, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			n = n*10 + uint64(c-'0')
		case c == '.' && point < 0 && len(digits) > 1:
			point = i
		default:
			return 0, false
		}
	}
	if point < 0 && len(digits) == len(tens) {
		return 0, false // a digit too many
	}
	v := float64(n)
	if point >= 0 {
		v /= tens[len(digits)-1-point]
	}
	if len(digits) < len(arg) {
		v = -v
	}
	return v, true
}

// isZero reports whether the digits of a number are all zeros.
func isZero(unsigned string) bool {
	exponent := "e"
	if hex, ok := strings.CutPrefix(unsigned, "0x"); ok {
		unsigned, exponent = hex, "p"
	}
	mantissa, _, _ := strings.Cut(unsigned, exponent)
	return strings.Trim(mantissa, "0.") == ""
}

// FormatG formats v as C's %g does.
func FormatG(v float64) string {
	const digits = 6
	s := strconv.FormatFloat(v, 'e', digits-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	x, _ := strconv.Atoi(exponent)
	if x >= -4 && x < digits {
		s = strconv.FormatFloat(v, 'f', digits-1-x, 64)
		return trimZeros(s)
	}
	sign := "+"
	if x < 0 {
		sign, x = "-", -x
	}
	exponent = strconv.Itoa(x)
	if x < 10 {
		exponent = "0" + exponent
	}
	return trimZeros(mantissa) + "e" + sign + exponent
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// DeadlineOf returns base + n·scale in milliseconds, and false if that is no time
// in 64 bits.
func DeadlineOf(n, scale, base int64) (int64, bool) {
	if n > math.MaxInt64/scale || n < math.MinInt64/scale {
		return 0, false
	}
	n *= scale
	if n > 0 && base > math.MaxInt64-n {
		return 0, false
	}
	if n += base; n == 0 {
		n = -1 // 0 means no deadline; 1970 is long past either way
	}
	return n, true
}
