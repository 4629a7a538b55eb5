package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

// habit is what a kind of client does with one connection, again and again.
type habit struct {
	name    string
	clients int
	rest    time.Duration // between two connections, at most
	run     func(context.Context, *chaos, *rand.Rand)
}

var habits = []habit{
	{"steady", 6, 10 * time.Millisecond, steady},
	{"pipelines", 10, 300 * time.Millisecond, pipelines},
	{"writes and never reads", 20, 500 * time.Millisecond, deaf},
	{"reads slowly", 30, 100 * time.Millisecond, slowReader},
	{"closes one half", 40, 200 * time.Millisecond, halfCloser},
	{"kills", 4, 3 * time.Second, killer},
	{"sends part of a command", 60, 300 * time.Millisecond, partialSender},
	{"sends garbage", 10, 200 * time.Millisecond, garbage},
	{"transactions", 30, 100 * time.Millisecond, transactions},
	{"queues very many commands", 2, 2 * time.Second, hoarder},
	{"stores long strings", 3, time.Second, longWriter},
	{"moves dumps", 3, 2 * time.Second, restorer},
	{"changes settings", 3, 300 * time.Millisecond, setter},
	{"saves", 2, time.Second, saver},
	{"watches", 4, 500 * time.Millisecond, watcher},
	{"pauses", 2, time.Second, pauser},
	{"comes and goes", 20, 100 * time.Millisecond, visitor},
	{"looks at everything", 8, 300 * time.Millisecond, curious},
	{"sends very many arguments", 2, time.Second, crowded},
	{"is idle", 60, time.Second, idler},
	{"follows", 0, time.Second, follower}, // as many as -followers says
	{"shakes no hands", 10, 300 * time.Millisecond, shaker},
}

// peer is a client that expects the worst: it never fails a test by itself.
type peer struct {
	nc net.Conn
	r  *bufio.Reader
}

// tlsShare is of how many connections one has TLS. Handshakes cost milliseconds, and
// most of the load is to be that of commands.
const tlsShare = 50

// connect returns nil if there is no connection to be had.
func connect(c *chaos) *peer {
	secure := c.sessions.Load()%tlsShare == 0
	addr := c.addr.Load().(string)
	if secure {
		addr = c.secure.Load().(string)
	}
	nc, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err != nil {
		return nil
	}
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	if secure {
		nc = tls.Client(nc, c.trusted)
	}
	return &peer{nc, bufio.NewReader(nc)}
}

func (p *peer) close() { _ = p.nc.Close() }

// reset ends the connection without ceremony.
func (p *peer) reset() {
	nc := p.nc
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	_ = nc.(*net.TCPConn).SetLinger(0)
	_ = nc.Close()
}

// do returns the reply, "" if the connection is gone.
func (p *peer) do(args ...string) string {
	if _, err := p.nc.Write(request(args...)); err != nil {
		return ""
	}
	b, err := readRaw(nil, p.r)
	if err != nil {
		return ""
	}
	return string(b)
}

// steady adds items and remembers what was acknowledged.
func steady(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	for range 50 {
		item := strconv.FormatUint(rng.Uint64(), 36)
		if got := p.do("BF.ADD", "kept", item); got == ":1\r\n" || got == ":0\r\n" {
			c.acked.Store(item, true)
		} else if got == "" {
			return
		}
		if got := p.do("BF.EXISTS", "kept", item); got == ":0\r\n" {
			if _, ok := c.acked.Load(item); ok {
				c.t.Errorf("%q was added and is not there", item)
			}
		}
		rest(ctx, 20*time.Millisecond)
	}
}

// someCommand returns a command that anyone may send.
func someCommand(rng *rand.Rand) []byte {
	k, item := strconv.Itoa(rng.IntN(4)), strconv.Itoa(rng.IntN(100000))
	return request([][]string{
		{"BF.ADD", "b" + k, item},
		{"BF.MADD", "b" + k, item, item + "x", item + "y"},
		{"BF.EXISTS", "b" + k, item},
		{"CF.ADD", "c" + k, item},
		{"CF.DEL", "c" + k, item},
		{"CF.EXISTS", "c" + k, item},
		{"SET", "s" + k, item, "PX", strconv.Itoa(1 + rng.IntN(2000))},
		{"GET", "s" + k},
		{"DEL", "c" + k},
		{"RENAME", "b" + k, "b" + strconv.Itoa(rng.IntN(4))},
		{"EXPIRE", "b" + k, "1"},
		{"PING"},
		{"NOSUCH"},
		{"MSET", "s" + k, item, "t" + k, item},
		{"MGET", "s" + k, "t" + k, "b" + k},
		{"GETSET", "s" + k, item},
		{"GETDEL", "t" + k},
		{"GETEX", "s" + k, "PX", "500"},
	}[rng.IntN(18)]...)
}

