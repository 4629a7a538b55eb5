//go:build !amd64 || purego || race

package kernel

import "testing"

func tiers() []string { return []string{"go"} }

func use(tb testing.TB, tier string) {
	tb.Helper()
	if Tier() != tier {
		tb.Fatalf("Tier() = %q, want %q", Tier(), tier)
	}
}
