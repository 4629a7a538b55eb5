package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// pageDoor notes records of many items for parts whose pages the system may still have to make; in a
// transaction it notes records of any size.
type pageDoor struct {
	door.Door
	state *store.State
	alone bool
	found []string

	items, records int    // that were looked at
	busy           func() // called when Busy is, if it is not nil
	written        func() // called when items are written, if it is not nil
}

// pageHost calls busy when it is asked for sessions: EXEC does so to find out what CLIENT LIST costs.
type pageHost struct {
	*bench
	door *pageDoor
}

// Sessions implements engine.Host.
func (h pageHost) Sessions() []*engine.Session {
	h.door.isBusy()
	return h.bench.Sessions()
}

// newPages is newBench over a pageDoor.
func newPages(t *testing.T) (*bench, *pageDoor) {
	t.Helper()
	b := newBench(t, 1<<30)
	d := &pageDoor{Door: b.door, state: b.state}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: d, Keeper: b.door.Door, Host: pageHost{b, d}, MaxMemory: 1 << 30,
		Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	return b, d
}

// Do implements door.Door.
func (d *pageDoor) Do(ops []*door.Op) {
	for _, op := range ops {
		switch op.Record.Op() {
		case store.OpBegin:
			d.alone = true
		case store.OpCommit:
			d.alone = false
		}
		items := 0
		switch body := op.Record.Body.(type) {
		case store.Items:
			items = body.Len()
		case *store.CountMinIncr, *store.TopKIncr:
			items = 500 // the calls of the test have so many
		}
		if items > 0 {
			d.look(op, items)
		}
	}
	d.Door.Do(ops)
}

// Busy implements door.Door.
func (d *pageDoor) Busy() bool {
	d.isBusy()
	return d.Door.Busy()
}

func (d *pageDoor) isBusy() {
	if d.busy != nil {
		d.busy()
	}
}

// look notes what is wrong with a record of so many items.
func (d *pageDoor) look(op *door.Op, items int) {
	d.items, d.records = d.items+items, d.records+1
	if d.written != nil {
		d.written()
	}
	parts := []*contents.Part{op.Part}
	if o, ok := op.Record.Body.(*store.FilterAdd); ok && o.Shadow != 0 {
		for _, p := range contents.Parts(d.state.ShadowByID(o.Shadow).Entry()) {
			parts = append(parts, p)
		}
	}
	for _, p := range parts {
		if p.Untouched() && (d.alone || items > p.FewItems()) {
			d.found = append(d.found, fmt.Sprintf("%T of %d items, in a transaction %t", op.Record.Body, items, d.alone))
		}
	}
}

