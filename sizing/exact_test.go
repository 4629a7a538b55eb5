package sizing_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/bloomery/bloomery/sizing"
)

// exactBytes is what the adviser says of an exact set.
func exactBytes(t *testing.T, which, n, keyBytes int) float64 {
	t.Helper()
	a := mustAdvise(t, sizing.Needs{Keys: uint64(n), KeyBytes: keyBytes})
	return float64(a.Exact[which].Bytes)
}

// TestGoMapModel holds the model to the heap that a map really takes, at full
// and at fresh tables.
func TestGoMapModel(t *testing.T) {
	if math.MaxInt < 1<<40 {
		t.Skip("the model is for pointers of 64 bits")
	}
	for _, n := range []int{10, 100, 1000, 6000, 30_000, 100_000, 120_000, 300_000} {
		for _, keyBytes := range []int{8, 16, 24, 60} {
			if n > 30_000 && (testing.Short() || keyBytes != 16) {
				continue // long, and like the others
			}
			got, want := exactBytes(t, 0, n, keyBytes), mapHeap(n, keyBytes)
			t.Logf("%7d keys of %2d bytes: model %.0f, heap %.0f, ratio %.3f", n, keyBytes, got, want, got/want)
			if off := math.Abs(got/want - 1); off > 0.25 {
				t.Errorf("%d keys of %d bytes: %.0f bytes, the heap grows by %.0f", n, keyBytes, got, want)
			}
		}
	}
}

// mapHeap fills maps, several if they are small, and returns the heap of one.
func mapHeap(n, keyBytes int) float64 {
	copies := max(1, 50_000/n)
	var key []byte
	maps := make([]map[string]struct{}, copies)
	before := heap()
	for i := range maps {
		maps[i] = map[string]struct{}{}
		for j := range n {
			key = fmt.Appendf(key[:0], "%0*d", keyBytes, j)
			maps[i][string(key)] = struct{}{}
		}
	}
	grown := heap() - before
	runtime.KeepAlive(maps)
	return grown / float64(copies)
}

// heap returns the live bytes of the heap.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestRedisSetModel holds the model to used_memory of Debian's Redis 7.0.15
// before and after adding keys of a set with SADD, measured once.
func TestRedisSetModel(t *testing.T) {
	for _, c := range []struct {
		n, keyBytes int
		want        float64
	}{
		{10_000, 8, 676_760},
		{10_000, 24, 838_688},
		{10_000, 64, 1_316_760},
		{100_000, 8, 6_373_016},
		{100_000, 24, 7_973_016},
		{100_000, 64, 12_773_016},
		{1_000_000, 8, 56_388_760},
		{1_000_000, 24, 72_390_688},
		{1_000_000, 64, 120_398_720},
	} {
		got := exactBytes(t, 2, c.n, c.keyBytes)
		if off := math.Abs(got/c.want - 1); off > 0.25 {
			t.Errorf("%d keys of %d bytes: %.0f bytes, the server takes %.0f", c.n, c.keyBytes, got, c.want)
		}
	}
}

// TestExactSteps checks the classes of Go's allocator beside 32 bytes, the looks of a
// binary search, and that only a set that is too large is called so.
func TestExactSteps(t *testing.T) {
	if got := exactBytes(t, 0, 1000, 33) - exactBytes(t, 0, 1000, 32); got != 16_000 {
		t.Errorf("1000 keys of 33 bytes take %v bytes more than of 32, want 16 each", got)
	}
	if got := mustAdvise(t, sizing.Needs{Keys: 8}).Exact[1].Lookup; got != 4 {
		t.Errorf("a search in 8 keys takes %d looks, want 4", got)
	}
	for memory, want := range map[uint64]int{0: 1, 1 << 40: 1, 1000: 2} {
		if got := len(mustAdvise(t, sizing.Needs{Keys: 1_000_000, Memory: memory}).Exact[0].Reasons); got != want {
			t.Errorf("%d bytes of memory: %d reasons, want %d", memory, got, want)
		}
	}
}
