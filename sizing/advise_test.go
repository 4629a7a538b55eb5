package sizing_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/sizing"
)

func mustAdvise(t *testing.T, q sizing.Needs) sizing.Advice {
	t.Helper()
	a, err := sizing.Advise(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return a
}

// names returns the names of the choices in their order.
func names(all []sizing.Choice) []string {
	var s []string
	for _, c := range all {
		s = append(s, c.Name)
	}
	return s
}

// serving are all kinds that serve, those that are dominated included.
func serving(a sizing.Advice) []sizing.Choice { return slices.Concat(a.Kinds, a.Others) }

// warned returns the names of the warnings.
func warned(a sizing.Advice) []string {
	var s []string
	for _, w := range a.Warnings {
		s = append(s, string(w.Code))
	}
	return s
}

// TestAdviseFirst is the table of what to take for what. An empty name means
// that no kind serves.
func TestAdviseFirst(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct {
		what     string
		needs    sizing.Needs
		first    string
		warnings string
	}{
		{"nothing known", sizing.Needs{}, "growing", "unknown"},
		{"a million", sizing.Needs{Keys: million, Capacity: 2 * million}, "bloom", ""},
		{"a million for ever", sizing.Needs{Keys: million, Immutable: true}, "fuse", ""},
		{"no headroom", sizing.Needs{Keys: million}, "bloom", "headroom"},
		{"oversized", sizing.Needs{Keys: million, Capacity: 50 * million}, "growing", ""},
		{"growth", sizing.Needs{Keys: million, Growth: true}, "scalable", ""},
		{"writers", sizing.Needs{Keys: million, Capacity: 2 * million, Writers: true}, "concurrent", ""},
		{"parquet", sizing.Needs{Keys: million, Immutable: true, Parquet: true}, "split", ""},
		{"tiny rate", sizing.Needs{Keys: million, Immutable: true, ErrorRate: 1e-9}, "fuse", ""},
		{"tiny rate, added one by one", sizing.Needs{Keys: million, Capacity: 2 * million, ErrorRate: 1e-9}, "quotient", ""},
		{"tinier rate", sizing.Needs{Keys: million, Capacity: 2 * million, ErrorRate: 1e-14}, "standard", "hashes"},
		{"many sets", sizing.Needs{Keys: million, Immutable: true, Sets: 500}, "sliced", ""},
		{"too many sets", sizing.Needs{Keys: million, Immutable: true, Sets: 5000}, "fuse", ""},
		{"little memory", sizing.Needs{Keys: million, Immutable: true, Memory: 1_220_000}, "fuse", ""},
		{"less memory", sizing.Needs{Keys: million, Immutable: true, Memory: 900_000}, "ribbon", ""},
		{"no memory", sizing.Needs{Keys: million, Immutable: true, Memory: 1000}, "", "memory"},
		{"few keys", sizing.Needs{Keys: 100, Immutable: true}, "bloom", "small"},
		{"short keys", sizing.Needs{Keys: million, Immutable: true, KeyBytes: 2, ErrorRate: 1e-6}, "ribbon", "short"},
		{"deletes", sizing.Needs{Keys: million, Capacity: 2 * million, Deletes: true}, "cuckoo", ""},
		{"deletes and growth", sizing.Needs{Deletes: true, Growth: true}, "growing", "unknown"},
		{"deletes and growth from a million", sizing.Needs{Keys: million, Deletes: true, Growth: true}, "growing", ""},
		{"oversized for ever", sizing.Needs{Keys: million, Capacity: 50 * million, Parquet: true}, "split", "oversized"},
		{"known within four times", sizing.Needs{Keys: million, Capacity: 4 * million}, "bloom", ""},
		{"deletes and writers", sizing.Needs{Keys: million, Capacity: 2 * million, Deletes: true, Writers: true}, "striped", ""},
		{"counts", sizing.Needs{Keys: million, Capacity: 2 * million, Counts: true}, "quotient", ""},
		{"expiry", sizing.Needs{Keys: million, Capacity: 2 * million, Expiry: true}, "window", ""},
		{"expiry and deletes", sizing.Needs{Keys: million, Expiry: true, Deletes: true}, "", "kind"},
		{"growth and writers", sizing.Needs{Growth: true, Writers: true}, "", "kind unknown"},
		{"never wrong", sizing.Needs{Keys: million, FalsePositiveCost: math.Inf(1)}, "", "kind"},
		{"adversary", sizing.Needs{Keys: million, Immutable: true, Adversary: true}, "fuse", "adversary"},
		{"all present", sizing.Needs{Keys: million, Immutable: true, Absent: 0.01}, "fuse", "absent"},
		{"cheap store", sizing.Needs{Keys: million, Immutable: true, FalsePositiveCost: 0.5}, "ribbon", "pointless"},
		{"rate too low", sizing.Needs{Keys: million, Immutable: true, FalsePositiveCost: 20, ErrorRate: 1e-5}, "ribbon", "cheap"},
		{"rate too high", sizing.Needs{Keys: million, Immutable: true, FalsePositiveCost: 5000, ErrorRate: 0.01}, "fuse", "costly"},
		{"half wrong", sizing.Needs{Keys: million, Immutable: true, ErrorRate: 0.5}, "ribbon", "useless"},
	} {
		a := mustAdvise(t, c.needs)
		first := ""
		if len(a.Kinds) > 0 {
			first = a.Kinds[0].Name
		}
		if first != c.first {
			t.Errorf("%s: first is %q of %v, want %q", c.what, first, names(a.Kinds), c.first)
		}
		if got := strings.Join(warned(a), " "); got != c.warnings {
			t.Errorf("%s: warnings %q, want %q", c.what, got, c.warnings)
		}
		if got := names(a.Exact); !slices.Equal(got, []string{"go map", "sorted array", "redis set"}) {
			t.Errorf("%s: exact sets %v", c.what, got)
		}
		if n := len(a.Kinds) + len(a.Others) + len(a.Refused); n != 19 {
			t.Errorf("%s: %d kinds in all, want 19", c.what, n)
		}
	}
}

// TestAdviseDominated asks that no kind stays in the list that another one beats
// in accesses and bits, that every one that left was beaten, and that a kind that
// can be full or counts to 16 sends none away that does not.
func TestAdviseDominated(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct {
		needs sizing.Needs
		kinds string
	}{
		{sizing.Needs{Keys: million, Capacity: 2 * million}, "bloom quotient standard"},
		{sizing.Needs{Keys: million, Immutable: true}, "fuse ribbon bloom"},
		{sizing.Needs{Keys: million, Immutable: true, ErrorRate: 1e-3}, "ribbon bloom cuckoo"},
		{sizing.Needs{Keys: million, Capacity: 2 * million, Deletes: true}, "cuckoo counting quotient growing"},
		{sizing.Needs{Keys: million, Capacity: 2 * million, Counts: true}, "quotient spectral growing counting"},
		{sizing.Needs{Keys: million, Capacity: 2 * million, Counts: true, Deletes: true}, "quotient growing counting"},
	} {
		a := mustAdvise(t, c.needs)
		if got := strings.Join(names(a.Kinds), " "); got != c.kinds {
			t.Errorf("%+v: %s, want %s", c.needs, got, c.kinds)
		}
		for i, x := range a.Kinds {
			for _, y := range a.Kinds[i+1:] {
				if x.Lookup <= y.Lookup && x.Insert <= y.Insert && x.BitsPerKey < y.BitsPerKey && x.Name != "quotient" && x.Name != "cuckoo" {
					t.Errorf("%+v: %s beats %s", c.needs, x.Name, y.Name)
				}
			}
		}
		for _, y := range a.Others {
			by, _, _ := strings.Cut(y.Reasons[len(y.Reasons)-1], " ")
			i := slices.IndexFunc(a.Kinds, func(x sizing.Choice) bool { return x.Name == by })
			if i < 0 || a.Kinds[i].Lookup > y.Lookup || a.Kinds[i].BitsPerKey > y.BitsPerKey {
				t.Errorf("%+v: %s left the list for %s", c.needs, y.Name, by)
			}
		}
	}
}

// TestAdviceText asks for the first line of the text.
func TestAdviceText(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct {
		needs sizing.Needs
		first string
	}{
		{sizing.Needs{Keys: million, Capacity: 2 * million}, "take bloom: bloom.New, 19.87 bits per key, 2.368 MiB"},
		{sizing.Needs{Keys: million, Immutable: true}, "take fuse: fuse.Build, 9.01 bits per key, 1.074 MiB"},
		{sizing.Needs{}, "take growing: quotient.NewGrowing, 20.08 bits per key"},
		{sizing.Needs{Keys: 100}, "take go map: map[string]struct{}, 404.48 bits per key, 4.938 KiB"},
		{sizing.Needs{Keys: million, FalsePositiveCost: math.Inf(1)}, "take no filter"},
		{sizing.Needs{Keys: million, FalsePositiveCost: 0.5}, "take no filter"},
	} {
		a := mustAdvise(t, c.needs)
		if first, _, _ := strings.Cut(a.String(), "\n"); first != c.first || !strings.HasPrefix(first, "take "+a.Take()) {
			t.Errorf("%+v: %q (%s), want %q", c.needs, first, a.Take(), c.first)
		}
	}
	if got := (sizing.Advice{}).String(); got != "take no filter" {
		t.Errorf("no advice: %q", got)
	}
}

// TestAdviseBits holds the adviser's bits per key to those of the layouts, and
// to figures that were computed apart from this code: the split layout from the
// Poisson mixture, the partitioned one as the textbook's.
func TestAdviseBits(t *testing.T) {
	for _, c := range []struct {
		p, split, textbook float64
	}{
		{0.05, 7.23, 6.25}, {0.01, 10.53, 9.59}, {0.004, 12.78, 11.49}, {1e-3, 16.89, 14.38}, {1e-4, 26.34, 19.17}, {1e-5, 40.99, 23.97},
	} {
		want := map[string]float64{
			"split": c.split, "partitioned": c.textbook, "standard": c.textbook,
			"bloom": float64(mustSize(sizing.Blocked, 1_000_000, c.p).Bits) / 1e6,
		}
		for _, k := range serving(mustAdvise(t, sizing.Needs{Keys: 1_000_000, ErrorRate: c.p})) {
			if w, ok := want[k.Name]; ok && math.Abs(k.BitsPerKey/w-1) > 0.003 {
				t.Errorf("%s at %v: %.3f bits per key, want %.2f", k.Name, c.p, k.BitsPerKey, w)
			}
		}
	}
}

func TestAdviseRefuses(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		needs sizing.Needs
		want  error
	}{
		{sizing.Needs{Keys: 10, ErrorRate: nan}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, ErrorRate: -1}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, ErrorRate: 1}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, Absent: 1.5}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, Absent: nan}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, FalsePositiveCost: -1}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, FalsePositiveCost: nan}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, KeyBytes: -1}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, Sets: -1}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, Capacity: 5}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, Immutable: true, Deletes: true}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 10, Immutable: true, Growth: true}, bloomery.ErrParameter},
		{sizing.Needs{Keys: 1<<63 + 1}, bloomery.ErrTooLarge},
		{sizing.Needs{Keys: 10, Sets: math.MaxInt}, bloomery.ErrTooLarge},
	} {
		if a, err := sizing.Advise(c.needs); !errors.Is(err, c.want) || len(a.Kinds) > 0 {
			t.Errorf("%+v: %v, want %v and no advice", c.needs, err, c.want)
		}
	}
}

