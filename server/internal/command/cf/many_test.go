package cf_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestManySubFilters asks that a cuckoo filter with tens of thousands of
// sub-filters works and stays answerable.
func TestManySubFilters(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("CONFIG SET cf-max-expansions 65536")
	b.Line("CF.RESERVE m 2 BUCKETSIZE 1 MAXITERATIONS 1")
	args := [][]byte{[]byte("CF.INSERT"), []byte("m"), []byte("ITEMS")}
	for range 20_000 {
		args = append(args, []byte("a"))
	}
	if r := b.Exec(args)[0]; len(r.Codes) != 20_000 || r.Codes[19_999] != 1 {
		t.Fatalf("CF.INSERT: %d results", len(r.Codes))
	}
	for _, tt := range []struct{ cmd, want string }{
		{"CF.EXISTS m a", ":1"},
		{"CF.EXISTS m b", ":0"},
		{"CF.DEL m a", ":1"},
		{"CF.ADD m a", ":1"},
		{"CF.COMPACT m", "+OK"},
	} {
		if got := b.Line(tt.cmd); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.cmd, got, tt.want)
		}
	}
	if got := b.Line("CF.DEBUG m"); !strings.Contains(got, "items:20000") {
		t.Errorf("CF.DEBUG = %s, want 20000 items", got)
	}
}
