package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// long are commands that take long, on small data: what makes the data, and how often a
// command looks for its client at least.
var long = []struct {
	name    string
	setup   func(b *commandtest.Bench)
	command string
	looks   int
}{
	{"CMS.MERGE", func(b *commandtest.Bench) { sketches(b, "CMS.INITBYDIM %s 60000 5", "CMS.INCRBY %s x 1 y 2") },
		"CMS.MERGE s0 3 s0 s1 s2 WEIGHTS 1 2 3", 10},
	{"TDIGEST.MERGE", func(b *commandtest.Bench) {
		sketches(b, "TDIGEST.CREATE %s COMPRESSION 4000", values("TDIGEST.ADD %s", 9000))
	},
		"TDIGEST.MERGE sum 3 s0 s1 s2", 3},
	{"TDIGEST.QUANTILE", func(b *commandtest.Bench) {
		sketches(b, "TDIGEST.CREATE %s COMPRESSION 4000", values("TDIGEST.ADD %s", 9000))
	},
		"TDIGEST.QUANTILE s0" + strings.Repeat(" 0.5", 300), 300},
	{"FILTER.WHERE", func(b *commandtest.Bench) {
		for i := range 40 {
			b.Line(fmt.Sprintf("FILTER.CREATE f%d bloom CAPACITY 100 ERROR 0.01", i))
		}
	}, values("FILTER.WHERE *", 3000), 100},
	{"FILTER.UNION", func(b *commandtest.Bench) {
		sketches(b, "FILTER.CREATE %s bloom CAPACITY 4000000 ERROR 0.01", "FILTER.ADD %s x")
	},
		"FILTER.UNION sum s0 s1", 4},
	{"FILTER.INTERSECT", func(b *commandtest.Bench) {
		sketches(b, "FILTER.CREATE %s bloom CAPACITY 4000000 ERROR 0.01", "FILTER.ADD %s x")
	},
		"FILTER.INTERSECT sum s0 s1", 4},
	{"FILTER.SIMILAR", func(b *commandtest.Bench) {
		sketches(b, "FILTER.CREATE %s bloom CAPACITY 40000 ERROR 0.01 PARTS 4", "FILTER.ADD %s x")
	},
		"FILTER.SIMILAR s0 s1", 4},
	{"FILTER.SIMILAR of large filters", func(b *commandtest.Bench) {
		sketches(b, "FILTER.CREATE %s bloom CAPACITY 4000000 ERROR 0.01", "FILTER.ADD %s x")
	},
		"FILTER.SIMILAR s0 s1", 4},
	{"FILTER.HEALTH", many, "FILTER.HEALTH COUNT 300", 4},
	{"FILTER.LIST", many, "FILTER.LIST SORT probed", 4},
	{"FILTER.LIST of few", parts, "FILTER.LIST SORT items", 3},
	{"FILTER.DENSITY", parts, "FILTER.DENSITY s0 64", 16},
	{"FILTER.DUMP", parts, "FILTER.DUMP s0 0", 1},
	{"DUMP of parts", parts, "DUMP s0", 17},
	{"FILTER.LAYERS", parts, "FILTER.LAYERS s0", 16},
	{"RANDOMKEY", func(b *commandtest.Bench) {
		many(b)
		b.Line("ACL SETUSER few on nopass +@all ~none")
		b.Line("AUTH few x")
	}, "RANDOMKEY", 4},
	{"KEYS", many, "KEYS *", 4},
	{"CONFIG GET", parts, "CONFIG GET" + strings.Repeat(" *a*b", 40), 40},
	{"DUMP", func(b *commandtest.Bench) { sketches(b, "CMS.INITBYDIM %s 1000 5", "CMS.INCRBY %s x 1") }, "DUMP s0", 1},
}

// values returns a command with numbers behind it.
func values(s string, n int) string {
	var b strings.Builder
	b.WriteString(s)
	for i := range n {
		fmt.Fprint(&b, " ", i*7919%n)
	}
	return b.String()
}

// sketches makes s0, s1 and s2 by commands.
func sketches(b *commandtest.Bench, commands ...string) {
	for i := range 3 {
		for _, c := range commands {
			b.Line(fmt.Sprintf(c, fmt.Sprint("s", i)))
		}
	}
}

// parts makes filters of several parts.
func parts(b *commandtest.Bench) {
	sketches(b, "FILTER.CREATE %s bloom CAPACITY 40000 ERROR 0.01 PARTS 16")
}

func many(b *commandtest.Bench) {
	for i := range 600 {
		b.Line(fmt.Sprintf("BF.ADD f%d x", i))
	}
}

// TestLongCommandsLookForTheirClient asks that every long command is given up when its
// client is gone, at any look, and leaves nothing behind: no filter without a name, no
// memory, no change.
func TestLongCommandsLookForTheirClient(t *testing.T) {
	for _, tt := range long {
		t.Run(tt.name, func(t *testing.T) {
			b := commandtest.New(t, 1<<30)
			tt.setup(b)
			before, data := b.State.Bytes(), b.Line("DBSIZE")
			looks, last := 0, 0
			b.Session.Gone = func() bool {
				looks++
				return last > 0 && looks >= last
			}
			for _, last = range []int{1, min(2, tt.looks), tt.looks / 2, tt.looks} {
				if looks = 0; last == 0 {
					continue
				}
				if got := b.Line(tt.command); got != "-"+answer.TextStopped && !strings.HasPrefix(got, "-OOM") {
					t.Fatalf("with the client gone at look %d: %.200s", last, got)
				}
				b.Engine.Release(b.Session)
				if got := b.State.Bytes(); got != before || len(b.State.Names.Unnamed()) > 0 || b.Line("DBSIZE") != data {
					t.Fatalf("gone at look %d: %d bytes, want %d; %d filters without a name", last, got, before, len(b.State.Names.Unnamed()))
				}
				if used := b.Engine.Budget.Used(); used != before {
					t.Fatalf("gone at look %d: %d bytes are set aside", last, used-before)
				}
			}
			last = 0
			if got := b.Line(tt.command); strings.HasPrefix(got, "-") {
				t.Errorf("with the client there: %.200s", got)
			}
		})
	}
}
