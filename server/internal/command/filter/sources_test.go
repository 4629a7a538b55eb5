package filter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// summary returns the file of a filter with items.
func summary(tb testing.TB, capacity int, items ...string) string {
	tb.Helper()
	f := bloom.New(capacity, 0.0001)
	for _, item := range items {
		f.AddString(item)
	}
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// load loads a version of a source.
func (b *bench) load(key, source string, version int, data string) string {
	return strings.TrimPrefix(b.Do("FILTER.LOAD", key, "1", data, "FROM", source, "VERSION", strconv.Itoa(version)), ":")
}

// TestSources loads summaries of sources: the filter is the union of the latest of each, and of what
// was added to it.
func TestSources(t *testing.T) {
	for _, capacity := range []int{100, 50_000, 150_000} { // in no array of its own, in one piece, in several
		b := newBench(t, 1<<30)
		step := func(want, got, has string) {
			t.Helper()
			if found := b.Line("FILTER.HAS f a b c d e f"); got != want || found != has {
				t.Errorf("capacity %d: %s, want %s; the filter has %s, want %s", capacity, got, want, found, has)
			}
		}
		of := func(items ...string) string { return summary(t, capacity, items...) }
		step("1", b.load("f", "one", 3, of("a", "b")), "[true true false false false false]")
		step("1", b.load("f", "two", 1, of("b", "c")), "[true true true false false false]")
		step("[true]", b.Line("FILTER.ADD f d"), "[true true true true false false]")
		step("[false]", b.Line("FILTER.ADD f a"), "[true true true true false false]") // now it stays
		step("0", b.load("f", "one", 3, of("e")), "[true true true true false false]")
		step("0", b.load("f", "one", 2, of("e")), "[true true true true false false]")
		step("1", b.load("f", "two", 7, of("e")), "[true true false true true false]")
		step("1", b.load("f", "one", 4, of("f")), "[true false false true true true]")

		dumped := b.Exec(commandtest.Bytes([]string{"DUMP", "f"}))[0].Text
		b = restarted(t, b, nil)
		b.OK(t, "SAVE")
		b = restarted(t, b, nil)
		b.Now = b.Now.Add(5e9)
		b.OK(t, "RENAME f g")
		if got := b.Do("RESTORE", "f", "0", dumped); got != "+OK" {
			t.Fatal(got)
		}
		b.Line("COPY f g REPLACE")
		for _, key := range []string{"f", "g"} {
			if got := b.field(t, key, "sources"); !strings.Contains(got, `"source" "one" "version" :4 "age" :5`) || !strings.Contains(got, `"source" "two" "version" :7 "age" :5`) {
				t.Errorf("capacity %d: FILTER.INFO %s has sources %s", capacity, key, got)
			}
		}
		step("0", b.load("f", "two", 7, of()), "[true false false true true true]")
		step("1", b.load("f", "one", 5, of()), "[true false false true true false]")
		step("1", b.load("f", "two", 8, of()), "[true false false true false false]")
		b.OK(t, "FILTER.CLEAR f")
		step("1", b.load("f", "two", 1, of("c")), "[false false true false false false]")
		b.Crash(t)
	}
}

// TestGoneBySource reports items of two sources, and one that was added, as deleted: a later version of
// a source ends the count of its own items only.
func TestGoneBySource(t *testing.T) {
	b := newBench(t, 1<<30)
	step := func(line, want, gone string) {
		t.Helper()
		got := "1"
		if line != "" {
			got = b.Line(line)
		}
		if n := b.gone(t, "f"); got != want || n != gone {
			t.Errorf("%s: %s with %s gone, want %s with %s", line, got, n, want, gone)
		}
	}
	b.load("f", "one", 1, summary(t, 1000, "a", "b", "c"))
	b.load("f", "two", 1, summary(t, 1000, "d", "e"))
	b.Line("FILTER.ADD f g")
	step("FILTER.GONE f a b x", "[true true false]", "2")
	step("FILTER.GONE f d g", "[true true]", "4")
	b.load("f", "two", 2, summary(t, 1000, "e"))
	step("", "1", "3")
	b = restarted(t, b, nil)
	b.load("f", "three", 1, summary(t, 1000, "h"))
	step("", "1", "3")
	b.load("f", "one", 2, summary(t, 1000, "c"))
	step("", "1", "1")
	b.OK(t, "FILTER.CREATE f2 bloom CAPACITY 2M") // a sample shows none of its items
	b.Line("FILTER.ADD f2 only")
	for range 2 { // the second time is a mistake of the client
		if got := b.Line("FILTER.GONE f2 only"); got != "[true]" || b.gone(t, "f2") != "1" {
			t.Errorf("the only item is gone: %s, %s", got, b.gone(t, "f2"))
		}
	}
	b.Crash(t)
}

// TestSourcesOfParts loads the parts of a source one after the other.
func TestSourcesOfParts(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE made bloom CAPACITY 1000 PARTS 4")
	b.Line("FILTER.ADD made a b c d e f g h")
	absent := b.Line("FILTER.HAS f a")
	for cursor := "0"; ; {
		r := b.Exec(commandtest.Bytes([]string{"FILTER.DUMP", "made", cursor}))[0]
		if cursor = strconv.FormatInt(r.Elems[0].N, 10); cursor == "0" {
			break
		}
		for _, want := range []string{":1", ":0"} {
			if b.Line("FILTER.HAS f a") != absent && want == ":1" {
				t.Errorf("before part %s: the filter is there", cursor)
			}
			if got := b.Do("FILTER.LOAD", "f", cursor, r.Elems[1].Text, "FROM", "s", "VERSION", "2"); got != want {
				t.Errorf("part %s: %s, want %s", cursor, got, want)
			}
		}
	}
	if got := b.Line("FILTER.HAS f a b c d e f g h"); strings.Contains(got, "false") {
		t.Error(got)
	}
	b.OK(t, "FILTER.CREATE late bloom LIKE made")
	r := b.Exec(commandtest.Bytes([]string{"FILTER.DUMP", "made", strconv.FormatInt(3<<32|3, 10)}))[0]
	if got := b.Do("FILTER.LOAD", "late", strconv.FormatInt(r.Elems[0].N, 10), r.Elems[1].Text, "FROM", "s", "VERSION", "2"); got != ":1" {
		t.Error(got)
	}
	has := b.Line("FILTER.HAS late a b c d e f g h")
	if got := b.Line("FILTER.UNION late made"); !strings.Contains(got, "union of its sources") || b.Line("FILTER.HAS late a b c d e f g h") != has {
		t.Errorf("a union with a filter whose last part has a source: %s, and it has %s", got, b.Line("FILTER.HAS late a b c d e f g h"))
	}
	if got := b.load("f", "s", 3, summary(t, 1000)); got != "-ERR the filter has 4 parts, and the source 1" {
		t.Error(got)
	}
	b.Crash(t)
}

// TestSourcesAgainstModel loads random versions of random sources, late ones too, and asks for every
// item of the latest.
func TestSourcesAgainstModel(t *testing.T) {
	b := newBench(t, 1<<30)
	rng := rand.New(rand.NewPCG(31, 4))
	latest, items, added := map[string]int{}, map[string][]string{}, []string{}
	for round := range 200 {
		source, version := fmt.Sprint("source", rng.IntN(4)), 1+rng.IntN(round/4+4)
		var set []string
		for range rng.IntN(20) {
			set = append(set, fmt.Sprint("item", rng.IntN(500)))
		}
		want := "0"
		if version > latest[source] {
			want, latest[source], items[source] = "1", version, set
		}
		if got := b.load("f", source, version, summary(t, 5000, set...)); got != want {
			t.Fatalf("round %d: version %d: %s, want %s", round, version, got, want)
		}
		if round%10 == 0 {
			added = append(added, fmt.Sprint("item", rng.IntN(500)))
			b.Do("FILTER.ADD", "f", added[len(added)-1])
		}
		there := map[string]bool{}
		for _, list := range append([][]string{added}, items["source0"], items["source1"], items["source2"], items["source3"]) {
			for _, item := range list {
				there[item] = true
			}
		}
		wrong := 0
		for i := range 500 {
			item := fmt.Sprint("item", i)
			has := b.Do("FILTER.HAS", "f", item) == "[true]"
			if there[item] && !has {
				t.Fatalf("round %d: %s is missing", round, item)
			}
			if has && !there[item] {
				wrong++
			}
		}
		if wrong > 5 { // of 500 at 0.01%, nearly empty: one is rare, and the keys are fixed
			t.Fatalf("round %d: %d items are there that no source has", round, wrong)
		}
		if round%50 == 49 {
			b = restarted(t, b, nil)
		}
	}
}

// TestSourceErrors loads what is no source of a filter: nothing changes.
func TestSourceErrors(t *testing.T) {
	b := newBench(t, 1<<30)
	good := summary(t, 1000, "a")
	if got := b.load("f", "s", 1, good); got != "1" {
		t.Fatal(got)
	}
	b.Line("SET text x")
	b.Line("FILTER.CREATE c cuckoo")
	other, _ := bloom.NewStandard(1000, 0.0001).MarshalBinary()
	seeded, _ := (bloom.Config{Capacity: 1000, ErrorRate: 0.0001, Hasher: hashing.Seeded(7)}).New()
	seed, _ := seeded.MarshalBinary()
	deletes, _ := cuckoo.New(1000, 0.01).MarshalBinary()
	flipped := []byte(good)
	flipped[100] ^= 1
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"f", "1", summary(t, 2000), "FROM", "s", "VERSION", "2"}, "-ERR the source is refused: it has "},
		{[]string{"f", "1", string(other), "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"f", "1", string(seed), "FROM", "s", "VERSION", "2"}, "-ERR the source is refused: it is of kind "},
		{[]string{"f", "1", string(flipped), "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"f", "1", good[:len(good)-1], "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"f", "1", good[:64], "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"f", "1", "", "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"new", "1", good[:64], "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"new2", "1", string(deletes), "FROM", "s", "VERSION", "2"}, "-ERR "},
		{[]string{"c", "1", string(deletes), "FROM", "s", "VERSION", "2"}, "-ERR the source is refused: a filter of kind "},
		{[]string{"text", "1", good, "FROM", "s", "VERSION", "2"}, "-WRONGTYPE "},
		{[]string{"f", "1", good, "FROM", "s"}, "-ERR FROM needs VERSION"},
		{[]string{"f", "1", good, "FROM", "s", "VERSION", "0"}, "-ERR "},
		{[]string{"f", "1", good, "FROM", "s", "VERSION", "2", "SPAN", "1h"}, "-ERR FROM needs VERSION"},
		{[]string{"f", "1", good, "FROM", "", "VERSION", "2"}, "-ERR FROM takes a name"},
		{[]string{"f", "1", good, "FROM", strings.Repeat("x", 129), "VERSION", "2"}, "-ERR FROM takes a name"},
		{[]string{"f", "1", good, "FROM", "s", "FROM", "t", "VERSION", "2"}, "-ERR syntax"},
	} {
		if got := b.Do(append([]string{"FILTER.LOAD"}, c.words...)...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%.60q: %s, want %s", c.words, got, c.want)
		}
	}
	for line, want := range map[string]string{
		"FILTER.GROW f":     "-ERR the filter is the union of its sources: load those instead",
		"FILTER.UNION f f2": "-ERR the filter is the union of its sources: load those instead",
	} {
		b.Line("FILTER.CREATE f2 bloom LIKE f")
		b.Line("FILTER.ADD f2 x")
		if got := b.Line(line); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", line, got)
		}
	}
	b.OK(t, "FILTER.REBUILD f BEGIN")
	b.Line("FILTER.REBUILD f FEED a b c")
	if got := b.Line("FILTER.REBUILD f COMMIT"); !strings.Contains(got, "which a rebuild drops") || b.field(t, "f", "sources") == "" {
		t.Errorf("a rebuild of a filter with sources: %s", got)
	}
	b.OK(t, "FILTER.REBUILD f ABORT")
	b.Line("MULTI")
	b.load("f", "s", 2, good)
	if got := b.Line("EXEC"); !strings.Contains(got, "not for transactions") {
		t.Error(got)
	}
	if got := b.field(t, "f", "sources"); !strings.Contains(got, `"version" :1 `) {
		t.Errorf("sources %s", got)
	}
	for i := range 255 {
		if got := b.load("f", fmt.Sprint("other", i), 1, good); got != "1" {
			t.Fatal(got)
		}
	}
	if got := b.load("f", "one too many", 1, good); !strings.Contains(got, "256 sources at most") {
		t.Error(got)
	}
	b.Crash(t)
}

// TestSourceOfNoFilter loads what is no source into a filter that is not there: there is none after it.
func TestSourceOfNoFilter(t *testing.T) {
	b := newBench(t, 1<<30)
	before := b.State.Bytes()
	good := summary(t, 200_000, "x")
	deletes, _ := cuckoo.New(1000, 0.01).MarshalBinary()
	flipped := []byte(good)
	flipped[len(flipped)/2] ^= 1
	for i, bad := range []string{good[:len(good)-1], good + "x", good[:64], string(flipped), string(deletes)} {
		if got := b.load("f", "s", 1, bad); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("file %d: %s", i, got)
		}
		if got := b.Line("EXISTS f"); got != ":0" || b.State.Bytes() != before {
			t.Errorf("file %d: EXISTS %s, %d bytes are left", i, got, b.State.Bytes()-before)
		}
	}
	b.Crash(t)
}

