package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

const secret = "a secret of the tests, long enough"

// patience bounds what takes seconds on a quiet machine.
const patience = 90 * time.Second

func openAll(t *testing.T, configs []Config) []*Log {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	logs := make([]*Log, len(configs))
	errs := make([]error, len(configs))
	var wg sync.WaitGroup
	for i := range configs {
		wg.Go(func() { logs[i], errs[i] = Open(ctx, configs[i]) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		t.Cleanup(func() { _ = l.Close() })
	}
	return logs
}

// publish sends a message until it is stored.
func publish(t *testing.T, l *Log, lane int, msg string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		done := make(chan error, 1)
		l.Publish(lane, []byte(msg), func(err error) { done <- err })
		err := <-done
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("publish %s: %v", msg, err)
		}
	}
}

// heard collects what a tail brings.
type heard struct {
	mu    sync.Mutex
	seqs  []uint64
	msgs  []string
	moved chan struct{} // has an element if something came since until looked
}

func (h *heard) took(seq uint64, msg []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seqs, h.msgs = append(h.seqs, seq), append(h.msgs, string(msg))
	select {
	case h.moved <- struct{}{}:
	default:
	}
}

// last returns the last sequence that came, 0 if none did.
func (h *heard) last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seqs) == 0 {
		return 0
	}
	return h.seqs[len(h.seqs)-1]
}

// until waits for a sequence.
func (h *heard) until(t *testing.T, seq uint64) {
	t.Helper()
	late := time.After(patience)
	for h.last() < seq {
		select {
		case <-h.moved:
		case <-late:
			t.Fatalf("the tail is at %d, want %d", h.last(), seq)
		}
	}
}

func tailOf(t *testing.T, l *Log, lane int, from uint64) *heard {
	t.Helper()
	h := &heard{moved: make(chan struct{}, 1)}
	if _, err := l.Tail(lane, from, h.took); err != nil {
		t.Fatal(err)
	}
	return h
}

