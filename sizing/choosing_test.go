package sizing_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// choosingPath is the document whose table of prices is made here.
const choosingPath = "../docs/choosing.md"

// TestChoosing prints the prices of all kinds and asks that the document has
// them to the letter.
func TestChoosing(t *testing.T) {
	var b bytes.Buffer
	fmt.Fprintln(&b, "                 bits per key at     accesses at 1%")
	fmt.Fprintf(&b, "%20s%7s%7s%8s%8s\n", "1%", "0.1%", "0.01%", "lookup", "insert")
	for _, name := range []string{"bloom", "concurrent", "split", "scalable", "standard", "partitioned", "cuckoo", "quotient", "counting", "spectral", "stable", "fuse", "ribbon"} {
		fmt.Fprintf(&b, "%-13s", name)
		var at1 sizing.Choice
		for i, p := range []float64{1e-2, 1e-3, 1e-4} {
			c := choice(t, name, p)
			if i == 0 {
				at1 = c
			}
			fmt.Fprintf(&b, "%7.2f", c.BitsPerKey)
		}
		fmt.Fprintf(&b, "%8d%8d\n", at1.Lookup, at1.Insert)
	}
	for _, c := range mustAdvise(t, sizing.Needs{Keys: 1_000_000, KeyBytes: 24}).Exact {
		fmt.Fprintf(&b, "%-13s%7.0f%7.0f%7.0f%8d%8d\n", c.Name, c.BitsPerKey, c.BitsPerKey, c.BitsPerKey, c.Lookup, c.Insert)
	}
	t.Logf("\n%s", b.String())
	doc, err := os.ReadFile(choosingPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(doc, b.Bytes()) {
		t.Errorf("%s does not have this table", choosingPath)
	}
	grown := fmt.Appendf(nil, "%.0f bits per key", mustAdvise(t, sizing.Needs{ErrorRate: 0.01}).Kinds[0].BitsPerKey)
	if !bytes.Contains(doc, grown) {
		t.Errorf("%s does not say that a scalable filter that has grown takes %s", choosingPath, grown)
	}
}

// choice returns the price of a kind for a million keys.
func choice(t *testing.T, name string, p float64) sizing.Choice {
	t.Helper()
	needs := sizing.Needs{Keys: 1_000_000, ErrorRate: p}
	needs.Immutable = name == "fuse" || name == "ribbon"
	needs.Expiry = name == "stable"
	for _, c := range mustAdvise(t, needs).Kinds {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("%s does not serve at %v", name, p)
	return sizing.Choice{}
}
