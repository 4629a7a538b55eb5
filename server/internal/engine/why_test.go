package engine_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// TestClusterWhy asks where keys lie: while every node holds everything, and when another node
// holds their contents.
func TestClusterWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, d, _ := newNode(t, memlog.New(1, memlog.Faults{}))
		upgrade(t, d)
		for _, line := range []string{"SET s v", "BF.RESERVE b 0.01 100", "FILTER.CREATE f standard CAPACITY 2000 PARTS 4", "FILTER.CREATE w standard CAPACITY 100 REPLICAS all", "CMS.INITBYDIM c 8 2"} {
			if got := b.line(line); got != "+OK" {
				t.Fatalf("%s = %s", line, got)
			}
		}
		why := func(key string) string {
			reply := b.exec([][]byte{[]byte("CLUSTER"), []byte("WHY"), []byte(key)})[0]
			return strings.ReplaceAll(reply.Text, "\r\n", "\n")
		}
		asks := func(key, want string) {
			t.Helper()
			if got := why(key); !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("CLUSTER WHY %s =\n%swant %s", key, got, want)
			}
		}
		asks("s", `^node:1\nkind:string\nid:\d+\n$`)
		asks("b", `^node:1\nkind:bf\nid:\d+\npart_0:shard=\d+,lane=D\d,applied=\d+,head=\d+,here=1,holds=,learns=,retires=\n$`)
		asks("f", `^node:1\nkind:standard\n`)
		asks("c", `^node:1\nkind:cms\n`)
		asks("none", `^ERR no such key`)
		own := *b.state.Roster()
		own.Members = append(slices.Clone(own.Members), roster.Member{Number: 2, Name: "away", Level: own.Level})
		b.state.SetRoster(&own)
		spreadOut(t, b, 2)
		asks("c", `^node:1\nkind:cms\n`)
		asks("f", `\npart_1:shard=\d+,lane=D\d,applied=\d+,head=\d+,here=0,holds=2,learns=,retires=\n`)
		asks("f", `\nwait_0:4 parts \(0, 1, 2, …\): commands fail until node 2 is up\n`)
		asks("w", `part_0:shard=\d+,lane=W,applied=\d+,head=\d+,here=1,holds=,learns=,retires=\n$`)
		if got := b.line("ACL SETUSER reader on nopass ~mine +@all"); got != "+OK" {
			t.Fatal(got)
		}
		if got := b.line("AUTH reader x"); got != "+OK" {
			t.Fatal(got)
		}
		asks("f", `^NOPERM `)
		asks("mine", `^ERR no such key`)
	})
	if got := newBench(t, 1<<30).line("CLUSTER WHY s"); got != "-ERR This instance has cluster support disabled" {
		t.Errorf("without a cluster: %s", got)
	}
}
