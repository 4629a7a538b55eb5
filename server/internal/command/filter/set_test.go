package filter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// kept returns what FILTER.INFO shows of changes to keep.
func kept(t *testing.T, b *commandtest.Bench, key string) string {
	t.Helper()
	_, rest, ok := strings.Cut(b.Line("FILTER.INFO "+key), `"news" :`)
	if !ok {
		return ""
	}
	n, _, _ := strings.Cut(rest, " ")
	return strings.TrimRight(n, "]")
}

// As many changes are kept as NEWS asks for, whatever the size of the filter, though nobody asks;
// they count, and what was asked stays with the filter.
func TestNewsKept(t *testing.T) {
	for _, parts := range []int{1, 4} {
		b := commandtest.New(t, 1<<30)
		b.OK(t, fmt.Sprintf("FILTER.CREATE f bloom CAPACITY 1000 PARTS %d NEWS 2000", parts))
		usage := func(key string) (n int64) { _, _ = fmt.Sscanf(b.Line("MEMORY USAGE "+key), ":%d", &n); return n }
		used := b.State.Bytes()
		b.OK(t, fmt.Sprintf("FILTER.CREATE g bloom CAPACITY 1000 PARTS %d", parts))
		if got := usage("f") - usage("g"); got != 2000*9 || used-(b.State.Bytes()-used) != got {
			t.Errorf("2,000 changes take %d bytes, and the state %d more", got, used-(b.State.Bytes()-used))
		}
		before, used := usage("f"), b.State.Bytes()
		var f follower
		if f.ask(t, b, "f"); usage("f") != before || b.State.Bytes() != used {
			t.Errorf("they count twice: the filter takes %d bytes, and took %d", usage("f"), before)
		}
		b.Now = b.Now.Add(48 * time.Hour)
		b.Engine.Sweep(1)
		for i := range 1000 {
			b.Do("FILTER.ADD", "f", fmt.Sprint(i))
		}
		if f.ask(t, b, "f"); strings.Trim(f.Forms, "b") != "" || f.Forms == "" {
			t.Errorf("1,000 changes, two days later: %q", f.Forms)
		}
		f.equal(t, b, "f", "two days later")
		for _, line := range []string{"FILTER.CLEAR f", "COPY f copied", "FILTER.CREATE like bloom LIKE f", "FILTER.CREATE less bloom LIKE f NEWS 7"} {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				t.Errorf("%s: %s", line, got)
			}
		}
		for _, line := range []string{"FILTER.REBUILD f BEGIN CAPACITY 3000", "FILTER.REBUILD f FEED x", "FILTER.REBUILD f COMMIT"} {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				t.Errorf("%s: %s", line, got)
			}
		}
		dump := b.Exec(commandtest.Bytes([]string{"DUMP", "f"}))[0].Text
		b.Do("RESTORE", "restored", "0", dump)
		b.OK(t, "FILTER.SET copied NEWS 300")
		b = b.Restart(t, nil)
		for key, want := range map[string]string{"f": "2000", "like": "2000", "less": "7", "restored": "2000", "copied": "300"} {
			if got := kept(t, b, key); got != want {
				t.Errorf("after a start FILTER.INFO %s shows %q changes to keep, want %s", key, got, want)
			}
		}
	}
}

// FILTER.SET changes how many changes are kept while a filter is followed: copies stay right.
func TestSetNews(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f cuckoo CAPACITY 10000 PARTS 2")
	usage := func() (n int64) { _, _ = fmt.Sscanf(b.Line("MEMORY USAGE f"), ":%d", &n); return n }
	var f follower
	f.ask(t, b, "f")
	share := usage()
	b.OK(t, "FILTER.SET f NEWS 10")
	b.Line("FILTER.ADD f a b c")
	if f.ask(t, b, "f", "SUM", f.Sum()); f.Forms != "ww" {
		t.Errorf("with another number of changes to keep: %q", f.Forms)
	}
	f.equal(t, b, "f", "with ten changes")
	if got := usage(); got >= share {
		t.Errorf("10 changes take %d bytes, a quarter took %d", got, share)
	}
	b.OK(t, "FILTER.SET f NEWS 0")
	if f.ask(t, b, "f", "SUM", f.Sum()); f.Forms != "" || kept(t, b, "f") != "" {
		t.Errorf("an equal copy gets %q, and %q are kept", f.Forms, kept(t, b, "f"))
	}
	if got := usage(); got != share {
		t.Errorf("a quarter takes %d bytes, and took %d", got, share)
	}
	used := b.State.Bytes()
	b.Now = b.Now.Add(2 * time.Hour)
	if b.Engine.Sweep(1); b.State.Bytes() >= used {
		t.Error("what is kept of itself stays")
	}
	b.Line("BF.RESERVE bf 0.01 100")
	b.Line("FILTER.REBUILD f BEGIN")
	for line, want := range map[string]string{
		"FILTER.SET f NEWS 5":                               "-ERR",
		"FILTER.SET none NEWS 5":                            "-ERR not found",
		"FILTER.SET bf NEWS 5":                              "-WRONGTYPE",
		"FILTER.SET f NEWS -1":                              "-ERR NEWS must be",
		"FILTER.SET f NEWS 268435457":                       "-ERR NEWS must be",
		"FILTER.SET f OLD 5":                                "-ERR syntax error",
		"FILTER.CREATE g bloom NEWS 0":                      "-ERR NEWS must be",
		"FILTER.CREATE g bloom NEWS":                        "-ERR NEWS needs a value",
		"FILTER.CREATE g bloom CAPACITY 100 NEWS 268435457": "-ERR NEWS must be",
	} {
		if got := b.Line(line); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
	}
	small := commandtest.New(t, 1<<20)
	small.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	for _, line := range []string{"FILTER.CREATE g bloom CAPACITY 1000 NEWS 200000", "FILTER.SET f NEWS 200000"} {
		if got := small.Line(line); !strings.HasPrefix(got, "-OOM") {
			t.Errorf("%s without memory: %.100s", line, got)
		}
	}
}

