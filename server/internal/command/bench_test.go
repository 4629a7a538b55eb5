package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// BenchmarkExec is the time of one command in a pipeline of 64, without the
// network.
func BenchmarkExec(b *testing.B) {
	for _, cmd := range []string{"PING", "BF.EXISTS b", "BF.ADD b", "CF.EXISTS c", "CF.ADD c", "CF.DEL c", "CMS.INCRBY m", "CMS.QUERY m", "TOPK.ADD k", "TDIGEST.ADD d"} {
		b.Run("cmd="+strings.Fields(cmd)[0], func(b *testing.B) {
			e := commandtest.New(b, 8<<30)
			e.Line("BF.RESERVE b 0.01 10000000")
			e.Line("CF.RESERVE c 10000000")
			e.Line("CMS.INITBYDIM m 10000 7")
			e.Line("TOPK.RESERVE k 100 10000 5 0.9")
			e.Line("TDIGEST.CREATE d")
			const pipeline = 64
			batches := make([][][][]byte, 8000)
			for i := range batches {
				for j := range pipeline {
					words := strings.Fields(cmd)
					if len(words) > 1 {
						words = append(words, fmt.Sprintf("%012d", (i*pipeline+j)*7919%100_000_007))
					}
					if words[0] == "CMS.INCRBY" {
						words = append(words, "1")
					}
					var args [][]byte
					for _, w := range words {
						args = append(args, []byte(w))
					}
					batches[i] = append(batches[i], args)
				}
			}
			var w engine.Workspace
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if i%len(batches) == 0 && cmd == "CF.ADD c" {
					e.Line("DEL c")
					e.Line("CF.RESERVE c 10000000")
				}
				w.Reset()
				for _, args := range batches[i%len(batches)] {
					w.Add(args)
				}
				e.Engine.Exec(e.Session, &w, 0)
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pipeline), "ns/command")
		})
	}
}

// BenchmarkUser is the time of one command in a pipeline of 64 by users of more and
// less rights: the rights are checked for every group of commands.
func BenchmarkUser(b *testing.B) {
	for _, user := range []string{"all", "commands", "patterns", "addrate"} {
		for _, cmd := range []string{"BF.EXISTS", "BF.ADD", "PING"} {
			b.Run("cmd="+cmd+"/user="+user, func(b *testing.B) {
				e := commandtest.New(b, 8<<30)
				e.WithoutLog(b) // no waiting for a disk
				e.Line("BF.RESERVE some:filter 0.01 10000000")
				e.Line("ACL SETUSER all on >pw ~* +@all")
				e.Line("ACL SETUSER commands on >pw ~* -@all +@bloom +@connection")
				e.Line("ACL SETUSER patterns on >pw +@all ~other:* ~more:*:* %R~shared:* ~some:*")
				e.Line("ACL SETUSER addrate on >pw ~* +@all addrate=1000000000")
				e.Login(b, user)
				const pipeline = 64
				batch := make([][][]byte, pipeline)
				for i := range batch {
					if batch[i] = commandtest.Bytes([]string{cmd}); cmd != "PING" {
						batch[i] = commandtest.Bytes([]string{cmd, "some:filter", fmt.Sprintf("%012d", i*7919)})
					}
				}
				var w engine.Workspace
				b.ReportAllocs()
				for b.Loop() {
					w.Reset()
					for _, args := range batch {
						w.Add(args)
					}
					e.Engine.Exec(e.Session, &w, 0)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pipeline), "ns/command")
			})
		}
	}
}
