package answer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/session"
)

// TestNumbers reads and writes numbers as Redis does.
func TestNumbers(t *testing.T) {
	for _, s := range []string{"0", "1", "-1", "9223372036854775807", "-9223372036854775808", "100"} {
		if v, ok := answer.ParseInt([]byte(s)); !ok || fmt.Sprint(v) != s {
			t.Errorf("ParseInt(%q) = %d, %t", s, v, ok)
		}
	}
	for _, s := range []string{
		"", "-", "+1", " 1", "1 ", "01", "-0", "00", "1e3", "1.0", "0x10", "9223372036854775808", "-9223372036854775809", "99999999999999999999",
	} {
		if v, ok := answer.ParseInt([]byte(s)); ok {
			t.Errorf("ParseInt(%q) = %d", s, v)
		}
	}
	for s, want := range map[string]float64{
		"0": 0, "0.0": 0, "0e9": 0, "0x0": 0, "1": 1, "+1": 1, "-2.5": -2.5, ".5": 0.5, "1e-3": 1e-3, "0x10": 16, "0x.8p1": 1, "inf": math.Inf(1),
	} {
		if v, ok := answer.ParseFloat([]byte(s)); !ok || v != want {
			t.Errorf("ParseFloat(%q) = %v, %t, want %v", s, v, ok, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		s := strconv.FormatFloat(rng.NormFloat64()*math.Pow(10, float64(rng.IntN(20))), 'f', rng.IntN(12), 64)
		want, _ := strconv.ParseFloat(s, 64)
		if v, ok := answer.ParseFloat([]byte(s)); !ok || math.Float64bits(v) != math.Float64bits(want) {
			t.Fatalf("ParseFloat(%q) = %v, %t, want %v", s, v, ok, want)
		}
	}
	for _, s := range []string{".", "-", "-.", "1.2.3", "--1", "1-"} {
		if v, ok := answer.ParseFloat([]byte(s)); ok {
			t.Errorf("ParseFloat(%q) = %v", s, v)
		}
	}
	for _, s := range []string{"", "nan", "1_0", "+-1", "x", "1e-999", "1e999", "0x1p-9999", "1 "} {
		if v, ok := answer.ParseFloat([]byte(s)); ok {
			t.Errorf("ParseFloat(%q) = %v", s, v)
		}
	}
	for v, want := range map[float64]string{
		0.01: "0.01", 1: "1", 100000: "100000", 1e6: "1e+06", 1234567: "1.23457e+06", 0.0001: "0.0001", 0.00001: "1e-05", 1e-300: "1e-300", 0.25: "0.25",
	} {
		if got := answer.FormatG(v); got != want {
			t.Errorf("FormatG(%v) = %s, want %s", v, got, want)
		}
	}
	for _, tt := range []struct {
		n, scale, base, want int64
		ok                   bool
	}{
		{5, 1000, 7, 5007, true},
		{-7, 1, 7, -1, true},
		{math.MaxInt64, 1000, 0, 0, false},
		{math.MinInt64, 1000, 0, 0, false},
		{math.MaxInt64, 1, 1, 0, false},
		{math.MaxInt64, 1, 0, math.MaxInt64, true},
	} {
		if got, ok := answer.DeadlineOf(tt.n, tt.scale, tt.base); ok != tt.ok || ok && got != tt.want {
			t.Errorf("DeadlineOf(%d, %d, %d) = %d, %t", tt.n, tt.scale, tt.base, got, ok)
		}
	}
}

// TestNumbersAtTheirEnds reads and writes numbers that are just right, and just wrong.
func TestNumbersAtTheirEnds(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-1", -1, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false},
		{"+5", 0, false},
		{"05", 0, false},
		{" 5", 0, false},
		{"5 ", 0, false},
		{"1.5", 0, false},
		{"", 0, false},
		{"-", 0, false},
		{"-0", 0, false},
		{"99999999999999999999", 0, false},
	} {
		if got, ok := answer.ParseInt([]byte(tt.in)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseInt(%q) = %d, %t, want %d, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	for _, tt := range []struct {
		in   string
		want float64
		ok   bool
	}{
		{"0.01", 0.01, true},
		{"1e-2", 0.01, true},
		{".5", 0.5, true},
		{"+.5", 0.5, true},
		{"0x1p-4", 0.0625, true},
		{"0x10", 16, true},
		{"inf", math.Inf(1), true},
		{"-Infinity", math.Inf(-1), true},
		{"0e5", 0, true},
		{"0x0p3", 0, true},
		{"nan", 0, false},
		{"1e-400", 0, false},
		{"1e400", 0, false},
		{" 1", 0, false},
		{"1 ", 0, false},
		{"", 0, false},
		{"1_0", 0, false},
		{"0x_1p0", 0, false},
		{"--1", 0, false},
		{"x", 0, false},
	} {
		if got, ok := answer.ParseFloat([]byte(tt.in)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseFloat(%q) = %v, %t, want %v, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	for in, want := range map[float64]string{
		0.005: "0.005", 0.00125: "0.00125", 1e-5: "1e-05", 1.5e-300: "1.5e-300", 0.0001: "0.0001", 0.000078125: "7.8125e-05",
		0.25: "0.25", 1: "1", 123456789: "1.23457e+08", 0.1234567: "0.123457",
	} {
		if got := answer.FormatG(in); got != want {
			t.Errorf("formatG(%v) = %s, want %s", in, got, want)
		}
	}
}

// TestDefaultsAreChecked asks that every parameter is checked, at both ends of its
// range, and that the error names it.
func TestDefaultsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set      func(*session.Defaults, int64)
		good, no []int64
	}{
		{"bf-initial-size", func(d *session.Defaults, v int64) { d.BloomCapacity = v }, []int64{1, 1 << 30}, []int64{0, -1, 1<<30 + 1}},
		{"bf-expansion-factor", func(d *session.Defaults, v int64) { d.BloomExpansion = v }, []int64{0, 32768}, []int64{-1, 32769}},
		{"cf-bucket-size", func(d *session.Defaults, v int64) { d.CuckooBucket = v }, []int64{1, 255}, []int64{0, 256}},
		{"cf-initial-size", func(d *session.Defaults, v int64) { d.CuckooCapacity = v }, []int64{4, 1 << 30}, []int64{3, 1<<30 + 1}},
		{"cf-max-iterations", func(d *session.Defaults, v int64) { d.CuckooKicks = v }, []int64{1, 65535}, []int64{0, 65536}},
		{"cf-expansion-factor", func(d *session.Defaults, v int64) { d.CuckooExpansion = v }, []int64{0, 32768}, []int64{-1, 32769}},
		{"cf-max-expansions", func(d *session.Defaults, v int64) { d.CuckooMost = v }, []int64{1, 65536}, []int64{0, 65537}},
	} {
		for _, v := range tt.good {
			d := session.RedisBloomDefaults()
			tt.set(&d, v)
			if err := d.Check(); err != nil {
				t.Errorf("%s %d: %v", tt.name, v, err)
			}
		}
		for _, v := range tt.no {
			d := session.RedisBloomDefaults()
			tt.set(&d, v)
			if err := d.Check(); err == nil || !strings.Contains(err.Error(), tt.name+":") {
				t.Errorf("%s %d: %v", tt.name, v, err)
			}
		}
	}
	for _, v := range []float64{0, 1, -0.1, math.NaN(), math.Inf(1)} {
		d := session.RedisBloomDefaults()
		d.BloomError = v
		if d.Check() == nil {
			t.Errorf("bf-error-rate %v is taken", v)
		}
	}
	s := session.NewSettings(session.RedisBloomDefaults(), "")
	s.Change(func(next *session.Defaults) bool { next.CuckooMost = 3; return false })
	if s.MaxExpansions() != 32 {
		t.Error("a change that was given up is in force")
	}
	s.Change(func(next *session.Defaults) bool { next.CuckooMost, next.BloomCapacity = 3, 7; return true })
	if s.MaxExpansions() != 3 || s.Bloom().Capacity != 7 || s.Defaults().BloomCapacity != 7 {
		t.Error("a change is not in force")
	}
}