// A FILTER.SET that has reached some parts only, here for want of memory, leaves a filter that can be followed and waited
// for. The next one reaches all.
func TestSetNewsOfSomeParts(t *testing.T) {
	b := commandtest.New(t, 1<<20)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000 PARTS 4")
	var f follower
	f.ask(t, b, "f")
	if got := b.Line("FILTER.SET f NEWS 168000"); !strings.HasPrefix(got, "-OOM") || !strings.HasSuffix(got, "repeat FILTER.SET") {
		t.Fatalf("FILTER.SET without memory = %s", got)
	}
	numbers := func() (list []uint64) {
		for _, p := range contents.Parts(b.State.Names.Lookup([]byte("f"), 0)) {
			list = append(list, p.Plan().News)
		}
		return list
	}
	if got := numbers(); len(slices.Compact(got)) < 2 {
		t.Fatalf("all parts are to keep %d changes", got)
	}
	f.ask(t, b, "f")
	woken := make(chan struct{}, 10)
	b.Session.OnWake(func() { woken <- struct{}{} })
	b.Session.MayPark(true)
	b.Work.Reset()
	b.Work.Add(commandtest.Fields("FILTER.NEWS f SINCE " + f.Token + " BLOCK 3600000"))
	if b.Engine.Exec(b.Session, &b.Work, 0); !b.Session.Parked() {
		t.Fatalf("a call that is to wait answers %s", commandtest.Show(b.Work.Calls[0].Reply))
	}
	b.Client(2).Do("FILTER.ADD", "f", "a", "b", "c", "d", "e", "f")
	<-woken
	b.Session.MayPark(false)
	if f.ask(t, b, "f"); strings.Trim(f.Forms, "b") != "" || f.Forms == "" {
		t.Errorf("whoever has waited gets %q", f.Forms)
	}
	b.OK(t, "FILTER.SET f NEWS 400")
	if got := numbers(); len(slices.Compact(got)) != 1 || got[0] != 400 {
		t.Errorf("the parts are to keep %d changes, want 400", got)
	}
	f.equal(t, b, "f", "by what it got before") // for which there is memory now
}

// meeting is a door that has something happen before the record with a number is put in order.
type meeting struct {
	door.Door
	left   int
	happen func()
}

func (d *meeting) Ready(piece bool) {
	if d.left--; d.left == 0 {
		d.happen()
	}
	d.Door.Ready(piece)
}

// Of two FILTER.SET at once the last one at the first part decides for all parts, wherever they meet.
func TestSetNewsAtOnce(t *testing.T) {
	const parts = 4
	for at := 1; at <= 2*parts; at++ {
		b := commandtest.New(t, 1<<30)
		b.OK(t, fmt.Sprintf("FILTER.CREATE f bloom CAPACITY 1000 PARTS %d", parts))
		met := &meeting{Door: b.Door, left: -1}
		b.Rewire(func(c *engine.Config) { c.Door = met })
		met.left, met.happen = at, func() {
			if got := b.Client(2).Do("FILTER.SET", "f", "NEWS", "700"); got != "+OK" {
				t.Errorf("the other FILTER.SET = %s", got)
			}
		}
		b.OK(t, "FILTER.SET f NEWS 500")
		want := uint64(700)
		if at == 1 || met.left > 0 { // the other one was first, or did not come
			want = 500
		}
		for i, p := range contents.Parts(b.State.Names.Lookup([]byte("f"), 0)) {
			if got := p.Plan().News; got != want {
				t.Errorf("they meet at record %d: part %d keeps %d changes, want %d", at, i, got, want)
			}
		}
	}
}
