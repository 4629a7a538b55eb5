package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// sharedDoor is a door as that of a cluster: records are applied from their
// encoding, when they are waited for, and others may come in between.
type sharedDoor struct {
	*testDoor
	most    int
	grace   time.Duration
	status  status.Cluster
	between func() // called before a group is applied
	noGroup error  // of DoGroup
	fresh   []string
	stale   error // of Fresh and FreshNames
	behind  error // of Current
	alone   func(func())

	flight [][]*door.Op // in their order; a group is one
	groups map[*door.Op]bool
	sizes  []int // of all records
}

var _ door.Shared = (*sharedDoor)(nil)

// newShared is newBench over a sharedDoor.
func newShared(tb testing.TB, maxMemory int64) (*bench, *sharedDoor) {
	tb.Helper()
	b := newBench(tb, maxMemory)
	d := &sharedDoor{testDoor: b.door, most: 900 << 10, groups: map[*door.Op]bool{}, status: status.Cluster{Level: cluster.Level}}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: d, Keeper: b.door.Door, Host: b, MaxMemory: maxMemory,
		Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	d.alone = b.engine.Alone
	return b, d
}

// Do implements door.Door.
func (d *sharedDoor) Do(ops []*door.Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.testDoor.groups = append(d.testDoor.groups, copies(ops))
	for _, op := range ops {
		d.send(op)
	}
}

func (d *sharedDoor) send(ops ...*door.Op) {
	for _, op := range ops {
		op.Settled, op.Err = false, nil
		d.sizes = append(d.sizes, len(store.AppendRecord(nil, &op.Record)))
	}
	d.flight = append(d.flight, append([]*door.Op(nil), ops...))
}

// DoGroup implements door.Shared.
func (d *sharedDoor) DoGroup(ops []*door.Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noGroup != nil {
		return d.noGroup
	}
	first, size := &ops[len(ops)-1].Record, 0
	for _, op := range ops {
		r := &op.Record
		if r.Part() != first.Part() || r.Part() && (r.ID != first.ID || r.Index != first.Index) {
			return fmt.Errorf("%w: several streams", door.ErrGroup)
		}
		size += len(store.AppendRecord(nil, r))
	}
	if size > d.most {
		return fmt.Errorf("%w: %d bytes", door.ErrGroup, size)
	}
	d.testDoor.groups = append(d.testDoor.groups, copies(ops))
	d.send(ops...)
	d.groups[ops[0]] = true
	return nil
}

// Wait implements door.Door.
func (d *sharedDoor) Wait([]*door.Op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits++
	flight := d.flight
	d.flight = nil
	for _, ops := range flight {
		switch {
		case d.lose != nil:
			d.fail(ops)
		case d.groups[ops[0]]:
			delete(d.groups, ops[0])
			if d.between != nil {
				d.mu.Unlock()
				d.between()
				d.mu.Lock()
			}
			d.alone(func() { d.applyGroup(ops) })
		default:
			for _, op := range ops {
				d.apply(op)
			}
		}
	}
}

// apply applies the record that the encoding of an op gives.
func (d *sharedDoor) apply(op *door.Op) {
	var r store.Record
	_, err := r.Decode(store.AppendRecord(nil, &op.Record))
	if err != nil {
		panic(err)
	}
	if len(store.AppendRecord(nil, &r)) > d.most {
		panic("a record that is too long was sent")
	}
	sent := &door.Op{Record: r, Result: op.Result, Admit: op.Admit}
	d.Door.Do([]*door.Op{sent})
	op.Result, op.Settled = sent.Result, true
}

func (d *sharedDoor) applyGroup(ops []*door.Op) {
	holds := true
	for _, op := range ops {
		if op.Settled = true; !holds {
			op.Result.Err = store.ErrCondition
			continue
		}
		d.apply(op)
		holds = !op.Record.Expects() || op.Result.Err == nil
		if op.Applied != nil && holds {
			op.Applied()
		}
	}
}

// MaxRecord implements door.Shared.
func (d *sharedDoor) MaxRecord() int { return d.most }

