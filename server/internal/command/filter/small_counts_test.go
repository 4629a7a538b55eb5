package filter_test

import (
	"encoding"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestSmallCounts holds filters of every kind, large ones, with few items to their number:
// in FILTER.INFO, FILTER.CARD, FILTER.LIST and in what metrics show, at once and later.
func TestSmallCounts(t *testing.T) {
	b := newBench(t, 1<<30)
	type one struct {
		key string
		n   int
	}
	var list []one
	kinds := append(codec.Kinds(), codec.Kind{Name: "bf"}, codec.Kind{Name: "cf"})
	for _, k := range kinds {
		for _, n := range []int{0, 1, 4, 5000} {
			key := fmt.Sprint(k.Name, "-", n)
			if k.Features.Static {
				if n > 0 {
					b.loadStatic(t, k, key, n)
					list = append(list, one{key, n})
				}
				continue
			}
			create, add := "FILTER.CREATE "+key+" "+k.Name+" CAPACITY 1000000", "FILTER.ADD "+key
			switch k.Name {
			case "bf":
				create, add = "BF.RESERVE "+key+" 0.01 1000000", "BF.MADD "+key
			case "cf":
				create, add = "CF.RESERVE "+key+" 1000000", "CF.INSERT "+key+" ITEMS"
			}
			if got := b.Line(create); got != "+OK" {
				t.Fatalf("%s: %s", create, got)
			}
			if n > 0 {
				var items strings.Builder
				for i := range n {
					fmt.Fprintf(&items, " key-%d", i)
				}
				b.Line(add + items.String())
			}
			list = append(list, one{key, n})
		}
	}
	for _, later := range []time.Duration{0, 10 * time.Second} {
		b.Watch(later)
		for _, f := range list {
			id := b.watched(f.key).ID()
			r, ok := b.Engine.Health().Current(id)
			if !ok && later > 0 {
				t.Errorf("%s has no state after %v", f.key, later)
			}
			info := b.fieldsOf(t, f.key)["items"].N
			card := b.Line("FILTER.CARD " + f.key)
			row := b.Line("FILTER.LIST MATCH " + f.key)
			if info != int64(f.n) && !(f.n == 5000 && info > 4990 && info <= 5000) {
				t.Errorf("%s: %d items in FILTER.INFO after %v", f.key, info, later)
			}
			foreign := strings.HasPrefix(card, "-WRONGTYPE") // BF and CF have commands of their own
			if card != fmt.Sprint(":", info) && !foreign || !strings.Contains(row, fmt.Sprintf(`"items" :%d `, info)) || ok && r.Items != uint64(info) {
				t.Errorf("%s after %v: %d items in FILTER.INFO, FILTER.CARD %s, %d in metrics, FILTER.LIST %.60s", f.key, later, info, card, r.Items, row)
			}
		}
	}
}

// loadStatic makes a key of a filter of n items whose kind is built.
func (b *bench) loadStatic(t *testing.T, k codec.Kind, key string, n int) {
	t.Helper()
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = hashing.Hasher{}.HashString(fmt.Sprint("key-", i))
	}
	f, err := k.Build(hashes, 0.01, hashing.Hasher{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Do("FILTER.LOAD", key, "1", string(data)); got != "+OK" {
		t.Fatalf("FILTER.LOAD of kind %s: %s", k.Name, got)
	}
}

// TestVerdictsFollowCures asks that a verdict is that of the figures beside it as soon as
// its advice was followed, wherever it is shown.
func TestVerdictsFollowCures(t *testing.T) {
	for _, c := range []struct{ create, verdict, cure string }{
		{"FILTER.CREATE f bloom CAPACITY 1000000 BUDGET 1000000", `"Compress"`, "FILTER.FOLD f"},
		{"FILTER.CREATE f bloom CAPACITY 5200", `"Resize"`, "FILTER.GROW f"},
	} {
		b := newBench(t, 1<<30)
		b.Line(c.create)
		var items strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&items, " key-%d", i)
		}
		b.Line("FILTER.ADD f" + items.String())
		b.Watch(70 * time.Minute)
		b.Line("FILTER.ADD f late")
		b.Watch(time.Minute)
		if got := commandtest.Show(b.fieldsOf(t, "f")["verdict"]); got != c.verdict {
			t.Fatalf("%s: verdict %s, want %s", c.create, got, c.verdict)
		}
		if got := b.Line(c.cure); got != "+OK" {
			t.Fatalf("%s: %s", c.cure, got)
		}
		if got := b.Line("FILTER.HEALTH"); !strings.Contains(got, `"verdict" "OK"`) {
			t.Errorf("after %s FILTER.HEALTH says %s", c.cure, got)
		}
		for _, name := range []string{"verdict", "reason"} {
			if got := commandtest.Show(b.fieldsOf(t, "f")[name]); got != `"OK"` && got != `"All measurements are within their limits."` {
				t.Errorf("after %s the %s is %s", c.cure, name, got)
			}
		}
	}
}

// TestExactlyFull fills standard filters exactly to their capacity: the luck of the fill
// is no reason for a rebuild.
func TestExactlyFull(t *testing.T) {
	b := newBench(t, 1<<30)
	for i := range 40 {
		key := fmt.Sprint("f", i)
		b.Line("FILTER.CREATE " + key + " standard CAPACITY 1000")
		var items strings.Builder
		for j := range 1000 {
			fmt.Fprintf(&items, " %d-%d", i, j)
		}
		b.Line("FILTER.ADD " + key + items.String())
		if got := commandtest.Show(b.fieldsOf(t, key)["verdict"]); got == `"Rebuild"` {
			t.Errorf("%s: %s", key, commandtest.Show(b.fieldsOf(t, key)["reason"]))
		}
	}
}

// TestCallsCountFromTheStart asks that the first lookups of a filter are counted.
func TestCallsCountFromTheStart(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom")
	for range 100 {
		b.Line("FILTER.HAS f a b")
	}
	if got := b.fieldsOf(t, "f"); got["calls"].N != 100 || got["lookups"].N != 200 {
		t.Errorf("%d calls and %d lookups, want 100 and 200", got["calls"].N, got["lookups"].N)
	}
}

// TestOverfullAtOnce asks that a filter that holds more than it was made for is never
// shown with a rate over the one asked for beside OK, and that CLEAR ends all of it.
func TestOverfullAtOnce(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 10000")
	b.Line("FILTER.INFO f")
	var items strings.Builder
	for i := range 15000 {
		fmt.Fprintf(&items, " key-%d", i)
	}
	b.Line("FILTER.ADD f" + items.String())
	if got := commandtest.Show(b.fieldsOf(t, "f")["verdict"]); got != `"Rebuild"` {
		t.Errorf("overfull, the verdict is %s", got)
	}
	b.Watch(time.Minute)
	b.Line("FILTER.CLEAR f")
	got := b.fieldsOf(t, "f")
	for name, want := range map[string]string{"anomaly": `""`, "verdict": `"OK"`, "reason": `"All measurements are within their limits."`, "probed": "0"} {
		if commandtest.Show(got[name]) != want {
			t.Errorf("after a clear %s is %s, want %s", name, commandtest.Show(got[name]), want)
		}
	}
}
