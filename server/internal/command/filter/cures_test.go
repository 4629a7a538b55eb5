package filter_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// field returns a field of FILTER.INFO.
func (b *bench) field(t testing.TB, key, name string) string {
	t.Helper()
	r := b.Exec([][]byte{[]byte("FILTER.INFO"), []byte(key)})[0]
	for i := 0; i+1 < len(r.Elems); i += 2 {
		if r.Elems[i].Text == name {
			return strings.Trim(strings.TrimPrefix(commandtest.Show(r.Elems[i+1]), ":"), `"`)
		}
	}
	t.Fatalf("FILTER.INFO %s has no %s: %s", key, name, commandtest.Show(r))
	return ""
}

// number is field for a number.
func (b *bench) number(t testing.TB, key, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(b.field(t, key, name), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// add adds n items that begin with prefix to a filter.
func (b *bench) add(key, prefix string, from, to int) {
	for from < to {
		n := min(to-from, 1000)
		b.Do(append([]string{"FILTER.ADD", key}, itemsOf(prefix, from, from+n)...)...)
		from += n
	}
}

func itemsOf(prefix string, from, to int) []string {
	items := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, prefix+strconv.Itoa(i))
	}
	return items
}

// hasAll fails if a filter denies one of n items.
func (b *bench) hasAll(t testing.TB, key, prefix string, from, to int) {
	t.Helper()
	got := b.Do(append([]string{"FILTER.HAS", key}, itemsOf(prefix, from, to)...)...)
	if strings.Contains(got, "false") || strings.Count(got, "true") != to-from {
		t.Fatalf("%s: items of %d to %d are denied", key, from, to)
	}
}

// TestGrow puts layers on a full filter: no item is lost, it takes four times what it
// was made for and keeps the rate that INFO shows.
func TestGrow(t *testing.T) {
	for _, parts := range []int{1, 4} {
		for _, given := range []string{"", "0.05"} {
			t.Run(fmt.Sprintf("parts=%d error=%s", parts, given), func(t *testing.T) {
				b := newBench(t, 1<<30)
				const n = 2000
				if got := b.Line(fmt.Sprintf("FILTER.CREATE f bloom CAPACITY %d ERROR 0.01 PARTS %d", n, parts)); got != "+OK" {
					t.Fatal(got)
				}
				b.add("f", "a", 0, n)
				words, want := "FILTER.GROW f", 0.02
				if given != "" {
					words, want = words+" ERROR "+given, 0.05
				}
				if got := b.Line(words); got != "+OK" {
					t.Fatal(got)
				}
				if kind, asked := b.field(t, "f", "kind"), b.number(t, "f", "asked"); kind != "scalable" || math.Abs(asked-want) > 1e-12 {
					t.Errorf("kind %s and rate %v after GROW, want scalable and %v", kind, asked, want)
				}
				b.hasAll(t, "f", "a", 0, n)
				b.add("f", "a", n, 4*n)
				b.Crash(t)
				b.hasAll(t, "f", "a", 0, 4*n)
				if layers := b.number(t, "f", "layers"); layers < 2 {
					t.Errorf("%v layers with four times the capacity", layers)
				}
				if predicted := b.number(t, "f", "predicted"); predicted > want {
					t.Errorf("predicted rate %v, want at most %v", predicted, want)
				}
				yes := strings.Count(b.Do(append([]string{"FILTER.HAS", "f"}, itemsOf("other", 0, 4000)...)...), "true")
				if limit := 4000*want + 6*math.Sqrt(4000*want); float64(yes) > limit { // six standard deviations
					t.Errorf("%d of 4000 false positives, want at most %.0f", yes, limit)
				}
			})
		}
	}
}

// TestGrowOverRate refuses to grow a filter to a rate that it exceeds already.
func TestGrowOverRate(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 1000 ERROR 0.01")
	b.add("f", "a", 0, 2500)
	for _, words := range []string{"FILTER.GROW f", "FILTER.GROW f ERROR 0.02"} {
		if got := b.Line(words); !strings.HasPrefix(got, "-ERR the filter is over its rate and has 0.") || b.field(t, "f", "kind") != "bloom" {
			t.Errorf("%s = %s", words, got)
		}
	}
	if got := b.Line("FILTER.GROW f ERROR 0.6"); got != "+OK" || b.number(t, "f", "predicted") > 0.6 {
		t.Errorf("with a rate that can be kept: %s", got)
	}
	b.hasAll(t, "f", "a", 0, 2500)
}

