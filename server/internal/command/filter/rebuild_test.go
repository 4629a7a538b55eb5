package filter_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// feed feeds items to the rebuild of a filter.
func (b *bench) feed(t *testing.T, key, prefix string, from, to int) {
	t.Helper()
	for from < to {
		n := min(to-from, 700)
		got := b.Do(append([]string{"FILTER.REBUILD", key, "FEED"}, itemsOf(prefix, from, from+n)...)...)
		if want := ":" + strconv.Itoa(n); got != want {
			t.Fatalf("FEED of %d items: %s", n, got)
		}
		from += n
	}
}

// status returns a field of FILTER.REBUILD STATUS.
func (b *bench) status(t *testing.T, key, name string) string {
	t.Helper()
	r := b.Exec([][]byte{[]byte("FILTER.REBUILD"), []byte(key), []byte("STATUS")})[0]
	for i := 0; i+1 < len(r.Elems); i += 2 {
		if r.Elems[i].Text == name {
			return strings.Trim(strings.TrimPrefix(commandtest.Show(r.Elems[i+1]), ":"), `"`)
		}
	}
	t.Fatalf("STATUS of %s has no %s: %s", key, name, commandtest.Show(r))
	return ""
}

// TestRebuild rebuilds filters as others, with a crash behind every step, with a
// snapshot before it and without: what was fed or added meanwhile is in the new one.
func TestRebuild(t *testing.T) {
	cases := []struct{ create, begin string }{
		{"bloom CAPACITY 500", "CAPACITY 4000"},
		{"bloom CAPACITY 500 PARTS 4", "CAPACITY 3000 ERROR 0.001"},
		{"bloom CAPACITY 500 PARTS 2 KEYED old", "NEWKEY new CAPACITY 2000"},
		{"bloom CAPACITY 500", "NEWKEY new"},
		{"standard CAPACITY 2000 SEED 7", "scalable CAPACITY 10"},
		{"cuckoo CAPACITY 4000", "growing CAPACITY 100"},
		{"counting CAPACITY 2000 PARTS 2", "cuckoo CAPACITY 6000"},
		{"quotient CAPACITY 4000", "fuse8 CAPACITY 2500"},
		{"bloom CAPACITY 2000 PARTS 4", "ribbon ERROR 0.003"},
		{"split CAPACITY 2000 KEYED old", "fuse16 NEWKEY new"},
		{"scalable CAPACITY 100", "fuse32"},
		{"stable CAPACITY 2000", "spectral"},
		{"window CAPACITY 3000 SPAN 60s GENERATIONS 4 BURST 4", "CAPACITY 6000"},
		{"bloom CAPACITY 1000", "window CAPACITY 9000"},
		{"quorum CAPACITY 2000", "quorum CAPACITY 4000"},
	}
	for _, v := range cases {
		for _, save := range []bool{false, true} {
			t.Run(fmt.Sprint(v.create, " to ", v.begin, " saved=", save), func(t *testing.T) {
				keys := commandtest.Keys()
				b := openBench(t, nil, newBench(t, 1).Now, keys)
				again := func() {
					t.Helper()
					if save {
						if err := b.Door.Snapshot(); err != nil {
							t.Fatal(err)
						}
					}
					b = restarted(t, b, keys)
				}
				b.OK(t, "FILTER.CREATE f "+v.create)
				b.add("f", "a", 0, 900)
				b.OK(t, "FILTER.REBUILD f BEGIN "+v.begin)
				again()
				b.feed(t, "f", "a", 0, 450)
				b.add("f", "b", 0, 300)
				again()
				b.feed(t, "f", "a", 450, 900)
				b.add("f", "b", 300, 600)
				b.OK(t, "RENAME f g")
				again()
				if got := b.status(t, "g", "fed"); got != "900" {
					t.Errorf("%s items fed, want 900", got)
				}
				b.OK(t, "FILTER.REBUILD g COMMIT")
				again()
				b.hasAll(t, "g", "a", 0, 900)
				b.hasAll(t, "g", "b", 0, 600)
				want, _, _ := strings.Cut(v.begin, " ")
				if want == strings.ToUpper(want) {
					want, _, _ = strings.Cut(v.create, " ")
				}
				if got := b.field(t, "g", "kind"); got != want {
					t.Errorf("kind %s, want %s", got, want)
				}
				if got := b.Line("FILTER.REBUILD g STATUS"); !strings.HasPrefix(got, "-ERR no rebuild is open") {
					t.Errorf("STATUS after COMMIT: %s", got)
				}
				if strings.Contains(v.begin, "NEWKEY") {
					if got := b.field(t, "g", "key"); got != "new" {
						t.Errorf("key %s, want new", got)
					}
				}
			})
		}
	}
}

