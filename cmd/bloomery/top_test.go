package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
	"github.com/bloomery/bloomery/server"
)

// topServer starts a server with some filters and returns its address, and a
// connection to it.
func topServer(t *testing.T, c server.Config) (addr string, nc net.Conn) {
	t.Helper()
	c.Addr = []string{"127.0.0.1:0"}
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	addr = s.Addr().String()
	nc = dial(t, addr)
	if c.Password != "" {
		send(t, nc, "AUTH "+c.Password)
	}
	send(t, nc, "FILTER.CREATE small bloom CAPACITY 1000 ERROR 0.01", "FILTER.CREATE over standard CAPACITY 100 ERROR 0.001",
		"FILTER.CREATE \x1b[2J cuckoo CAPACITY 10000 ERROR 0.01")
	full := "FILTER.ADD over"
	for i := range 300 {
		full += fmt.Sprint(" item", i)
	}
	send(t, nc, full, "FILTER.ADD small a b c")
	return addr, nc
}

// awaitVerdict waits until the server has looked at a filter often enough.
func awaitVerdict(t *testing.T, nc net.Conn, filter, verdict string) {
	t.Helper()
	r := bufio.NewReader(nc)
	var reply resp.Reply
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := nc.Write(resp.AppendCommand(nil, "FILTER.INFO", filter)); err != nil {
			t.Fatal(err)
		}
		if err := reply.Read(r); err != nil {
			t.Fatal(err)
		}
		if got := fieldsOf(&reply)["verdict"]; got == verdict {
			return
		} else if time.Now().After(end) {
			t.Fatalf("the verdict on %s is %s, want %s", filter, got, verdict)
		}
	}
}

// send sends commands, words without quotes, and reads their answers.
func send(t *testing.T, nc net.Conn, commands ...string) {
	t.Helper()
	r := bufio.NewReader(nc)
	for _, c := range commands {
		var reply resp.Reply
		if err := ask(nc, r, &reply, strings.Fields(c)...); err != nil || reply.Type == '-' {
			t.Fatalf("%s: %v, %s", c, err, reply.Text)
		}
	}
}

func TestTopOnce(t *testing.T) {
	addr, nc := topServer(t, server.Config{})
	awaitVerdict(t, nc, "over", "Rebuild")
	code, out, errOut := call(t, "top", "--addr", addr, "--interval", "100ms")
	if code != 0 {
		t.Fatalf("top = %d, %s", code, errOut)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 8 || !strings.HasPrefix(lines[0], "bloomery ") || !strings.Contains(lines[0], addr) || !strings.HasPrefix(lines[2], "3 filters shown") {
		t.Fatalf("top prints\n%s", out)
	}
	head, first := strings.Fields(strings.Replace(lines[4], "x asked", "x", 1)), strings.Fields(lines[5])
	if len(head) != len(topColumns) || head[0] != "name" || len(first) < len(head)-1 {
		t.Errorf("the table is\n%s\n%s", lines[4], lines[5])
	}
	if first[0] != "over" || first[1] != "standard" || first[len(first)-1] != "Rebuild" {
		t.Errorf("the filter that is over its rate is not the first: %s", lines[5])
	}
	if strings.Contains(out, "\x1b") || !strings.Contains(out, "?[2J") {
		t.Errorf("a name is obeyed by the terminal: %q", out)
	}
	for _, order := range topOrders {
		if code, _, errOut := call(t, "top", "--addr", addr, "--once", "--interval", "100ms", "--sort", order); code != 0 {
			t.Errorf("--sort %s = %d, %s", order, code, errOut)
		}
	}
}

// TestTopJSON counts what is done between two samples.
func TestTopJSON(t *testing.T) {
	addr, nc := topServer(t, server.Config{})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				send(t, nc, "FILTER.HAS small a")
			}
		}
	}()
	code, out, errOut := call(t, "top", "--addr", addr, "--json", "-n", "2", "--interval", "300ms", "--match", "s*")
	close(stop)
	<-stopped
	if code != 0 || strings.Count(out, "\n") != 2 {
		t.Fatalf("top = %d, %s%s", code, out, errOut)
	}
	for line := range strings.Lines(out) {
		var got topJSON
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Filters) != 1 || got.Clients != 2 || got.MaxMemory == 0 || got.Address != addr {
			t.Fatalf("top = %s", line)
		}
		f := got.Filters[0]
		if f.Name != "small" || f.Items != 3 || f.Asked != 0.01 || f.Verdict != "OK" || f.CallsPerSecond == nil || *f.CallsPerSecond <= 0 {
			t.Errorf("top = %s", line)
		}
	}
}