// TestSourceAndRepair repairs an item that a source has: it stays when the source loses it.
func TestSourceAndRepair(t *testing.T) {
	b := newBench(t, 1<<30)
	b.load("f", "s", 1, summary(t, 1000, "a"))
	if got := b.Line("FILTER.REPAIR f a b"); got != "[false true]" {
		t.Error(got)
	}
	b.load("f", "s", 2, summary(t, 1000))
	if got := b.Line("FILTER.HAS f a b c"); got != "[true true false]" {
		t.Error(got)
	}
	b.Crash(t)
}

// TestSourceRefusedOnce loads files of several pieces that are refused, and gives the filter another form
// then: the folder can be read again, and nothing is left of what was refused.
func TestSourceRefusedOnce(t *testing.T) {
	b := newBench(t, 1<<30)
	seeded, _ := (bloom.Config{Capacity: 200_000, ErrorRate: 0.0001, Hasher: hashing.Seeded(7)}).New()
	seed, _ := seeded.MarshalBinary()
	good := summary(t, 200_000, "x")
	for i, bad := range []string{string(seed), good[:len(good)-1]} {
		key := fmt.Sprint("f", i)
		b.OK(t, "FILTER.CREATE "+key+" bloom CAPACITY 200000 ERROR 0.0001")
		b.Line("FILTER.ADD " + key + " alice")
		before := b.field(t, key, "bytes")
		for n := range 3 {
			if got := b.load(key, fmt.Sprint("peer", n), 1, bad); !strings.HasPrefix(got, "-ERR ") {
				t.Fatal(got)
			}
		}
		if after := b.field(t, key, "bytes"); after != before {
			t.Errorf("%s bytes, %s before", after, before)
		}
		b.OK(t, "FILTER.GROW "+key)
		if got := b.Line("COPY " + key + " copy" + key); got != ":1" {
			t.Errorf("COPY: %s", got)
		}
	}
	for range 2 {
		b = restarted(t, b, nil)
		for _, key := range []string{"f0", "copyf0", "f1", "copyf1"} {
			if got := b.Line("FILTER.HAS " + key + " alice"); got != "[true]" {
				t.Errorf("%s: %s", key, got)
			}
		}
		b.OK(t, "SAVE")
	}
}

