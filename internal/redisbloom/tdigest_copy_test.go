package redisbloom_test

import (
	"runtime"
	"testing"
)

// TestFreezeOfTDigest asks that a digest is copied once when it is frozen: its lock is held meanwhile.
func TestFreezeOfTDigest(t *testing.T) {
	d := newTDigest(t, 20_000)
	for i := range 100_000 {
		if err := d.Add(float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	z, err := d.Freeze()
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(z.Size())*3/2 {
		t.Errorf("%d bytes are made for a copy of %d", n, z.Size())
	}
}
