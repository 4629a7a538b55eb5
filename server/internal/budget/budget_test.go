package budget_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/budget"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestReserve sets memory aside up to the last byte: what does not fit is refused, and
// leaves the rest as it was.
func TestReserve(t *testing.T) {
	var b budget.Budget
	var known int64
	b.Init(store.New(), 1000, false, func(n int64) { known = n })
	if !b.Reserve(600) || b.Reserve(401) || !b.Reserve(400) || b.Reserve(1) {
		t.Error("600 and 400 of 1000 bytes do not fit, or something else does")
	}
	if b.Full() || b.Left() != 0 || b.Used() != 1000 {
		t.Errorf("full: %t, %d bytes left, %d used; all are set aside and nothing is over", b.Full(), b.Left(), b.Used())
	}
	b.SetMax(999)
	if !b.Full() || b.Left() != 0 || b.Max() != 999 || known != 999 {
		t.Errorf("with a lower bound: full: %t, %d bytes left of %d, which is known as %d", b.Full(), b.Left(), b.Max(), known)
	}
	b.Release(600)
	b.Settle(400)
	b.SetMax(1000)
	for _, n := range []uint64{1001, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		if b.Reserve(n) || b.Used() != 0 {
			t.Errorf("%d bytes of 1000 are set aside, %d are in use", n, b.Used())
		}
	}
	if b.Peak() != 1001 && b.Peak() != 1000 { // one that is refused may be seen
		t.Errorf("the peak is %d", b.Peak())
	}
}

// TestReserveAtOnce has many goroutines set memory aside: they never have more than there is,
// and all of it is there again at the end.
func TestReserveAtOnce(t *testing.T) {
	const most = 1000
	var b budget.Budget
	b.Init(store.New(), most, false, nil)
	var held atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range uint64(2000) {
				n = n%300 + uint64(i)
				if !b.Reserve(n) {
					continue
				}
				if sum := held.Add(int64(n)); sum > most {
					t.Errorf("%d of %d bytes are set aside", sum, most)
				}
				held.Add(-int64(n))
				b.Release(n)
			}
		})
	}
	wg.Wait()
	if b.Used() != 0 || !b.Reserve(most) {
		t.Errorf("%d bytes stay in use", b.Used())
	}
}

// TestHold counts what clients hold: a tenth is theirs, however full the rest is.
func TestHold(t *testing.T) {
	var b budget.Budget
	b.Init(store.New(), 1000, false, nil)
	if !b.Hold(1000) || b.Hold(1) {
		t.Error("clients cannot have all that nobody else has, or more")
	}
	if b.Clients() != 1001 {
		t.Errorf("%d bytes are held: what is refused counts until it is given back", b.Clients())
	}
	if !b.Hold(-1001) || b.Clients() != 0 {
		t.Errorf("%d bytes are held after all were given back", b.Clients())
	}
	b.Reserve(1000)
	if !b.Hold(100) || b.Hold(1) || !b.Hold(-1) {
		t.Error("with the budget full clients have less or more than a tenth of it")
	}
	if !b.Full() {
		t.Error("what clients hold above the bound does not count")
	}
}

// part returns a filter that a command makes, as doors see it.
func part(t *testing.T, b *commandtest.Bench, command string) *contents.Part {
	t.Helper()
	b.OK(t, command)
	return contents.PartOf(b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli()))
}