// pieceDoor notes how long the longest piece of a source was, and calls seen before each.
type pieceDoor struct {
	door.Door
	longest int
	seen    func()
}

func (d *pieceDoor) Do(ops []*door.Op) {
	for _, op := range ops {
		if body, ok := op.Record.Body.(*store.FilterSource); ok {
			d.longest = max(d.longest, len(body.Data))
			d.seen()
		}
	}
	d.Door.Do(ops)
}

// TestPiecesOfManySources asks that a piece of a source is the shorter the more sources there are: all of them are read with
// it, under the lock of the part.
func TestPiecesOfManySources(t *testing.T) {
	b := newBench(t, 1<<30)
	d := &pieceDoor{seen: func() {}}
	b.Rewire(func(c *engine.Config) { d.Door, c.Door = c.Door, d })
	data := summary(t, 80_000, "a")
	for i := range 50 {
		if got := b.load("f", fmt.Sprint(i), 1, data); got != "1" {
			t.Fatal(got)
		}
		if i == 0 && d.longest != len(data) {
			t.Errorf("the only source comes in pieces of %d bytes", d.longest)
		}
	}
	d.longest = 0
	if b.load("f", "0", 2, data); d.longest == 0 || d.longest*50 > 8<<20 {
		t.Errorf("a piece of %d bytes of one of 50 sources", d.longest)
	}
	if got := b.Line("FILTER.HAS f a"); got != "[true]" {
		t.Error(got)
	}
}

