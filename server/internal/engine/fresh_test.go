package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestOwnerReads asks what reads of a connection wait for that asks for everything that
// was acknowledged.
func TestOwnerReads(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines(setupLines...)
	target := func(name string, index uint32) string {
		return fmt.Sprint(b.state.Names.Lookup([]byte(name), 0).ID, "/", index)
	}
	ask := func(lines ...string) (fresh, replies []string) {
		d.fresh = nil
		replies = b.lines(lines...)
		if len(d.fresh) > 1 {
			slices.Sort(d.fresh[1:])
		}
		return d.fresh, replies
	}
	if fresh, _ := ask("BF.EXISTS b i", "GET s"); len(fresh) != 0 {
		t.Errorf("usual reads wait for %v", fresh)
	}
	if got := b.line("FILTER.READ OWNER"); got != "+OK" {
		t.Fatal(got)
	}
	for _, tt := range []struct {
		lines []string
		want  []string
	}{
		{[]string{"BF.EXISTS b i"}, []string{"names", target("b", 0)}},
		{[]string{"BF.EXISTS b i", "BF.EXISTS b j", "BF.EXISTS none i"}, []string{"names", target("b", 0)}},
		{[]string{"GET s"}, []string{"names"}},
		{[]string{"DBSIZE"}, []string{"names"}},
		{[]string{"PING", "NOSUCH", "GET"}, nil},
		{[]string{"CLUSTER WHY b"}, nil}, // it says what this node waits for
		{[]string{"BF.ADD b i", "SET s v"}, []string{"names"}},
		{[]string{"FILTER.HAS p i"}, []string{"names", target("p", 0), target("p", 1), target("p", 2), target("p", 3)}},
	} {
		slices.Sort(tt.want[min(1, len(tt.want)):])
		if fresh, _ := ask(tt.lines...); !slices.Equal(fresh, tt.want) {
			t.Errorf("%q wait for %v, want %v", tt.lines, fresh, tt.want)
		}
	}
	// What a call in the same batch changes counts for those behind it.
	b.line("FILTER.READ LOCAL")
	if fresh, _ := ask("BF.EXISTS b i", "filter.read owner", "BF.EXISTS b i"); !slices.Equal(fresh, []string{"names", target("b", 0)}) {
		t.Errorf("reads behind FILTER.READ OWNER wait for %v", fresh)
	}
	if fresh, _ := ask("RENAME b other", "BF.EXISTS other i"); !slices.Equal(fresh, []string{"names", target("other", 0), "names"}) {
		t.Errorf("reads behind RENAME wait for %v", fresh)
	}
	if fresh, _ := ask("FILTER.READ LOCAL", "BF.EXISTS other i", "RENAME other b"); len(fresh) > 0 {
		t.Errorf("reads behind FILTER.READ LOCAL wait for %v", fresh)
	}
	b.line("FILTER.READ OWNER")
	b.lines("MULTI", "CF.EXISTS c i")
	if fresh, got := ask("EXEC"); !slices.Equal(fresh, []string{"names", target("c", 0)}) || got[0] != "[:1]" {
		t.Errorf("EXEC = %s, and waits for %v", got, fresh)
	}
	d.stale = fmt.Errorf("%w: test", door.ErrDown)
	if _, got := ask("BF.EXISTS b i", "BF.ADD b i", "BF.EXISTS b i", "GET s", "PING"); !strings.HasPrefix(got[0], "-CLUSTERDOWN ") || got[1] != ":0" ||
		!strings.HasPrefix(got[2], "-CLUSTERDOWN ") || !strings.HasPrefix(got[3], "-CLUSTERDOWN ") || got[4] != "+PONG" {
		t.Errorf("without a majority: %q", got)
	}
	for _, line := range []string{"FILTER.READ LOCAL", "RESET"} {
		b.line("FILTER.READ OWNER")
		b.line(line)
		if _, got := ask("BF.EXISTS b i"); got[0] != ":1" {
			t.Errorf("behind %s: %q", line, got)
		}
	}
	if got := b.line("FILTER.READ sideways"); !strings.HasPrefix(got, "-ERR syntax error") {
		t.Errorf("FILTER.READ sideways = %s", got)
	}
	alone := newBench(t, 1<<30)
	if got := alone.lines("FILTER.READ OWNER", "GET s", "FILTER.READ LOCAL"); !slices.Equal(got, []string{"+OK", "nil", "+OK"}) {
		t.Errorf("without a cluster: %q", got)
	}
}