// Fresh implements door.Shared.
func (d *sharedDoor) Fresh(id uint64, index uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh = append(d.fresh, fmt.Sprint(id, "/", index))
	return d.stale
}

// FreshNames implements door.Shared.
func (d *sharedDoor) FreshNames() error {
	d.fresh = append(d.fresh, "names")
	return d.stale
}

// LaneOf implements door.Shared.
func (d *sharedDoor) LaneOf(id uint64, index uint32) int { return int(id+uint64(index)) % 4 }

// Grace implements door.Shared.
func (d *sharedDoor) Grace() time.Duration { return d.grace }

// Current implements door.Shared.
func (d *sharedDoor) Current() error { return d.behind }

// Refuses implements door.Door.
func (d *sharedDoor) Refuses() error {
	if d.behind != nil {
		return d.behind
	}
	return d.testDoor.Refuses()
}

// Cluster implements door.Shared.
func (d *sharedDoor) Cluster() status.Cluster { return d.status }

// TestNoReplyHidesALossInACluster is TestNoReplyHidesALoss for a door of several
// machines: it says whether a write can be sent again without harm. No op is on its way
// when the replies are there: their memory is used again.
func TestNoReplyHidesALossInACluster(t *testing.T) {
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if c.Flags&(traits.Write|traits.Wrote) == 0 {
			return
		}
		// What a command has needed is given back before the next: 32 bits have not room for all.
		t.Run(c.FullName(), func(t *testing.T) {
			for _, line := range samples[c.FullName()] {
				for code, lose := range map[string]error{"-CLUSTERDOWN ": fmt.Errorf("%w: test", door.ErrDown), "-UNKNOWN ": fmt.Errorf("%w: test", door.ErrUnknown)} {
					b, d := newShared(t, 1<<30)
					values := setup(b)
					d.lose = lose
					check := func(got string, codes ...string) {
						t.Helper()
						if len(d.flight) != 0 {
							t.Errorf("%s: a record is on its way behind its reply", line)
						}
						for _, code := range codes {
							if strings.HasPrefix(got, code) {
								return
							}
						}
						t.Errorf("%s over a door that says %v = %s", line, lose, got)
					}
					codes := []string{code}
					if refusedInCluster[c.FullName()] {
						codes = append(codes, "-ERR ") // what stands before it was refused
					}
					check(b.do(words(line, values)...), codes...)
					b.line("MULTI")
					b.do(words(line, values)...)
					check(b.line("EXEC"), append(codes, "-EXECABORT ", "["+codes[0])...)
					d.lose, d.refuses = nil, lose
					if code == "-CLUSTERDOWN " {
						check(b.do(words(line, values)...), codes...)
					}
					b.engine.Release(b.session)
					if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
						t.Errorf("%s: %d bytes stay set aside or held", line, got)
					}
				}
			}
		})
	})
}

// refusedInCluster are the commands that the door of these tests does not take: it has no roster.
var refusedInCluster = map[string]bool{"filter.rebuild": true}

