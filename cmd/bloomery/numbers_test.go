package main

import (
	"math"
	"testing"
)

func TestParseCount(t *testing.T) {
	for s, want := range map[string]uint64{
		"0": 0, "1000": 1000, "1e6": 1_000_000, "1E6": 1_000_000, "10M": 10_000_000, "1.5k": 1500, "1_000": 1000,
		"2Ki": 2048, "3G": 3_000_000_000, "9007199254740993": 9007199254740993,
	} {
		if got, err := parseCount(s); err != nil || got != want {
			t.Errorf("parseCount(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "1.5", "many", "1e30", "10MB", "1in10", "inf", "nan", "10x", "k"} {
		if got, err := parseCount(s); err == nil {
			t.Errorf("parseCount(%q) = %d, want an error", s, got)
		}
	}
}

func TestParseRate(t *testing.T) {
	for s, want := range map[string]float64{
		"0.01": 0.01, "1e-6": 1e-6, "1%": 0.01, "0.1%": 0.001, "1in1000": 0.001, "1 in 1000": 0.001, "1/1e6": 1e-6, "1in1M": 1e-6, "3in1000": 0.003,
	} {
		if got, err := parseRate(s); err != nil || math.Abs(got-want) > 1e-15 {
			t.Errorf("parseRate(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0", "1", "100%", "-0.1", "nan", "inf", "1in0", "in5", "0.01k", "x"} {
		if got, err := parseRate(s); err == nil {
			t.Errorf("parseRate(%q) = %v, want an error", s, got)
		}
	}
}

func TestParseSizes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "65536": 65536, "64KiB": 65536, "64kb": 65536, "64K": 64000, "64M": 64_000_000, "64MiB": 64 << 20, "1.5GiB": 3 << 29, "10b": 10, "1e6": 1_000_000,
	} {
		if got, err := parseSize(s); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for s, want := range map[string]uint64{
		"9585059": 9585059, "10M": 10_000_000, "64KiB": 8 * 65536, "1e6bits": 1_000_000, "1kbit": 1000, "8B": 64,
	} {
		if got, err := parseBits(s); err != nil || got != want {
			t.Errorf("parseBits(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "1e40", "2EiB", "5x", "MiB"} {
		if got, err := parseBits(s); err == nil {
			t.Errorf("parseBits(%q) = %v, want an error", s, got)
		}
	}
}

func TestTexts(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
	if got, want := bytesText(1_199_104), "1.199 MB"; got != want {
		t.Errorf("bytesText = %s, want %s", got, want)
	}
	for p, want := range map[float64]string{
		0: "0", 1: "100% (1 in 1)", 0.001: "0.1% (1 in 1,000)", 1.0 / (1 << 20): "0.0000954% (1 in 1,048,576)",
		1e-9: "0.0000001% (1 in 1,000,000,000)", 3.2645e-15: "1 in 306,000,000,000,000", 1e-12: "1 in 1,000,000,000,000",
		9.999e-19: "less than 1 in 10^18", 1e-300: "less than 1 in 10^18",
	} {
		if got := rateText(p); got != want {
			t.Errorf("rateText(%v) = %s, want %s", p, got, want)
		}
	}
}
