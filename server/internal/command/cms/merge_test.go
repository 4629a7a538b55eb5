package cms_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
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