// pipelines sends a thousand commands at once and reads all replies.
func pipelines(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	var b []byte
	n := 100 + rng.IntN(1000)
	for range n {
		b = append(b, someCommand(rng)...)
	}
	go func() { _, _ = p.nc.Write(b) }()
	for range n {
		if _, err := readRaw(nil, p.r); err != nil {
			return
		}
	}
}

func deaf(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	_ = p.nc.SetDeadline(time.Now().Add(time.Second))
	_, _ = p.nc.Write(bytes.Repeat(request("GET", "large"), 1+rng.IntN(50/chaosFactor)))
	rest(ctx, time.Duration(rng.IntN(5000))*time.Millisecond)
	if rng.IntN(2) == 0 {
		p.reset()
	}
}

func slowReader(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	_, _ = p.nc.Write(request("GET", "large"))
	buf := make([]byte, 1+rng.IntN(256<<10))
	for got := 0; got < chaosString && ctx.Err() == nil; rest(ctx, 20*time.Millisecond) {
		n, err := p.nc.Read(buf)
		if err != nil {
			return
		}
		got += n
	}
}

// halfCloser asks that a client which has sent its last byte gets the end of the
// other stream.
func halfCloser(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	a := c.allow("the end of the other half", halfLimit, true)
	_ = p.nc.SetDeadline(time.Now().Add(a.limit))
	for range rng.IntN(8) {
		if p.do("PING") == "" {
			if took, ok := a.end(); !ok {
				a.fail(took, fmt.Sprintf("It came from %v and sent PING.", p.nc.LocalAddr()))
			}
			return
		}
	}
	var b []byte
	for range 1 + rng.IntN(20) {
		b = append(b, someCommand(rng)...)
	}
	_, _ = p.nc.Write(b)
	_ = p.nc.(interface{ CloseWrite() error }).CloseWrite()
	for {
		_, err := io.Copy(io.Discard, p.r)
		if err == nil || !isTimeout(err) {
			a.end()
			return
		}
		left := a.left()
		if left < 0 {
			took, _ := a.end()
			a.fail(took, fmt.Sprintf("It came from %v and sent %q.", p.nc.LocalAddr(), b))
			return
		}
		_ = p.nc.SetDeadline(time.Now().Add(left))
	}
}

func killer(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	args := []string{"CLIENT", "KILL"}
	switch rng.IntN(4) {
	case 0:
		args = append(args, "TYPE", "NORMAL")
	case 1:
		args = append(args, "TYPE", "NORMAL", "SKIPME", "NO")
	case 2:
		for range 5 {
			p.do("CLIENT", "KILL", "ID", strconv.Itoa(1+rng.IntN(int(c.sessions.Load())+1)))
		}
		return
	case 3:
		args = append(args, p.nc.LocalAddr().String())
	}
	if rng.IntN(2) == 0 {
		p.do(args...)
		return
	}
	_, _ = p.nc.Write(bytes.Join([][]byte{request("MULTI"), someCommand(rng), request(args...), someCommand(rng), request("EXEC")}, nil))
	_, _ = io.CopyN(io.Discard, p.r, 100)
}

func partialSender(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	b := someCommand(rng)
	if rng.IntN(4) == 0 {
		b = request("SET", "s", strings.Repeat("x", rng.IntN(300<<10/chaosFactor)))
	}
	b = b[:rng.IntN(len(b))]
	if rng.IntN(3) == 0 { // drop by drop
		for _, x := range b[:min(len(b), 30)] {
			if _, err := p.nc.Write([]byte{x}); err != nil {
				return
			}
			rest(ctx, time.Duration(rng.IntN(30))*time.Millisecond)
		}
	} else {
		_, _ = p.nc.Write(b)
	}
	rest(ctx, time.Duration(rng.IntN(4000))*time.Millisecond)
	if rng.IntN(2) == 0 {
		p.reset()
	}
}