func TestTopRefuses(t *testing.T) {
	addr, _ := topServer(t, server.Config{Password: "opensesame"})
	for args, want := range map[string]string{
		"--interval 1ms":              "--interval 1ms is not at least 100ms",
		"-n -1":                       "\"-1\" is not a whole number",
		"--filters 0":                 "--filters 0 is not between 1 and 100,000",
		"--sort size":                 "--sort \"size\": want one of rate, fill, ops, bytes, name",
		"x":                           "what is \"x\"?",
		"--addr 127.0.0.1:1":          "127.0.0.1:1: connection refused",
		"--addr unix:/no/such":        "/no/such: ",
		"--addr " + addr:              "hint: put the password in BLOOMERY_PASSWORD",
		"--password x --addr " + addr: "AUTH: the server replied: WRONGPASS",
	} {
		code, out, errOut := call(t, append([]string{"top"}, strings.Fields(args)...)...)
		if code != 2 || out != "" || !strings.HasPrefix(errOut, "bloomery: top") || !strings.Contains(errOut, want) {
			t.Errorf("top %s = %d, %s%s, want %s", args, code, out, errOut, want)
		}
	}
	t.Setenv("BLOOMERY_PASSWORD", "opensesame")
	if code, out, errOut := call(t, "top", "--addr", addr, "--interval", "100ms", "--user", "default"); code != 0 || strings.Contains(out+errOut, "opensesame") {
		t.Errorf("top with a password = %d, %s%s", code, out, errOut)
	}
	code, _, errOut := call(t, "top", "--addr", deafServer(t, "-ERR unknown command 'FILTER.HEALTH'\r\n-ERR unknown command\r\n"))
	if code != 2 || !strings.Contains(errOut, "hint: top needs a server of bloomery") {
		t.Errorf("top of another server = %d, %s", code, errOut)
	}
	if code, _, errOut := call(t, "top", "--addr", deafServer(t, "")); code != 2 || !strings.Contains(errOut, "the server closed it") {
		t.Errorf("top of a server that closes = %d, %s", code, errOut)
	}
}

// deafServer sends the same to all clients and closes the connection.
func deafServer(t *testing.T, says string) string {
	t.Helper()
	return badServer(t, func(nc net.Conn) {
		_, _ = nc.Read(make([]byte, 1<<10))
		_, _ = io.WriteString(nc, says)
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, nc) // what is not read would reset the connection
	})
}

// screen is a terminal in memory.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// last returns what is on the screen.
func (s *screen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Split(s.text.String(), homeScreen)
	return strings.ReplaceAll(all[len(all)-1], eraseRight, "")
}

// until waits until the screen shows something.
func (s *screen) until(t *testing.T, what string, ok func(string) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(s.last()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the screen never shows %s:\n%s", what, s.last())
		}
	}
}

// TestTopViewSortsItsOwn sorts a view: the sample, which the next one is compared with,
// stays as it is.
func TestTopViewSortsItsOwn(t *testing.T) {
	sample := &topSample{filters: []topFilter{{name: "b"}, {name: "a"}}}
	v := newTopView("", nil, sample)
	v.sort("name")
	if v.filters[0].name != "a" || sample.filters[0].name != "b" {
		t.Errorf("the view begins with %s, the sample with %s", v.filters[0].name, sample.filters[0].name)
	}
}

// TestTopLive presses keys and changes the size of the screen.
func TestTopLive(t *testing.T) {
	addr, _ := topServer(t, server.Config{})
	keys, typed := io.Pipe()
	out := new(screen)
	var mu sync.Mutex
	width, height := 120, 40
	o := &topOptions{interval: leastInterval, order: "rate", match: "*", filters: 100, size: func(any) (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return width, height
	}}
	o.addr = addr
	s := &shell{in: keys, out: out, errOut: io.Discard, colour: "never", lookup: func(string) (string, bool) { return "", false }, terminal: func(any) bool { return true }}
	ended := make(chan error, 1)
	go func() { ended <- o.run(t.Context(), s) }()
	press := func(key string) {
		if _, err := io.WriteString(typed, key); err != nil {
			t.Error(err)
		}
	}
	has := func(text string) func(string) bool {
		return func(got string) bool { return strings.Contains(got, text) }
	}
	out.until(t, "a table", has("sorted by rate"))
	for key, order := range map[string]string{"f": "fill", "o": "ops", "b": "bytes", "n": "name", "r": "rate"} {
		press(key)
		out.until(t, "another order", has("sorted by "+order))
	}
	press("x") // means nothing
	mu.Lock()
	width, height = 40, 7
	mu.Unlock()
	out.until(t, "less", func(got string) bool {
		lines := strings.Split(strings.TrimSuffix(got, eraseBelow), "\r\n")
		for _, l := range lines {
			if len([]rune(l)) > 40 {
				return false
			}
		}
		return len(lines) == 7 && strings.Contains(got, "more")
	})
	press("q")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("q does not end it")
	}
	if all := out.text.String(); !strings.HasPrefix(all, otherScreen) || !strings.HasSuffix(all, firstScreen) {
		t.Error("the screen of before is not back")
	}
}

