package resp_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/bloomery/bloomery/internal/resp"
)

// TestFormatDouble has numbers as Redis writes them.
func TestFormatDouble(t *testing.T) {
	for want, v := range map[string]float64{
		"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1), "0": 0, "-0": math.Copysign(0, -1),
		"1": 1, "-3": -3, "4611686018427387904": 1 << 62, "12345678901234567000": 12345678901234567000, "6917529027641082000": 3 << 61,
		"0.1": 0.1, "-0.25": -0.25, "0.0001": 0.0001, "1.23456789e-4": 0.000123456789, "9.3e+18": 9.3e18,
		"4.8940362259880406": 4.894036225988041, "1e-7": 1e-7, "5e-324": 5e-324, "1.7976931348623157e+308": math.MaxFloat64,
		"12.5": 12.5, "1e+30": 1e30, "0.000001": 0.000001, "3.14": 3.14,
	} {
		if got := string(resp.FormatDouble(nil, v)); got != want {
			t.Errorf("FormatDouble(%v) = %s, want %s", v, got, want)
		}
	}
}

// TestDoublesComeBack reads random numbers back: they are the same, and have at
// most one digit more than need be.
func TestDoublesComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	longer := 0
	const n = 100_000
	for i := range n {
		v := math.Float64frombits(rng.Uint64())
		if i%2 == 0 {
			v = rng.Float64() * 100
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		got := string(resp.FormatDouble(nil, v))
		if back, err := strconv.ParseFloat(got, 64); err != nil || back != v {
			t.Fatalf("%v is written as %s", v, got)
		}
		if got != string(resp.FormatDouble(nil, math.Abs(v))) && got != "-"+string(resp.FormatDouble(nil, math.Abs(v))) {
			t.Fatalf("%v and its absolute value have other digits", v)
		}
		if v != math.Trunc(v) && digits(got) > digits(strconv.FormatFloat(v, 'e', -1, 64)) {
			longer++
		}
	}
	// The neighbours of a power of two are not at the same distance.
	for e := -1074; e < 1024; e++ {
		v := math.Ldexp(1, e)
		got := string(resp.FormatDouble(nil, v))
		if back, err := strconv.ParseFloat(got, 64); err != nil || back != v {
			t.Errorf("2^%d is written as %s", e, got)
		}
	}
	// About 1 in 1,000 (Loitsch): 5 standard deviations.
	if longer > n/1000+50 {
		t.Errorf("%d of %d have more digits than the fewest", longer, n)
	}
}

// digits returns the number of digits of a number without zeros at both ends.
func digits(s string) int {
	n, zeros := 0, 0
	for _, c := range s {
		if c == 'e' {
			break
		}
		switch {
		case c == '0' && n > 0:
			zeros++
		case c > '0' && c <= '9':
			n += zeros + 1
			zeros = 0
		}
	}
	return n
}

func TestDoubleAllocs(t *testing.T) {
	b := make([]byte, 0, 64)
	if got := testing.AllocsPerRun(100, func() { b = resp.AppendDouble(b[:0], resp.RESP3, 0.123456789) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkFormatDouble(b *testing.B) {
	var buf []byte
	for b.Loop() {
		buf = resp.FormatDouble(buf[:0], 123.4567)
	}
}
