package command_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestMergesBesideAdds has two clients merge large sketches into each other's sources
// while others add to both. Whatever was acknowledged is in the sketch that it was added
// to, however often that was replaced by a sum; and the folder gives the same.
func TestMergesBesideAdds(t *testing.T) {
	const adds, merges = 300, 6
	b := commandtest.New(t, 1<<30)
	for _, line := range []string{"CMS.INITBYDIM a 60000 5", "CMS.INITBYDIM b 60000 5"} {
		if got := b.Line(line); got != "+OK" {
			t.Fatal(got)
		}
	}
	var wg, merging sync.WaitGroup
	var merged, refused atomic.Int64
	done := make(chan struct{})
	for i, key := range []string{"a", "b"} {
		adder, merger, other := b.Client(10+i), b.Client(20+i), []string{"b", "a"}[i]
		merging.Go(func() {
			for range merges {
				switch got := merger.Do("CMS.MERGE", key, "2", key, other); {
				case got == "+OK":
					merged.Add(1)
				case strings.HasPrefix(got, "-TRYAGAIN"):
					refused.Add(1)
				default:
					t.Errorf("CMS.MERGE = %s", got)
				}
			}
		})
		wg.Go(func() {
			for n := range adds {
				if n == adds/2 { // the other half when no merge is under way
					<-done
				}
				if got := adder.Do("CMS.INCRBY", key, fmt.Sprint(key, n), "1"); !strings.HasPrefix(got, "[:") {
					t.Errorf("CMS.INCRBY = %s", got)
				}
			}
		})
	}
	merging.Wait()
	close(done)
	wg.Wait()
	t.Logf("%d merges, %d refused", merged.Load(), refused.Load())
	if len(b.State.Names.Unnamed()) > 0 {
		t.Error("sketches without a name are left")
	}
	// A merge of a quiet destination always succeeds.
	if got := b.Line("CMS.MERGE a 2 a b"); got != "+OK" {
		t.Errorf("CMS.MERGE = %s", got)
	}
	counts := map[string]string{}
	for _, key := range []string{"a", "b"} {
		for n := range adds {
			query := fmt.Sprintf("CMS.QUERY %s %s%d", key, key, n)
			if counts[query] = b.Line(query); counts[query] == "[:0]" {
				t.Fatalf("%s = 0: an add that was acknowledged is lost", query)
			}
		}
	}
	if err := b.Door.Close(); err != nil {
		t.Fatal(err)
	}
	again := commandtest.Open(t, b.Files, b.Now, nil)
	for query, want := range counts {
		if got := again.Line(query); got != want {
			t.Fatalf("%s = %s, and %s after recovery", query, want, got)
		}
	}
}

// TestLargeMergesAreMerges asks that merges outside of locks give what those under locks
// do: the same counts, digests, deadlines and errors.
func TestLargeMergesAreMerges(t *testing.T) {
	large, small := commandtest.New(t, 1<<30), commandtest.New(t, 1<<30)
	both := func(line string) (string, string) { return large.Line(line), small.Line(line) }
	for i := range 3 {
		large.Line(fmt.Sprintf("CMS.INITBYDIM c%d 60000 5", i))
		small.Line(fmt.Sprintf("CMS.INITBYDIM c%d 2000 5", i))
		for n := range 40 {
			both(fmt.Sprintf("CMS.INCRBY c%d item%d %d", i, n%20, n+i))
		}
	}
	both("EXPIRE c0 100")
	for _, line := range []string{
		"CMS.MERGE c0 2 c1 c2", "CMS.QUERY c0 item1 item2 item19 none", "TTL c0", "DBSIZE",
		"CMS.MERGE c0 3 c0 c1 c2 WEIGHTS 2 3 -1", "CMS.QUERY c0 item1 item2 item19 none",
		"CMS.MERGE c0 1 c1 WEIGHTS -1", "CMS.MERGE c0 2 c1 c2 WEIGHTS 9000000000000000000 9000000000000000000",
		"CMS.MERGE c0 1 none", "CMS.MERGE none 1 c0", "CMS.QUERY c0 item1 item2 item19 none", "TTL c0",
	} {
		if got, want := both(line); got != want {
			t.Errorf("%s = %s, of a small sketch %s", line, got, want)
		}
	}
	// A digest that is merged in a transaction is merged under locks.
	for _, b := range []*commandtest.Bench{large, small} {
		sketches(b, "TDIGEST.CREATE %s COMPRESSION 4000", values("TDIGEST.ADD %s", 9000))
	}
	for _, line := range []string{
		"TDIGEST.MERGE sum 3 s0 s1 s2", "TDIGEST.MERGE s1 2 s0 sum COMPRESSION 3000", "TDIGEST.MERGE s2 1 s1 OVERRIDE", "TDIGEST.MERGE s2 1 none",
	} {
		got := large.Line(line)
		small.Line("MULTI")
		small.Line(line)
		if want := small.Line("EXEC"); "["+got+"]" != want {
			t.Errorf("%s = %s, under locks %s", line, got, want)
		}
		for _, key := range []string{"sum", "s0", "s1", "s2"} {
			for _, ask := range []string{"TDIGEST.INFO " + key, "DUMP " + key} {
				if got, want := both(ask); got != want {
					t.Errorf("behind %s: %s = %.300q, under locks %.300q", line, ask, got, want)
				}
			}
		}
	}
}

// TestFullDigestTakesValues adds to a large digest that is full although it is compressed,
// as a dump can make it: it is not compressed again and again.
func TestFullDigestTakesValues(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "TDIGEST.CREATE s COMPRESSION 4000")
	var nodes []byte
	for i := range 6*4000 + 9 {
		nodes = binary.LittleEndian.AppendUint64(nodes, math.Float64bits(float64(i)))
		nodes = binary.LittleEndian.AppendUint64(nodes, 1<<20)
	}
	entry := b.State.Names.Lookup([]byte("s"), 0)
	op := &door.Op{Record: store.Record{ID: entry.ID, Body: &store.TDigestChunk{Nodes: nodes}}}
	if b.Door.Do([]*door.Op{op}); op.Result.Err != nil {
		t.Fatal(op.Result.Err)
	}
	for i := range 3 {
		b.OK(t, fmt.Sprintf("TDIGEST.ADD s %d 1 2 3", i))
	}
}
