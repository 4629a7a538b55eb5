//go:build unix

package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// longItems returns a command of very many items.
func longItems(items int, words ...string) []byte {
	b := resp.AppendArray(nil, items+len(words))
	for _, w := range words {
		b = resp.AppendBulk(b, w)
	}
	for i := range items {
		b = resp.AppendBulk(b, fmt.Sprint(i))
	}
	return b
}

// longWords returns a command several words of which are repeated.
func longWords(times int, repeated string, words ...string) []byte {
	for range times {
		words = append(words, repeated)
	}
	return longItems(0, words...)
}

// manyFilters makes filters for FILTER.WHERE and its like.
func manyFilters() string {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "BF.RESERVE f%d 0.01 100\r\n", i)
	}
	return b.String()
}

// worked returns the processor time of the process.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// longRun is a server whose one client has sent a command that runs for long.
type longRun struct {
	server *Server
	nc     net.Conn
	end    func() error
	began  time.Duration // of the processor
}

// given is the time of the processor that a command may go on for. It would take several
// times as much.
const given = 3 * time.Second

// runLong returns when a command runs that would take minutes: very many items, asked of
// many filters.
func runLong(t *testing.T) *longRun {
	t.Helper()
	return runCommand(t, manyFilters(), longItems(200_000, "FILTER.WHERE", "*"))
}

// runCommand runs lines, and returns when the command behind them was read.
func runCommand(t *testing.T, lines string, command []byte) *longRun {
	t.Helper()
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}, ShutdownTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { served <- s.Serve(ctx) }()
	r := &longRun{server: s, end: func() error { end(); return <-served }}
	if r.nc, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.nc.Close() })
	lines += "ECHO made\r\n"
	if _, err := io.WriteString(r.nc, lines); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(r.nc)
	for line := ""; line != "made\r\n"; {
		if line, err = in.ReadString('\n'); err != nil || line[0] == '-' {
			t.Fatal(line, err)
		}
	}
	if _, err := r.nc.Write(command); err != nil {
		t.Fatal(err)
	}
	c := s.connections()[0]
	for c.in.Load() < int64(len(lines)+len(command)) {
		time.Sleep(time.Millisecond)
	}
	r.began = worked(t)
	return r
}

