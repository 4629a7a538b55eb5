package filter_test

import (
	"strings"
	"testing"
)

// TestUnionOverRate unites two full filters. The reply stays OK, as clients expect; the
// result is over its rate, and FILTER.INFO and FILTER.HEALTH show that at once.
func TestUnionOverRate(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, name := range []string{"a", "b"} {
		b.Line("FILTER.CREATE " + name + " bloom CAPACITY 2000 ERROR 0.01")
		b.add(name, name, 0, 2000)
	}
	if got := b.Line("FILTER.UNION u a b"); got != "+OK" {
		t.Fatal(got)
	}
	if asked, now := b.number(t, "u", "asked"), b.number(t, "u", "predicted"); now < 5*asked {
		t.Errorf("predicted rate %v of a union of two full filters, asked for %v", now, asked)
	}
	t.Log(b.Line("FILTER.HEALTH MATCH u"))
	if got := b.Line("FILTER.HEALTH MATCH u"); strings.Contains(got, "healthy") || !strings.Contains(strings.ToLower(got), "rebuild") {
		t.Errorf("FILTER.HEALTH right after the union: %s", got)
	}
}
