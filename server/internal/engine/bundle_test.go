package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestLargeCommandsAnswerAsSmallOnes runs commands of more items than are looked
// at under one lock and asks for the replies of the same items one by one.
func TestLargeCommandsAnswerAsSmallOnes(t *testing.T) {
	large, small := newBench(t, 1<<30), newBench(t, 1<<30)
	var items []string
	for i := range 3000 {
		items = append(items, fmt.Sprint("i", i%2500))
	}
	for _, tt := range []struct{ many, one, key string }{
		{"BF.MADD", "BF.ADD", "b"},
		{"BF.MEXISTS", "BF.EXISTS", "b"},
		{"CF.INSERT", "CF.ADD", "c"},
		{"CF.INSERTNX", "CF.ADDNX", "c"},
		{"CF.MEXISTS", "CF.EXISTS", "c"},
		{"BF.MEXISTS", "BF.EXISTS", "none"},
	} {
		words := []string{tt.many, tt.key}
		if strings.Contains(tt.many, "INSERT") {
			words = append(words, "ITEMS")
		}
		got := strings.Fields(strings.Trim(large.do(append(words, items...)...), "[]"))
		if len(got) != len(items) {
			t.Fatalf("%s of %d items = %.80s", tt.many, len(items), got)
		}
		for i, item := range items {
			want := strings.TrimPrefix(small.do(tt.one, tt.key, item), ":")
			if yes := map[string]string{"true": "1", "false": "0"}[got[i]]; yes != "" {
				got[i] = yes
			}
			if got[i] != want {
				t.Fatalf("%s: item %d = %s, %s says %s", tt.many, i, got[i], tt.one, want)
			}
		}
	}
	large.replays(t)
}

// TestAddsMakeOneRecord asks that additions and deletions that follow each other
// on one filter make one record, for both kinds.
func TestAddsMakeOneRecord(t *testing.T) {
	for _, tt := range []struct {
		setup, cmd string
		op         store.Op
	}{
		{"BF.RESERVE k 0.01 1000", "BF.ADD", store.OpAdd},
		{"CF.RESERVE k 1000", "CF.ADD", store.OpInsertEach},
		{"CF.RESERVE k 1000", "CF.ADDNX", store.OpInsertNewEach},
		{"CF.RESERVE k 1000", "CF.DEL", store.OpDeleteLazily},
	} {
		b := newBench(t, 1<<30)
		b.line(tt.setup)
		var lines []string
		for i := range 64 {
			lines = append(lines, fmt.Sprint(tt.cmd, " k i", i))
		}
		b.door.groups = nil
		b.lines(lines...)
		if len(b.door.groups) != 1 || len(b.door.groups[0]) != 1 || b.door.groups[0][0].Op() != tt.op {
			t.Errorf("64 times %s: %d groups, want one record of %d", tt.cmd, len(b.door.groups), tt.op)
		}
		b.replays(t)
	}
}

// TestMergedInsertsKeepTheirErrors asks that limits and errors stay those of each
// command when many CF.ADD make one record.
func TestMergedInsertsKeepTheirErrors(t *testing.T) {
	for name, setup := range map[string][]string{
		"expansions": {"CONFIG SET cf-max-expansions 4", "CF.RESERVE k 4 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 1"},
		"full":       {"CF.RESERVE k 8 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0"},
		"memory":     {"CONFIG SET maxmemory 6000", "CF.RESERVE k 1024 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 2"},
		"plenty":     {"CONFIG SET cf-max-expansions 1000", "CF.RESERVE k 4 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 1"},
	} {
		t.Run(name, func(t *testing.T) {
			together, apart := newBench(t, 1<<30), newBench(t, 1<<30)
			var lines []string
			for i := range 200 {
				lines = append(lines, []string{"CF.ADD k a", fmt.Sprint("CF.ADD k ", i), fmt.Sprint("CF.ADDNX k ", i/2)}[i%3])
			}
			for _, line := range setup {
				together.line(line)
				apart.line(line)
			}
			got := together.lines(lines...)
			want := make([]string, len(lines))
			for i, line := range lines {
				want[i] = apart.line(line)
			}
			if name == "plenty" && slices.ContainsFunc(want, func(s string) bool { return s[0] == '-' }) {
				t.Errorf("errors where there is room: %q", want)
			}
			if name != "plenty" && !slices.ContainsFunc(want, func(s string) bool { return s[0] == '-' }) {
				t.Error("no command fails: the test asks for nothing")
			}
			// Which item finds the last slot may depend on the order in which
			// those without room were tried again; what is said, and how
			// often, may not.
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(slices.Compact(got), slices.Compact(want)) {
				t.Errorf("together %q, one by one %q", got, want)
			}
			together.replays(t)
		})
	}
}