// TestAdmit gives records the room that their filter may need, together; if there is too
// little none gets any.
func TestAdmit(t *testing.T) {
	bench := commandtest.New(t, 1<<30)
	p := part(t, bench, "BF.RESERVE f 0.01 1 EXPANSION 2")
	one, two := &store.BloomAdd{Digests: make([]redisbloom.Digest, 1)}, &store.BloomAdd{Digests: make([]redisbloom.Digest, 40)}
	ops := []*door.Op{{Record: store.Record{Body: one}}, {Record: store.Record{Body: two}}}
	need, _ := p.Contents().Growth(41)
	var b budget.Budget
	b.Init(bench.State, bench.State.Bytes()+int64(need), false, nil)
	aside, ok := b.Admit(p, ops)
	if !ok || aside != need || one.Room != need || two.Room != need || b.Left() != 0 {
		t.Errorf("%d bytes are set aside (%t) for records with room for %d and %d, %d are left; want %d for each", aside, ok, one.Room, two.Room, b.Left(), need)
	}
	b.Settle(aside)
	b.SetMax(bench.State.Bytes() + int64(need) - 1)
	one.Room, two.Room = 0, 0
	if aside, ok := b.Admit(p, ops); ok || aside != 0 || one.Room+two.Room != 0 {
		t.Errorf("with a byte too little %d are set aside (%t), %d and %d given", aside, ok, one.Room, two.Room)
	}
	if b.Used() != bench.State.Bytes() {
		t.Errorf("%d bytes stay set aside", b.Used()-bench.State.Bytes())
	}
}

// TestAdmitOfOthers leaves room for what other machines may add before a record is applied,
// where there is so much.
func TestAdmitOfOthers(t *testing.T) {
	bench := commandtest.New(t, 1<<30)
	p := part(t, bench, "BF.RESERVE f 0.01 1000 EXPANSION 2")
	body := &store.BloomAdd{Digests: make([]redisbloom.Digest, 1)}
	ops := []*door.Op{{Record: store.Record{Body: body}}}
	for name, most := range map[string]int64{"much": 1 << 30, "little": bench.State.Bytes() + 100} {
		var alone, shared budget.Budget
		alone.Init(bench.State, most, false, nil)
		shared.Init(bench.State, most, true, nil)
		first, ok := alone.Admit(p, ops)
		second, also := shared.Admit(p, ops)
		if !ok || !also || (second > first) != (name == "much") || body.Room != second {
			t.Errorf("%s memory: a server alone sets %d bytes aside (%t), one of several %d (%t), and gives %d", name, first, ok, second, also, body.Room)
		}
	}
}

// TestAdmitOfACuckoo gives one record what is left, since nobody knows whether it makes the
// filter grow; several are refused, to be asked for one by one.
func TestAdmitOfACuckoo(t *testing.T) {
	bench := commandtest.New(t, 1<<30)
	p := part(t, bench, "CF.RESERVE f 100000")
	body := &store.CuckooInsert{Hashes: make([]uint64, 1)}
	op := &door.Op{Record: store.Record{Body: body}}
	var b budget.Budget
	b.Init(bench.State, bench.State.Bytes()+77, false, nil)
	if aside, ok := b.Admit(p, []*door.Op{op}); !ok || aside != 77 || body.Room != 77 {
		t.Errorf("%d bytes are set aside (%t), %d given; 77 are left", aside, ok, body.Room)
	}
	b.Settle(77)
	if aside, ok := b.Admit(p, []*door.Op{op, op}); ok || aside != 0 {
		t.Errorf("two records of which each may need all: %d bytes, %t", aside, ok)
	}
}

// TestAdmitOfLargeSteps gives records of several items room for one step of growth, if that
// is large and their rest can be prepared again; else room for all.
func TestAdmitOfLargeSteps(t *testing.T) {
	for _, tt := range []struct {
		command string
		way     store.Way
		steps   int
	}{
		{"CF.RESERVE f 4000000", store.Each, 1},
		{"CF.RESERVE f 4000000", store.Together, 3},
		{"CF.RESERVE f 1000", store.Each, 3},
	} {
		bench := commandtest.New(t, 1<<30)
		p := part(t, bench, tt.command)
		body := &store.CuckooInsert{Hashes: make([]uint64, 3), Way: tt.way}
		var b budget.Budget
		b.Init(bench.State, 1<<40, false, nil)
		want, _ := p.Contents().Growth(tt.steps)
		if aside, ok := b.Admit(p, []*door.Op{{Record: store.Record{Body: body}}}); !ok || aside != want || body.Room != want {
			t.Errorf("%s, way %d: %d bytes are set aside (%t), want %d", tt.command, tt.way, aside, ok, want)
		}
	}
}
