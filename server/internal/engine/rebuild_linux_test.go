package engine_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// BenchmarkAddWhileRebuilt is the processor time that 64 adds in a pipeline cost all nodes
// together, and what they cost while their filter is rebuilt.
func BenchmarkAddWhileRebuilt(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		for _, rebuilt := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/rebuilt=%v", nodes, rebuilt), func(b *testing.B) {
				k := newBench(b, 1<<30)
				if nodes > 1 {
					k = benchCluster(b, nodes)
				}
				k.line("FILTER.CREATE f bloom CAPACITY 10000000")
				if rebuilt {
					if got := k.line("FILTER.REBUILD f BEGIN"); got != "+OK" {
						b.Fatal(got)
					}
				}
				calls := make([][][]byte, 64)
				n := 0
				before := processorTime(b)
				for b.Loop() {
					for i := range calls {
						n++
						calls[i] = [][]byte{[]byte("FILTER.ADD"), []byte("f"), fmt.Append(nil, n)}
					}
					k.exec(calls...)
				}
				b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

func processorTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// benchCluster returns a node of a cluster whose log is in memory.
func benchCluster(b *testing.B, n int) *bench {
	b.Helper()
	log, peers := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
	nodes := make([]*killable, n)
	for i := range nodes {
		k := &killable{t: b, log: log, peers: peers, files: &folder.Memory{}}
		k.start()
		b.Cleanup(func() {
			close(k.stop)
			k.node.Kill()
			_ = k.door.Close()
			k.node.Wait()
		})
		nodes[i] = k
	}
	for { // they have to hear of each other
		if _, err := nodes[0].door.Upgrade(); err == nil {
			return nodes[0].bench
		}
		time.Sleep(10 * time.Millisecond)
	}
}