// TestPagesAreMadeBefore writes many items to new filters and sketches, outside of transactions and in
// them, and asks that the pages of their arrays were made before, when nothing was locked.
func TestPagesAreMadeBefore(t *testing.T) {
	pairs := strings.Join(someWords("{pairs}", 0), " ")
	items := strings.Join(someWords("{items}", 0), " ")
	few := strings.Join(someWords("{items}", 0)[:120], " ")
	numbers := strings.Join(someWords("{hashes}", 0), " ")
	for _, tt := range []struct{ name, make, add string }{
		{"BF", "BF.RESERVE k 0.01 1000000", "BF.MADD k " + items},
		{"BF that grows", "BF.RESERVE k 0.01 400\nBF.MADD k " + items + "\nBF.INSERT k EXPANSION 2 ITEMS x", "BF.MADD k " + items},
		{"CF", "CF.RESERVE k 1000000", "CF.INSERT k ITEMS " + items},
		{"CMS", "CMS.INITBYDIM k 100000 5", "CMS.INCRBY k " + pairs},
		{"TOPK", "TOPK.RESERVE k 10 100000 5 0.9", "TOPK.ADD k " + items},
		{"bloom", "FILTER.CREATE k bloom CAPACITY 1000000", "FILTER.ADD k " + items},
		{"parts", "FILTER.CREATE k bloom CAPACITY 4000000 PARTS 4", "FILTER.ADD k " + items},
		{"cuckoo", "FILTER.CREATE k cuckoo CAPACITY 1000000", "FILTER.ADD k " + items},
		{"quotient", "FILTER.CREATE k quotient CAPACITY 1000000", "FILTER.ADD k " + items},
		{"hashes", "FILTER.CREATE k quotient CAPACITY 1000000", "FILTER.ADDHASH k " + numbers},
		{"window", "FILTER.CREATE k window CAPACITY 1000000 SPAN 10m GENERATIONS 4", "FILTER.ADD k " + items},
		{"cleared", "FILTER.CREATE k bloom CAPACITY 1000000\nFILTER.ADD k " + items + "\nFILTER.CLEAR k", "FILTER.ADD k " + items},
		{"rebuilt", "FILTER.CREATE k bloom CAPACITY 1000000\nFILTER.ADD k " + items + "\nFILTER.REBUILD k BEGIN bloom CAPACITY 4000000 PARTS 4", "FILTER.ADD k " + items},
		{"rebuilt, few", "FILTER.CREATE k bloom CAPACITY 1000000\nFILTER.ADD k " + items + "\nFILTER.REBUILD k BEGIN bloom CAPACITY 4000000", "FILTER.ADD k " + few},
		{"CMS, in pieces", "CMS.INITBYDIM k 100000 5", "CMS.INCRBY k " + strings.Repeat(pairs+" ", 5)},
		{"fed", "FILTER.REBUILD k BEGIN bloom CAPACITY 1000000", "FILTER.REBUILD k FEED " + items},
		{"one by one", "BF.RESERVE k 0.01 1000000", "pipeline BF.ADD k x"},
	} {
		for _, alone := range []bool{false, true} {
			b, d := newPages(t)
			for line := range strings.SplitSeq(tt.make, "\n") {
				if got := b.line(line); strings.HasPrefix(got, "-") {
					t.Fatalf("%s: %.60s = %s", tt.name, line, got)
				}
			}
			d.found, d.items = nil, 0
			lines := []string{tt.add}
			if one, is := strings.CutPrefix(tt.add, "pipeline "); is {
				lines = nil
				for i := range 100 {
					lines = append(lines, fmt.Sprint(one, i))
				}
			}
			if alone {
				lines = append([]string{"MULTI"}, append(lines, "EXEC")...)
			}
			got := b.lines(lines...)
			if last := got[len(got)-1]; strings.HasPrefix(last, "-") {
				if alone && tt.name == "fed" {
					continue // it cannot be in one
				}
				t.Fatalf("%s: %.200s", tt.name, last)
			}
			if d.found = d.found[:min(len(d.found), 2)]; len(d.found) > 0 || d.items < 100 {
				t.Errorf("%s, in a transaction %t, %d items: %v", tt.name, alone, d.items, d.found)
			}
		}
	}
}

// TestFewItemsMakeFewPages adds some items to a new filter: pages of all of it would take too long.
func TestFewItemsMakeFewPages(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("BF.RESERVE k 0.01 1000000", "BF.MADD k a b c d", "MULTI", "BF.ADD k e", "BF.ADD k f", "EXEC", "BF.EXISTS k a")
	p := contents.PartOf(b.state.Names.Lookup([]byte("k"), 0))
	if !p.Untouched() {
		t.Error("all pages were made for few items")
	}
	if b.lines("BF.MADD k g h i j k"); p.Untouched() {
		t.Error("the pages were not made for many items")
	}
}

// TestReadsOfNewArrays looks for items in what is new, in transactions: for few as it is, for many once its arrays lie on huge pages.
func TestReadsOfNewArrays(t *testing.T) {
	const few, many = 10, 500 // items in 8 places or more each
	for _, tt := range []struct{ make, ask string }{
		{"CMS.INITBYDIM k 1000000 10", "CMS.QUERY k {items}"},
		{"TOPK.RESERVE k 10 1000000 10 0.9", "TOPK.QUERY k {items}"},
		{"TOPK.RESERVE k 10 1000000 10 0.9", "TOPK.COUNT k {items}"},
		{"BF.RESERVE k 0.001 20000000", "BF.MEXISTS k {items}"},
		{"FILTER.CREATE k standard CAPACITY 20000000 ERROR 0.001", "FILTER.HAS k {items}"},
		{"FILTER.CREATE k counting CAPACITY 20000000 ERROR 0.001", "FILTER.COUNT k {items}"},
		{"FILTER.CREATE k standard CAPACITY 20000000 ERROR 0.001", "FILTER.WHERE * {items}"},
		{"FILTER.CREATE k standard CAPACITY 20000000 ERROR 0.001", "FILTER.INFO k"},
	} {
		b := newBench(t, 1<<30)
		b.line(tt.make)
		p := contents.PartOf(b.state.Names.Lookup([]byte("k"), 0))
		for _, v := range []struct {
			items int
			loose bool
		}{{few, true}, {many, false}} {
			ask, items := strings.CutSuffix(tt.ask, " {items}")
			words := strings.Fields(ask)
			if items {
				words = append(words, someWords("{items}", 1)[:v.items]...)
			} else if v.loose {
				continue
			}
			b.line("MULTI")
			b.do(words...)
			if got := b.line("EXEC"); strings.Contains(got, "EXECABORT") {
				t.Errorf("%s: %s", tt.ask, got)
			}
			if p.Loose() != v.loose || !p.Untouched() {
				t.Errorf("%s, %d items: on small pages %t, want %t; pages are made: %t", tt.ask, v.items, p.Loose(), v.loose, !p.Untouched())
			}
		}
	}
}

