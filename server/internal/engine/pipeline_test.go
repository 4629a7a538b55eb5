package engine_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkPipeline64 runs 64 lookups, or PINGs, at a time, as a pipeline brings them. Its profile
// shows what counting costs:
//
//	go test -run '^$' -bench Pipeline64 -cpuprofile cpu.out ./server/internal/engine
//	go tool pprof -top -focus 'account|meter' cpu.out
func BenchmarkPipeline64(b *testing.B) {
	s := newBench(b, 1<<30)
	s.line("BF.RESERVE f 0.01 100000")
	for s.engine.Health().Meter(s.state.Names.Lookup([]byte("f"), s.now.UnixMilli()).ID) == nil { // its use is counted
		s.engine.Health().Step()
		s.now = s.now.Add(time.Second)
	}
	for name, args := range map[string]func(i int) [][]byte{
		"BF.EXISTS": func(i int) [][]byte {
			return [][]byte{[]byte("BF.EXISTS"), []byte("f"), fmt.Appendf(nil, "item-%d", i)}
		},
		"PING": func(int) [][]byte { return [][]byte{[]byte("PING")} },
	} {
		b.Run(name, func(b *testing.B) { s.pipeline64(b, args) })
	}
}

func (s *bench) pipeline64(b *testing.B, args func(i int) [][]byte) {
	const calls = 64
	commands := make([][][]byte, calls)
	for i := range commands {
		commands[i] = args(i)
	}
	for b.Loop() {
		s.work.Reset()
		for _, args := range commands {
			s.work.Add(args)
		}
		if n := s.engine.Exec(s.session, &s.work, 0); n != calls {
			b.Fatalf("%d calls of %d were run", n, calls)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/call")
}
