package engine_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// BenchmarkSpread asks for items of filters of which this node holds everything, or a half, or
// nothing. Processor time is that of all nodes, without that of connections between them.
func BenchmarkSpread(b *testing.B) {
	v := newSpread(b, memlog.Faults{})
	v.place(b, func(shard, node int) bool { return shard%4 == node || (shard+1)%4 == node })
	far := away(1, 0) // node 1 does not hold it, and nor does node 4
	v.nodes[0].lines("FILTER.CREATE near bloom CAPACITY 100000 REPLICAS ALL", "FILTER.CREATE spread bloom CAPACITY 100000 PARTS 128", "BF.RESERVE "+far+" 0.01 100000")
	time.Sleep(time.Second)
	for _, c := range []struct {
		name, command, key string
		items, calls       int
	}{
		{"near/1000", "FILTER.HAS", "near", 1000, 1},
		{"spread/1000", "FILTER.HAS", "spread", 1000, 1},
		{"near/10000", "FILTER.HAS", "near", 10000, 1},
		{"spread/10000", "FILTER.HAS", "spread", 10000, 1},
		{"near/64x1", "FILTER.HAS", "near", 1, 64},
		{"spread/64x1", "FILTER.HAS", "spread", 1, 64},
		{"here/64x1", "BF.EXISTS", far, 1, 64},
		{"far/64x1", "BF.EXISTS", far, 1, 64},
	} {
		b.Run(c.name, func(b *testing.B) {
			node := v.nodes[0]
			if c.name == "here/64x1" {
				node = v.nodes[1]
			}
			var args [][]byte
			for i := range c.items * c.calls {
				if i%c.items == 0 {
					args = append(args, []byte(c.command), []byte(c.key))
				}
				args = append(args, fmt.Appendf(nil, "%012d", i))
			}
			began := used(b)
			for b.Loop() {
				w := &node.work
				w.Reset()
				for rest := args; len(rest) > 0; rest = rest[2+c.items:] {
					w.Add(rest[: 2+c.items : 2+c.items])
				}
				for done := 0; done < c.calls; {
					done += node.engine.Exec(node.session, w, done)
				}
			}
			for i := range node.work.Calls {
				if r := &node.work.Calls[i].Reply; r.Failed() {
					b.Fatal(r.Text)
				}
			}
			b.ReportMetric(float64(used(b)-began)/float64(b.N*c.items*c.calls), "cpu-ns/item")
		})
	}
}

// used returns the processor time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
