package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bench is an engine with all commands over a door that tests can make misbehave.
type bench struct {
	*client
	engine *engine.Engine
	state  *store.State
	door   *testDoor
	files  *folder.Memory

	mu       sync.Mutex
	sessions []*engine.Session
	now      time.Time
	step     time.Duration // between two readings of the clock
	live     bool          // the clock is that of the machine, which may be simulated
}

func (b *bench) clock() time.Time {
	if b.live {
		return time.Now()
	}
	if b.step > 0 {
		b.now = b.now.Add(b.step)
	}
	return b.now
}

// client is one session of a bench.
type client struct {
	b       *bench
	session *engine.Session
	work    engine.Workspace
}

func newBench(tb testing.TB, maxMemory int64) *bench {
	tb.Helper()
	b := &bench{state: store.New(), files: &folder.Memory{}, now: time.UnixMilli(1_700_000_000_000)}
	inner, err := local.Open(local.Config{State: b.state, Files: b.files, Fsync: local.Always, SnapshotAfter: -1})
	if err != nil {
		tb.Fatal(err)
	}
	b.door = &testDoor{Door: inner}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: b.door, Keeper: inner, Host: b, MaxMemory: maxMemory,
		Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	b.client = b.connect()
	return b
}

// newDisk is newBench over files of the system, with the mode everysec.
func newDisk(t *testing.T, maxMemory int64) *bench {
	t.Helper()
	b := &bench{state: store.New(), now: time.UnixMilli(1_700_000_000_000)}
	disk, err := folder.OpenDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner, err := local.Open(local.Config{State: b.state, Files: disk, SnapshotAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inner.Close() })
	b.door = &testDoor{Door: inner}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: inner, Keeper: inner, Host: b, MaxMemory: maxMemory,
		Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	b.client = b.connect()
	return b
}

func (b *bench) connect() *client {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := int64(len(b.sessions) + 1)
	c := &client{b: b, session: engine.NewSession(id, fmt.Sprint("127.0.0.1:", id), "127.0.0.1:9", b.now, func() {})}
	b.sessions = append(b.sessions, c.session)
	return c
}

// Sessions implements engine.Host.
func (b *bench) Sessions() []*engine.Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions
}

// Facts implements engine.Host.
func (b *bench) Shutdown() {}

// RewriteConfig implements engine.Host.
func (b *bench) RewriteConfig() error { return nil }

func (b *bench) Facts() status.Server { return status.Server{Started: b.now, Clients: 1} }

// exec runs commands together and returns their replies.
func (c *client) exec(commands ...[][]byte) []answer.Reply {
	c.work.Reset()
	for _, args := range commands {
		c.work.Add(args)
	}
	for done := 0; done < len(commands); {
		n := c.b.engine.Exec(c.session, &c.work, done)
		if n == 0 {
			break
		}
		done += n
	}
	replies := make([]answer.Reply, len(commands))
	for i := range replies {
		replies[i] = c.work.Calls[i].Reply
	}
	return replies
}

// lines runs commands whose words have no blanks as one pipeline.
func (c *client) lines(lines ...string) []string {
	commands := make([][][]byte, len(lines))
	for i, l := range lines {
		for w := range strings.FieldsSeq(l) {
			commands[i] = append(commands[i], []byte(w))
		}
	}
	shown := make([]string, len(lines))
	for i, r := range c.exec(commands...) {
		shown[i] = show(r)
	}
	return shown
}

func (c *client) line(l string) string { return c.lines(l)[0] }

// do runs one command of words.
func (c *client) do(words ...string) string {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return show(c.exec(args)[0])
}

