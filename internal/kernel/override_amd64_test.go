//go:build !purego && !race

package kernel

import "testing"

// tiers returns the names of the tiers that this CPU and GODEBUG allow.
func tiers() []string {
	all := []string{"go"}
	if hasAVX2 {
		all = append(all, "avx2")
	}
	if hasAVX512 {
		all = append(all, "avx512")
	}
	return all
}

// use makes the functions of the package run on a tier until the test ends.
func use(tb testing.TB, tier string) {
	tb.Helper()
	wide, narrow := hasAVX512, hasAVX2
	tb.Cleanup(func() { hasAVX512, hasAVX2 = wide, narrow })
	hasAVX512, hasAVX2 = tier == "avx512", tier == "avx2"
	if Tier() != tier {
		tb.Fatalf("Tier() = %q, want %q", Tier(), tier)
	}
}
