package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
)

// killable is a node with all commands that can be killed and started again.
type killable struct {
	*bench
	t     testing.TB
	log   *memlog.Log
	peers *memlog.Peers
	files *folder.Memory
	most  int64 // bytes that it may take, 0 for many

	// mu guards what follows, and the bench.
	mu   sync.RWMutex
	door *cluster.Door
	node *memlog.Node
	stop chan struct{}
}

func (k *killable) start() {
	b := &bench{state: store.New(), now: time.Now()}
	b.state.SetKeys(map[string]hashing.Hasher{"k1": hashing.Keyed([16]byte{1}), "k2": hashing.Keyed([16]byte{2})})
	node := k.log.Node(cluster.ErrFull)
	d, err := cluster.Open(cluster.Config{State: b.state, Log: node, Peers: k.peers, Files: k.files, Lanes: 3, Name: "n", SnapshotAfter: -1})
	if err != nil {
		k.t.Fatal(err)
	}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: d, Host: b, MaxMemory: cmp.Or(k.most, 1<<30),
		Clock: time.Now, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	if err := d.Start(ctx, b.engine.Alone); err != nil {
		k.t.Fatal(err)
	}
	b.client = b.connect()
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				b.engine.Sweep(100)
			}
		}
	}()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bench, k.door, k.node, k.stop = b, d, node, stop
}

// kill ends the process, as kill -9 does: nothing is saved.
func (k *killable) kill() {
	k.mu.Lock()
	b, d, node := k.bench, k.door, k.node
	close(k.stop)
	k.bench = nil
	k.mu.Unlock()
	node.Kill()
	_ = d.Close()
	node.Wait()
	synctest.Wait() // whoever waits in it is answered
	b.state.Discard()
}

// do runs a command as a new client. A node that is down answers nothing.
func (k *killable) do(words ...string) string {
	k.mu.RLock()
	b := k.bench
	k.mu.RUnlock()
	if b == nil {
		return "-down"
	}
	return b.connect().do(words...)
}

// rebuilds is a cluster with one filter, what clients have been told of it, and the store from
// which it is rebuilt.
type rebuilds struct {
	nodes []*killable
	kinds [][]string // that filters become

	mu       sync.Mutex
	random   *rand.Rand
	stored   map[string]bool // the exact store
	acked    map[string]bool
	deleted  map[string]bool
	fed      map[string]bool // ever
	made     int
	operator chan struct{} // one rebuild at a time: FEED does not say which it is for
	aborts   int           // of six rebuilds that are not committed
	renames  chan struct{} // none while BEGIN is sent: of a name that is free it makes another filter
	commits  int
	moves    int    // records of moves
	last     string // what the last COMMIT was answered
}

// draw returns a number below n.
func (v *rebuilds) draw(n int) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.random.IntN(n)
}

// name is one of the two between which the filter is renamed.
func (v *rebuilds) name() string { return string(rune('a' + v.draw(2))) }

// onFilter runs a command on whichever name the filter has.
func (v *rebuilds) onFilter(k *killable, words ...string) string {
	for range 4 {
		for _, name := range []string{"a", "b"} {
			words[1] = name
			if got := k.do(words...); !strings.Contains(got, "not found") && !strings.Contains(got, "no rebuild is open") {
				return got
			}
		}
	}
	return "-not found"
}