// givesUp fails the test unless the connection of the long command ends, long before the
// command would, and the server ends in order.
func (r *longRun) givesUp(t *testing.T) {
	t.Helper()
	for len(r.server.connections()) > 0 {
		time.Sleep(time.Millisecond)
	}
	if took := worked(t) - r.began; took > given {
		t.Errorf("the command went on for %v of the processor", took)
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

// TestKillEndsALongCommand kills a client in the middle of a long command.
func TestKillEndsALongCommand(t *testing.T) {
	r := runLong(t)
	r.server.connections()[0].session.Kill()
	r.givesUp(t)
}

// TestClientThatLeavesEndsALongCommand has a client leave in the middle of a long command:
// its connection is reset, or it has only closed its side.
func TestClientThatLeavesEndsALongCommand(t *testing.T) {
	for name, reset := range map[string]bool{"reset": true, "closed": false} {
		t.Run(name, func(t *testing.T) {
			r := runLong(t)
			if reset {
				_ = r.nc.(*net.TCPConn).SetLinger(0)
			}
			_ = r.nc.Close()
			r.givesUp(t)
		})
	}
}

// TestShutdownEndsALongCommand ends a server in the middle of every kind of command that may
// take long, and of transactions of them: it ends in order, long before they would.
func TestShutdownEndsALongCommand(t *testing.T) {
	const (
		sketches = "CMS.INITBYDIM a 1000000 5\r\nCMS.INITBYDIM b 1000000 5\r\n"
		digests  = "TDIGEST.CREATE a COMPRESSION 100000\r\nTDIGEST.CREATE b\r\nTDIGEST.ADD a 1 2 3 4 5 6 7 8 9\r\n"
		filters  = "FILTER.CREATE a bloom CAPACITY 40000000\r\nFILTER.CREATE b bloom LIKE a\r\n"
		grown    = "FILTER.CREATE a scalable CAPACITY 40000000\r\nFILTER.ADD a x\r\n"
		cuckoo   = "CF.RESERVE a 20000000\r\nCF.ADD a x\r\n"
	)
	exec := func(times int, command []byte) []byte {
		b := longItems(0, "MULTI")
		for range times {
			b = append(b, command...)
		}
		return append(b, longItems(0, "EXEC")...)
	}
	for _, tt := range []struct {
		name, lines string
		command     []byte
	}{
		{"FILTER.WHERE", manyFilters(), longItems(200_000, "FILTER.WHERE", "*")},
		{"FILTER.WHERE in EXEC", manyFilters(), exec(1, longItems(90_000, "FILTER.WHERE", "*"))},
		{"CMS.MERGE", sketches, bytes.Repeat(longWords(16, "a", "CMS.MERGE", "b", "16"), 100)},
		{"CMS.MERGE in EXEC", sketches, exec(100, longItems(0, "CMS.MERGE", "b", "1", "a"))},
		{"TDIGEST.MERGE", digests, bytes.Repeat(longWords(50, "a", "TDIGEST.MERGE", "b", "50"), 100)},
		{"TDIGEST.QUANTILE in EXEC", digests, exec(20, longWords(999, "0.5", "TDIGEST.QUANTILE", "a"))},
		{"TOPK.ADD", "TOPK.RESERVE a 100000\r\n", longItems(100_000, "TOPK.ADD", "a")},
		{"TOPK.ADD in EXEC", "TOPK.RESERVE a 100000\r\n", exec(1, longItems(20_000, "TOPK.ADD", "a"))},
		{"FILTER.HEALTH in EXEC", manyFilters(), exec(90, longItems(0, "FILTER.HEALTH", "COUNT", "100000"))},
		{"FILTER.LIST", manyFilters(), bytes.Repeat(longItems(0, "FILTER.LIST", "SORT", "probed", "COUNT", "1000"), 100)},
		{"FILTER.LIST in EXEC", manyFilters(), exec(90, longItems(0, "FILTER.LIST", "SORT", "probed", "COUNT", "1000"))},
		{"FILTER.UNION", filters, bytes.Repeat(longItems(0, "FILTER.UNION", "a", "b"), 100)},
		{"FILTER.UNION in EXEC", filters, exec(20, longItems(0, "FILTER.UNION", "a", "b"))},
		{"FILTER.INTERSECT", filters, bytes.Repeat(longItems(0, "FILTER.INTERSECT", "c", "a", "b"), 100)},
		{"FILTER.INTERSECT in EXEC", filters, exec(20, longItems(0, "FILTER.INTERSECT", "c", "a", "b"))},
		{"FILTER.SIMILAR", filters, bytes.Repeat(longItems(0, "FILTER.SIMILAR", "a", "b"), 100)},
		{"FILTER.SIMILAR in EXEC", filters, exec(20, longItems(0, "FILTER.SIMILAR", "a", "b"))},
		{"FILTER.FOLD in EXEC", filters, exec(20, longItems(0, "FILTER.FOLD", "a"))},
		{"FILTER.DUMP", grown, bytes.Repeat(longItems(0, "FILTER.DUMP", "a", "0"), 100)},
		{"DUMP", cuckoo, bytes.Repeat(longItems(0, "DUMP", "a"), 100)},
		{"CF.DEL", cuckoo, bytes.Repeat(longItems(0, "CF.DEL", "a", "x"), 100_000)},
		{"CF.COMPACT", cuckoo, bytes.Repeat(longItems(0, "CF.COMPACT", "a"), 1000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && !slices.Contains([]string{"FILTER.WHERE", "CMS.MERGE in EXEC", "FILTER.UNION", "CF.DEL"}, tt.name) {
				t.Skip("how a server tells a command to end is the same for all: some are enough for the race detector")
			}
			r := runCommand(t, tt.lines, tt.command)
			if err := r.end(); err != nil {
				t.Error(err)
			}
			if took := worked(t) - r.began; took > given {
				t.Errorf("the command went on for %v of the processor", took)
			}
		})
	}
}

// TestHalfClosedClientIsAnswered has a client say that it sends nothing more: what it has
// sent is answered.
func TestHalfClosedClientIsAnswered(t *testing.T) {
	s, err := New(t.Context(), Config{Addr: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() { served <- s.Serve(ctx) }()
	nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	if _, err := nc.Write([]byte("BF.ADD f x\r\nFILTER.WHERE * x\r\nKEYS *\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(nc)
	if want := ":1\r\n*2\r\n$1\r\nx\r\n*1\r\n$1\r\nf\r\n*1\r\n$1\r\nf\r\n"; string(got) != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
