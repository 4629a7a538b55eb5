//go:build !amd64 || purego || race

package kernel

import "testing"

func tiers() []string { return []string{"go"} }

func use(t testing.TB, tier string) {
	if Tier() != tier {
		t.Fatalf("Tier() = %q, want %q", Tier(), tier)
	}
}
