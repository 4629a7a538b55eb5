package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// TestReadsDuringRebuild compares the latency of reads while a filter is fed with that
// while the same load is added to another key, in short turns, so that both meet the same of what else
// the machine does. BLOOMERY_REBUILD=10000000 measures the promise: the 99th percentile of all reads while
// feeding is at most 1.2 of that while adding. By default it only runs both.
func TestReadsDuringRebuild(t *testing.T) {
	const small, pace, turns = 20_000, 300_000, 30_000 // items a second, and of a turn
	n := small
	if v, err := strconv.Atoi(os.Getenv("BLOOMERY_REBUILD")); err == nil {
		n = v
	}
	addr := start(t, server.Config{Dir: t.TempDir()})
	c := dial(t, addr)
	c.do("FILTER.CREATE", "f", "bloom", "CAPACITY", strconv.Itoa(n))
	c.do("FILTER.CREATE", "other", "bloom", "CAPACITY", strconv.Itoa(n))
	load(t, addr, []string{"FILTER.ADD", "f"}, 0, n, math.MaxInt)
	c.do("FILTER.REBUILD", "f", "BEGIN")
	took := map[string][]time.Duration{}
	verbs := [][]string{{"FILTER.ADD", "other"}, {"FILTER.REBUILD", "f", "FEED"}}
	for from := 0; from < n; from += turns {
		for _, words := range verbs {
			done := make(chan struct{})
			go func() {
				defer close(done)
				load(t, addr, words, from, min(from+turns, n), pace)
			}()
			took[words[0]] = append(took[words[0]], reads(t, addr, n, done)...)
		}
		slices.Reverse(verbs)
	}
	if got := dial(t, addr).do("FILTER.REBUILD", "f", "COMMIT"); got != "+OK\r\n" {
		t.Errorf("COMMIT: %v", got)
	}
	feeding, adding := p99(took["FILTER.REBUILD"]), p99(took["FILTER.ADD"])
	ratio := float64(feeding) / float64(adding)
	t.Logf("p99 of %d reads while feeding %v, of %d while adding to another key %v: %.2f", len(took["FILTER.REBUILD"]), feeding, len(took["FILTER.ADD"]), adding, ratio)
	if n > small && ratio > 1.2 {
		t.Errorf("reads take %.2f times as long while feeding, want at most 1.2", ratio)
	}
}

// p99 returns the 99th percentile.
func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	if len(took) == 0 {
		return 1
	}
	return took[len(took)*99/100]
}

// load sends items in commands of a hundred, sixteen of them at a time, at most so
// many items a second.
func load(t *testing.T, addr string, words []string, from, to, pace int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	const each, pipeline = 100, 16
	began, first := time.Now(), from
	for from < to {
		time.Sleep(time.Until(began.Add(time.Duration(float64(from-first) / float64(pace) * float64(time.Second)))))
		var b strings.Builder
		sent := 0
		for ; sent < pipeline && from < to; sent++ {
			k := min(each, to-from)
			fmt.Fprintf(&b, "*%d\r\n", len(words)+k)
			for _, w := range words {
				fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
			}
			for ; k > 0; k-- {
				item := strconv.Itoa(from)
				fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(item), item)
				from++
			}
		}
		if _, err := io.WriteString(conn, b.String()); err != nil {
			t.Error(err)
			return
		}
		for ; sent > 0; sent-- {
			line, err := in.ReadString('\n')
			if err != nil || line[0] == '-' {
				t.Errorf("%v: %s, %v", words, line, err)
				return
			}
			if line[0] == '*' {
				k, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
				for range k {
					_, _ = in.ReadString('\n') // the next call reports it
				}
			}
		}
	}
}

// reads asks for items, one at a time, until done is closed, and returns how long answers took.
func reads(t *testing.T, addr string, n int, done <-chan struct{}) (took []time.Duration) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for i := 0; ; i++ {
		select {
		case <-done:
			return took
		default:
		}
		item := strconv.Itoa(i * 7919 % n)
		began := time.Now()
		_, _ = fmt.Fprintf(conn, "*3\r\n$10\r\nFILTER.HAS\r\n$1\r\nf\r\n$%d\r\n%s\r\n", len(item), item)
		line, err := in.ReadString('\n')
		if err == nil {
			line, err = in.ReadString('\n')
		}
		if err != nil || line != ":1\r\n" {
			t.Errorf("HAS: %q, %v", line, err)
			return took
		}
		took = append(took, time.Since(began))
	}
}
