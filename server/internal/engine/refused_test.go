package engine_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// TestRefusals asks for what docs/cluster.md says is refused where contents are spread: for every row of the table there is
// such a reply, which says what to do.
func TestRefusals(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "What is refused:\n\n| | |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	first, second := lies("a", 1), lies("b", 2)
	tests := map[string]struct {
		lines []string
		want  string // of the last reply
	}{
		"`EXEC` about contents that no single node holds":      {[]string{"MULTI", "BF.EXISTS " + first + " x", "BF.EXISTS " + second + " x", "EXEC"}, "without MULTI the commands are done one by one"},
		"any other command, or its answer, of more than 1 MiB": {[]string{"BF.EXISTS " + first + " " + strings.Repeat("x", 2<<20)}, "send it to a node that holds the contents: node 2 (host2:1)"},
		"`FILTER.LIST` and `FILTER.WHERE` in `MULTI`":          {[]string{"MULTI", "FILTER.LIST", "FILTER.WHERE * x", "EXEC"}, "FILTER.WHERE needs contents of several nodes, which a transaction cannot have: send it without MULTI"},
		"`WATCH` of a filter that is held elsewhere":           {[]string{"WATCH " + first}, "a filter is watched at a node that holds its contents: node 2 (host2:1)"},
		"`COPY` of `layers`":                                   {[]string{"COPY " + lies("layers", 1) + " " + lies("copy", 2)}, "COPY needs contents that no single node holds: it works if one node holds all of them"},
	}
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.place(t, oneCopy)
		b := v.nodes[0]
		b.lines("BF.RESERVE "+first+" 0.01 100", "BF.RESERVE "+second+" 0.01 100", "FILTER.CREATE one bloom", "FILTER.CREATE "+lies("layers", 1)+" layers OVER one")
		time.Sleep(time.Second)
		rows := strings.Split(table, "\n")
		for _, row := range rows {
			what, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
			test, ok := tests[what]
			if !ok {
				t.Errorf("no reply is known for %q", what)
				continue
			}
			if got := b.lines(test.lines...); !strings.Contains(got[len(got)-1], test.want) {
				t.Errorf("%s: %.300s, want %s", what, got[len(got)-1], test.want)
			}
		}
		if len(rows) != len(tests) {
			t.Errorf("docs/cluster.md lists %d refusals, want %d", len(rows), len(tests))
		}
	})
}
