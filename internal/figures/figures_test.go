package figures_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/figures"
)

func TestCount(t *testing.T) {
	for s, want := range map[string]uint64{
		"0": 0, "1000": 1000, "1e6": 1_000_000, "9e18": 9_000_000_000_000_000_000, "1E6": 1_000_000, "10M": 10_000_000, "1.5k": 1500, "1_000": 1000,
		"2Ki": 2048, "0.5k": 500, "1.001k": 1001, "4.35k": 4350, "1.000001M": 1_000_001, "1e3k": 1_000_000, "10e-1": 1, "3G": 3_000_000_000, "9007199254740993": 9007199254740993,
		"1,000": 1000, "12,345,678": 12_345_678, "9,007,199,254,740,993": 9007199254740993, "9223372036854775807": math.MaxInt64, "1,000k": 1_000_000,
	} {
		if got, err := figures.Count(s); err != nil || got != want {
			t.Errorf("Count(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "1.5", "many", "1e30", "10MB", "1in10", "inf", "nan", "10x", "k", "1,5", "1,00", "1,0000", ",100", "1,000,00", "1,000,", "9223372036854775808", "8Ei", "10E",
		"0x10", "0x1p4", "1e400", "1e-400", "1e9999999", "1 M", "1.0001k", "50%", "1.2.3", "--1", strings.Repeat("1", 65), strings.Repeat("0", 64) + "1", "0." + strings.Repeat("1", 1<<20)} {
		if got, err := figures.Count(s); err == nil || got != 0 {
			t.Errorf("Count(%q) = %d, %v, want 0 and an error", s, got, err)
		}
	}
}

func TestRate(t *testing.T) {
	for s, want := range map[string]float64{
		"0.01": 0.01, "1e-6": 1e-6, "1%": 0.01, "0.1%": 0.001, "1in1000": 0.001, "1 in 1000": 0.001, "1/1e6": 1e-6, "1in1M": 1e-6, "3in1000": 0.003,
		"0.3%": 0.003, "7e-1%": 0.007,
	} {
		if got, err := figures.Rate(s); err != nil || got != want {
			t.Errorf("Rate(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0", "1", "100%", "-0.1", "nan", "inf", "1in0", "in5", "0.01k", "x", "1/x", "x/2", "0x1p-4", "1e400", "1e-400", "1e-400%", "1e5%",
		strings.Repeat("1/", 1<<20)} {
		if got, err := figures.Rate(s); err == nil || got != 0 {
			t.Errorf("Rate(%q) = %v, %v, want 0 and an error", s, got, err)
		}
	}
}

func TestSizes(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "65536": 65536, "64KiB": 65536, "64kb": 65536, "64K": 64000, "64M": 64_000_000, "64MiB": 64 << 20, "1.5GiB": 3 << 29, "10b": 10, "1e6": 1_000_000, "9007199254740993": 9007199254740993, "1.1KiB": 1126,
	} {
		if got, err := figures.Size(s); err != nil || got != want {
			t.Errorf("Size(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for s, want := range map[string]uint64{
		"9585059": 9585059, "10M": 10_000_000, "64KiB": 8 * 65536, "1e6bits": 1_000_000, "1kbit": 1000, "8B": 64, "1.1e18B": 8_800_000_000_000_000_000,
	} {
		if got, err := figures.Bits(s); err != nil || got != want {
			t.Errorf("Bits(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "1e40", "1.2e18B", "2EiB", "5x", "5xb", "MiB"} {
		if got, err := figures.Bits(s); err == nil || got != 0 {
			t.Errorf("Bits(%q) = %v, %v, want 0 and an error", s, got, err)
		}
	}
	for _, s := range []string{"", "-1", "1e40", "8EiB", "5x", "5xb", "MiB"} {
		if got, err := figures.Size(s); err == nil || got != 0 {
			t.Errorf("Size(%q) = %v, %v, want 0 and an error", s, got, err)
		}
	}
}

func TestAmount(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "0.5": 0.5, "12.5": 12.5, "1.5k": 1500, "1e6": 1e6, "2Ki": 2048} {
		if got, err := figures.Amount(s); err != nil || got != want {
			t.Errorf("Amount(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "nan", "inf", "1e400", "50%", "0x10", "half"} {
		if got, err := figures.Amount(s); err == nil || got != 0 {
			t.Errorf("Amount(%q) = %v, %v, want 0 and an error", s, got, err)
		}
	}
}

func TestShare(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "0.5": 0.5, "50%": 0.5, "2": 2, "250%": 2.5} {
		if got, err := figures.Share(s); err != nil || got != want {
			t.Errorf("Share(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-1", "nan", "inf", "1k", "half"} {
		if got, err := figures.Share(s); err == nil || got != 0 {
			t.Errorf("Share(%q) = %v, %v, want 0 and an error", s, got, err)
		}
	}
}

func TestDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond,
		"7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "3650d": 87600 * time.Hour,
	} {
		if got, err := figures.Duration(s); err != nil || got != want {
			t.Errorf("Duration(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "10", "-1s", "-0s", "1d-1h", "nan", "inf", "infs", "1e400h", "0x10s", "1 h", "106751d23h59m", "106752d", "999999999999h", "d", "1w", strings.Repeat("1", 65) + "d"} {
		if got, err := figures.Duration(s); err == nil || got != 0 {
			t.Errorf("Duration(%q) = %v, %v, want 0 and an error", s, got, err)
		}
	}
}

// Errors repeat what was typed, and show what would do.
func TestErrorsRepeatTheInput(t *testing.T) {
	for s, want := range map[string]string{
		"Inf":   `"Inf" is not a rate (0.01, 1e-6, 0.1%, 1in1000)`,
		"1 / X": `"1 / X" is not a rate (0.01, 1e-6, 0.1%, 1in1000)`,
		"NaN":   `"NaN" is not a number (0.01, 1e-6, 0.1%, 1in1000)`,
	} {
		if _, err := figures.Rate(s); err == nil || err.Error() != want {
			t.Errorf("Rate(%q): %v, want %s", s, err, want)
		}
	}
	if _, err := figures.Count("MANY"); err == nil || err.Error() != `"MANY" is not a number (1000, 1e6, 10M)` {
		t.Errorf("Count: %v", err)
	}
}

// TestReadKey reads a key as it is and as digits, and shows none of it in errors.
func TestReadKey(t *testing.T) {
	const digits = "00112233445566778899aabbccddeeff"
	raw := "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	for text, want := range map[string]string{
		raw: raw, digits: raw, digits + "\n": raw, strings.ToUpper(digits) + "\r\n": raw, "0123456789abcde\n": "0123456789abcde\n",
		"": "", raw + "\n": "", digits[1:]: "", digits + "\n\n": "", " " + digits: "", digits[1:] + "g": "", digits + digits: "", "0123456789abcdef": "0123456789abcdef",
	} {
		key, err := figures.ReadKey("k", strings.NewReader(text), 16)
		if string(key) != want || (err == nil) != (want != "") || err != nil && err.Error() != "k has neither 16 bytes nor 32 hexadecimal digits" {
			t.Errorf("%q: %q, %v", text, key, err)
		}
	}
}