// The rate that is chosen makes false positives cost a tenth of the lookups.
func TestAdviseRate(t *testing.T) {
	for _, c := range []struct {
		needs sizing.Needs
		want  float64
	}{
		{sizing.Needs{Keys: 1e6}, 0.01},
		{sizing.Needs{Keys: 1e6, ErrorRate: 0.2, FalsePositiveCost: 10}, 0.2},
		{sizing.Needs{Keys: 1e6, FalsePositiveCost: 1000}, 1e-4},
		{sizing.Needs{Keys: 1e6, FalsePositiveCost: 1000, Absent: 0.1}, 1e-3},
		{sizing.Needs{Keys: 1e6, FalsePositiveCost: 1e12}, 1e-6},
		{sizing.Needs{Keys: 1e6, FalsePositiveCost: 0.001}, 0.1},
	} {
		if got := mustAdvise(t, c.needs).ErrorRate; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: rate %v, want %v", c.needs, got, c.want)
		}
	}
}

// can says what the kinds can do, apart from the code.
var can = map[string]struct{ grow, writers, parquet, deletes, counts, expires, static bool }{
	"bloom": {}, "standard": {}, "partitioned": {}, "sliced": {},
	"scalable": {grow: true}, "concurrent": {writers: true}, "split": {parquet: true},
	"cuckoo": {deletes: true}, "quotient": {deletes: true, counts: true, grow: true}, "growing": {deletes: true, counts: true, grow: true},
	"counting": {deletes: true, counts: true}, "spectral": {counts: true}, "stable": {expires: true}, "window": {expires: true}, "striped": {deletes: true, writers: true},
	"fuse": {static: true}, "ribbon": {static: true},
}