// TestGroupsWithWrongCalls asks that a call that cannot be run, in the middle of
// others, does not change their answers.
func TestGroupsWithWrongCalls(t *testing.T) {
	b := newBench(t, 1<<30)
	got := b.lines("BF.ADD k a", "BF.INSERT k BAD x ITEMS y", "BF.ADD k", "BF.MADD k a b", "BF.INSERT k ITEMS c a",
		"BF.EXISTS k c", "BF.CARD k", "BF.MEXISTS k a x", "CF.ADD k x", "BF.EXISTS k b")
	want := []string{":1", "-Unknown argument received", "-ERR wrong number of arguments for 'bf.add' command", "[false true]", "[true false]",
		":1", ":3", "[true false]", "-WRONGTYPE Operation against a key holding the wrong kind of value", ":1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLoadOfLargeChunks copies filters by SCANDUMP and LOADCHUNK whose chunks are
// stored in several records, and asks that one that does not fit changes nothing.
func TestLoadOfLargeChunks(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.RESERVE bf 0.01 2000000")
	b.line("CF.RESERVE cf 2000000")
	for i := range 2000 {
		b.lines(fmt.Sprint("BF.ADD bf ", i), fmt.Sprint("CF.ADD cf ", i))
	}
	for _, kind := range []string{"bf", "cf"} {
		iter, data := "0", ""
		for range 20 {
			r := b.exec([][]byte{[]byte(kind + ".scandump"), []byte(kind), []byte(iter)})[0]
			if iter = fmt.Sprint(r.Elems[0].N); iter == "0" {
				break
			}
			data = r.Elems[1].Text
			b.door.rooms = nil
			if got := b.do(kind+".loadchunk", kind+"copy", iter, data); got != "+OK" {
				t.Fatalf("%s.LOADCHUNK %s of %d bytes = %s", kind, iter, len(data), got)
			}
			if got, want := len(b.door.rooms), max(1, (len(data)+256<<10-1)/(256<<10)); got != want {
				t.Errorf("%s.LOADCHUNK of %d bytes makes %d records, want %d", kind, len(data), got, want)
			}
		}
		for i := range 2000 {
			if got := b.do(kind+".exists", kind+"copy", fmt.Sprint(i)); got != ":1" {
				t.Fatalf("%s: item %d is not in the copy", kind, i)
			}
		}
		copied := func() string { return b.do("DUMP", kind+"copy") }
		before := copied()
		if got := b.do(kind+".loadchunk", kind+"copy", fmt.Sprint(len(data)+2+100), strings.Repeat("x", len(data)+100)); !strings.HasPrefix(got, "-") {
			t.Errorf("%s.LOADCHUNK of too much = %s", kind, got)
		}
		if copied() != before {
			t.Errorf("%s.LOADCHUNK of too much has changed the filter", kind)
		}
	}
	b.replays(t)
}

// stingy is an admitter that gives the first few records no room to grow.
type stingy struct {
	door.Admitter
	left *int
}

// Admit implements door.Admitter.
func (a stingy) Admit(p *contents.Part, ops []*door.Op) (uint64, bool) {
	aside, ok := a.Admitter.Admit(p, ops)
	if *a.left > 0 {
		*a.left--
		for _, op := range ops {
			if items, ok := op.Record.Body.(store.Items); ok {
				items.Give(0)
			}
		}
	}
	return aside, ok
}

// TestTooLittleRoomIsPreparedAgain has records meet filters that have to grow and
// may not, as in a cluster where another node was faster: the rest is prepared
// again, and every answer is that of a record with room.
func TestTooLittleRoomIsPreparedAgain(t *testing.T) {
	items := make([]string, 60)
	for i := range items {
		items[i] = fmt.Sprint("i", i)
	}
	for _, tt := range []struct{ setup, cmd string }{
		{"BF.RESERVE k 0.01 20", "BF.MADD k " + strings.Join(items, " ")},
		{"BF.RESERVE k 0.01 1", "BF.ADD k x"},
		{"CF.RESERVE k 4 BUCKETSIZE 1 MAXITERATIONS 1", "CF.ADD k x"},
		{"CF.RESERVE k 4 BUCKETSIZE 1 MAXITERATIONS 1", "CF.INSERT k ITEMS " + strings.Join(items, " ")},
		{"CF.RESERVE k 4 BUCKETSIZE 1 MAXITERATIONS 1", "CF.INSERTNX k ITEMS " + strings.Join(items, " ")},
	} {
		want, b := newBench(t, 1<<30), newBench(t, 1<<30)
		for _, c := range []*bench{want, b} {
			c.line(tt.setup)
			c.lines(strings.Fields(tt.setup)[0][:2]+".ADD k y", strings.Fields(tt.setup)[0][:2]+".ADD k z")
		}
		b.door.stingy = 2
		if got, want := b.line(tt.cmd), want.line(tt.cmd); got != want {
			t.Errorf("%.20s with too little room = %s, want %s", tt.cmd, got, want)
		}
		if b.door.stingy != 0 && strings.Contains(tt.cmd, items[59]) {
			t.Errorf("%.20s was not prepared again", tt.cmd)
		}
		if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
			t.Errorf("%.20s: %d bytes stay set aside", tt.cmd, got)
		}
		b.replays(t)
	}
}

// TestInsertTakesOneStep has CF.INSERT make a large filter grow: it sets memory
// aside for one more sub-filter, not all that there is, and goes on when there is
// room again; if there is none, items that need it answer -1 and others do not.
func TestInsertTakesOneStep(t *testing.T) {
	for _, items := range []int{200, 2000} {
		const most = 32 << 20
		b := newBench(t, most)
		b.line("CF.RESERVE k 2000000 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 2")
		words := []string{"CF.INSERT", "k", "ITEMS"}
		for i := range items { // of one fingerprint and bucket: two fit into a sub-filter
			words = append(words, fmt.Sprint("i", i%2))
		}
		b.door.rooms = nil
		got := strings.Fields(strings.Trim(b.do(words...), "[]"))
		if len(got) != items || got[0] != "1" || got[5] != "1" || got[items-1] != "-1" {
			t.Errorf("CF.INSERT of %d items = %.60s ... %s", items, got, got[len(got)-1])
		}
		if first := b.door.rooms[0]; first > 5<<20 {
			t.Errorf("the first record may take %d bytes", first)
		}
		if got := b.line("CF.COUNT k i0"); got == ":0" || b.state.Bytes() > most {
			t.Errorf("CF.COUNT = %s, %d bytes", got, b.state.Bytes())
		}
		if got := b.engine.Budget.Used() - b.state.Bytes(); got > int64(items) {
			t.Errorf("%d bytes stay set aside", got)
		}
		// Another item has its own bucket, and room there.
		if got := b.line("CF.INSERT k ITEMS i0 other i1"); got != "[-1 1 -1]" {
			t.Errorf("CF.INSERT with no room to grow = %s", got)
		}
		b.replays(t)
	}
}

// TestEveryStretchMayGrow has one CF.INSERT make a filter grow twice in a row, several
// times: each time the rest is prepared again, however often that was before, and no
// record sets more aside than one sub-filter takes.
func TestEveryStretchMayGrow(t *testing.T) {
	b := newBench(t, 64<<20)
	b.line("CF.RESERVE k 2000000 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 1")
	words := []string{"CF.INSERT", "k", "ITEMS"}
	for i := range 2400 {
		item := fmt.Sprint("filler", i)
		if i%600 < 4 { // two fit into a sub-filter
			item = "same"
		}
		words = append(words, item)
	}
	b.door.rooms = nil
	got := strings.Fields(strings.Trim(b.do(words...), "[]"))
	for i, room := range b.door.rooms {
		if room > 3<<20 {
			t.Errorf("record %d of %d may take %d bytes", i, len(b.door.rooms), room)
		}
	}
	for i, code := range got {
		if code != "1" {
			t.Fatalf("item %d of %d = %s, want 1", i, len(got), code)
		}
	}
	if got := b.line("CF.COUNT k same"); got != ":16" {
		t.Errorf("CF.COUNT = %s, want 16", got)
	}
}