// TestFold halves a sparse filter until the rate would not be kept.
func TestFold(t *testing.T) {
	for _, kind := range []string{"bloom", "standard", "split"} {
		for _, parts := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s parts=%d", kind, parts), func(t *testing.T) {
				b := newBench(t, 1<<30)
				if got := b.Line(fmt.Sprintf("FILTER.CREATE f %s CAPACITY 40000 ERROR 0.001 PARTS %d", kind, parts)); got != "+OK" {
					t.Fatal(got)
				}
				b.add("f", "a", 0, 4000)
				before := b.number(t, "f", "bits")
				if got := b.Line("FILTER.FOLD f"); got != "+OK" {
					t.Fatal(got)
				}
				if after := b.number(t, "f", "bits"); after != before/2 {
					t.Errorf("%v bits of %v after a fold", after, before)
				}
				b.Crash(t)
				b.hasAll(t, "f", "a", 0, 4000)
				if predicted := b.number(t, "f", "predicted"); predicted > 0.001 {
					t.Errorf("predicted rate %v, 0.001 was asked for", predicted)
				}
			})
		}
	}
}

// TestFoldTwice asks that a second fold is measured by the rate that was asked for
// when the filter was made.
func TestFoldTwice(t *testing.T) {
	for _, kind := range []string{"bloom", "standard", "split"} {
		b := newBench(t, 1<<30)
		b.Line("FILTER.CREATE f " + kind + " CAPACITY 40000 ERROR 0.01")
		b.add("f", "a", 0, 15_000)
		if look, ok := contents.PartOf(b.State.Names.Lookup([]byte("f"), 0)).Look(true); !ok || !look.Folds {
			t.Errorf("%s: FILTER.HEALTH does not know that it can be folded", kind)
		}
		if got := b.Line("FILTER.FOLD f"); got != "+OK" {
			t.Fatal(kind, got)
		}
		if asked, capacity := b.number(t, "f", "asked"), b.number(t, "f", "capacity"); asked != 0.01 || capacity < 20_000 || capacity > 22_000 {
			t.Errorf("%s: %v items at %v after a fold, want about 20,000 at 0.01", kind, capacity, asked)
		}
		if got := b.Line("FILTER.FOLD f"); !strings.HasPrefix(got, "-ERR FILTER.FOLD would raise the false positive rate to ") {
			t.Errorf("%s: second fold: %s", kind, got)
		}
	}
}

// TestFoldToFit folds a filter as often as its rate allows, in one call: once more finds nothing
// to do, and after a crash it is as it was.
func TestFoldToFit(t *testing.T) {
	for _, kind := range []string{"bloom", "standard", "split"} {
		for _, parts := range []int{1, 4} {
			b := newBench(t, 1<<30)
			b.Line(fmt.Sprintf("FILTER.CREATE f %s CAPACITY 400000 ERROR 0.01 PARTS %d", kind, parts))
			b.add("f", "a", 0, 60_000)
			before := b.number(t, "f", "bits")
			if got := b.Line("FILTER.FOLD f FIT"); got != "+OK" {
				t.Fatal(kind, got)
			}
			b.Crash(t)
			if after := b.number(t, "f", "bits"); after != before/4 {
				t.Errorf("%s of %d parts: %v bits of %v, want a quarter", kind, parts, after, before)
			}
			b.hasAll(t, "f", "a", 0, 60_000)
			if predicted, asked := b.number(t, "f", "predicted"), b.number(t, "f", "asked"); predicted > 0.01 || asked != 0.01 {
				t.Errorf("%s: predicted rate %v, asked %v", kind, predicted, asked)
			}
			fitted := commandtest.Snapshot(b.State)
			if got := b.Line("FILTER.FOLD f"); !strings.HasPrefix(got, "-ERR FILTER.FOLD would raise the false positive rate to ") {
				t.Errorf("%s once more: %s", kind, got)
			}
			if got := b.Line("FILTER.FOLD f FIT"); got != "+OK" || string(commandtest.Snapshot(b.State)) != string(fitted) {
				t.Errorf("%s, FIT once more: %s, or the filter has changed", kind, got)
			}
		}
	}
}

