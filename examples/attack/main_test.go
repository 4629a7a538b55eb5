package main

import (
	"strings"
	"testing"
)

// Each attack succeeds against a public seed and fails against a secret key.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics are done once, without -short")
	}
	var out strings.Builder
	outcomes, err := run(&out)
	if err != nil {
		t.Fatal(err)
	}
	for title, c := range map[string]struct{ atLeast, below float64 }{
		"Pollution": {3 * rate, 1.5 * rate},
		"Aiming":    {0.95, 0.05},
		"Flooding":  {1, 3 * rate},
		"Deleting":  {0.2, 0.02},
	} {
		got := outcomes[title]
		if got.public.share < c.atLeast || got.secret.share >= c.below {
			t.Errorf("%s: public seed %v, secret key %v; want at least %v and less than %v", title, got.public, got.secret, c.atLeast, c.below)
		}
		if !strings.Contains(out.String(), title+": ") {
			t.Errorf("the output has no %q", title)
		}
	}
	for _, want := range []string{"  public seed: ", "  secret key:  ", "cost 1000 reads", "0 users are lost"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
}
