package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestRebuildOfPartsElsewhere rebuilds filters through nodes that hold some of their parts, or none.
func TestRebuildOfPartsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newSpread(t, memlog.Faults{})
		v.record(t, 0, &store.Level{Level: store.LevelRebuilds})
		for i, kind := range []string{"counting CAPACITY 3000000 ERROR 0.0001", "fuse16 CAPACITY 500000", "bloom CAPACITY 100", "bloom"} {
			name := fmt.Sprint("f", i)
			b, c := v.nodes[i%4], v.nodes[(i+1)%4]
			for _, step := range []struct{ line, want string }{
				{"FILTER.CREATE " + name + " bloom CAPACITY 1000 PARTS 4", "+OK"},
				{"FILTER.ADD " + name + " a b c d e f g h", "[true true true true true true true true]"},
				{"FILTER.REBUILD " + name + " BEGIN " + kind, "+OK"},
				{"FILTER.ADD " + name + " i j k", "[true true true]"},
				{"FILTER.REBUILD " + name + " FEED a b c d e f g h", ":8"},
				{"FILTER.REBUILD " + name + " COMMIT", "+OK"},
				{"FILTER.HAS " + name + " a b c d e f g h i j k", "[true true true true true true true true true true true]"},
			} {
				if got := b.line(step.line); got != step.want {
					t.Errorf("%s = %s, want %s", step.line, got, step.want)
				}
				if strings.Contains(step.line, "FEED") {
					time.Sleep(time.Second) // the other node has it
					if got := c.line("FILTER.REBUILD " + name + " STATUS"); !strings.Contains(got, `"fed" :8 "added" :3`) || !strings.Contains(got, `"old_items" :11`) {
						t.Errorf("STATUS = %s", got)
					}
				}
			}
			time.Sleep(time.Second)
		}
		// A filter with sources, through the one node that holds nothing of it.
		v.nodes[0].lines("FILTER.CREATE source bloom CAPACITY 1000", "FILTER.ADD source a b c")
		_, data := v.nodes[0].pieces(t, "source")
		for i, b := range v.nodes {
			key := away(i, 0)
			for _, step := range []struct {
				words []string
				want  string
			}{
				{[]string{"FILTER.LOAD", key, "1", string(data[0]), "FROM", "s", "VERSION", "1"}, ":1"},
				{strings.Fields("FILTER.REBUILD " + key + " BEGIN"), "+OK"},
				{strings.Fields("FILTER.REBUILD " + key + " FEED a b c"), ":3"},
				{strings.Fields("FILTER.REBUILD " + key + " COMMIT"), "-ERR the filter is the union of its sources, which a rebuild drops"},
				{strings.Fields("FILTER.REBUILD " + key + " COMMIT FORCE"), "+OK"},
			} {
				if got := b.do(step.words...); !strings.HasPrefix(got, step.want) {
					t.Errorf("node %d: %.60q = %s, want %s", i+1, step.words, got, step.want)
				}
			}
		}
	})
}

// TestCopiesEndRebuilds asks that contents are spread while rebuilds are open only by force.
func TestCopiesEndRebuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k := v.nodes[0]
		for _, step := range []struct{ line, want string }{
			{"FILTER.REBUILD a BEGIN", "+OK"},
			{"FILTER.REBUILD new BEGIN fuse8 CAPACITY 10", "+OK"},
			{"CLUSTER COPIES 2", "-ERR rebuilds are open that this would end: a, new: COMMIT or ABORT them first, or add FORCE"},
			{"CLUSTER COPIES 2 please", "-ERR syntax error"},
			{"FILTER.REBUILD a ABORT", "+OK"},
			{"CLUSTER COPIES 2 FORCE", "+OK. It cannot be undone"},
			{"FILTER.REBUILD new STATUS", "-ERR no rebuild is open for this key: FILTER.REBUILD key BEGIN opens one"},
			{"FILTER.REBUILD a BEGIN", "+OK"},
			{"CLUSTER COPIES 3", "+OK"},
			{"FILTER.REBUILD a ABORT", "+OK"},
		} {
			if got := k.do(strings.Fields(step.line)...); !strings.HasPrefix(got, step.want) {
				t.Errorf("%s = %s, want %s", step.line, got, step.want)
			}
		}
	})
}

