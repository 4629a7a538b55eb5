package sizing_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

// theoryPath is the document whose tables are made here.
const theoryPath = "../docs/theory.md"

// theoryTables are the tables of docs/theory.md, in its order.
var theoryTables = []struct {
	name  string
	write func(io.Writer)
}{
	{"best-k", tableBestK},
	{"fill-power", tableFillPower},
	{"textbook", tableTextbook},
	{"variance", tableVariance},
	{"unequal", tableUnequal},
	{"blocked", tableBlocked},
	{"bits-per-key", tableBitsPerKey},
	{"layers", tableLayers},
	{"double-hashing", tableDoubleHashing},
	{"union", tableUnion},
	{"jaccard", tableJaccard},
	{"overfilled", tableOverfilled},
	{"ten-billion", tableTenBillion},
	{"more-hashes", tableMoreHashes},
	{"half-full", tableHalfFull},
	{"tightening", tableTightening},
	{"counters", tableCounters},
	{"skipped", tableSkipped},
	{"wallet", tableWallet},
	{"saved", tableSaved},
}

var update = flag.Bool("update", false, "rewrite the tables of docs/theory.md")

// TestTheory prints each table and asks that docs/theory.md holds it to the
// letter, under the name of its test. So text and code cannot part.
// With -update it writes them there.
func TestTheory(t *testing.T) {
	text, err := os.ReadFile(theoryPath)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	if n := strings.Count(doc, "```text\n"); n != len(theoryTables) {
		t.Errorf("%s has %d tables, want %d", theoryPath, n, len(theoryTables))
	}
	for _, table := range theoryTables {
		t.Run(table.name, func(t *testing.T) {
			var buf bytes.Buffer
			table.write(&buf)
			t.Logf("\n%s", buf.String())
			heading := "`TestTheory/" + table.name + "`\n\n```text\n"
			before, rest, ok := strings.Cut(doc, heading)
			_, after, closed := strings.Cut(rest, "```\n")
			if !ok || !closed {
				t.Fatalf("%s has no table under %s", theoryPath, heading)
			}
			want := before + heading + buf.String() + "```\n" + after
			if *update {
				doc = want
			}
			if doc != want {
				t.Errorf("%s has another table under %s", theoryPath, heading)
			}
		})
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(theoryPath, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