func head(t *testing.T, l *Log, lane int) (first, last uint64) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		first, last, err := l.Head(lane)
		if err == nil {
			return first, last
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestThreeServers is the life of a log on three servers: messages, purge, one
// server lost, its return, its return without its folder.
func TestThreeServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 seconds, most of them waiting for elections")
	}
	dir := t.TempDir()
	addrs := ports.Free(t, 3)
	configs := make([]Config, 3)
	for i := range configs {
		configs[i] = Config{Cluster: "test", Addr: addrs[i], Join: addrs, Secret: secret, Dir: filepath.Join(dir, addrs[i]), LaneBytes: 8 << 20}
	}
	began := time.Now()
	logs := openAll(t, configs)
	for _, l := range logs {
		if err := l.Lanes(2, true); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("formed", time.Since(began).Round(100*time.Millisecond))

	// Every node publishes, every node reads the same.
	tails := [3]*heard{}
	for i, l := range logs {
		tails[i] = tailOf(t, l, 1, 1)
	}
	const each = 40
	var wg sync.WaitGroup
	for i, l := range logs {
		wg.Go(func() {
			for k := range each {
				publish(t, l, 1, fmt.Sprintf("%d/%d %s", i, k, strings.Repeat("x", k)))
			}
		})
	}
	wg.Wait()
	first, last := head(t, logs[0], 1)
	if first != 1 || last < 3*each {
		t.Fatalf("head [%d, %d], want [1, at least %d]", first, last, 3*each)
	}
	for i := range tails {
		tails[i].until(t, last)
		if !slices.Equal(tails[i].msgs, tails[0].msgs) {
			t.Errorf("node %d has read other messages than node 1", i+1)
		}
		if tails[i].seqs[0] != 1 || !slices.IsSorted(tails[i].seqs) || len(tails[i].seqs) != int(last) {
			t.Errorf("node %d: %d messages from sequence %d, want %d from 1", i+1, len(tails[i].seqs), tails[i].seqs[0], last)
		}
	}
	// The same bytes again are a message of their own: the state finds repeats.
	publish(t, logs[1], 1, "again")
	publish(t, logs[1], 1, "again")
	if _, now := head(t, logs[2], 1); now < last+2 {
		t.Errorf("head %d after two messages, want at least %d", now, last+2)
	}
	testStray(t, logs, tails[:])
	// Other lanes are empty, and lanes that were not asked for do not exist.
	if first, last := head(t, logs[0], 3); first != 1 || last != 0 {
		t.Errorf("head of an empty lane [%d, %d], want [1, 0]", first, last)
	}
	// What is purged is skipped.
	if err := logs[2].Purge(1, 50); err != nil {
		t.Fatal(err)
	}
	if first, _ := head(t, logs[0], 1); first != 50 {
		t.Errorf("first sequence %d after a purge, want 50", first)
	}
	if b, err := logs[0].Read(1, 49); b != nil || err != nil {
		t.Errorf("Read of a message that was purged = %q, %v", b, err)
	}
	late := tailOf(t, logs[0], 1, 10)
	late.until(t, last)
	if late.seqs[0] != 50 {
		t.Errorf("a tail from a purged sequence begins at %d, want 50", late.seqs[0])
	}
	testPeers(t, logs)
	testExternal(t, logs)
	testElections(t, logs)

	// The leader of a lane goes; the others go on.
	gone := max(0, slices.IndexFunc(logs, func(l *Log) bool { return l.server.Load().JetStreamIsStreamLeader(globalAccount, l.stream(1)) }))
	if err := logs[gone].Close(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	others := slices.Delete(slices.Clone(logs), gone, gone+1)
	for k := range each {
		publish(t, others[k%2], 1, fmt.Sprintf("without/%d", k))
	}
	t.Log("writes went on after", time.Since(began).Round(100*time.Millisecond))
	_, last = head(t, others[0], 1)
	for i, h := range tails {
		if i != gone {
			h.until(t, last)
		}
	}
	// It returns with its folder, and reads what it missed.
	began = time.Now()
	configs[gone].Kept = true
	back := openAll(t, configs[gone:gone+1])[0]
	if err := back.Lanes(2, false); err != nil {
		t.Fatal(err)
	}
	missed := tailOf(t, back, 1, tails[gone].seqs[len(tails[gone].seqs)-1]+1)
	missed.until(t, last)
	t.Log("returned after", time.Since(began).Round(100*time.Millisecond))
	if !back.store.Load() {
		t.Error("a log node that returned with its folder keeps no log")
	}
	// Nobody else may use its folder meanwhile.
	if l, err := Open(t.Context(), configs[gone]); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a folder that is in use: %v, %v", l, err)
	}
	// A stream that is missing is an alarm where there is data.
	if err := back.Lanes(4, false); !errors.Is(err, errStream) {
		t.Errorf("missing streams: error %v, want %v", err, errStream)
	}
	// A server whose disk is full switches its streams off, and the node says so.
	stopped := func() bool {
		back.note(nil)
		return strings.Contains(strings.Join(back.Problems(), "\n"), "restart this node")
	}
	if stopped() || back.patience(true) != silenceOwn {
		t.Errorf("problems of a node that keeps its copy: %q", back.Problems())
	}
	_ = back.server.Load().ShutdownJetStream()
	if !stopped() || back.patience(true) != silence {
		t.Errorf("problems of a node that keeps no copy any more: %q", back.Problems())
	}
	// Without its folder it must not vote again: it joins as a node without a log.
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
	wiped := configs[gone]
	wiped.Dir, wiped.Kept = filepath.Join(dir, "new"), false
	fresh := openAll(t, []Config{wiped})[0]
	if fresh.store.Load() {
		t.Error("a log node that lost its folder keeps a log again")
	}
	if err := fresh.Lanes(2, false); err != nil {
		t.Fatal(err)
	}
	publish(t, fresh, 1, "from a node without a log")
	_, last = head(t, others[0], 1)
	tailOf(t, fresh, 1, last).until(t, last)
	testReplace(t, others, fresh, back.name, configs[gone])
}