// TestPagesOfNewLayers has a filter grow in a transaction: the next one finds its new array touched.
func TestPagesOfNewLayers(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.RESERVE k 0.01 300000")
	p := contents.PartOf(b.state.Names.Lookup([]byte("k"), 0))
	i := 0
	for ; p.Bloom().Items() < 299_000; i++ {
		b.do(append([]string{"BF.MADD", "k"}, someWords("{items}", i)...)...)
	}
	if p.Untouched() {
		t.Error("the pages of the first layer were not made")
	}
	for ; p.Bloom().Layers() == 1; i++ {
		b.do("BF.ADD", "k", fmt.Sprint("single", i))
	}
	if !p.Untouched() {
		t.Error("a new layer has no pages to be made")
	}
	if b.lines("BF.MADD k a b c d e"); p.Untouched() {
		t.Error("the pages of a new layer were not made")
	}
}

// TestKilledWhilePagesAreMade kills clients when the pages of a new filter are about to be made: nothing of the
// bundle is done, in which it would hold others up.
func TestKilledWhilePagesAreMade(t *testing.T) {
	for _, items := range []int{5, 200, 500} {
		add := "BF.MADD k " + strings.Join(someWords("{items}", 0)[:items], " ")
		for _, lines := range [][]string{{add}, {"MULTI", "CLIENT LIST", add, "EXEC"}} {
			b, d := newPages(t)
			b.line("BF.RESERVE k 0.01 1000000")
			p := contents.PartOf(b.state.Names.Lookup([]byte("k"), 0))
			d.busy = b.session.End
			got := b.lines(lines...)
			if last := got[len(got)-1]; !strings.Contains(last, answer.TextStopped) || d.items > 0 || !p.Untouched() {
				t.Errorf("%d items in %d commands: %s, %d of them added, all pages made %t", items, len(lines), last, d.items, !p.Untouched())
			}
		}
	}
}

// TestArraysThatAreReplaced has another client make the filter of a transaction anew whenever that has found out
// what it is to touch: it looks again, and gives up if that goes on.
func TestArraysThatAreReplaced(t *testing.T) {
	for _, times := range []int{0, 1, 3, 100} {
		b, d := newPages(t)
		other := b.connect()
		b.line("BF.RESERVE k 0.01 1000000")
		left := times
		b.door.ready = func() {
			if left--; left >= 0 {
				other.lines("DEL k", "BF.RESERVE k 0.01 1000000")
			}
		}
		d.found, d.items = nil, 0
		got := b.lines("MULTI", "BF.MADD k "+strings.Join(someWords("{items}", 0), " "), "EXEC")
		b.door.ready = nil
		want, items := "[[true", 500
		if times == 100 {
			want, items = "-TRYAGAIN", 0
		}
		if !strings.HasPrefix(got[2], want) || d.items != items || len(d.found) > 0 {
			t.Errorf("replaced %d times: %.80s, %d items: %v", times, got[2], d.items, d.found)
		}
	}
}

