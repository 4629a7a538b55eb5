package store_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"testing"

	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRecordsOfOldReleases reads records of every operation as releases before the
// table of operations have written them, and writes them again.
func TestRecordsOfOldReleases(t *testing.T) {
	file, err := os.Open("testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[store.Op]bool{}
	var again store.Record
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var op store.Op
		var bound int
		var text string
		if _, err := fmt.Sscan(lines.Text(), &op, &bound, &text); err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		seen[op] = true
		for _, r := range []*store.Record{{}, &again} { // in new memory, and in memory used before
			n, err := r.Decode(append(want, "rest"...))
			if err != nil || n != len(want) {
				t.Fatalf("%v: read %d bytes of %d: %v", op, n, len(want), err)
			}
			if got := store.AppendRecord(nil, r); !bytes.Equal(got, want) || r.Op() != op {
				t.Errorf("%v: written as\n%x, want\n%x", op, got, want)
			}
			if r.Bound() != bound {
				t.Errorf("%v: bound %d, want %d", op, r.Bound(), bound)
			}
		}
	}
	if len(seen) != 76 {
		t.Errorf("records of %d operations, want 76", len(seen))
	}
}