// TestBuildAtEveryNode commits a static kind in a cluster of which a node has no memory to build it.
func TestBuildAtEveryNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k, full := v.nodes[0], v.nodes[2]
		line := func(text string) string { return k.do(strings.Fields(text)...) }
		time.Sleep(time.Second) // it has the filter
		before := full.engine.Budget.Used()
		line("FILTER.REBUILD s BEGIN fuse16 CAPACITY 100000")
		feed := []string{"FILTER.REBUILD", "s", "FEED"}
		for i := range 20000 {
			feed = append(feed, fmt.Sprint("item", i))
		}
		if got := k.do(feed...); got != ":20000" {
			t.Fatal(got)
		}
		fed := full.engine.Budget.Used()
		full.engine.Budget.SetMax(fed + 10000)
		if got := line("FILTER.REBUILD s COMMIT"); !strings.HasPrefix(got, "-OOM a node that holds parts of the new filter has no memory to build them: node 3: too little is left below max-memory: ") {
			t.Errorf("COMMIT = %s", got)
		}
		full.engine.Budget.SetMax(1 << 30)
		for _, step := range []string{"FEED more = :1", "COMMIT = +OK"} {
			verb, want, _ := strings.Cut(step, " = ")
			if got := line("FILTER.REBUILD s " + verb); got != want {
				t.Errorf("%s = %s", verb, got)
			}
		}
		if got := line("FILTER.HAS s item1 item2 more"); got != "[true true true]" {
			t.Errorf("FILTER.HAS = %s", got)
		}
		time.Sleep(time.Second)
		line("DEL s")
		time.Sleep(time.Second)
		if now := full.engine.Budget.Used(); now != before {
			t.Errorf("%d bytes are in use, %d were before", now, before)
		}
	})
}

// TestBuildAfterTheSwap has a node that was down during COMMIT, and has no memory for it, build a static kind when it is back:
// the memory counts, and others see that there is none.
func TestBuildAfterTheSwap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k, late := v.nodes[0], v.nodes[2]
		const items = 20000
		feed := []string{"FILTER.REBUILD", "s", "FEED"}
		for i := range items {
			feed = append(feed, fmt.Sprint("item", i))
		}
		k.do("FILTER.REBUILD", "s", "BEGIN", "fuse16", "CAPACITY", "100000")
		if got := k.do(feed...); got != fmt.Sprint(":", items) {
			t.Fatal(got)
		}
		time.Sleep(time.Second)
		if err := late.door.Snapshot(); err != nil {
			t.Fatal(err)
		}
		late.kill()
		time.Sleep(10 * time.Second) // nobody hears of it
		if got := k.do("FILTER.REBUILD", "s", "COMMIT"); got != "+OK" {
			t.Fatal(got)
		}
		late.most = k.engine.Budget.Used() + 1000
		late.start()
		time.Sleep(time.Second)
		if got := late.do("FILTER.HAS", "s", "item1", "item19999"); got != "[true true]" {
			t.Errorf("FILTER.HAS = %s", got)
		}
		used, peak := late.engine.Budget.Used(), late.engine.Budget.Peak()
		if work := int64(contents.BuildBytes(items)); peak < used+work/2 || peak <= late.most {
			t.Errorf("at most %d bytes were in use, %d are, of %d, and building takes %d", peak, used, late.most, work)
		}
	})
}

// TestRebuildsWhereSomeHoldAll rebuilds filters that every node holds where others are spread, while a node joins, and with a key
// that one lacks. They share a cluster, since it takes long to begin.
func TestRebuildsWhereSomeHoldAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 4, memlog.New(1, memlog.Faults{}))
		defer v.end()
		v.rebuildWide(t)
		v.joinARebuild(t)
		v.rebuildWithoutKey(t)
	})
}

// rebuildWide rebuilds a filter that every node holds where others are spread, from every node, with
// another key, as another kind, and again.
func (v *rebuilds) rebuildWide(t *testing.T) {
	t.Helper()
	line := func(i int, text, want string) {
		t.Helper()
		if got := v.nodes[i%4].do(strings.Fields(text)...); got != want {
			t.Errorf("node %d: %s = %s, want %s", i%4+1, text, got, want)
		}
	}
	line(0, "FILTER.CREATE w bloom CAPACITY 1000 PARTS 4 REPLICAS ALL", "+OK")
	line(0, "FILTER.ADD w a b c d", "[true true true true]")
	has, all := "FILTER.HAS w a b c d", "true true true true"
	for i, begin := range []string{
		"NEWKEY k1", "counting CAPACITY 3000", "bloom NEWKEY k2", "fuse16", "bloom CAPACITY 2000 NEWKEY k1", "cuckoo NEWKEY k2 PARTS 1", "ribbon NEWKEY k1", "bloom",
	} {
		time.Sleep(time.Second)
		line(i+1, "FILTER.REBUILD w BEGIN "+begin, "+OK")
		if from := v.nodes[i%4].do("FILTER.INFO", "w"); !strings.Contains(from, `"kind" "fuse16"`) && !strings.Contains(from, `"kind" "ribbon"`) {
			line(i+2, fmt.Sprint("FILTER.ADD w more", i), "[true]")
			has, all = has+fmt.Sprint(" more", i), all+" true"
		}
		items := strings.TrimPrefix(has, "FILTER.HAS w ")
		line(i+3, "FILTER.REBUILD w FEED "+items, fmt.Sprint(":", len(strings.Fields(items))))
		line(i, "FILTER.REBUILD w COMMIT FORCE", "+OK")
		time.Sleep(time.Second)
		for n, k := range v.nodes {
			line(n, has, "["+all+"]")
			e := k.state.Names.Lookup([]byte("w"), time.Now().UnixMilli())
			if !contents.Everywhere(e) {
				t.Fatalf("BEGIN %s: not every node holds the filter", begin)
			}
			for j, p := range contents.Parts(e) {
				if p.Elsewhere() {
					t.Errorf("BEGIN %s: node %d does not hold part %d", begin, n+1, j)
				}
			}
		}
		v.equal(t, 0)
	}
}