// TestSourceIsCountedOnce asks that memory which is set aside for a source is given back when its arrays are made: they count
// by themselves from then on.
func TestSourceIsCountedOnce(t *testing.T) {
	b := newBench(t, 1<<30)
	d := &pieceDoor{}
	b.Rewire(func(c *engine.Config) { d.Door, c.Door = c.Door, d })
	data := summary(t, 800_000, "a")
	var aside []int64
	d.seen = func() { aside = append(aside, b.Engine.Budget.Used()-b.State.Bytes()) }
	if got := b.load("f", "s", 1, data); got != "1" {
		t.Fatal(got)
	}
	if len(aside) < 3 || aside[0] < 3*int64(len(data)) || slices.Max(aside[1:]) > 0 {
		t.Errorf("%d bytes are set aside before each piece of %d", aside, len(data))
	}
}

// TestSourceMemory asks for more memory than there is: nothing changes, and what sources take counts.
func TestSourceMemory(t *testing.T) {
	b := newBench(t, 8<<20)
	data := summary(t, 200_000, "a")
	before, n := b.State.Bytes(), 0
	for ; n < 100; n++ {
		if got := b.load("f", fmt.Sprint(n), 1, data); strings.HasPrefix(got, "-OOM") {
			break
		} else if got != "1" {
			t.Fatal(got)
		}
	}
	if used := b.State.Bytes() - before; n == 0 || n == 100 || used < int64(n+2)*int64(len(data)) {
		t.Errorf("%d sources of %d bytes take %d", n, len(data), used)
	}
	if got := b.Line("FILTER.HAS f a"); got != "[true]" {
		t.Error(got)
	}
	b.Line("DEL f")
	if left := b.State.Bytes() - before; left != 0 {
		t.Errorf("%d bytes are left", left)
	}
}
