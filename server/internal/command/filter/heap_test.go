package filter_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
)

// TestSmallFiltersAreSmall asks for the live heap of many small filters: 512 bytes
// each, names included.
func TestSmallFiltersAreSmall(t *testing.T) {
	// 516 bytes, by the classes of sizes that the runtime has; a field more costs 16.
	const n, most = 20_000, 528
	b := newBench(t, 1<<40)
	b.WithoutLog(t)
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
			b.Exec(batch...)
			batch = nil
		}
	}
	each := float64(heap()-before) / n
	t.Logf("%.0f bytes each, %.0f are counted", each, float64(b.State.Bytes())/n)
	if each > most {
		t.Errorf("%.0f bytes of live heap for a filter of 100 keys, want %d at most", each, most)
	}
}

// TestDumpOfQuorumMemory asks that FILTER.DUMP of a quorum allocates little more than
// the piece that it returns: besides, half a MiB in which pieces of it are copied.
func TestDumpOfQuorumMemory(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Do("FILTER.CREATE", "q", "quorum", "CAPACITY", "4000000", "MEMBERS", "5", "PARTS", "1")
	args := [][]byte{[]byte("FILTER.DUMP"), []byte("q"), []byte("0")}
	b.Exec(args) // scratch memory of the first call
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := b.Exec(args)[0]
	runtime.ReadMemStats(&after)
	size, took := uint64(len(r.Elems[1].Text)), after.TotalAlloc-before.TotalAlloc
	if size < 1<<20 || took > size*11/10 {
		t.Errorf("FILTER.DUMP of %d bytes allocates %d, at most 1.1 times as much expected", size, took)
	}
}

// TestPartsAreCounted asks that the memory of a filter of very many small parts is
// counted as what it takes, to 15%. Where pointers are short, more is counted.
func TestPartsAreCounted(t *testing.T) {
	const filters, parts = 4, 4096
	b := newBench(t, 1<<40)
	b.WithoutLog(t)
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	for i := range filters {
		b.Do("FILTER.CREATE", fmt.Sprint("f", i), "bloom", "CAPACITY", "100", "PARTS", fmt.Sprint(parts))
	}
	takes, counted := (heap()-before)/filters/parts, float64(b.State.Bytes())/filters/parts
	t.Logf("a part takes %.0f bytes, %.0f are counted", takes, counted)
	if counted < 0.85*takes || counted > 1.15*takes && strconv.IntSize == 64 {
		t.Errorf("a part takes %.0f bytes, %.0f are counted", takes, counted)
	}
}