// TestNewsAreFresh asks that news wait for what any machine has acknowledged, whatever the
// client has asked for, alone and in a transaction; and that without a majority they are
// refused, and other reads are not.
func TestNewsAreFresh(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines(setupLines...)
	want := []string{"names", fmt.Sprint(b.state.Names.Lookup([]byte("f"), 0).ID, "/0")}
	for _, lines := range [][]string{{"FILTER.NEWS f"}, {"PING", "BF.EXISTS b i", "filter.news f", "BF.EXISTS b i"}, {"MULTI", "FILTER.NEWS f", "EXEC"}} {
		d.fresh, d.stale = nil, nil
		if got := b.lines(lines...); strings.Contains(fmt.Sprint(got), "CLUSTERDOWN") || !slices.Equal(d.fresh, want) {
			t.Errorf("%q wait for %v, want %v: %.200q", lines, d.fresh, want, got)
		}
		d.stale = fmt.Errorf("%w: test", door.ErrDown)
		if got := b.lines(lines...); !strings.Contains(fmt.Sprint(got), "-CLUSTERDOWN This node cannot tell whether a copy lacks something: ask another one (test)") {
			t.Errorf("%q without a majority = %.200q", lines, got)
		}
	}
	if got := b.lines("BF.EXISTS b i", "FILTER.NEWS f", "BF.EXISTS b i"); got[0] != ":1" || got[2] != ":1" {
		t.Errorf("other reads without a majority: %q", got)
	}
}

// TestReplicas asks that a filter knows how many nodes hold it. There are three nodes, one
// has left, and all of them hold every filter: fewer cannot be asked for.
func TestReplicas(t *testing.T) {
	b, _ := newShared(t, 1<<30)
	b.state.SetRoster(&roster.Roster{Members: []roster.Member{{Number: 1}, {Number: 2, Left: true}, {Number: 3}, {Number: 4}}})
	for line, want := range map[string]uint8{
		"FILTER.CREATE a bloom": 0, "FILTER.CREATE b bloom REPLICAS 3": 3, "FILTER.CREATE more bloom REPLICAS 7": 7, "FILTER.CREATE c cuckoo REPLICAS ALL PARTS 2": contents.AllReplicas,
	} {
		name := strings.Fields(line)[1]
		if got := b.line(line); got != "+OK" {
			t.Fatalf("%s = %s", line, got)
		}
		entry := b.state.Names.Lookup([]byte(name), 0)
		if got := contents.PartOf(entry).Plan().Replicas; got != want || contents.Everywhere(entry) != (want == contents.AllReplicas) {
			t.Errorf("%s: %d replicas, want %d", line, got, want)
		}
	}
	b.line("FILTER.CREATE d cuckoo LIKE c")
	b.line("FILTER.CREATE e cuckoo LIKE c REPLICAS 3")
	for name, want := range map[string]uint8{"d": contents.AllReplicas, "e": 3} {
		if got := contents.PartOf(b.state.Names.Lookup([]byte(name), 0)).Plan().Replicas; got != want {
			t.Errorf("%s: %d replicas, want %d", name, got, want)
		}
	}
	for _, line := range []string{"FILTER.CREATE x bloom REPLICAS 2", "FILTER.CREATE x cuckoo LIKE c REPLICAS 1"} {
		want := "-ERR REPLICAS " + line[len(line)-1:] + " is less than the 3 nodes of the cluster, and how many of them hold a filter is one number for all filters (bloomery cluster copies): leave it out, or give REPLICAS ALL"
		if got := b.line(line); got != want {
			t.Errorf("%s = %s", line, got)
		}
	}
	for _, name := range []string{"b", "c", "more"} {
		if got := b.line("FILTER.INFO " + name); !strings.Contains(got, `"replicas" "all"`) {
			t.Errorf("FILTER.INFO %s: %s", name, got)
		}
	}
	for _, line := range []string{"FILTER.CREATE x bloom REPLICAS 0", "FILTER.CREATE x bloom REPLICAS 255", "FILTER.CREATE x bloom REPLICAS some", "FILTER.CREATE x bloom REPLICAS"} {
		if got := b.line(line); !strings.HasPrefix(got, "-ERR REPLICAS ") {
			t.Errorf("%s = %s", line, got)
		}
	}
	if got := newBench(t, 1<<30).line("FILTER.CREATE x bloom REPLICAS ALL"); !strings.HasPrefix(got, "-ERR REPLICAS is for a server of a cluster") {
		t.Errorf("without a cluster: %s", got)
	}
}