// add stores items, then adds them, and notes what was acknowledged.
func (v *rebuilds) add(k *killable) {
	n := 1 + v.draw(5)
	words := []string{"FILTER.ADD", ""}
	v.mu.Lock()
	for range n {
		v.made++
		item := fmt.Sprint("item", v.made)
		v.stored[item] = true
		words = append(words, item)
	}
	v.mu.Unlock()
	words[1] = v.name()
	got := k.do(words...)
	if !strings.HasPrefix(got, "[") || strings.Contains(got, "-") {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, item := range words[2:] {
		v.acked[item] = true
	}
}

// remove deletes an item that was acknowledged: first from the filter.
func (v *rebuilds) remove(k *killable) {
	item := ""
	v.mu.Lock()
	for range 20 {
		if name := fmt.Sprint("item", 1+v.random.IntN(v.made+1)); v.acked[name] && !v.deleted[name] {
			item, v.deleted[name] = name, true
			break
		}
	}
	v.mu.Unlock()
	if item == "" {
		return
	}
	if got := v.onFilter(k, "FILTER.DEL", "", item); got == "[true]" {
		v.mu.Lock()
		delete(v.stored, item)
		v.mu.Unlock()
	}
}

// begin begins a rebuild under the name that the filter has.
func (v *rebuilds) begin(k *killable, options []string) bool {
	v.renames <- struct{}{}
	defer func() { <-v.renames }()
	time.Sleep(time.Second) // the node knows the last one
	for _, name := range []string{"a", "b"} {
		if k.do("EXISTS", name) == ":1" {
			return k.do(append([]string{"FILTER.REBUILD", name, "BEGIN"}, options...)...) == "+OK"
		}
	}
	return false
}

// rename gives the filter its other name.
func (v *rebuilds) rename(k *killable) {
	v.renames <- struct{}{}
	defer func() { <-v.renames }()
	if v.draw(2) == 0 {
		k.do("RENAMENX", "a", "b")
	} else {
		k.do("RENAMENX", "b", "a")
	}
}

// rebuild is what an operator does, who may be at several nodes, and may be cut short.
func (v *rebuilds) rebuild(k *killable, begin ...string) bool {
	v.operator <- struct{}{}
	defer func() { <-v.operator }()
	v.onFilter(k, "FILTER.REBUILD", "", "ABORT")
	if !v.begin(k, begin) {
		return false
	}
	v.mu.Lock()
	var items []string
	for item := range v.stored {
		items = append(items, item)
	}
	v.mu.Unlock()
	for len(items) > 0 {
		n := min(len(items), 1+v.draw(200))
		at := k
		if v.draw(3) == 0 {
			at = v.nodes[v.draw(len(v.nodes))]
		}
		v.mu.Lock()
		for _, item := range items[:n] {
			v.fed[item] = true
		}
		v.mu.Unlock()
		if got := v.onFilter(at, append([]string{"FILTER.REBUILD", "", "FEED"}, items[:n]...)...); got != fmt.Sprint(":", n) {
			return false // the next one aborts it
		}
		items = items[n:]
	}
	if v.draw(6) < v.aborts {
		v.onFilter(k, "FILTER.REBUILD", "", "ABORT")
		return false
	}
	got := v.onFilter(k, "FILTER.REBUILD", "", "COMMIT", "FORCE")
	if got == "+OK" {
		v.mu.Lock()
		v.commits++
		v.mu.Unlock()
	}
	v.last = got
	return got == "+OK"
}

// kinds are those that filters become: with deletes and counts, static, and with other keys.
var rebuiltKinds = [][]string{
	{"counting", "CAPACITY", "30000", "ERROR", "0.0001"}, {"counting", "CAPACITY", "30000", "ERROR", "0.0001", "NEWKEY", "k1"},
	{"counting", "CAPACITY", "30000", "ERROR", "0.0001", "NEWKEY", "k2"}, {"fuse16", "CAPACITY", "5000000"}, {"bloom", "CAPACITY", "30000", "ERROR", "0.0001"},
}

// spreadKinds are the same, with several parts where contents are spread.
var spreadKinds = [][]string{
	{"counting", "CAPACITY", "300000", "ERROR", "0.0001"}, {"counting", "CAPACITY", "300000", "ERROR", "0.0001", "NEWKEY", "k1"},
	{"counting", "CAPACITY", "30000", "ERROR", "0.0001", "NEWKEY", "k2"}, {"fuse16", "CAPACITY", "500000"}, {"bloom", "CAPACITY", "300000", "ERROR", "0.0001"},
}

// client does what one of six does.
func (v *rebuilds) client(k *killable, until time.Time) {
	for time.Now().Before(until) {
		time.Sleep(time.Duration(v.draw(8)) * time.Millisecond)
		switch v.draw(20) {
		case 0:
			v.rebuild(k, v.kinds[v.draw(len(v.kinds))]...)
		case 1:
			v.rename(k)
		case 2:
			v.remove(k)
		case 3:
			time.Sleep(time.Duration(v.draw(200)) * time.Millisecond)
		default:
			v.add(k)
		}
	}
}

// equal asks that all nodes are equal, or where contents are spread, all that hold the same.
func (v *rebuilds) equal(t *testing.T, seed uint64) {
	t.Helper()
	var want []byte
	parts := map[string][]byte{}
	for i, k := range v.nodes {
		k.state.Names.Lock()
		var got []byte
		if k.state.Holdings() == nil {
			got = k.state.AppendSnapshot(nil)
		}
		for _, e := range k.state.Names.All() {
			for j, p := range contents.Parts(e) {
				if got = fmt.Appendf(got, "%d.%d ", e.ID, j); !k.state.Answers(p) {
					continue
				}
				name := fmt.Sprint(e.ID, ".", j)
				_, dump := p.Contents().ScanDump(1)
				dump = fmt.Appendf(dump, " %d", p.Version())
				if before, ok := parts[name]; ok && !bytes.Equal(before, dump) {
					t.Errorf("seed %d: part %s of node %d differs from that of another", seed, name, i+1)
				}
				parts[name] = dump
			}
		}
		k.state.Names.Unlock()
		if i == 0 {
			want = got
		} else if !bytes.Equal(got, want) {
			t.Errorf("seed %d: node %d differs from the first", seed, i+1)
		}
	}
}

// check asks that nothing that was acknowledged is lost, nothing counted twice, and
// nodes are equal.
func (v *rebuilds) check(t *testing.T, seed uint64) {
	t.Helper()
	v.equal(t, seed)
	lost := 0
	counts := strings.HasPrefix(v.onFilter(v.nodes[0], "FILTER.COUNT", "", "x"), "[")
	for item := range v.acked {
		if v.deleted[item] {
			continue
		}
		if got := v.onFilter(v.nodes[v.draw(len(v.nodes))], "FILTER.HAS", "", item); got != "[true]" {
			lost++
		}
		if !counts {
			continue
		}
		most := 1
		if v.fed[item] {
			most++
		}
		if got := v.onFilter(v.nodes[0], "FILTER.COUNT", "", item); len(got) != 4 || int(got[2]-'0') > most {
			t.Errorf("seed %d: %s is counted %s times, want at most %d", seed, item, got, most)
		}
	}
	if lost > 0 {
		t.Errorf("seed %d: %d of %d acknowledged items are lost", seed, lost, len(v.acked))
	}
}

// TestRebuildsInACluster has six clients at three nodes add, delete, rename, and rebuild,
// while nodes are killed and started again, and the log loses, repeats and delays.
func TestRebuildsInACluster(t *testing.T) { manyRebuilds(t, 3, 4) }

// TestRebuildsOfSpreadContents is the same at four nodes that hold two copies of everything.
func TestRebuildsOfSpreadContents(t *testing.T) { manyRebuilds(t, 4, 2) }

// manyRebuilds runs so many rounds, or as many as BLOOMERY_REBUILDS says.
func manyRebuilds(t *testing.T, nodes, rounds int) {
	if text := os.Getenv("BLOOMERY_REBUILDS"); text != "" {
		rounds, _ = strconv.Atoi(text)
	}
	first, _ := strconv.Atoi(os.Getenv("BLOOMERY_REBUILDS_FIRST"))
	commits, acked, moves := 0, 0, 0
	for seed := uint64(first); seed < uint64(first+rounds); seed++ {
		synctest.Test(t, func(t *testing.T) {
			v := runRebuilds(t, seed, nodes)
			commits, acked, moves = commits+v.commits, acked+len(v.acked), moves+v.moves
		})
	}
	t.Logf("%d rounds: %d commits, %d items acknowledged, %d steps of moves", rounds, commits, acked, moves)
	if commits == 0 {
		t.Error("no rebuild was committed")
	}
}

// newRebuilds begins a cluster and its filter. Four nodes hold two copies of everything.
func newRebuilds(t *testing.T, seed uint64, nodes int, log *memlog.Log) *rebuilds {
	v := &rebuilds{
		kinds: rebuiltKinds, operator: make(chan struct{}, 1), renames: make(chan struct{}, 1), random: rand.New(rand.NewPCG(seed, 2)),
		stored: map[string]bool{}, acked: map[string]bool{}, deleted: map[string]bool{}, fed: map[string]bool{},
	}
	peers := &memlog.Peers{}
	for range nodes {
		k := &killable{t: t, log: log, peers: peers, files: &folder.Memory{}}
		k.start()
		v.nodes = append(v.nodes, k)
	}
	time.Sleep(5 * time.Second) // they have heard of each other
	if _, err := v.nodes[0].door.Upgrade(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if nodes > 3 {
		v.kinds = spreadKinds
		if err := v.nodes[0].door.SetCopies(2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // contents have been moved
		for i, k := range v.nodes {
			if k.state.Holdings().Everything() {
				t.Fatalf("node %d holds everything", i+1)
			}
		}
	}
	parts := "1"
	if v.aborts = 1; seed%2 == 1 {
		parts = "4"
		if nodes <= 3 {
			v.aborts = 5
		}
	}
	create := []string{"FILTER.CREATE", "a", "counting", "CAPACITY", "30000", "ERROR", "0.0001", "PARTS", parts}
	if seed%5 == 4 { // every node holds it, wherever others are
		create = append(create, "REPLICAS", "ALL")
	}
	if got := v.nodes[0].do(create...); got != "+OK" {
		t.Fatal(got)
	}
	return v
}

// end kills all nodes.
func (v *rebuilds) end() {
	for _, k := range v.nodes {
		k.kill()
	}
}

// move has contents move between nodes: each is held by one more, or by one less.
func (v *rebuilds) move(k *killable) {
	before := k.state.Roster().Shards.Changes
	if err := k.door.SetCopies(2 + v.draw(2)); err == nil {
		_, _ = k.door.Rebalance(true)
		time.Sleep(time.Second)
		v.moves += int(k.state.Roster().Shards.Changes - before)
	}
}

func runRebuilds(t *testing.T, seed uint64, nodes int) *rebuilds {
	log := memlog.New(seed, memlog.Faults{})
	v := newRebuilds(t, seed, nodes, log)
	defer v.end()
	log.SetFaults(memlog.Faults{Delay: 5 * time.Millisecond, Lost: 0.02, Unacked: 0.02, Twice: 0.02, Again: 0.02, Answer: 50 * time.Millisecond})
	until := time.Now().Add(20 * time.Second)
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() { v.client(v.nodes[i%nodes], until) })
	}
	for time.Now().Before(until) {
		time.Sleep(time.Duration(500+v.draw(3000)) * time.Millisecond)
		switch k := v.nodes[v.draw(nodes)]; {
		case nodes > 3 && v.draw(2) == 0:
			v.move(k)
		case v.draw(2) == 0:
			_ = k.door.Snapshot() // one may be under way
		default:
			k.kill()
			time.Sleep(time.Duration(v.draw(2000)) * time.Millisecond)
			k.start()
		}
	}
	clients.Wait()
	log.SetFaults(memlog.Faults{})
	time.Sleep(30 * time.Second) // whatever was left is given up
	for _, k := range v.nodes {
		if got := v.onFilter(k, "FILTER.REBUILD", "", "STATUS"); strings.Contains(got, "committing") {
			t.Errorf("seed %d: a commit is stuck: %s", seed, got)
		}
	}
	v.check(t, seed)
	v.aborts = 0
	for range 10 {
		if v.rebuild(v.nodes[2], v.kinds[0]...) {
			break // not if a node was fed that did not know of it yet
		}
	}
	time.Sleep(time.Second) // the others have it
	if got := v.onFilter(v.nodes[0], "FILTER.REBUILD", "", "STATUS"); got != "-not found" {
		t.Errorf("seed %d: a rebuild is stuck: %s; COMMIT: %s", seed, got, v.last)
	}
	v.check(t, seed)
	return v
}