// testReplace has a node keep the log in the place of one that is gone, and asks that
// the one that is gone cannot vote again.
func testReplace(t *testing.T, others []*Log, fresh *Log, old string, returning Config) {
	t.Helper()
	for _, l := range append(others, fresh) {
		if l.server.Load().Node() != peerID(l.name) {
			t.Fatalf("server %s is called %s, want %s", l.name, l.server.Load().Node(), peerID(l.name))
		}
	}
	if err := fresh.Healthy(); err == nil {
		t.Error("a node that keeps no log is well as one that does")
	}
	if err := errors.Join(fresh.Promote(), fresh.Promote()); err != nil {
		t.Fatal(err)
	}
	// voters waits until the server that leads sees so many, each of them current.
	voters := func(want int, except string) {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			list, err := fresh.Servers(t.Context())
			current := 0
			for _, v := range list {
				if v.Current || fresh.Votes(v, except) {
					current++
				}
			}
			if err == nil && len(list) == want && current == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("servers %+v, %v, want %d", list, err, want)
			}
		}
	}
	voters(4, old)
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		c, err := fresh.Copies(t.Context(), old)
		if err == nil && c.Of == 0 && c.Moving == 0 && c.Whole == c.Streams && c.Streams == 4 && fresh.Healthy() == nil {
			break
		}
		if err == nil && c.Of > 0 && c.Moving == 0 {
			if err := others[0].Move(t.Context(), old, false); err != nil {
				t.Log(err) // the new one is not known everywhere
			}
		}
		if time.Now().After(end) {
			t.Fatalf("copies %+v, %v, %v", c, err, fresh.Healthy())
		}
	}
	if err := others[0].Dismiss(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	voters(3, "")
	// Nobody knows yet that the old node was removed: it would start. Then somebody does.
	for _, l := range append(others, fresh) {
		l.Judge(func(server string) (bool, bool) { return server == old, true })
	}
	returning.Addr = ports.Free(t, 1)[0] // the new node has the old address
	for range 2 {                        // the second time it knows by itself
		if l, err := Open(t.Context(), returning); !errors.Is(err, cluster.ErrRemoved) {
			t.Fatalf("a node that was removed starts: %v, %v", l, err)
		}
	}
	voters(3, "")
	// The new node is a voter like the others: with one of them gone the log goes on.
	if err := others[1].Close(); err != nil {
		t.Fatal(err)
	}
	publish(t, fresh, 1, "with one of the old ones")
	publish(t, others[0], 0, "with the new one")
}

// testStray publishes what looks like a message of the servers to a tail: it is one of
// the lane, and those behind it come too.
func testStray(t *testing.T, logs []*Log, tails []*heard) {
	t.Helper()
	stray := &nats.Msg{Subject: logs[0].laneSubject(1), Header: nats.Header{"Status": {"100"}}}
	if err := errors.Join(logs[0].conn.PublishMsg(stray), logs[0].conn.Flush()); err != nil {
		t.Fatal(err)
	}
	publish(t, logs[0], 1, "behind a stray one")
	_, last := head(t, logs[0], 1)
	for i := range tails {
		tails[i].until(t, last)
	}
	at := slices.Index(tails[0].msgs, "")
	if at < 0 {
		t.Fatal("the tail has left a message out")
	}
	for i, seq := range tails[0].seqs {
		if i > 0 && i != at && i != len(tails[0].seqs)-1 {
			continue
		}
		if b, err := logs[1].Read(1, seq); err != nil || b == nil || string(b) != tails[0].msgs[i] {
			t.Errorf("Read(1, %d) = %q, %v, want %q", seq, b, err, tails[0].msgs[i])
		}
	}
	if b, err := logs[1].Read(1, last+1000); b != nil || err != nil {
		t.Errorf("Read behind the end = %q, %v", b, err)
	}
}

// testPeers asks nodes and announces.
func testPeers(t *testing.T, logs []*Log) {
	t.Helper()
	beats := make(chan string, 1)
	stop, err := logs[1].Serve(2, func(b []byte) {
		select {
		case beats <- string(b):
		default:
		}
	}, func(q []byte) []byte { return bytes.ToUpper(q) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		answer, err := logs[0].Ask(ctx, 2, []byte("question"))
		if err == nil {
			if string(answer) != "QUESTION" {
				t.Errorf("answer %q, want QUESTION", answer)
			}
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	for got := ""; got == ""; { // the first may be sent before the server knows who listens
		logs[2].Announce([]byte("beat"))
		select {
		case got = <-beats:
			if got != "beat" {
				t.Errorf("heartbeat %q, want beat", got)
			}
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("no heartbeat was heard")
		}
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := logs[0].Ask(short, 77, nil); err == nil {
		t.Error("a node that is not there has answered")
	}
}