// TestTopEnds ends the live table by a signal, by the end of the input, and by a
// server that goes away.
func TestTopEnds(t *testing.T) {
	for _, way := range []string{"signal", "input", "server", "samples"} {
		s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}})
		if err != nil {
			t.Fatal(err)
		}
		serving, shutdown := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(serving) }()
		keys, typed := io.Pipe()
		out := new(screen)
		o := &topOptions{interval: leastInterval, order: "name", match: "*", filters: 1, size: func(any) (int, int) { return 80, 24 }}
		o.addr = s.Addr().String()
		if way == "samples" {
			o.samples = 2
		}
		ctx, signal := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- o.run(ctx, &shell{in: keys, out: out, errOut: io.Discard, colour: "never", lookup: func(string) (string, bool) { return "", false }, terminal: func(any) bool { return true }})
		}()
		out.until(t, "a table", func(got string) bool { return strings.Contains(got, "0 filters shown") })
		switch way {
		case "signal":
			signal()
		case "input":
			_ = typed.Close()
		case "server":
			shutdown()
		}
		select {
		case err := <-ended:
			if (err != nil) != (way == "server") {
				t.Errorf("%s: %v", way, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s does not end it", way)
		}
		signal()
		shutdown()
		_ = typed.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestTopPace counts calls since the view before.
func TestTopPace(t *testing.T) {
	addr, nc := topServer(t, server.Config{})
	own := dial(t, addr)
	c := &topClient{nc: own, r: bufio.NewReader(own), match: "small", most: 10}
	o := &topOptions{interval: time.Millisecond, samples: 3}
	var paces []float64
	err := o.watch(t.Context(), c, func(v *topView) error {
		if paces = append(paces, v.pace["small"]); len(paces) == 1 {
			send(t, nc, "FILTER.ADD small d e f")
		}
		return nil
	})
	if err != nil || len(paces) != 3 || paces[0] != 0 || paces[1] <= 0 || paces[2] != 0 {
		t.Errorf("calls before the second view alone: %v, %v", paces, err)
	}
}

func TestTopText(t *testing.T) {
	for name, want := range map[string]string{"plain": "plain", "a\x1b[31mb": "a?[31mb", "\xff\xfe": "??", "日本": "日本", "a\nb": "a?b", "\u202e": "?"} {
		if got := printable(name); got != want {
			t.Errorf("printable(%q) = %q, want %q", name, got, want)
		}
	}
	if got := cut("日本語", 2); got != "日>" {
		t.Errorf("cut = %q", got)
	}
	v := newTopView("a", &topSample{filters: []topFilter{{name: "x", calls: 100}}}, &topSample{filters: []topFilter{{name: "x", calls: 50}, {name: "y"}}})
	if len(v.pace) != 0 {
		t.Errorf("a filter that is new has the pace %v", v.pace)
	}
	f := topFilter{name: "x", verdict: "OK"}
	if got := strings.Join(v.row(&f), " "); got != "x  0 - - - - - 0 B OK" {
		t.Errorf("a filter without figures = %q", got)
	}
	f.asked, f.measured = 0.01, true
	if got := strings.Join(v.row(&f), " "); got != "x  0 - 1% 0% 0.00 - 0 B OK" {
		t.Errorf("a filter of which probes found no false positive = %q", got)
	}
	f.rate, f.capacity, f.items, v.pace["x"] = 0.025, 1000, 123, 7.6
	if got := strings.Join(v.row(&f), " "); got != "x  123 12% 1% 2.5% 2.50 8 0 B OK" {
		t.Errorf("a filter over its rate = %q", got)
	}
	f.asked = 0
	if got := f.excess(); got != 0 {
		t.Errorf("a filter without a rate asked for has %g times of it", got)
	}
	v.info = map[string]string{"cluster_copies": "2", "cluster_node": "5"}
	if got := v.head()[2]; !strings.HasPrefix(got, "2 filters shown, those of which node 5 holds parts") {
		t.Errorf("the head where contents are spread = %q", got)
	}
	rows := [][]string{topColumns, v.row(&f)}
	rows[1][0] = strings.Repeat("n", 100)
	table := v.table(new(shell), rows, 90)
	if len(table[0]) != 90 || !strings.HasSuffix(table[0], " verdict") || !strings.HasSuffix(table[1], " OK") {
		t.Errorf("a table for 90 characters has %q", table)
	}
}