// TestFoldToTheEnd folds a filter of few items until its size is not even: FIT is done there, and
// FOLD says that it is the size. Its parts are far above 16 KiB.
func TestFoldToTheEnd(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f bloom CAPACITY 1000000")
	b.add("f", "a", 0, 2)
	for range 2 {
		if got := b.Line("FILTER.FOLD f FIT"); got != "+OK" {
			t.Fatal(got)
		}
		if n := b.number(t, "f", "bits"); n < 8*16<<10 {
			t.Errorf("%v bits: the rate has ended it", n)
		}
	}
	if got := b.Line("FILTER.FOLD f"); got != "-ERR FILTER.FOLD: this filter cannot be halved any further" {
		t.Error(got)
	}
	b.hasAll(t, "f", "a", 0, 2)
}

// TestCuresRefused asks for cures that cannot be: an error says why and nothing
// changes.
func TestCuresRefused(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, line := range []string{
		"FILTER.CREATE full bloom CAPACITY 20000", "FILTER.CREATE little bloom CAPACITY 100", "FILTER.CREATE s scalable",
		"FILTER.CREATE c cuckoo", "BF.ADD b x", "SET t x", "FILTER.CREATE half bloom ERROR 0.5",
	} {
		b.Line(line)
	}
	b.add("full", "a", 0, 20_000)
	before := commandtest.Snapshot(b.State)
	script := `
		FILTER.GROW nokey -> -ERR not found
		FILTER.GROW b -> -WRONGTYPE Operation against a key holding the wrong kind of value
		FILTER.GROW t -> -WRONGTYPE Operation against a key holding the wrong kind of value
		FILTER.GROW s -> -ERR FILTER.GROW is for kind bloom; a filter of kind scalable grows by itself
		FILTER.GROW c -> -ERR FILTER.GROW is for kind bloom, not for cuckoo; FILTER.REBUILD makes a larger one
		FILTER.GROW full ERROR 0.01 -> -ERR ERROR must be more than 0.01, the rate that the filter was made for
		FILTER.GROW full ERROR 1 -> -ERR ERROR must be a number of more than 0 and less than 1 (0.01, 1e-6, 0.1%, 1in1000)
		FILTER.GROW full ERROR nan -> -ERR ERROR must be a number of more than 0 and less than 1 (0.01, 1e-6, 0.1%, 1in1000)
		FILTER.GROW full ERROR -> -ERR syntax error
		FILTER.GROW full RATE 0.5 -> -ERR syntax error
		FILTER.GROW half -> -ERR twice the rate 0.5 is too much: give ERROR
		FILTER.FOLD nokey -> -ERR not found
		FILTER.FOLD b -> -WRONGTYPE Operation against a key holding the wrong kind of value
		FILTER.FOLD c -> -ERR FILTER.FOLD is for kinds bloom, standard and split, not for cuckoo
		FILTER.FOLD c FIT -> -ERR FILTER.FOLD is for kinds bloom, standard and split, not for cuckoo
		FILTER.FOLD little -> -ERR FILTER.FOLD: this filter cannot be halved any further
		FILTER.FOLD full FIT now -> -ERR wrong number of arguments for 'filter.fold' command
		FILTER.FOLD full TWICE -> -ERR syntax error`
	for line := range strings.Lines(script) {
		words, want, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok {
			continue
		}
		if got := b.Line(words); got != want {
			t.Errorf("%s\n got %s\nwant %s", words, got, want)
		}
	}
	if got := b.Line("FILTER.FOLD full"); !strings.HasPrefix(got, "-ERR FILTER.FOLD would raise the false positive rate to ") {
		t.Errorf("FOLD of a full filter: %s", got)
	}
	if string(commandtest.Snapshot(b.State)) != string(before) {
		t.Error("a refused command has changed something")
	}
}