// rebuildWithoutKey gives filters a key that one node does not have: it acknowledges no add that the new filter lacks.
func (v *rebuilds) rebuildWithoutKey(t *testing.T) {
	t.Helper()
	k, lacks := v.nodes[0], v.nodes[1]
	lacks.state.SetKeys(map[string]hashing.Hasher{"k2": hashing.Keyed([16]byte{2})})
	var questions [][]string
	for _, create := range []string{"PARTS 1", "PARTS 4", "PARTS 1 REPLICAS ALL", "PARTS 4 REPLICAS ALL"} {
		name := strings.ReplaceAll(create, " ", "")
		for _, line := range []string{"FILTER.CREATE " + name + " bloom CAPACITY 1000 " + create, "FILTER.REBUILD " + name + " BEGIN NEWKEY k1"} {
			if got := k.do(strings.Fields(line)...); got != "+OK" {
				t.Fatalf("%s = %s", line, got)
			}
		}
		time.Sleep(time.Second) // all nodes know it
		if got := lacks.do("FILTER.REBUILD", name, "BEGIN", "NEWKEY", "k1"); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%s: BEGIN without the key = %s", create, got)
		}
		acked, refused := []string{"FILTER.HAS", name}, 0
		for i := range 40 {
			item := fmt.Sprint("item", i)
			got := v.nodes[i%4].do("FILTER.ADD", name, item)
			switch {
			case got == "[true]" || got == "[false]":
				acked = append(acked, item)
			case strings.Contains(got, "-ERR the secret key 'k1' of this filter is not in the file of keys"): // here, or at a holder
				refused++
			default:
				t.Errorf("%s: node %d: FILTER.ADD = %s", create, i%4+1, got)
			}
		}
		if got := k.do("FILTER.REBUILD", name, "COMMIT", "FORCE"); got != "+OK" {
			t.Errorf("%s: COMMIT = %s", create, got)
		}
		time.Sleep(time.Second)
		if got := lacks.do(acked...); strings.Contains(got, "false") {
			t.Errorf("%s: a node without the key answers %s", create, got)
		}
		t.Logf("%s: %d adds were refused", create, refused)
		questions = append(questions, acked)
	}
	lacks.kill()
	lacks.start() // with all keys
	time.Sleep(10 * time.Second)
	for _, words := range questions {
		for n, k := range v.nodes {
			if got := k.do(words...); strings.Count(got, "true") != len(words)-2 {
				t.Errorf("%s, node %d: %d were acknowledged: %s", words[1], n+1, len(words)-2, got)
			}
		}
	}
}

// TestCommitIsGivenUp kills the client of a COMMIT that waits for a node which builds for long: it ends at once, and its attempt with it.
func TestCommitIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k := v.nodes[0]
		k.do(strings.Fields("FILTER.REBUILD s BEGIN fuse16 CAPACITY 1000")...)
		k.do(strings.Fields("FILTER.REBUILD s FEED a b c")...)
		time.Sleep(time.Second)
		k.peers.SetFault(func(node uint32) (f memlog.Fault) {
			if node == 3 {
				f.Delay = 10 * time.Second
			}
			return f
		})
		c, began := k.connect(), time.Now()
		time.AfterFunc(time.Second, c.session.End)
		got := c.exec(args(strings.Fields("FILTER.REBUILD s COMMIT")))[0]
		if took := time.Since(began); took > 2*time.Second || got.Text != answer.TextStopped {
			t.Errorf("COMMIT of a client that was killed: %s after %v", show(got), took)
		}
		k.peers.SetFault(nil)
		if got := k.do(strings.Fields("FILTER.REBUILD s COMMIT")...); got != "+OK" {
			t.Errorf("COMMIT of another one: %s", got)
		}
	})
}