// TestStaticKinds makes filters that are built from all their items.
func TestStaticKinds(t *testing.T) {
	for _, kind := range []string{"fuse8", "fuse16", "fuse32", "ribbon"} {
		b := newBench(t, 1<<30)
		b.OK(t, "FILTER.REBUILD f BEGIN "+kind+" CAPACITY 3000")
		if got := b.Line("EXISTS f"); got != ":0" {
			t.Fatalf("BEGIN has made a name: %s", got)
		}
		if got := b.Line("FILTER.REBUILD f COMMIT"); got != "-ERR there are no items: FEED some first" {
			t.Errorf("COMMIT of nothing: %s", got)
		}
		b.feed(t, "f", "a", 0, 3000)
		b.feed(t, "f", "a", 0, 700) // twice is no harm
		b.Crash(t)
		b.OK(t, "FILTER.REBUILD f COMMIT")
		b.Crash(t)
		b.hasAll(t, "f", "a", 0, 3000)
		if got := b.Line("FILTER.ADD f x"); !strings.HasPrefix(got, "-ERR FILTER.ADD is not for kind "+kind) {
			t.Errorf("ADD to a %s: %s", kind, got)
		}
		if err := b.Door.Snapshot(); err != nil {
			t.Fatal(err)
		}
		b.Crash(t)
		// What it holds can be had only by feeding it again: it is cured by a rebuild too.
		b.OK(t, "FILTER.REBUILD f BEGIN bloom")
		b.feed(t, "f", "a", 0, 2000)
		if got := b.Line("FILTER.REBUILD f COMMIT"); !strings.HasPrefix(got, "-ERR the new filter holds 6") {
			t.Errorf("COMMIT with two thirds of the items: %s", got)
		}
		b.feed(t, "f", "a", 2000, 3000)
		b.OK(t, "FILTER.REBUILD f COMMIT")
		b.hasAll(t, "f", "a", 0, 3000)
	}
}