func drawNeeds(t *rapid.T) sizing.Needs {
	q := sizing.Needs{
		Keys:              rapid.OneOf(rapid.Uint64Range(0, 2000), rapid.Uint64Range(0, 1<<63)).Draw(t, "keys"),
		KeyBytes:          rapid.OneOf(rapid.IntRange(0, 1000), rapid.IntRange(0, math.MaxInt)).Draw(t, "key bytes"),
		ErrorRate:         rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-300, 0.999999)).Draw(t, "rate"),
		FalsePositiveCost: rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, math.Inf(1))).Draw(t, "false positive cost"),
		Absent:            rapid.Float64Range(0, 1).Draw(t, "absent"),
		Memory:            rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "memory"),
		Sets:              rapid.OneOf(rapid.IntRange(0, 3000), rapid.IntRange(0, 1<<20)).Draw(t, "sets"),
		Growth:            rapid.Bool().Draw(t, "growth"),
		Writers:           rapid.Bool().Draw(t, "writers"),
		Parquet:           rapid.Bool().Draw(t, "parquet"),
		Adversary:         rapid.Bool().Draw(t, "adversary"),
		Deletes:           rapid.Bool().Draw(t, "deletes"),
		Counts:            rapid.Bool().Draw(t, "counts"),
		Expiry:            rapid.Bool().Draw(t, "expiry"),
	}
	if !q.Growth && !q.Writers && !q.Deletes && !q.Expiry {
		q.Immutable = rapid.Bool().Draw(t, "immutable")
	}
	if q.Keys > 0 {
		q.Capacity = rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(q.Keys, 1<<63)).Draw(t, "capacity")
	}
	return q
}

