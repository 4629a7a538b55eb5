package command_test

import (
	"fmt"
	"runtime"
	"testing"
)

// TestSmallFiltersAreSmall asks for the live heap of many small filters: 512 bytes
// each, names included.
func TestSmallFiltersAreSmall(t *testing.T) {
	const n, most = 20_000, 512
	b := newBench(t, 1<<40)
	b.withoutLog(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var batch [][][]byte
	for i := range n {
		batch = append(batch, [][]byte{[]byte("FILTER.CREATE"), []byte(fmt.Sprint("filter:", i)), []byte("bloom"), []byte("CAPACITY"), []byte("100")})
		if len(batch) == 1000 {
			b.exec(batch...)
			batch = nil
		}
	}
	each := float64(heap()-before) / n
	t.Logf("%.0f bytes each, %.0f are counted", each, float64(b.state.Bytes())/n)
	if each > most {
		t.Errorf("%.0f bytes of live heap for a filter of 100 keys, want %d at most", each, most)
	}
}
