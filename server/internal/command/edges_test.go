package command_test

// Scripts about the edges of commands, and commands with more names or items than one
// record or call has.

import (
	"fmt"
	"strings"
	"testing"
)

// TestEdges runs the scripts about keys, filters and sessions.
func TestEdges(t *testing.T) {
	for _, edges := range []map[string]string{keyEdges, filterEdges, sessionEdges} {
		for name, script := range edges {
			t.Run(name, func(t *testing.T) {
				b := newBench(t, 1<<30)
				for line := range strings.Lines(strings.TrimSpace(script)) {
					cmd, want, _ := strings.Cut(strings.Trim(line, "\t\n"), " -> ")
					if got := b.line(cmd); got != want {
						t.Errorf("%s\n got %s\nwant %s", cmd, got, want)
					}
				}
			})
		}
	}
}

// TestItemsOfAPipeline asks that commands that come together keep their own items.
func TestItemsOfAPipeline(t *testing.T) {
	b := newBench(t, 1<<30)
	var adds [][][]byte
	for _, kind := range []string{"BF", "CF"} {
		for i := range 20 {
			adds = append(adds, fields(fmt.Sprintf("%s.ADD %s%d item%d", kind, kind, i, i)))
		}
	}
	b.exec(adds...)
	for _, kind := range []string{"BF", "CF"} {
		for i := range 20 {
			for j := range 20 {
				want := ":0"
				if i == j {
					want = ":1"
				}
				if got := b.line(fmt.Sprintf("%s.EXISTS %s%d item%d", kind, kind, i, j)); got != want {
					t.Errorf("item %d in filter %d of %s: %s, want %s", j, i, kind, got, want)
				}
			}
		}
	}
	for _, kind := range []string{"BF", "CF"} {
		adds = adds[:0]
		for i := range 20 {
			adds = append(adds, fields(fmt.Sprintf("%s.ADD %s item%d", kind, kind, i)))
		}
		b.exec(adds...)
		for i := range 20 {
			if got := b.line(fmt.Sprintf("%s.EXISTS %s item%d", kind, kind, i)); got != ":1" {
				t.Errorf("item %d of 20 that were added to one filter of %s together: %s", i, kind, got)
			}
		}
	}
	if got := b.line("BF.DEBUG BF0"); !strings.Contains(got, "size:1") || !strings.Contains(got, "capacity:100 size:1 ratio:0.005") {
		t.Errorf("BF.DEBUG = %s", got)
	}
}

// TestCuckooShrinks deletes most of what is in many sub-filters: what is left moves
// together, at deletes and by CF.COMPACT.
func TestCuckooShrinks(t *testing.T) {
	for _, items := range []int{60, 3000} { // compacted at once, and in pieces
		b := newBench(t, 1<<30)
		b.line("CF.RESERVE c 8 BUCKETSIZE 2 EXPANSION 1")
		filters := func() (n int) {
			info := b.exec(fields("CF.INFO c"))[0].Elems
			for i := 0; i+1 < len(info); i += 2 {
				if info[i].Text == "Number of filters" {
					n = int(info[i+1].N)
				}
			}
			return n
		}
		for i := range items {
			if got := b.line(fmt.Sprint("CF.ADD c item", i)); got != ":1" {
				if i < 50 {
					t.Fatalf("CF.ADD of item %d = %s", i, got)
				}
				items = i // no more sub-filters: enough
				break
			}
		}
		full := filters()
		left := items / 20
		for i := left; i < items; i++ {
			if got := b.line(fmt.Sprint("CF.DEL c item", i)); got != ":1" {
				t.Fatalf("CF.DEL of item %d = %s", i, got)
			}
		}
		deleted := filters()
		if got := b.line("CF.COMPACT c"); got != "+OK" {
			t.Fatalf("CF.COMPACT = %s", got)
		}
		compact := filters()
		if full < 4 || deleted >= full || compact > deleted || compact > max(1, full/4) {
			t.Errorf("%d items: %d sub-filters, %d after deletes, %d after CF.COMPACT", items, full, deleted, compact)
		}
		for i := range left {
			if got := b.line(fmt.Sprint("CF.EXISTS c item", i)); got != ":1" {
				t.Fatalf("item %d is forgotten: %s", i, got)
			}
		}
	}
}

// TestManyNames removes more names than one record has.
func TestManyNames(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, n := range []int{1, 127, 128, 129, 256, 257, 1000} {
		set, names := []string{"MSET"}, []string{"DEL", "nokey"}
		for i := range n {
			name := fmt.Sprint("name", i)
			set, names = append(set, name, "v"), append(names, name)
		}
		names = append(names, "name0", "stays not") // twice, and never there
		b.do(set...)
		b.do("SET", "other", "v")
		if got := b.do(append([]string{"EXISTS"}, names[1:]...)...); got != fmt.Sprint(":", n+1) {
			t.Errorf("EXISTS of %d names, one of them twice = %s", n, got)
		}
		if got := b.do(names...); got != fmt.Sprint(":", n) {
			t.Errorf("DEL of %d names = %s", n, got)
		}
		if got := b.line("DBSIZE"); got != ":1" {
			t.Errorf("after DEL of %d names DBSIZE = %s, want :1", n, got)
		}
	}
}

// TestScanWalks visits every name, with about as many in a call as were asked for:
// ten if nothing was.
func TestScanWalks(t *testing.T) {
	b := newBench(t, 1<<30)
	const names, chain = 2000, 30
	for i := range names {
		b.do("SET", fmt.Sprint("name", i), "v")
	}
	for _, c := range []struct {
		words string
		count int
	}{{"", 10}, {" COUNT 1", 1}, {" COUNT 9", 9}, {" COUNT 300", 300}, {" COUNT 5000", 5000}} {
		seen, cursor := map[string]bool{}, "0"
		for {
			r := b.exec(fields("SCAN " + cursor + c.words))[0]
			for _, name := range r.Elems[1].Elems {
				seen[name.Text] = true
			}
			cursor = r.Elems[0].Text
			if cursor == "0" {
				break
			}
			if got := len(r.Elems[1].Elems); got < c.count || got > c.count+chain {
				t.Fatalf("SCAN%s has %d names", c.words, got)
			}
		}
		if len(seen) != names {
			t.Errorf("SCAN%s finds %d of %d names", c.words, len(seen), names)
		}
	}
}

// fields returns the words of a command.
func fields(line string) (args [][]byte) {
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	return args
}