// TestCommitOfADeadOperator kills a node between the seal and the swap of a COMMIT: others end it within 30 seconds, and
// items are taken again.
func TestCommitOfADeadOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newRebuilds(t, 0, 3, memlog.New(1, memlog.Faults{}))
		defer v.end()
		k, operator := v.nodes[0], v.nodes[1]
		line := func(text string) string { return k.do(strings.Fields(text)...) }
		line("FILTER.REBUILD s BEGIN fuse16 CAPACITY 1000")
		line("FILTER.REBUILD s FEED a b c")
		time.Sleep(time.Second)
		id := operator.state.ShadowNamed([]byte("s")).ID
		operator.state.Committing(id)
		ops := []*door.Op{{Record: store.Record{Body: &store.RebuildStep{ID: id, What: store.StepAttempt}}}}
		operator.door.Do(ops)
		operator.door.Wait(ops)
		if ops[0].Err != nil || ops[0].Result.N != 1 {
			t.Fatalf("attempt %d, %v", ops[0].Result.N, ops[0].Err)
		}
		operator.kill()
		time.Sleep(time.Second)
		if got := line("FILTER.REBUILD s STATUS"); !strings.Contains(got, `"state" "committing"`) {
			t.Errorf("STATUS = %s", got)
		}
		time.Sleep(29 * time.Second)
		for _, step := range []string{"FEED d = :1", "COMMIT = +OK"} {
			verb, want, _ := strings.Cut(step, " = ")
			if got := line("FILTER.REBUILD s " + verb); got != want {
				t.Errorf("%s = %s", verb, got)
			}
		}
		operator.start()
		time.Sleep(time.Second)
		if got := operator.do("FILTER.HAS", "s", "a", "b", "c", "d"); got != "[true true true true]" {
			t.Errorf("FILTER.HAS = %s", got)
		}
	})
}

// joinARebuild adds a node to a cluster whose log is purged, while filters are rebuilt that every node holds, or some
// do: it has what the others have.
func (v *rebuilds) joinARebuild(t *testing.T) {
	t.Helper()
	k := v.nodes[0]
	names := map[string][]string{}
	for name, begin := range map[string]string{
		"plain": "NEWKEY k1", "static": "fuse16", "wide": "counting CAPACITY 2000 NEWKEY k2", "wideStatic": "fuse16 NEWKEY k1", "wideSame": "",
	} {
		create := "FILTER.CREATE " + name + " bloom CAPACITY 1000 PARTS 4"
		if strings.HasPrefix(name, "wide") {
			create += " REPLICAS ALL"
		}
		names[name] = strings.Fields("a b c d e f")
		for _, step := range []struct{ line, want string }{
			{create, "+OK"},
			{"FILTER.ADD " + name + " a b c", "[true true true]"},
			{"FILTER.REBUILD " + name + " BEGIN " + begin, "+OK"},
			{"FILTER.ADD " + name + " d e f", "[true true true]"},
			{"FILTER.REBUILD " + name + " FEED a b", ":2"},
		} {
			if got := k.do(strings.Fields(step.line)...); !strings.HasPrefix(got, step.want) {
				t.Fatalf("%s = %s", step.line, got)
			}
		}
	}
	time.Sleep(time.Second)
	for range 2 { // the first one may begin before the last session
		for _, k := range v.nodes {
			if err := k.door.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second) // the log is purged
	}
	if first, _, err := k.node.Head(0); err != nil || first < 2 {
		t.Fatalf("the log begins with message %d, %v: nothing was purged", first, err)
	}
	fifth := &killable{t: t, log: v.nodes[0].log, peers: v.nodes[0].peers, files: &folder.Memory{}}
	fifth.start()
	v.nodes = append(v.nodes, fifth)
	for i, name := range slices.Sorted(maps.Keys(names)) {
		if got := v.nodes[i%5].do("FILTER.REBUILD", name, "FEED", "c"); got != ":1" {
			t.Errorf("%s: FEED = %s", name, got)
		}
		if got := fifth.do("FILTER.ADD", name, "g"); got != "[true]" {
			t.Errorf("%s: ADD = %s", name, got)
		}
		if got := fifth.do("FILTER.REBUILD", name, "COMMIT"); got != "+OK" {
			t.Errorf("%s: COMMIT = %s", name, got)
		}
		time.Sleep(time.Second)
		for n, k := range v.nodes {
			if got := k.do(append([]string{"FILTER.HAS", name, "g"}, names[name]...)...); got != "[true true true true true true true]" {
				t.Errorf("%s, node %d: FILTER.HAS = %s", name, n+1, got)
			}
		}
	}
	time.Sleep(2 * time.Minute) // contents move to the fifth
	v.equal(t, 0)
	if fifth.state.Holdings().Everything() {
		t.Error("the fifth node holds everything")
	}
}
