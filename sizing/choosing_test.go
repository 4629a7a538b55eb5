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
	for _, name := range []string{"bloom", "concurrent", "split", "scalable", "standard", "partitioned", "cuckoo", "quotient", "growing", "counting", "spectral", "stable", "window", "striped", "fuse", "ribbon"} {
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
	for _, c := range serving(mustAdvise(t, sizing.Needs{ErrorRate: 0.01})) {
		grown := fmt.Appendf(nil, "%.0f bits per key", c.BitsPerKey)
		if c.Name != "quotient" && !bytes.Contains(doc, grown) {
			t.Errorf("%s does not say that a %s filter that has grown takes %s", choosingPath, c.Name, grown)
		}
	}
}

// TestChoosingAgrees asks the adviser each question of the document. The
// constructor that it gives must be in the answer there, and the table of all
// answers must be in the document to the letter.
func TestChoosingAgrees(t *testing.T) {
	const million = 1_000_000
	doc, err := os.ReadFile(choosingPath)
	if err != nil {
		t.Fatal(err)
	}
	_, questions, _ := bytes.Cut(doc, []byte("## Then: answer these questions"))
	var b bytes.Buffer
	for _, c := range []struct {
		question int
		what     string
		needs    sizing.Needs
	}{
		{0, "500 keys", sizing.Needs{Keys: 500}},
		{1, "all keys known, 1%", sizing.Needs{Keys: million, Immutable: true}},
		{1, "all keys known, 0.1%", sizing.Needs{Keys: million, Immutable: true, ErrorRate: 1e-3}},
		{2, "deletes", sizing.Needs{Keys: million, Capacity: 2 * million, Deletes: true}},
		{3, "counts", sizing.Needs{Keys: million, Capacity: 2 * million, Counts: true}},
		{4, "old keys may be forgotten", sizing.Needs{Keys: million, Expiry: true}},
		{5, "many goroutines write", sizing.Needs{Keys: million, Capacity: 2 * million, Writers: true}},
		{6, "Parquet", sizing.Needs{Keys: million, Parquet: true}},
		{7, "500 sets", sizing.Needs{Keys: million, Sets: 500}},
		{8, "size not known", sizing.Needs{}},
		{8, "one to five million", sizing.Needs{Keys: million, Capacity: 5 * million}},
		{8, "a million, perhaps more", sizing.Needs{Keys: million, Growth: true}},
		{8, "growth and deletes", sizing.Needs{Keys: million, Growth: true, Deletes: true}},
		{9, "rate 1e-9", sizing.Needs{Keys: million, Capacity: 2 * million, ErrorRate: 1e-9}},
		{10, "anything else", sizing.Needs{Keys: million, Capacity: 2 * million}},
	} {
		a := mustAdvise(t, c.needs)
		fmt.Fprintf(&b, "%-27s%s\n", c.what, a.Take())
		if c.question == 0 {
			continue
		}
		_, answer, ok := bytes.Cut(questions, fmt.Appendf(nil, "\n%d. **", c.question))
		answer, _, _ = bytes.Cut(answer, fmt.Appendf(nil, "\n%d. **", c.question+1))
		if code := "`" + a.Kinds[0].Make + "`"; !ok || !bytes.Contains(answer, []byte(code)) {
			t.Errorf("question %d of %s: the adviser gives %s for %s", c.question, choosingPath, code, c.what)
		}
	}
	if t.Logf("\n%s", b.String()); !bytes.Contains(doc, b.Bytes()) {
		t.Errorf("%s does not have this table:\n%s", choosingPath, b.String())
	}
}

// choice returns the price of a kind for a million keys.
func choice(t *testing.T, name string, p float64) sizing.Choice {
	t.Helper()
	needs := sizing.Needs{Keys: 1_000_000, ErrorRate: p}
	needs.Immutable = name == "fuse" || name == "ribbon"
	needs.Expiry = name == "stable" || name == "window"
	for _, c := range serving(mustAdvise(t, needs)) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("%s does not serve at %v", name, p)
	return sizing.Choice{}
}