func garbage(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	_ = p.nc.SetDeadline(time.Now().Add(300 * time.Millisecond))
	b := make([]byte, rng.IntN(100<<10))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	if len(b) > 0 && rng.IntN(2) == 0 {
		b[0] = '*'
	}
	_, _ = p.nc.Write(b)
	_, _ = p.nc.Read(b)
}

func transactions(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	for range 10 {
		if rng.IntN(3) == 0 {
			p.do("WATCH", "s0", "b1")
		}
		p.do("MULTI")
		for range rng.IntN(10) {
			_, _ = p.nc.Write(someCommand(rng))
			if _, err := readRaw(nil, p.r); err != nil {
				return
			}
		}
		switch rng.IntN(5) {
		case 0:
			p.do("DISCARD")
		case 1:
			return // and leave it open
		default:
			if p.do("EXEC") == "" {
				return
			}
		}
	}
}

// hoarder sends a transaction that is very long, or too long.
func hoarder(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	n := rng.IntN(120_000 / chaosFactor)
	command := [][]byte{request("PING"), request("GET", "s0"), request("BF.ADD", "b0", "x"), request("APPEND", "long0", "x")}[rng.IntN(4)]
	go func() {
		_, _ = p.nc.Write(request("MULTI"))
		_, _ = p.nc.Write(bytes.Repeat(command, n))
		_, _ = p.nc.Write(request("EXEC"))
	}()
	for range n + 2 {
		if _, err := readRaw(nil, p.r); err != nil {
			return
		}
	}
}

// longWriter stores, copies, changes and removes long strings.
func longWriter(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	value := strings.Repeat("v", 1+rng.IntN(chaosString))
	name, other := fmt.Sprint("long", rng.IntN(3)), fmt.Sprint("long", rng.IntN(3))
	for _, args := range [][]string{
		{"SET", name, value},
		{"COPY", name, other, "REPLACE"},
		{"APPEND", other, value},
		{"SETRANGE", name, "1000", "x"},
		{"GETSET", name, value[:len(value)/2]},
		{"MULTI"}, {"SET", other, value}, {"APPEND", other, "x"}, {"EXEC"},
		{"DUMP", name},
		{"DEL", name, other},
	} {
		if p.do(args...) == "" {
			return
		}
	}
}

func restorer(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	to := fmt.Sprint("moved", rng.IntN(3))
	switch rng.IntN(4) {
	case 0:
		p.do("RESTORE", to, "0", c.payload.Load().(string), "REPLACE")
	case 1:
		p.do("DUMP", "filter")
	case 2:
		p.do("COPY", "filter", to, "REPLACE")
	case 3:
		p.do("BF.SCANDUMP", "filter", "1")
	}
	p.do("DEL", to)
}

func setter(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	for _, s := range [][]string{
		{"maxmemory", strconv.Itoa((192 + rng.IntN(64)) << 20)},
		{"timeout", strconv.Itoa(rng.IntN(4))},
		{"maxclients", strconv.Itoa(400 + *chaosFollowers + rng.IntN(1000))},
		{"slowlog-log-slower-than", strconv.Itoa(rng.IntN(10000))},
		{"bf-error-rate", "0.0" + strconv.Itoa(1+rng.IntN(9))},
		{"appendfsync", []string{"always", "everysec", "no"}[rng.IntN(3)]},
		{"latency-monitor-threshold", strconv.Itoa(rng.IntN(20))},
		{"maxmemory", "nonsense"},
	} {
		p.do("CONFIG", "SET", s[0], s[1])
	}
	p.do("CONFIG", "GET", "*")
}

func saver(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	p.do([]string{"SAVE", "BGSAVE", "LASTSAVE"}[rng.IntN(3)])
	if rng.IntN(10) == 0 {
		p.do("DEBUG", "RELOAD")
	}
}

