package engine

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
)

// TestBuckets asks in which span of time a call is counted: up to 1,024 ns, 2,048 ns,
// 4,096 ns and so on.
func TestBuckets(t *testing.T) {
	for took, want := range map[time.Duration]int{
		-time.Second: 0, 0: 0, 1: 0, 1024: 0,
		1025: 1, 2048: 1,
		2049: 2, 4096: 2,
		4097: 3, 8192: 3,
		time.Millisecond: 10, 1 << 20: 10, 1<<20 + 1: 11,
		1 << 32: 22, 1<<32 + 1: 23,
		time.Hour: tookBuckets - 1,
	} {
		if got := bucketOf(took); got != want {
			t.Errorf("bucketOf(%v) = %d, want %d", took, got, want)
		}
		if want < tookBuckets-1 && (took > BucketEnd(want) || want > 0 && took <= BucketEnd(want-1)) {
			t.Errorf("%v is not in bucket %d, which ends at %v", took, want, BucketEnd(want))
		}
	}
}

// TestCountersAreSums counts in the slots of several sessions, and asks for the sums,
// before and after a reset.
func TestCountersAreSums(t *testing.T) {
	table := NewTable([]Command{{Name: "a"}, {Name: "b", Subcommands: []Command{{Name: "c"}}}})
	if table.count != 4 { // with the HELP of b
		t.Fatalf("%d commands are counted, want 4", table.count)
	}
	c := newCounters(table.count)
	a, b := table.Lookup([]byte("a")), table.Find([]byte("B|C"))
	for id := range int64(gateSlots + 1) { // two of them share a slot
		s := NewSession(id, "", "", time.Time{}, nil)
		c.looked(s, true, 3)
		c.looked(s, false, 2)
		n := c.of(s, a)
		n.calls.Add(1)
		n.nanos.Add(10)
		n.rejected.Add(2)
		n.failed.Add(3)
		n.took[int(id)%2].Add(1)
		c.of(s, b).calls.Add(5)
	}
	const n = gateSlots + 1
	want := Usage{Calls: n, Nanos: 10 * n, Rejected: 2 * n, Failed: 3 * n}
	want.Took[0], want.Took[1] = gateSlots/2+1, gateSlots/2
	if got := c.sum(a); got != want {
		t.Errorf("usage of a: %+v, want %+v", got, want)
	}
	if got := c.sum(b); got != (Usage{Calls: 5 * n}) {
		t.Errorf("usage of b|c: %+v, want %d calls", got, 5*n)
	}
	if got := c.calls(); got != 6*n {
		t.Errorf("%d calls in all, want %d", got, 6*n)
	}
	if hits, misses := c.names(); hits != 3*n || misses != 2*n {
		t.Errorf("%d hits and %d misses, want %d and %d", hits, misses, 3*n, 2*n)
	}
	c.reset()
	hits, misses := c.names()
	if c.sum(a) != (Usage{}) || c.sum(b) != (Usage{}) || c.calls() != 0 || hits != 0 || misses != 0 {
		t.Errorf("after a reset: %+v, %+v, %d hits, %d misses", c.sum(a), c.sum(b), hits, misses)
	}
}

// TestPace asks for the mean over the latest samples, of which 16 are kept.
func TestPace(t *testing.T) {
	e := New(Config{State: store.New()})
	at := time.Unix(1_700_000_000, 0)
	sample := func(after time.Duration, calls int64) {
		at = at.Add(after)
		p := &e.pace
		p.mu.Lock()
		defer p.mu.Unlock()
		p.samples[p.taken%len(p.samples)] = paceSample{at, calls}
		p.taken++
	}
	if got := e.pace.perSecond(); got != 0 {
		t.Errorf("without a sample: %d", got)
	}
	sample(0, 1000)
	if got := e.pace.perSecond(); got != 0 {
		t.Errorf("with one sample: %d", got)
	}
	sample(0, 2000)
	if got := e.pace.perSecond(); got != 0 {
		t.Errorf("of two samples at one moment: %d", got)
	}
	sample(2*time.Second, 1300)
	if got := e.pace.perSecond(); got != 150 {
		t.Errorf("300 calls in 2 s: %d a second, want 150", got)
	}
	for i := range int64(len(e.pace.samples)) { // the older ones are forgotten
		sample(100*time.Millisecond, 10_000+i)
	}
	if got := e.pace.perSecond(); got != 10 {
		t.Errorf("15 calls in 1.5 s: %d a second, want 10", got)
	}
	sample(100*time.Millisecond, 10_017)
	if got := e.pace.perSecond(); got != 11 { // 16 in 1.5 s, rounded
		t.Errorf("16 calls in 1.5 s: %d a second, want 11", got)
	}
	sample(100*time.Millisecond, 3)
	if got := e.pace.perSecond(); got != 0 {
		t.Errorf("fewer calls than before: %d a second, want 0", got)
	}
	e.pace.reset()
	if got := e.pace.perSecond(); got != 0 {
		t.Errorf("after a reset: %d", got)
	}
	e.Sample(at)
	e.Sample(at.Add(time.Second))
	if e.pace.taken != 2 || e.pace.samples[1].at != at.Add(time.Second) {
		t.Errorf("%d samples are taken, the last at %v", e.pace.taken, e.pace.samples[1].at)
	}
}