// show writes a reply for people: +OK, -error, :1, "bulk", nil, [a b].
func show(r answer.Reply) string {
	switch r.Kind {
	case answer.Status:
		return "+" + r.Text
	case answer.Error:
		return "-" + r.Text
	case answer.Int, answer.Bool:
		return fmt.Sprint(":", r.N)
	case answer.Double:
		return fmt.Sprint(math.Float64frombits(uint64(r.N)))
	case answer.Bulk, answer.Verbatim:
		return fmt.Sprintf("%q", r.Text)
	case answer.Null, answer.NullArray:
		return "nil"
	case answer.Bools:
		s := fmt.Sprint(r.Bools)
		if r.Text != "" {
			s += " -" + r.Text
		}
		return s
	case answer.Codes, answer.CodeInts:
		return fmt.Sprint(r.Codes)
	case answer.Array, answer.Map, answer.Set, answer.Fields:
		var parts []string
		for _, e := range r.Elems {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return "none"
	}
}

// snapshot returns the whole state as bytes.
func snapshot(s *store.State) []byte {
	s.Names.Lock()
	defer s.Names.Unlock()
	return s.AppendSnapshot(nil)
}

// replays asks that the log gives the state that is in memory.
func (b *bench) replays(t *testing.T) {
	t.Helper()
	if err := b.door.Close(); err != nil {
		t.Fatal(err)
	}
	state := store.New()
	d, err := local.Open(local.Config{State: state, Files: b.files, SnapshotAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshot(state), snapshot(b.state)) {
		t.Error("the log replays to another state")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// testDoor is a local door that can lose records and put them off.
type testDoor struct {
	*local.Door
	lose    error // every record fails with it
	late    bool  // records are applied by Wait, as in a cluster
	refuses error
	stingy  int          // records that get no room to grow
	ready   func()       // called by Ready, if it is not nil
	crowded atomic.Bool  // it is busy until Ready
	pieces  atomic.Int64 // of long things that Ready was asked for

	unsynced error // of Sync

	mu     sync.Mutex
	queue  []*door.Op
	waits  int
	groups [][]store.Record
	rooms  []uint64 // of all records that were applied at once
}

// copies returns the records of ops, whose memory is used again when they are settled.
func copies(ops []*door.Op) []store.Record {
	list := make([]store.Record, len(ops))
	for i, op := range ops {
		if _, err := list[i].Decode(store.AppendRecord(nil, &op.Record)); err != nil {
			panic(err)
		}
	}
	return list
}

// roomOf returns how much a record may grow by.
func roomOf(b store.Body) uint64 {
	switch o := b.(type) {
	case *store.BloomAdd:
		return o.Room
	case *store.CuckooInsert:
		return o.Room
	case *store.FilterAdd:
		return o.Room
	}
	return 0
}

// Do implements door.Door.
func (d *testDoor) Do(ops []*door.Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups = append(d.groups, copies(ops))
	for _, op := range ops {
		if op.Admit != nil && d.stingy > 0 {
			op.Admit = stingy{op.Admit, &d.stingy}
		}
	}
	switch {
	case d.late:
		for _, op := range ops {
			op.Settled, op.Err = false, nil
		}
		d.queue = append(d.queue, ops...)
	case d.lose != nil:
		d.fail(ops)
	default:
		d.Door.Do(ops)
	}
	for _, op := range ops {
		d.rooms = append(d.rooms, roomOf(op.Record.Body))
	}
}

func (d *testDoor) fail(ops []*door.Op) {
	for _, op := range ops {
		op.Settled, op.Err, op.Result = true, d.lose, store.Result{}
	}
}

// Sync implements door.Door.
func (d *testDoor) Sync() error {
	if d.unsynced != nil {
		return d.unsynced
	}
	return d.Door.Sync()
}

// Busy implements door.Door.
func (d *testDoor) Busy() bool { return d.crowded.Load() || d.Door.Busy() }

// Ready implements door.Door.
func (d *testDoor) Ready(piece bool) {
	d.crowded.Store(false)
	if piece {
		d.pieces.Add(1)
	}
	if d.ready != nil {
		d.ready()
	}
	d.Door.Ready(piece)
}

// Refuses implements door.Door.
func (d *testDoor) Refuses() error {
	if d.refuses != nil {
		return d.refuses
	}
	return d.Door.Refuses()
}

// Wait implements door.Door.
func (d *testDoor) Wait(ops []*door.Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits++
	queue := d.queue
	d.queue = nil
	if d.lose != nil {
		d.fail(queue)
		return
	}
	d.Door.Do(queue)
}