// watcher is a monitor that takes its lines, or does not.
func watcher(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	p.do("MONITOR")
	if rng.IntN(2) == 0 {
		rest(ctx, time.Duration(rng.IntN(5000))*time.Millisecond)
		return
	}
	_ = p.nc.SetDeadline(time.Now().Add(time.Duration(rng.IntN(3000)) * time.Millisecond))
	_, _ = p.nc.Write(bytes.Repeat(request("GET", "large"), rng.IntN(2)))
	_, _ = io.Copy(io.Discard, p.nc)
}

// pauser holds others back, for a moment, and sometimes leaves it at that.
func pauser(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	p.do("CLIENT", "PAUSE", strconv.Itoa(rng.IntN(100)), []string{"WRITE", "ALL"}[rng.IntN(2)])
	rest(ctx, time.Duration(rng.IntN(100))*time.Millisecond)
	if rng.IntN(2) == 0 {
		p.do("CLIENT", "UNPAUSE")
	}
}

func visitor(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	switch rng.IntN(3) {
	case 0:
		p.reset()
	case 1:
		p.close()
	case 2:
		_, _ = p.nc.Write(request("PING"))
		p.reset()
	}
}

func curious(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	for _, args := range [][]string{
		{"INFO", "all"},
		{"CLIENT", "LIST"},
		{"KEYS", "*"},
		{"SCAN", "0"},
		{"COMMAND"},
		{"SLOWLOG", "GET"},
		{"MEMORY", "USAGE", "filter"},
		{"HELLO", strconv.Itoa(2 + rng.IntN(2))},
	} {
		p.do(args...)
	}
}

func crowded(_ context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	n := rng.IntN(300_000 / chaosFactor)
	b := fmt.Appendf(nil, "*%d\r\n$10\r\nBF.MEXISTS\r\n$2\r\nb1\r\n", n+2)
	b = append(b, bytes.Repeat([]byte("$0\r\n\r\n"), n)...)
	go func() { _, _ = p.nc.Write(b) }()
	_, _ = readRaw(nil, p.r)
}

// shaker begins a handshake, or something like one, and goes no further.
func shaker(ctx context.Context, c *chaos, rng *rand.Rand) {
	nc, err := net.DialTimeout("tcp", c.secure.Load().(string), 2*time.Second)
	if err != nil {
		return
	}
	p := &peer{nc: nc}
	defer p.close()
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	hello := []byte{22, 3, 1, byte(rng.Uint32()), byte(rng.Uint32()), 1, 0}
	_, _ = nc.Write(append(hello, make([]byte, rng.IntN(600))...)[:rng.IntN(len(hello))])
	rest(ctx, time.Duration(rng.IntN(4000))*time.Millisecond)
	if rng.IntN(2) == 0 {
		p.reset()
	}
}

func idler(ctx context.Context, c *chaos, rng *rand.Rand) {
	p := connect(c)
	if p == nil {
		return
	}
	defer p.close()
	p.do("CLIENT", "SETNAME", "idle")
	rest(ctx, time.Duration(rng.IntN(6000))*time.Millisecond)
	p.do("PING")
}

// follower waits for news of a filter, changes it now and then, and may leave while it waits.
func follower(ctx context.Context, c *chaos, rng *rand.Rand) {
	rest(ctx, time.Duration(rng.IntN(1+*chaosFollowers))*time.Millisecond) // thousands do not come at once
	p := connect(c)
	if p == nil {
		return
	}
	defer context.AfterFunc(ctx, p.close)()
	defer p.close()
	args := []string{"FILTER.NEWS", "followed"}
	for range 6 {
		_ = p.nc.SetDeadline(time.Now().Add(2 * time.Minute))
		raw := p.do(args...)
		lines := strings.SplitN(raw, "\r\n", 4)
		if len(lines) < 4 || lines[0] != "*4" { // the connection is gone, or there is no memory for it
			return
		}
		if rng.IntN(50) == 0 {
			p.do("FILTER.ADD", "followed", strconv.FormatUint(rng.Uint64(), 36))
		}
		args = []string{"FILTER.NEWS", "followed", "SINCE", lines[2], "BLOCK", strconv.Itoa(1 + rng.IntN(3000+6**chaosFollowers))}
		if rng.IntN(8) == 0 {
			_, _ = p.nc.Write(request(args...))
			return
		}
	}
}
