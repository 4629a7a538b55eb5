// Tests of numbers, sizes and rates as text.

package main

import (
	"math"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// Flags have units, and are as they were if what is given is no number.
func TestFlagsHaveUnits(t *testing.T) {
	var n int
	var d time.Duration
	var x float64
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	intVar(f, &n, "int", "n", 5, "")
	durationVar(f, &d, "time", time.Second, "")
	amountVar(f, &x, "amount", "")
	if n != 5 || d != time.Second || f.Lookup("amount").DefValue != "0" {
		t.Errorf("defaults: %d, %v, %s", n, d, f.Lookup("amount").DefValue)
	}
	for _, args := range [][]string{{"-n=10k", "--time=7d", "--amount=1.5k"}, {"-n=-1"}, {"-n=1e19"}, {"-n=1.5"}, {"--time=5"}, {"--time=-1s"}, {"--amount=nan"}} {
		if err := f.Parse(args); (err == nil) != (len(args) > 1) || n != 10_000 || d != 168*time.Hour || x != 1500 {
			t.Errorf("%q: %v, %d, %v, %v", args, err, n, d, x)
		}
	}
}

func TestTexts(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
	if got, want := bytesText(1_199_104), "1.144 MiB"; got != want {
		t.Errorf("bytesText = %s, want %s", got, want)
	}
	for p, want := range map[float64]string{
		0: "0", 0.75: "75%", 1: "100%", 0.001: "0.1% (1 in 1,000)", 1.0 / (1 << 20): "0.0000954% (1 in 1,048,576)",
		1e-9: "0.0000001% (1 in 1,000,000,000)", 3.2645e-15: "1 in 306 trillion", 1e-12: "1 in 1 trillion",
		1.1641532182693481e-10: "1 in 8.59 billion", 1e-17: "1 in 10^17", 2e-16: "1 in 10^16",
		9.999e-19: "less than 1 in 10^18", 1e-300: "less than 1 in 10^18",
	} {
		if got := rateText(p); got != want {
			t.Errorf("rateText(%v) = %s, want %s", p, got, want)
		}
	}
}