// TestGrace asks that a node leaves expiries and windows to the one that decides, and
// does it itself when that is late; and that no read lets a window turn.
func TestGrace(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines("SET s v PX 1000", "FILTER.CREATE w window SPAN 60s GENERATIONS 6", "FILTER.ADD w i")
	generation := func() string {
		info := b.line("FILTER.INFO w")
		_, rest, ok := strings.Cut(info, `"generation" :`)
		if !ok {
			t.Fatal(info)
		}
		return strings.Fields(rest)[0]
	}
	first := generation()
	d.grace = 5 * time.Second
	b.now = b.now.Add(11 * time.Second)
	if got := b.line("FILTER.HAS w i"); got != "[true]" || generation() != first {
		t.Errorf("FILTER.HAS = %s, and the window has turned", got)
	}
	d.grace = time.Hour
	if got := b.engine.Sweep(10); got != 0 || b.state.Names.Len() != 2 || generation() != first {
		t.Errorf("a node that does not decide has removed %d", got)
	}
	d.grace = 5 * time.Second
	if got := b.engine.Sweep(10); got != 1 || b.state.Names.Len() != 1 {
		t.Errorf("a node has left what is overdue to others: %d removed", got)
	}
	d.grace = 0
	b.now = b.now.Add(2 * time.Second)
	if b.engine.Sweep(10); generation() == first {
		t.Error("the window does not turn")
	}
}

// TestAbandonedFilters asks that a filter that never got its name is removed in the
// end, but not while it may still get one.
func TestAbandonedFilters(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines(setupLines...)
	header := b.exec([][]byte{[]byte("BF.SCANDUMP"), []byte("b"), []byte("0")})[0].Elems[1].Text
	stage := &door.Op{Record: store.Record{At: b.now.UnixMilli(), Body: &store.Stage{As: store.OpBloomDump, Header: []byte(header)}}}
	d.Door.Do([]*door.Op{stage})
	id := stage.Result.Entry.ID
	for _, tt := range []struct {
		after time.Duration
		grace time.Duration
		there bool
	}{{time.Hour, 0, true}, {23 * time.Hour, 0, true}, {time.Hour, 5 * time.Second, true}, {time.Hour, 0, false}} {
		d.grace = tt.grace
		b.now = b.now.Add(tt.after)
		b.engine.Sweep(10)
		if there := b.state.Names.ByID(id) != nil; there != tt.there {
			t.Errorf("%v later, with a grace of %v: there is %v, want %v", tt.after, tt.grace, there, tt.there)
		}
	}
}

