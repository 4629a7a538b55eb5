// Tests that the memory of a server stays within its bound.

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc64"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var fullMemory = flag.Bool("full-memory", false, "run TestMemoryIsBounded with full sizes instead of an eighth")

// memoryCase is something that clients may do which takes memory.
type memoryCase struct {
	name string
	max  int64 // --max-memory at full size, in MiB
	run  func(*memoryClient)
	kept bool // data is kept in a folder
}

// TestMemoryIsBounded has clients do what takes much memory, each in a server of
// its own, and asks that the process never had more than 15% over --max-memory.
// At an eighth of the size what the program itself needs, and what the collector has
// not come to, weigh more: they get 64 MiB beside.
func TestMemoryIsBounded(t *testing.T) {
	for _, c := range []memoryCase{
		{"one MADD of 20,000,000 empty items", 512, func(m *memoryClient) { m.t.Logf("reply %s", manyItems(m, 20_000_000/m.scale)) }, false},
		{"one MADD of 4,000,000 empty items", 512, func(m *memoryClient) {
			if n := 4_000_000 / m.scale; manyItems(m, n) != fmt.Sprint("*", n) {
				m.t.Error("refused")
			}
		}, false},
		{"a transaction with 200 GETs of 50 MB", 512, manyGets, false},
		{"a transaction of 3,000,000 commands", 512, manyQueued, false},
		{"200 clients with 3 MB of a command each", 512, manyParts, false},
		{"100 clients that take no replies", 512, manyDeaf, false},
		{"DUMP of 262 MiB", 1024, largeDump, false},
		{"filters that come and go", 2048, churn, false},
		{"12 clients that restore packed strings of 40 MB", 512, packedRestores, false},
		{"12 clients that restore packed strings of 40 MB, kept", 512, packedRestores, true},
		{"4 clients that set strings of 100 MB, kept", 512, longSets, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes seconds")
			}
			limit, scale, extra := c.max<<20, int64(8), int64(64<<20)
			if *fullMemory {
				scale, extra = 1, 0
			}
			limit /= scale
			// Where the collector has to wait for a processor the peak is higher, by
			// some megabytes: what is not bounded is too high every time.
			most := limit + limit*15/100 + extra
			peak := c.peak(t, limit, scale)
			for tries := 1; peak > most && tries < 3; tries++ {
				peak = min(peak, c.peak(t, limit, scale))
			}
			if peak > most {
				t.Errorf("the process had %d MiB, want at most %d MiB", peak>>20, most>>20)
			}
		})
	}
}

// peak runs a case in a server of its own and returns the most memory that this had.
func (c *memoryCase) peak(t *testing.T, limit, scale int64) int64 {
	t.Helper()
	dir := ""
	if c.kept {
		dir = t.TempDir()
	}
	server := startChild(t, "--dir", dir, "--max-memory", fmt.Sprint(limit))
	defer server.kill()
	m := &memoryClient{t: t, addr: server.addr, scale: int(scale)}
	m.connect()
	began := time.Now()
	c.run(m)
	peak := memoryOf(t, server.cmd.Process.Pid, "VmHWM")
	t.Logf("%.1f s, peak %d MiB of %d MiB", time.Since(began).Seconds(), peak>>20, limit>>20)
	m.connect()
	if got := m.do("PING"); got != "+PONG" {
		t.Errorf("PING = %q", got)
	}
	return peak
}

// TestMemoryComesBack deletes a large filter: the system has its memory again
// within 5 seconds.
func TestMemoryComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	size := 160 << 20
	if *fullMemory {
		size = 1250 << 20
	}
	server := startChild(t, "--dir", "")
	defer server.kill()
	m := &memoryClient{t: t, addr: server.addr, scale: 1}
	m.connect()
	before := memoryOf(t, server.cmd.Process.Pid, "VmRSS")
	m.filter("k", size)
	if got := memoryOf(t, server.cmd.Process.Pid, "VmRSS") - before; got < int64(size)/2 {
		t.Fatalf("a filter of %d bytes takes %d: it was not filled", size, got)
	}
	if got := m.do("DEL", "k"); got != ":1" {
		t.Fatalf("DEL = %q", got)
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		left := memoryOf(t, server.cmd.Process.Pid, "VmRSS") - before
		if left < int64(size)/8 {
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Errorf("after 30 s the process still has %d MiB of a filter of %d MiB", left>>20, size>>20)
			break
		}
	}
}

// memoryOf returns a line of /proc/PID/status in bytes.
func memoryOf(t *testing.T, pid int, name string) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), name+":")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// memoryClient talks to a server that may refuse and close.
type memoryClient struct {
	t     *testing.T
	addr  string
	scale int // sizes are divided by it
	nc    net.Conn
	r     *bufio.Reader
}

func (m *memoryClient) connect() {
	m.nc = dial(m.t, m.addr)
	_ = m.nc.SetDeadline(time.Now().Add(5 * time.Minute))
	m.r = bufio.NewReaderSize(m.nc, 64<<10)
}

// send writes a command, whose arguments need not fit into memory twice.
func (m *memoryClient) send(args ...string) {
	fmt.Fprintf(m.nc, "*%d\r\n", len(args))
	for _, a := range args {
		_, _ = io.WriteString(m.nc, fmt.Sprintf("$%d\r\n", len(a))+a+"\r\n")
	}
}