// TestClusterTakesNoLongRecords sends values that are too long for one message.
func TestClusterTakesNoLongRecords(t *testing.T) {
	b, d := newShared(t, 1<<30)
	setup(b)
	d.most = 100_000
	long, short := strings.Repeat("x", 100_000), strings.Repeat("y", 60_000)
	for _, args := range [][]string{
		{"SET", "a", long}, {"SETEX", "a", "10", long}, {"SETNX", "a", long}, {"GETSET", "a", long}, {"APPEND", "a", long}, {"SETRANGE", "a", "90000", short},
		{"SETRANGE", "a", "100000", "x"}, {"MSET", "a", short, "b", short}, {"TOPK.ADD", "k", long}, {"EXPIRE", long, "10"}, {"DEL", long}, {"PERSIST", long},
		{"RENAME", short, "z" + short}, {"BF.ADD", long, "x"}, {"BF.RESERVE", long, "0.01", "10"}, {"SET", long, "v"},
	} {
		if got := b.do(args...); !strings.HasPrefix(got, "-ERR ") || !strings.Contains(got, "bytes") {
			t.Errorf("%s %.10s of %d bytes = %.200s", args[0], args[1], len(long), got)
		}
	}
	if got := b.do("SET", "a", short); got != "+OK" {
		t.Errorf("SET of %d bytes = %.100s", len(short), got)
	}
	if got := b.do("APPEND", "a", short); !strings.HasPrefix(got, "-ERR ") {
		t.Errorf("APPEND to %d bytes = %.100s", len(short), got)
	}
	if got := b.do("COPY", "a", "copy"); got != ":1" || b.line("STRLEN copy") != ":60000" {
		t.Errorf("COPY of %d bytes = %s", len(short), got)
	}
	// What is too much for one record is cut.
	names := []string{"DEL", "a"}
	for i := range 10 {
		names = append(names, fmt.Sprint(i, strings.Repeat("n", 30_000)))
		b.do("SET", names[i+2], "v")
	}
	if got := b.do(names...); got != ":11" {
		t.Errorf("DEL of long names = %.100s", got)
	}
	for _, n := range d.sizes {
		if n > d.most {
			t.Errorf("a record of %d bytes was sent", n)
		}
	}
}

// TestMergesInACluster merges sketches over both doors: the answers and the
// destinations are the same, and increments that come in between are not lost.
func TestMergesInACluster(t *testing.T) {
	lines := []string{
		"CMS.INITBYDIM m2 10 3", "CMS.INCRBY m2 i 5 x 7", "CMS.INITBYDIM m3 10 3", "CMS.MERGE m3 2 m m2 WEIGHTS 2 3", "CMS.QUERY m3 i x", "CMS.INFO m3",
		"CMS.MERGE m 2 m m2", "CMS.QUERY m i x", "CMS.MERGE m 1 none", "CMS.MERGE s 1 m", "CMS.MERGE m 1 m WEIGHTS 9223372036854775807",
		"TDIGEST.CREATE d2 COMPRESSION 50", "TDIGEST.ADD d2 10 20 30", "TDIGEST.MERGE new 2 d d2", "TDIGEST.INFO new", "TDIGEST.QUANTILE new 0 0.5 1",
		"TDIGEST.MERGE d 1 d2", "TDIGEST.QUANTILE d 0 0.5 1", "TDIGEST.MERGE d 1 d2 COMPRESSION 20 OVERRIDE", "TDIGEST.INFO d", "TDIGEST.MERGE d 1 none", "TDIGEST.MERGE s 1 d",
	}
	local := newBench(t, 1<<30)
	b, d := newShared(t, 1<<30)
	setup(local)
	setup(b)
	for _, line := range lines {
		if got, want := b.line(line), local.line(line); got != want {
			t.Errorf("%s = %s in a cluster, want %s", line, got, want)
		}
	}
	n := 0
	d.between = func() {
		if n++; n == 1 {
			b.other("CMS.INCRBY m i 1000")
		}
	}
	if got := b.line("CMS.MERGE m 2 m m2"); got != "+OK" || n != 2 {
		t.Errorf("CMS.MERGE beside an increment = %s after %d tries", got, n)
	}
	if got := b.line("CMS.QUERY m i"); got != "[:1011]" {
		t.Errorf("CMS.QUERY behind it = %s", got)
	}
	d.between = func() { b.other("CMS.INCRBY m i 1") }
	if got := b.line("CMS.MERGE m 2 m m2"); !strings.HasPrefix(got, "-ERR ") {
		t.Errorf("CMS.MERGE beside increments without end = %s", got)
	}
	d.between, d.most = nil, 100
	if got := b.line("CMS.MERGE m 2 m m2"); !strings.HasPrefix(got, "-ERR too long") {
		t.Errorf("CMS.MERGE of a sketch that is too large = %s", got)
	}
	b.engine.Release(b.session)
	if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
		t.Errorf("%d bytes stay set aside", got)
	}
}