// TestAdviseProperties asks for anything: no kind is advised that lacks what
// is needed or does not fit, and every figure is a number.
func TestAdviseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := drawNeeds(t)
		a, err := sizing.Advise(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Kinds) > 0 && math.IsInf(q.FalsePositiveCost, 1) {
			t.Fatalf("%v advised where no error is allowed", names(a.Kinds))
		}
		grows := q.Growth || q.Keys == 0
		for _, c := range serving(a) {
			has, known := can[c.Name]
			if !known || grows && !has.grow || q.Writers && !has.writers || q.Parquet && !has.parquet {
				t.Fatalf("%s advised for %+v", c.Name, q)
			}
			if q.Deletes && !has.deletes || q.Counts && !has.counts || q.Expiry && !has.expires || has.static && !q.Immutable || has.expires && !q.Expiry {
				t.Fatalf("%s advised for %+v", c.Name, q)
			}
			if q.Memory > 0 && c.Bytes > q.Memory {
				t.Fatalf("%s takes %d bytes of %d", c.Name, c.Bytes, q.Memory)
			}
			if c.ErrorRate > a.ErrorRate*(1+1e-9) {
				t.Fatalf("%s errs for %v, asked for %v", c.Name, c.ErrorRate, a.ErrorRate)
			}
			if c.Make == "" || len(c.Reasons) == 0 || c.Lookup < 1 || (c.Insert < 1) != has.static {
				t.Fatalf("%+v", c)
			}
		}
		for _, c := range slices.Concat(a.Kinds, a.Others, a.Exact) {
			if !(c.BitsPerKey > 0) || math.IsInf(c.BitsPerKey, 0) || !(c.ErrorRate >= 0) || (c.Bytes == 0) != (q.Keys == 0) {
				t.Fatalf("%+v", c)
			}
		}
		for _, text := range append(reasons(a), texts(a)...) {
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "%!") {
				t.Fatalf("%q", text)
			}
		}
	})
}

func reasons(a sizing.Advice) (s []string) {
	for _, r := range a.Refused {
		s = append(s, r.Reason)
	}
	return s
}

func texts(a sizing.Advice) (s []string) {
	for _, w := range a.Warnings {
		s = append(s, w.String())
	}
	return s
}