// do returns the first line of a reply and discards the rest.
func (m *memoryClient) do(args ...string) string {
	m.send(args...)
	return m.reply()
}

func (m *memoryClient) reply() string {
	line, err := m.r.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	line = strings.TrimSpace(line)
	n, err := strconv.Atoi(line[1:])
	switch {
	case line[0] == '$' && n >= 0:
		_, _ = io.CopyN(io.Discard, m.r, int64(n)+2)
	case line[0] == '*' && err == nil:
		for range n {
			m.reply()
		}
	}
	return line
}

// filter makes a filter of about so many bytes with something on every page.
func (m *memoryClient) filter(name string, size int) bool {
	if got := m.do("BF.RESERVE", name, "0.01", strconv.Itoa(size*8/10)); got != "+OK" {
		return false
	}
	const batch = 10_000
	for i := 0; i < size/4096*2; i += batch {
		args := []string{"BF.MADD", name}
		for j := range batch {
			args = append(args, strconv.Itoa(i+j))
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
		if _, err := m.nc.Write(b.Bytes()); err != nil {
			return false
		}
		m.reply()
	}
	return true
}

func manyItems(m *memoryClient, n int) string {
	piece := bytes.Repeat([]byte("$0\r\n\r\n"), 10_000)
	nc := m.nc // the next connection is not for the rest of these items
	go func() {
		fmt.Fprintf(nc, "*%d\r\n$7\r\nBF.MADD\r\n$1\r\nk\r\n", n+2)
		for range n / 10_000 {
			if _, err := nc.Write(piece); err != nil {
				return
			}
		}
	}()
	return m.reply()
}

func manyGets(m *memoryClient) {
	m.do("SET", "s", strings.Repeat("x", 50_000_000/m.scale))
	m.do("MULTI")
	for range 200 {
		m.do("GET", "s")
	}
	m.t.Logf("reply %s", m.do("EXEC"))
}

// manyQueued queues commands whose arguments are nothing beside what they take.
func manyQueued(m *memoryClient) {
	n := 3_000_000 / m.scale
	m.do("MULTI")
	nc := m.nc
	go func() { _, _ = io.WriteString(nc, strings.Repeat("PING\r\n", n)) }()
	for range n {
		m.reply()
	}
	m.t.Logf("reply %s", m.do("EXEC"))
}

func manyParts(m *memoryClient) {
	part := strings.Repeat("x", 3_000_000/m.scale)
	for range 200 {
		nc := dial(m.t, m.addr)
		_ = nc.SetWriteDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(nc, "*2\r\n$4\r\nECHO\r\n$%d\r\n%s", 2*len(part), part)
	}
}

func manyDeaf(m *memoryClient) {
	m.do("SET", "s", strings.Repeat("x", 50_000_000/m.scale))
	for range 100 {
		c := &memoryClient{t: m.t, addr: m.addr}
		c.connect()
		c.send("GET", "s")
	}
	time.Sleep(time.Second)
}

func largeDump(m *memoryClient) {
	if !m.filter("k", 262<<20/m.scale) {
		m.t.Fatal("no filter")
	}
	m.t.Logf("reply %s", m.do("DUMP", "k"))
}

func churn(m *memoryClient) {
	size := 1700 << 20 / m.scale / 4
	for i := range 16 {
		name := strconv.Itoa(i % 4)
		m.do("DEL", name)
		if !m.filter(name, size) {
			m.t.Fatalf("filter %d was refused", i)
		}
	}
}

// crowd has n clients send the same kind of command again and again, each of them
// made by command, and reports how many were answered with OK and with OOM.
func crowd(m *memoryClient, n, rounds int, command func(client, round int) []string) {
	var ok, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		c := &memoryClient{t: m.t, addr: m.addr}
		c.connect()
		wg.Go(func() {
			for round := range rounds {
				switch got := c.do(command(i, round)...); {
				case got == "+OK":
					ok.Add(1)
				case strings.HasPrefix(got, "-OOM"):
					refused.Add(1)
				default:
					c = &memoryClient{t: m.t, addr: m.addr} // a query without room ends the connection
					c.connect()
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	m.t.Logf("%d OK, %d refused", ok.Load(), refused.Load())
	if ok.Load() == 0 {
		m.t.Error("nothing was stored")
	}
}

// packedRestores stores strings that come packed: 264 bytes of each take three.
func packedRestores(m *memoryClient) {
	copies := 40_000_000 / 264 / m.scale
	packed := "\x00v" + strings.Repeat("\xe0\xff\x00", copies) // a literal, then copies of the byte before
	payload := binary.BigEndian.AppendUint32([]byte{0, 0xc3, 0x80}, uint32(len(packed)))
	payload = binary.BigEndian.AppendUint32(append(payload, 0x80), uint32(1+264*copies))
	payload = append(append(payload, packed...), 11, 0)
	jones := crc64.MakeTable(0x95ac9329ac4bc9b5)
	payload = binary.LittleEndian.AppendUint64(payload, ^crc64.Update(^uint64(0), jones, payload))
	crowd(m, 12, 10, func(client, round int) []string {
		return []string{"RESTORE", fmt.Sprint("k", (client+round)%12), "0", string(payload), "REPLACE"}
	})
}

func longSets(m *memoryClient) {
	value := strings.Repeat("x", 100_000_000/m.scale)
	crowd(m, 4, 6, func(client, round int) []string { return []string{"SET", fmt.Sprint("k", (client+round)%4), value} })
}