// TestRebuildMeanwhile says what other commands do while a rebuild is open.
func TestRebuildMeanwhile(t *testing.T) {
	scripts := map[string]string{
		"refused": `
			FILTER.CLEAR f -> -ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first
			FILTER.UNION f g -> -ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first
			FILTER.INTERSECT f g h -> -ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first
			FILTER.LOAD f 1 $filter -> -ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first
			RESTORE f 0 $dump REPLACE -> -ERR the filter is being rebuilt: FILTER.REBUILD key COMMIT or ABORT first
			FILTER.REBUILD f BEGIN -> -ERR a rebuild is open for this key already
			FILTER.REBUILD f COMMIT -> -ERR the new filter holds 0.0% of the items of the old one: FEED the others, or COMMIT FORCE
			FILTER.HAS f a b -> [true true]
			FILTER.REBUILD f COMMIT FORCE -> +OK
			FILTER.HAS f a b -> [false false]
			FILTER.CLEAR f -> +OK`,
		"union from": `
			FILTER.CREATE n bloom CAPACITY 100 -> +OK
			FILTER.UNION n f -> +OK
			FILTER.HAS n a b -> [true true]
			FILTER.REBUILD f ABORT -> +OK
			FILTER.CLEAR f -> +OK`,
		"del": `
			DEL f -> :1
			FILTER.CREATE f bloom -> +OK
			FILTER.REBUILD f STATUS -> -ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one`,
		"set": `
			SET f x -> +OK
			FILTER.REBUILD f STATUS -> -WRONGTYPE Operation against a key holding the wrong kind of value`,
		"flushall": `
			FILTER.REBUILD n BEGIN fuse8 -> +OK
			FLUSHALL -> +OK
			FILTER.REBUILD n STATUS -> -ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one
			FILTER.REBUILD f STATUS -> -ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one`,
		"rename over": `
			RENAME g f -> +OK
			FILTER.REBUILD f STATUS -> -ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one`,
		"rename": `
			RENAME f n -> +OK
			FILTER.REBUILD n FEED a b -> :2
			FILTER.REBUILD n COMMIT -> +OK
			FILTER.HAS n a b -> [true true]`,
		"expiry": `
			EXPIRE f 100 -> :1
			FILTER.REBUILD f FEED a b -> :2
			FILTER.REBUILD f COMMIT -> +OK
			TTL f -> :100`,
		"name taken": `
			FILTER.REBUILD n BEGIN fuse8 -> +OK
			FILTER.REBUILD n BEGIN fuse8 -> -ERR a rebuild is open for this key already
			FILTER.REBUILD n FEED a b -> :2
			SET n x -> +OK
			FILTER.REBUILD n COMMIT -> -WRONGTYPE Operation against a key holding the wrong kind of value
			DEL n -> :1
			FILTER.REBUILD n COMMIT -> +OK
			FILTER.HAS n a b -> [true true]`,
		"errors": `
			FILTER.REBUILD f FEED -> -ERR wrong number of arguments for 'filter.rebuild|feed' command
			FILTER.REBUILD f STATUS x -> -ERR syntax error
			FILTER.REBUILD f ABORT x -> -ERR syntax error
			FILTER.REBUILD f COMMIT x -> -ERR syntax error
			FILTER.REBUILD f DANCE -> -ERR syntax error: 'DANCE' is not BEGIN, FEED, COMMIT, ABORT or STATUS
			FILTER.REBUILD f ABORT -> +OK
			FILTER.REBUILD f ABORT -> -ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one
			FILTER.REBUILD f FEED x -> -ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one
			FILTER.REBUILD f BEGIN CAPACITY 0 -> -ERR CAPACITY must be a whole number from 1 to 1099511627776 (1000, 1e6, 10M)
			FILTER.REBUILD f BEGIN ERROR nan -> -ERR ERROR must be a number of more than 0 and less than 1 (0.01, 1e-6, 0.1%, 1in1000)
			FILTER.REBUILD f BEGIN ERROR -> -ERR ERROR needs a value
			FILTER.REBUILD f BEGIN ERROR 0.1 ERROR 0.1 -> -ERR ERROR is there twice
			FILTER.REBUILD f BEGIN bloom SEED 3 -> -ERR syntax error: 'SEED' is not an option of BEGIN
			FILTER.REBUILD f BEGIN NEWKEY nokey -> -ERR NEWKEY: there is no key 'nokey' in the file of keys (serve --keys)
			FILTER.REBUILD f BEGIN PART 4 -> -ERR unknown kind 'PART'; there are bloom, standard, partitioned, split, scalable, counting, spectral, stable, cuckoo, quotient, fuse8, fuse16, fuse32, ribbon, growing, window, quorum
			FILTER.REBUILD f BEGIN nokind -> -ERR unknown kind 'nokind'; there are bloom, standard, partitioned, split, scalable, counting, spectral, stable, cuckoo, quotient, fuse8, fuse16, fuse32, ribbon, growing, window, quorum
			FILTER.REBUILD nokey BEGIN -> -ERR there is no filter of this name: BEGIN needs a kind
			FILTER.REBUILD b BEGIN -> -ERR FILTER.REBUILD is for filters of FILTER.CREATE: fill a new key and RENAME it to this one
			FILTER.REBUILD s BEGIN -> -WRONGTYPE Operation against a key holding the wrong kind of value`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1<<30)
			for _, line := range []string{
				"FILTER.CREATE f bloom CAPACITY 100", "FILTER.CREATE g bloom CAPACITY 100", "FILTER.CREATE h bloom CAPACITY 100",
				"FILTER.ADD f a b", "FILTER.ADD g c", "BF.ADD b x", "SET s x",
			} {
				b.Line(line)
			}
			text := func(line string, elem int) string {
				r := b.Exec(commandtest.Bytes(strings.Fields(line)))[0]
				if elem >= 0 {
					r = r.Elems[elem]
				}
				return r.Text
			}
			values := map[string]string{"$filter": text("FILTER.DUMP g 0", 1), "$dump": text("DUMP g", -1)}
			b.OK(t, "FILTER.REBUILD f BEGIN")
			for line := range strings.Lines(script) {
				line, want, ok := strings.Cut(strings.TrimSpace(line), " -> ")
				if !ok {
					continue
				}
				words := strings.Fields(line)
				for i, w := range words {
					if v, ok := values[w]; ok {
						words[i] = v
					}
				}
				if got := b.Do(words...); got != want {
					t.Fatalf("%s\n got %s\nwant %s", line, got, want)
				}
				b.Crash(t)
			}
		})
	}
}

