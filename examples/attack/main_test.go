package main

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/hashing"
)

// Each attack succeeds against a public seed and fails against a secret key.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics are done once, without -short")
	}
	secret := hashing.Keyed([16]byte{1, 2, 3})
	for name, c := range map[string]struct {
		attack         func(hashing.Hasher) (result, error)
		atLeast, below float64
	}{
		"pollute": {pollute, 3 * rate, 1.5 * rate},
		"aim":     {aim, 0.95, 0.05},
		"flood":   {flood, 1, 3 * rate},
		"remove":  {remove, 0.2, 0.02},
	} {
		public, err := c.attack(hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		keyed, err := c.attack(secret)
		if err != nil {
			t.Fatal(err)
		}
		if public.share < c.atLeast || keyed.share >= c.below {
			t.Errorf("%s: public seed %v, secret key %v; want at least %v and less than %v", name, public, keyed, c.atLeast, c.below)
		}
	}
}

func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it stages all attacks, which TestAttacks does without -short, too")
	}
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cost 1000 reads", "0 users are lost"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
}