// TestFilterThatIsClearedAgainAndAgain clears a filter whenever a client has made its pages: the client adds its items
// all the same, few at a time.
func TestFilterThatIsClearedAgainAndAgain(t *testing.T) {
	for _, items := range []int{200, 500} {
		b, d := newPages(t)
		other := b.connect()
		b.line("FILTER.CREATE k bloom CAPACITY 1000000")
		clears, inside := 0, false
		d.busy = func() {
			if !inside {
				inside, clears = true, clears+1
				other.line("FILTER.CLEAR k")
				inside = false
			}
		}
		d.items, d.records = 0, 0
		p := contents.PartOf(b.state.Names.Lookup([]byte("k"), 0))
		done := make(chan string)
		go func() { done <- b.do(append([]string{"FILTER.ADD", "k"}, someWords("{items}", 0)[:items]...)...) }()
		select {
		case got := <-done:
			if strings.HasPrefix(got, "-") || len(d.found) > 0 || d.items != items || d.records < items/p.FewItems() || clears < 4 {
				t.Errorf("%d items: %.60s, %d of them in %d records, %d clears: %v", items, got, d.items, d.records, clears, d.found)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d items are not added after %d clears", items, clears)
		}
	}
}

// TestPauseWhilePagesAreMade begins a pause when pages are about to be made: nothing is written until it is over.
func TestPauseWhilePagesAreMade(t *testing.T) {
	add := "BF.MADD k " + strings.Join(someWords("{items}", 0), " ")
	for _, lines := range [][]string{{add}, {"MULTI", add, "EXEC"}} {
		b, d := newPages(t)
		b.line("BF.RESERVE k 0.01 1000000")
		pause := func() { b.engine.Pause.Begin(50*time.Millisecond, false) }
		d.busy = func() { d.busy = nil; pause() }
		if len(lines) > 1 {
			b.door.ready = func() { b.door.ready = nil; pause() }
		}
		d.written = func() {
			if b.engine.Pause.Any() {
				d.found = append(d.found, "written while clients are paused")
			}
		}
		b.lines(lines...)
		if len(d.found) > 0 || d.items != 500 {
			t.Errorf("%d commands: %d items, %v", len(lines), d.items, d.found)
		}
	}
}

// TestNodesMakePages writes many items to a new filter of a cluster, in a message of one record and in a
// group, and asks that every node makes the pages, for a group before other clients are held back.
func TestNodesMakePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(1, memlog.Faults{})
		b := &bench{state: store.New(), now: time.UnixMilli(1_700_000_000_000)}
		node := log.Node(cluster.ErrFull)
		d, err := cluster.Open(cluster.Config{State: b.state, Log: node, Lanes: 2, Files: &folder.Memory{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			node.Kill()
			_ = d.Close()
			node.Wait()
			b.state.Discard()
		})
		b.engine = engine.New(engine.Config{
			Commands: command.All(), State: b.state, Door: d, Host: b, MaxMemory: 1 << 30,
			Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
		})
		part := func(key string) *contents.Part {
			if e := b.state.Names.Lookup([]byte(key), 0); e != nil {
				return contents.PartOf(e)
			}
			return nil
		}
		late := false
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Start(ctx, func(f func()) {
			b.engine.Alone(func() {
				if p := part("group"); p != nil && p.Untouched() {
					late = true
				}
				f()
			})
		}); err != nil {
			t.Fatal(err)
		}
		b.client = b.connect()
		words := strings.Join(someWords("{items}", 0)[:200], " ")
		b.lines("BF.RESERVE single 0.01 1000000", "BF.RESERVE group 0.01 1000000", "BF.MADD single a b c",
			"TOPK.RESERVE topk 10 100000 5 0.9", "CMS.INITBYDIM cms 100000 5")
		if !part("single").Untouched() || !part("group").Untouched() {
			t.Error("new filters have no pages to be made")
		}
		group := []string{"MULTI"}
		for i := range 100 {
			group = append(group, fmt.Sprint("BF.ADD group x", i))
		}
		b.lines("BF.MADD single "+words, "MULTI", "BF.ADD group x", "EXEC")
		if late = false; !part("group").Untouched() {
			t.Error("all pages were made for one item")
		}
		got := b.lines(append(group, "EXEC")...)
		if last := got[len(got)-1]; strings.HasPrefix(last, "-") {
			t.Fatal(last)
		}
		if b.lines("TOPK.ADD topk "+words, "CMS.INCRBY cms "+strings.ReplaceAll(words, " ", " 1 ")+" 1"); part("topk").Untouched() || part("cms").Untouched() {
			t.Error("pages of sketches are to be made")
		}
		if part("single").Untouched() || part("group").Untouched() || late {
			t.Errorf("pages to be made: %t and %t, of a group while nobody else ran %t", part("single").Untouched(), part("group").Untouched(), late)
		}
	})
}
