package filter_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// processorTime returns the time that this process has spent on processors.
func processorTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) // it cannot fail for this process
	return time.Duration(t.Nano())
}

// BenchmarkFilterWhere asks 1,000 filters of 10,000 keys for one item.
func BenchmarkFilterWhere(b *testing.B) {
	t := newBench(b, 1<<40)
	t.WithoutLog(b)
	for i := range 1000 {
		words := []string{"FILTER.ADD", fmt.Sprint("shard:", i)}
		t.Do("FILTER.CREATE", words[1], "bloom", "CAPACITY", "10000")
		for j := range 10_000 {
			words = append(words, fmt.Sprint(i, "/", j))
		}
		t.Do(words...)
	}
	args := [][]byte{[]byte("FILTER.WHERE"), []byte("shard:*"), []byte("17/5")}
	runtime.GC()
	began := processorTime()
	for b.Loop() {
		t.Exec(args)
	}
	b.ReportMetric(float64(processorTime()-began)/float64(b.N)/1000, "cpu-ns/filter")
}

// BenchmarkFilterUnion unites two filters of 64 MiB while another goroutine takes the
// locks of their parts: how long it waits is how long they were held.
func BenchmarkFilterUnion(b *testing.B) {
	t := newBench(b, 1<<40)
	t.WithoutLog(b)
	t.Do("FILTER.CREATE", "a", "bloom", "CAPACITY", "54000000")
	t.Do("FILTER.CREATE", "b", "bloom", "LIKE", "a")
	t.Do("FILTER.ADD", "a", "x", "y")
	t.Do("FILTER.ADD", "b", "z")
	entry := t.State.Names.Lookup([]byte("b"), 0)
	var longest time.Duration
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			for _, p := range contents.Parts(entry) {
				began := time.Now()
				p.Lock()
				longest = max(longest, time.Since(began))
				p.Unlock()
			}
			select {
			case <-stop:
				return
			default:
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	for b.Loop() {
		if got := t.Do("FILTER.UNION", "b", "a"); got != "+OK" {
			b.Fatal(got)
		}
	}
	close(stop)
	<-done
	if got := t.Do("FILTER.HAS", "b", "x", "y", "z"); got != "[true true true]" {
		b.Fatal(got)
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest-wait")
	b.ReportMetric(float64(store.Cost("", entry))/(1<<20), "MiB")
}

// BenchmarkNewsAdds adds 1,000 new items at a time to a filter that is followed and to one that is
// not, in turns, and compares the median of their processor time.
func BenchmarkNewsAdds(b *testing.B) {
	for _, kind := range []string{"bloom", "split", "standard", "cuckoo"} {
		b.Run(kind, func(b *testing.B) { benchmarkNewsAdds(b, kind) })
	}
}

func benchmarkNewsAdds(b *testing.B, kind string) {
	t := newBench(b, 1<<40)
	var spent [2][]time.Duration
	calls := [2][][]byte{}
	for i, key := range []string{"plain", "followed"} {
		t.Do("FILTER.CREATE", key, kind, "CAPACITY", "1000000")
		calls[i] = [][]byte{[]byte("FILTER.ADD"), []byte(key)}
		for range 1000 {
			calls[i] = append(calls[i], make([]byte, 16))
		}
	}
	t.Do("FILTER.NEWS", "followed")
	n := uint64(0)
	for b.Loop() {
		for turn := range calls {
			i := (turn + int(n/2000)) % 2 // each is first as often as the other
			for _, item := range calls[i][2:] {
				n++
				binary.LittleEndian.PutUint64(item, n)
			}
			began := processorTime()
			t.Exec(calls[i])
			spent[i] = append(spent[i], processorTime()-began)
		}
		if n%1_600_000 == 0 { // they are nearly full
			t.Do("FILTER.CLEAR", "plain")
			t.Do("FILTER.CLEAR", "followed")
			t.Do("FILTER.NEWS", "followed")
		}
	}
	for i := range spent {
		slices.Sort(spent[i])
	}
	middle := len(spent[0]) / 2
	b.ReportMetric(float64(spent[0][middle])/1000, "plain-cpu-ns/item")
	b.ReportMetric(float64(spent[1][middle])/float64(spent[0][middle]), "followed/plain")
}
