package session

import (
	"testing"
	"time"
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
	const a, b = 0, 3
	c := NewCounters(4)
	for id := range int64(Slots + 1) { // two of them share a slot
		var s Client
		s.Init(id, "", "", time.Time{}, nil)
		c.Looked(&s, true, 3)
		c.Looked(&s, false, 2)
		n := c.Of(&s, a)
		n.calls.Add(1)
		n.nanos.Add(10)
		n.rejected.Add(2)
		n.failed.Add(3)
		n.took[int(id)%2].Add(1)
		c.Of(&s, b).calls.Add(5)
	}
	const n = Slots + 1
	want := Usage{Calls: n, Rejected: 2 * n, Failed: 3 * n, Times: Times{Nanos: 10 * n}}
	want.Took[0], want.Took[1] = Slots/2+1, Slots/2
	want.Here = want.Times
	if got := c.Sum(a); got != want {
		t.Errorf("usage of a: %+v, want %+v", got, want)
	}
	if got := c.Sum(b); got != (Usage{Calls: 5 * n}) {
		t.Errorf("usage of b|c: %+v, want %d calls", got, 5*n)
	}
	if got := c.Calls(); got != 6*n {
		t.Errorf("%d calls in all, want %d", got, 6*n)
	}
	if hits, misses := c.Found(); hits != 3*n || misses != 2*n {
		t.Errorf("%d hits and %d misses, want %d and %d", hits, misses, 3*n, 2*n)
	}
	c.Reset()
	hits, misses := c.Found()
	if c.Sum(a) != (Usage{}) || c.Sum(b) != (Usage{}) || c.Calls() != 0 || hits != 0 || misses != 0 {
		t.Errorf("after a reset: %+v, %+v, %d hits, %d misses", c.Sum(a), c.Sum(b), hits, misses)
	}
}

// TestPace asks for the mean over the latest samples, of which 16 are kept.
func TestPace(t *testing.T) {
	var p Pace
	at := time.Unix(1_700_000_000, 0)
	sample := func(after time.Duration, calls int64) {
		at = at.Add(after)
		p.Sample(at, calls)
	}
	if got := p.PerSecond(); got != 0 {
		t.Errorf("without a sample: %d", got)
	}
	sample(0, 1000)
	if got := p.PerSecond(); got != 0 {
		t.Errorf("with one sample: %d", got)
	}
	sample(0, 2000)
	if got := p.PerSecond(); got != 0 {
		t.Errorf("of two samples at one moment: %d", got)
	}
	sample(2*time.Second, 1300)
	if got := p.PerSecond(); got != 150 {
		t.Errorf("300 calls in 2 s: %d a second, want 150", got)
	}
	for i := range int64(len(p.samples)) { // the older ones are forgotten
		sample(100*time.Millisecond, 10_000+i)
	}
	if got := p.PerSecond(); got != 10 {
		t.Errorf("15 calls in 1.5 s: %d a second, want 10", got)
	}
	sample(100*time.Millisecond, 10_017)
	if got := p.PerSecond(); got != 11 { // 16 in 1.5 s, rounded
		t.Errorf("16 calls in 1.5 s: %d a second, want 11", got)
	}
	sample(100*time.Millisecond, 3)
	if got := p.PerSecond(); got != 0 {
		t.Errorf("fewer calls than before: %d a second, want 0", got)
	}
	p.Reset()
	if got := p.PerSecond(); got != 0 {
		t.Errorf("after a reset: %d", got)
	}
}