// TestRebuildDeletes deletes while a rebuild is open: that is counted, and what was
// deleted stays; nothing else goes.
func TestRebuildDeletes(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f cuckoo CAPACITY 2000 PARTS 2")
	b.add("f", "a", 0, 1000)
	b.OK(t, "FILTER.REBUILD f BEGIN CAPACITY 4000")
	b.Do(append([]string{"FILTER.DEL", "f"}, itemsOf("a", 0, 100)...)...) // before they are fed
	b.feed(t, "f", "a", 0, 1000)
	b.Do(append([]string{"FILTER.DEL", "f"}, itemsOf("a", 100, 200)...)...)
	if got := b.status(t, "f", "deleted"); got != "200" {
		t.Errorf("%s deleted, want 200", got)
	}
	b.Crash(t)
	b.OK(t, "FILTER.REBUILD f COMMIT")
	b.hasAll(t, "f", "a", 0, 1000)
}

// TestRebuildBreaks fills a shadow that has too little room: adds go on, and COMMIT is
// refused, also after a crash.
func TestRebuildBreaks(t *testing.T) {
	for _, begin := range []string{"cuckoo CAPACITY 50", "fuse8 CAPACITY 50"} {
		b := openBench(t, nil, newBench(t, 1).Now, nil)
		b.OK(t, "FILTER.CREATE f bloom CAPACITY 3000")
		b.OK(t, "FILTER.REBUILD f BEGIN "+begin)
		b.add("f", "a", 0, 2000)
		b.hasAll(t, "f", "a", 0, 2000)
		if got := b.status(t, "f", "state"); got != "broken" {
			t.Fatalf("%s: state %s, want broken", begin, got)
		}
		b = restarted(t, b, nil)
		for _, line := range []string{"FILTER.REBUILD f COMMIT FORCE", "FILTER.REBUILD f FEED x"} {
			if got := b.Line(line); !strings.HasPrefix(got, "-ERR the rebuild is broken") {
				t.Errorf("%s of a broken rebuild: %s", line, got)
			}
		}
		b.add("f", "b", 0, 100)
		b.OK(t, "FILTER.REBUILD f ABORT")
		b.hasAll(t, "f", "b", 0, 100)
		b.Crash(t)
	}
}

// TestRebuildOfAWindow lets time pass while a window is rebuilt: what was added at the
// end is forgotten a span later, and not before.
func TestRebuildOfAWindow(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f window CAPACITY 1000 SPAN 60s GENERATIONS 6 BURST 6")
	b.OK(t, "FILTER.REBUILD f BEGIN CAPACITY 2000")
	b.Now = b.Now.Add(50 * time.Second)
	b.add("f", "late", 0, 100)
	b.feed(t, "f", "fed", 0, 100)
	b.Now = b.Now.Add(30 * time.Second)
	b.OK(t, "FILTER.REBUILD f COMMIT FORCE")
	b.Crash(t)
	b.Now = b.Now.Add(15 * time.Second)
	b.hasAll(t, "f", "late", 0, 100)
	b.hasAll(t, "f", "fed", 0, 100)
	b.Now = b.Now.Add(30 * time.Second)
	if got := b.Do(append([]string{"FILTER.HAS", "f"}, itemsOf("late", 0, 100)...)...); strings.Count(got, "true") > 10 {
		t.Error("the window forgets nothing")
	}
}

// TestRebuildInFigures checks capacity and age of a rebuild, and the share of items
// that a commit is refused for.
func TestRebuildInFigures(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE f cuckoo CAPACITY 1000")
	b.Line(withItems("FILTER.ADD f", 0, 100))
	b.Line("FILTER.REBUILD f BEGIN ribbon CAPACITY 1000")
	b.Line(withItems("FILTER.REBUILD f FEED", 0, 50))
	status := b.Line("FILTER.REBUILD f STATUS")
	for _, want := range []string{`"capacity" :1000 `, `"age" :0`, `"old_items" :100`, `"fed" :50`} {
		if !strings.Contains(status, want) {
			t.Errorf("STATUS = %s, without %s", status, want)
		}
	}
	if got := b.Line("FILTER.REBUILD f COMMIT"); !strings.Contains(got, "holds 50.0% of the items") {
		t.Errorf("COMMIT = %s, want half of the items", got)
	}
	b.Line("FILTER.REBUILD f ABORT")
	b.Line("FILTER.REBUILD f BEGIN ribbon CAPACITY 100000000") // parts differ, so each has some more
	var capacity int
	_, status, _ = strings.Cut(b.Line("FILTER.REBUILD f STATUS"), `"capacity" `)
	if _, err := fmt.Sscanf(status, ":%d", &capacity); err != nil || capacity <= 100_000_000 || capacity > 110_000_000 {
		t.Errorf("a capacity of %d, %v, want some more than 100,000,000", capacity, err)
	}
}