// More keys never take fewer bytes, and a lower rate never takes less, but
// for the layers of a scalable filter, which leave the blocked layout for a
// smaller one at 1e-6, and for a growing one, whose steps of 1.26 lie elsewhere for
// every rate.
func TestAdviseMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Uint64Range(1, 5000), rapid.Uint64Range(1, 1<<32)).Draw(t, "n")
		more := n + rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64Range(0, n)).Draw(t, "more")
		p := rapid.Float64Range(1e-12, 0.5).Draw(t, "p")
		small, large, low := prices(t, n, p), prices(t, more, p), prices(t, n, p/2)
		for name, bytes := range small {
			if b, ok := large[name]; ok && b < bytes && name != "growing" {
				t.Errorf("%s: %d bytes for %d keys, %d for %d", name, bytes, n, b, more)
			}
			if b, ok := low[name]; ok && b < bytes && name != "scalable" && name != "growing" {
				t.Errorf("%s: %d bytes at %v, %d at %v", name, bytes, p, b, p/2)
			}
		}
	})
}

func prices(t *rapid.T, n uint64, p float64) map[string]uint64 {
	a, err := sizing.Advise(sizing.Needs{Keys: n, ErrorRate: p})
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]uint64{}
	for _, c := range slices.Concat(a.Kinds, a.Others, a.Exact) {
		m[c.Name] = c.Bytes
	}
	return m
}

// TestAdviseOnlyWhereWanted holds kinds that give something up to the needs
// that allow it: random needs seldom come near them.
func TestAdviseOnlyWhereWanted(t *testing.T) {
	for _, c := range []struct {
		name  string
		needs sizing.Needs
	}{
		{"stable", sizing.Needs{Keys: 1_000_000, Expiry: true}},
		{"window", sizing.Needs{Keys: 1_000_000, Expiry: true}},
		{"fuse", sizing.Needs{Keys: 1_000_000, Immutable: true}},
		{"ribbon", sizing.Needs{Keys: 1_000_000, Immutable: true}},
	} {
		if !slices.Contains(names(serving(mustAdvise(t, c.needs))), c.name) {
			t.Errorf("%s is not advised for %+v", c.name, c.needs)
		}
		if slices.Contains(names(serving(mustAdvise(t, sizing.Needs{Keys: c.needs.Keys}))), c.name) {
			t.Errorf("%s is advised where nobody asked for it", c.name)
		}
	}
}

// TestAdviseFigures checks figures of single kinds: what a set of unknown size is
// counted for, and the rates of a window, of binary fuse and of a layer.
func TestAdviseFigures(t *testing.T) {
	find := func(q sizing.Needs, name string) sizing.Choice {
		t.Helper()
		a := mustAdvise(t, q)
		for _, c := range append(a.Kinds, a.Others...) {
			if c.Name == name {
				return c
			}
		}
		t.Fatalf("%+v: no %s", q, name)
		return sizing.Choice{}
	}
	for _, c := range []struct {
		needs sizing.Needs
		name  string
		want  bool
	}{
		{sizing.Needs{}, "scalable", true},
		{sizing.Needs{Keys: 1e6, Growth: true}, "scalable", false},
		{sizing.Needs{Keys: 1e6}, "bloom", false},
	} {
		if text := fmt.Sprint(find(c.needs, c.name).Reasons); strings.Contains(text, "figures are for 1000000 keys") != c.want {
			t.Errorf("%+v: %s", c.needs, text)
		}
	}
	if got := find(sizing.Needs{Keys: 1e6, Immutable: true}, "fuse").ErrorRate; got != 1./256 {
		t.Errorf("rate of fuse = %v, want 1/256", got)
	}
	w, err := sizing.WindowSize(1e6, 0.01, sizing.WindowGenerations, sizing.WindowBurst)
	if err != nil {
		t.Fatal(err)
	}
	// Seven generations are asked, six of which hold the keys.
	if got, want := find(sizing.Needs{Keys: 1e6, Expiry: true}, "window").ErrorRate, 7*w.Shape.Rate(1e6/6.); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("rate of a window = %v, want %v", got, want)
	}
	// A layer has its share of the rate, and one memory access as far as the
	// blocked layout goes.
	lowest := sizing.MinBlockedRate / sizing.LayerShare(1) * 1.000001
	if got := find(sizing.Needs{Keys: 1000, Growth: true, ErrorRate: lowest}, "scalable").Lookup; got != 1 {
		t.Errorf("a layer at the lowest rate of the blocked layout takes %d accesses", got)
	}
}
