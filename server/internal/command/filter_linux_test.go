package command_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// processorTime returns the time that this process has spent on processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkFilterWhere asks 1,000 filters of 10,000 keys for one item.
func BenchmarkFilterWhere(b *testing.B) {
	t := newBench(b, 1<<40)
	t.withoutLog(b)
	for i := range 1000 {
		words := []string{"FILTER.ADD", fmt.Sprint("shard:", i)}
		t.do("FILTER.CREATE", words[1], "bloom", "CAPACITY", "10000")
		for j := range 10_000 {
			words = append(words, fmt.Sprint(i, "/", j))
		}
		t.do(words...)
	}
	args := [][]byte{[]byte("FILTER.WHERE"), []byte("shard:*"), []byte("17/5")}
	began := processorTime()
	for b.Loop() {
		t.exec(args)
	}
	b.ReportMetric(float64(processorTime()-began)/float64(b.N)/1000, "cpu-ns/filter")
}