// TestBehind asks that a node which may lack what others have answers neither reads nor
// writes, whatever clients ask for, and that it goes on when it knows.
func TestBehind(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines(setupLines...)
	for _, tt := range []struct {
		err  error
		code string
	}{{fmt.Errorf("%w: %w: cluster: it was paused", door.ErrDown, door.ErrBehind), "-LOADING it was paused"}, {fmt.Errorf("%w: cluster: it was removed", door.ErrDown), "-CLUSTERDOWN This node no longer serves (it was removed)"}} {
		d.behind = tt.err
		for _, line := range []string{"BF.EXISTS b i", "GET s", "DBSIZE", "CF.COUNT c i", "FILTER.HAS p i", "BF.ADD b j", "SET s v", "SCAN 0", "DEL s"} {
			if got := b.line(line); got != tt.code {
				t.Errorf("%s = %s, want %s", line, got, tt.code)
			}
		}
		for _, line := range []string{"PING", "INFO cluster", "CLIENT ID"} {
			if got := b.line(line); strings.HasPrefix(got, "-") {
				t.Errorf("%s = %s", line, got)
			}
		}
		d.behind = nil
		if got := b.line("BF.EXISTS b i"); got != ":1" {
			t.Errorf("BF.EXISTS afterwards = %s", got)
		}
	}
}

// TestFeedRightAfterBegin feeds a rebuild at a node that has not heard of it yet, or not that it is
// ready: it waits for that.
func TestFeedRightAfterBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, d, _ := newNode(t, log)
		b, _, behind := newNode(t, log)
		level := &door.Op{Record: store.Record{Body: &store.Level{Level: store.LevelRebuilds}}}
		d.Do([]*door.Op{level})
		d.Wait([]*door.Op{level})
		a.line("FILTER.CREATE f bloom CAPACITY 1000")
		synctest.Wait()
		behind.Hold(0, true) // the catalogue
		if got := a.line("FILTER.REBUILD f BEGIN"); got != "+OK" {
			t.Fatal(got)
		}
		go func() {
			time.Sleep(time.Second)
			behind.Hold(0, false)
		}()
		if got := b.line("FILTER.REBUILD f FEED x y"); got != ":2" {
			t.Errorf("FEED at another node = %s", got)
		}
		if got := b.line("FILTER.REBUILD none FEED x"); !strings.HasPrefix(got, "-ERR no rebuild is open") {
			t.Errorf("FEED of no rebuild = %s", got)
		}
	})
}

// TestAbortAndBeginElsewhere ends a rebuild at a node that has not heard of it yet, and begins one at a node that has not heard that
// the one before has ended: both wait for that.
func TestAbortAndBeginElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		a, d, _ := newNode(t, log)
		b, _, behind := newNode(t, log)
		level := &door.Op{Record: store.Record{Body: &store.Level{Level: store.LevelRebuilds}}}
		d.Do([]*door.Op{level})
		d.Wait([]*door.Op{level})
		a.line("FILTER.CREATE f bloom CAPACITY 1000")
		then := func(here, elsewhere string) {
			t.Helper()
			synctest.Wait()
			behind.Hold(0, true) // the catalogue
			if got := a.line("FILTER.REBUILD f " + here); got != "+OK" {
				t.Fatalf("%s = %s", here, got)
			}
			go func() {
				time.Sleep(time.Second)
				behind.Hold(0, false)
			}()
			if got := b.line("FILTER.REBUILD f " + elsewhere); got != "+OK" {
				t.Errorf("%s, then %s at another node = %s", here, elsewhere, got)
			}
		}
		then("BEGIN", "ABORT")
		a.line("FILTER.REBUILD f BEGIN")
		then("ABORT", "BEGIN")
		synctest.Wait()
		then("COMMIT", "BEGIN")
		if got := b.line("FILTER.REBUILD f BEGIN"); !strings.HasPrefix(got, "-ERR a rebuild is open") {
			t.Errorf("BEGIN of an open rebuild = %s", got)
		}
	})
}
