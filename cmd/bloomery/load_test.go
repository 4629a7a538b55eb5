package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/internal/resp"
)

// loadFrom runs load on a text as standard input.
func loadFrom(ctx context.Context, text string, args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = run(ctx, append([]string{"load"}, args...), strings.NewReader(text), &o, &e)
	return code, o.String(), e.String()
}

func TestLoad(t *testing.T) {
	c := startChild(t, "--dir", filepath.Join(t.TempDir(), "data"))
	t.Cleanup(c.kill)
	nc := dial(t, c.addr)
	r := bufio.NewReader(nc)
	ask := func(commands ...string) []string {
		t.Helper()
		replies, err := talk(nc, r, commands...)
		if err != nil {
			t.Fatal(err)
		}
		return replies
	}
	many := numbered(20_000)
	code, out, errOut := loadFrom(t.Context(), many, "--addr", c.addr, "--reserve", "1e5,1e-6", "users")
	if code != 0 || out != "" || errOut != "users: 20,000 lines, 20,000 new, 0 present before or false positives, 0 refused\n" {
		t.Errorf("load = %d, %q, %q", code, out, errOut)
	}
	code, out, _ = loadFrom(t.Context(), many, "--addr", c.addr, "--batch", "7", "--json", "users")
	if code != 0 || out != `{"key":"users","lines":20000,"added":0,"refused":0}`+"\n" {
		t.Errorf("load again = %d, %q", code, out)
	}
	first, _, _ := strings.Cut(many, "\n")
	if got := ask("BF.EXISTS users "+first, "BF.EXISTS users nobody", "BF.CARD users"); !slices.Equal(got, []string{":1", ":0", ":20000"}) {
		t.Errorf("the server answers %q", got)
	}
	code, _, errOut = loadFrom(t.Context(), "x\n", "--addr", c.addr, "--reserve", "1e5,1e-6", "users")
	if code != 2 || !strings.Contains(errOut, "BF.RESERVE: the server replied: ERR item exists\nhint: without --reserve") {
		t.Errorf("reserve again = %d, %q", code, errOut)
	}
	// Binary lines, of all lengths.
	binary := "a\r\x00" + strings.Repeat("x", 600_000) + "\x00\n\n\x00$3\r\n\x00"
	code, _, errOut = loadFrom(t.Context(), binary, "--addr", c.addr, "-0", "binary")
	if code != 0 || !strings.HasPrefix(errOut, "binary: 4 lines, 4 new") {
		t.Errorf("binary = %d, %q", code, errOut)
	}

	// A filter that becomes full in the middle.
	ask("BF.RESERVE small 0.01 2 NONSCALING")
	code, _, errOut = loadFrom(t.Context(), "1\n2\n3\n4\n", "--addr", c.addr, "small")
	if code != 3 || errOut != "standard input:3 and the next 1: the server replied: ERR non scaling filter is full\n"+
		"small: 4 lines, 2 new, 0 present before or false positives, 2 refused\n"+
		"bloomery: load: limit reached: the filter is full, 2 lines refused\n" {
		t.Errorf("full = %d, %q", code, errOut)
	}
	// A header is not sent, and counts as a line of its file.
	ask("BF.RESERVE headed 0.01 1 NONSCALING")
	code, _, errOut = loadFrom(t.Context(), "name,mail\nAnn,a\nBob,b\n", "--addr", c.addr, "--csv", "-k", "mail", "headed")
	if code != 3 || !strings.HasPrefix(errOut, "standard input:3: the server replied: ERR non scaling filter is full\nheaded: 2 lines, 1 new") {
		t.Errorf("with a header = %d, %q", code, errOut)
	}
	// What is printed of refused lines adds up.
	ask("BF.RESERVE tiny 0.01 100 NONSCALING")
	code, _, errOut = loadFrom(t.Context(), numbered(2000), "--addr", c.addr, "--batch", "1000", "tiny")
	var first1, more1, first2, more2, refused int
	_, err := fmt.Sscanf(strings.NewReplacer(",", "", "ERR non scaling filter is full\n", "").Replace(errOut),
		"standard input:%d and the next %d: the server replied: standard input:%d and the next %d: the server replied: tiny: 2000 lines 100 new", &first1, &more1, &first2, &more2)
	if refused = more1 + 1 + more2 + 1; err != nil || code != 3 || first2 != first1+more1+1 || !strings.Contains(errOut, grouped(uint64(refused))+" refused\n") {
		t.Errorf("full in the middle = %d, %v, %q", code, err, errOut)
	}
	code, _, errOut = loadFrom(t.Context(), numbered(50), "--addr", c.addr, "--batch", "1", "small")
	if code != 3 || strings.Count(errOut, "the server replied: ERR non scaling filter is full") != shownErrors || !strings.Contains(errOut, " more refused lines not listed\n") {
		t.Errorf("many refusals = %d, %q", code, errOut)
	}
}

// TestLoadTypes loads into the kinds of filters that a server has, and refuses what
// is none of them before a line is sent.
func TestLoadTypes(t *testing.T) {
	c := startChild(t, "--dir", "")
	t.Cleanup(c.kill)
	nc := dial(t, c.addr)
	r := bufio.NewReader(nc)
	if _, err := talk(nc, r, "FILTER.CREATE seen cuckoo CAPACITY 1000", "FILTER.CREATE small cuckoo CAPACITY 4", "CF.RESERVE cuckoo 100", "SET text hello"); err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		key  string
		code int
		want string
	}{
		{"seen", 0, "seen: 50 lines, 50 new, 0 present before or false positives, 0 refused\n"},
		{"small", 3, "the server replied: ERR filter is full\n"},
		{"cuckoo", 2, "bloomery: load: cuckoo is a cuckoo filter of CF.RESERVE\nhint: load adds to filters of BF.RESERVE and FILTER.CREATE"},
		{"text", 2, "bloomery: load: text holds \"string\", not a filter\nhint: choose another key\n"},
	} {
		code, _, errOut := loadFrom(t.Context(), numbered(50), "--addr", c.addr, l.key)
		if code != l.code || !strings.Contains(errOut, l.want) {
			t.Errorf("load %s = %d, %q, want %d, %q", l.key, code, errOut, l.code, l.want)
		}
	}
	code, _, errOut := loadFrom(t.Context(), numbered(50), "--addr", c.addr, "seen")
	if want := "seen: 50 lines, 0 new, 50 present before or false positives, 0 refused\n"; code != 0 || errOut != want {
		t.Errorf("load again = %d, %q, want %q", code, errOut, want)
	}
	// A window takes more lines than it was made for: that is said.
	if _, err := talk(nc, r, "FILTER.CREATE hour window CAPACITY 1000 SPAN 1h"); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{100, 5000} {
		want := map[int]string{5000: "warning: hour: The predicted false positive rate is "}[n]
		code, _, errOut := loadFrom(t.Context(), numbered(n), "--addr", c.addr, "hour")
		if _, rest, _ := strings.Cut(errOut, " refused\n"); code != 0 || !strings.HasPrefix(rest, want) || want == "" && rest != "" {
			t.Errorf("load %d lines into a window for 1000 = %d, %q", n, code, errOut)
		}
	}
	// Columns: what is sent is the column.
	if code, _, errOut := loadFrom(t.Context(), "1,zoe\n2,eve\n", "--addr", c.addr, "-d", ",", "-k", "2", "--reserve", "1000,1e-6", "names"); code != 0 {
		t.Fatal(errOut)
	}
	if got, err := talk(nc, r, "BF.EXISTS names zoe", "BF.EXISTS names 1,zoe"); err != nil || !slices.Equal(got, []string{":1", ":0"}) {
		t.Errorf("BF.EXISTS = %q, %v", got, err)
	}
}

func TestLoadWithPassword(t *testing.T) {
	c := startChild(t, "--dir", filepath.Join(t.TempDir(), "data"), "--password", "secret")
	t.Cleanup(c.kill)
	for _, args := range [][]string{{"--password", "wrong"}, {}} {
		code, _, errOut := loadFrom(t.Context(), "x\n", append(args, "--addr", c.addr, "k")...)
		if code != 2 || !strings.Contains(errOut, "the server replied: ") || strings.Contains(errOut, "wrong ") {
			t.Errorf("%q = %d, %q", args, code, errOut)
		}
	}
	t.Setenv("BLOOMERY_PASSWORD", "secret")
	if code, _, errOut := loadFrom(t.Context(), "x\n", "--addr", c.addr, "k"); code != 0 {
		t.Errorf("with the password = %d, %q", code, errOut)
	}
}

// badServer listens and treats each connection as told.
func badServer(t *testing.T, treat func(net.Conn)) (addr string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				treat(nc)
				_ = nc.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// answering listens and answers each command by what answer returns; nil ends the
// connection.
func answering(t *testing.T, answer func(words []string) []byte) (addr string) {
	t.Helper()
	return badServer(t, func(nc net.Conn) {
		r := bufio.NewReader(nc)
		for {
			var request resp.Reply // a command is an array of strings
			if request.Read(r) != nil {
				return
			}
			var words []string
			for _, w := range request.Array {
				words = append(words, string(w.Text))
			}
			reply := answer(words)
			if reply == nil { // what was sent is read: else the client may see a reset
				_ = nc.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, r)
				return
			}
			if _, err := nc.Write(reply); err != nil {
				return
			}
		}
	})
}

func TestLoadFails(t *testing.T) {
	text := numbered(100_000)
	for _, c := range []struct{ answer, want string }{
		{"+none\r\n" + strings.Repeat("*1\r\n:1\r\n", 7), "after 7 lines were answered\nhint: what was added stays"},
		{"", "after 0 lines were answered\nhint: what was added stays"},
		{"+OK\r\n", "k holds \"OK\", not a filter"},
		{"-ERR no\r\n+OK\r\n", "not an answer to BF.MADD"},
		{"hello\r\n", "invalid reply"},
		{"+none\r\n*2\r\n:1\r\n:1\r\n", "not an answer to BF.MADD"},
	} {
		addr := badServer(t, func(nc net.Conn) {
			if _, err := nc.Read(make([]byte, 10)); err != nil {
				return
			}
			_, _ = io.WriteString(nc, c.answer)
			if tcp, ok := nc.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
			_, _ = io.Copy(io.Discard, nc) // until the client has read it all
		})
		if code, _, errOut := loadFrom(t.Context(), text, "--batch", "1", "--addr", addr, "k"); code != 2 || !strings.Contains(errOut, c.want) {
			t.Errorf("%.10q = %d, %q, want %q", c.answer, code, errOut, c.want)
		}
	}
	for _, args := range [][]string{{"k", "nothing.txt"}, {"--batch", "0", "k"}, {"--reserve", "5", "k"}, {"--reserve", "x,1%", "k"}, {"--reserve", "5,2", "k"}, {"--reserve", "0,1%", "k"}, {}} {
		if code, _, errOut := loadFrom(t.Context(), "x\n", append(args, "--addr", badServer(t, func(net.Conn) {}))...); code != 2 || errOut == "" {
			t.Errorf("%q = %d, %q", args, code, errOut)
		}
	}
	if code, _, errOut := loadFrom(t.Context(), "x\n", "--addr", "127.0.0.1:1", "k"); code != 2 ||
		!strings.HasPrefix(errOut, "bloomery: load: 127.0.0.1:1: connection refused\nhint: is the server running?") {
		t.Errorf("no server = %d, %q", code, errOut)
	}
}

// TestLoadInterrupted stops while a server does not answer.
func TestLoadInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := badServer(t, func(nc net.Conn) {
		_, _ = nc.Read(make([]byte, 10))
		cancel()
		_, _ = nc.Read(make([]byte, 1))
		<-ctx.Done()
	})
	if code, _, errOut := loadFrom(ctx, numbered(200_000), "--addr", addr, "k"); code != exitInterrupted || errOut != "bloomery: interrupted\n" {
		t.Errorf("load = %d, %q", code, errOut)
	}
}

func TestBench(t *testing.T) {
	code, out, errOut := call(t, "bench", "-n", "1000", "--time", "1us")
	if code != 0 || errOut != "" {
		t.Fatalf("bench = %d, %q", code, errOut)
	}
	for _, name := range kindNames() {
		if !strings.Contains(out, name+" ") {
			t.Errorf("bench says nothing of %s:\n%s", name, out)
		}
	}
	code, out, _ = call(t, "bench", "-n", "10,1e3", "--kind", "bloom", "--time", "1us", "--json")
	if code != 0 || strings.Count(out, `"kind":"bloom"`) != 2 || !strings.Contains(out, `"keys":1000,"add_ns":`) {
		t.Errorf("bench --json = %d, %s", code, out)
	}
	code, out, errOut = call(t, "bench", "-n", "10", "-p", "1e-9", "--time", "1us")
	if code != 0 || !strings.Contains(out, "standard ") || strings.Contains(out, "bloom ") || !strings.Contains(errOut, "bloom is left out: ") {
		t.Errorf("bench at 1e-9 = %d, %s%s", code, out, errOut)
	}
	for _, args := range [][]string{{"--kind", "nosuch"}, {"-n", "0"}, {"-n", "many"}, {"-n", "1e12"}, {"-n", ""}, {"--time", "-1ms"}, {"--kind", "bloom", "-p", "1e-9"}, {"file"}} {
		if code, _, errOut := call(t, append([]string{"bench"}, args...)...); code != 2 || errOut == "" {
			t.Errorf("bench %q = %d, %q", args, code, errOut)
		}
	}
}

// TestEncodeAgain encodes batches with what is left of others.
func TestEncodeAgain(t *testing.T) {
	l := &loader{command: "BF.MADD", key: "k", batch: 2}
	batch := func(records ...string) *lines.Batch {
		b := &lines.Batch{}
		for _, r := range records {
			b.Records = append(b.Records, []byte(r))
		}
		return b
	}
	var used, fresh encoded
	for _, e := range []struct {
		e *encoded
		b *lines.Batch
	}{{&used, batch("a", "b", "c", "d", "e")}, {&used, batch("x", "y", "z")}, {&fresh, batch("x", "y", "z")}} {
		if err := l.encode(e.b, e.e); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(used.data, fresh.data) || !slices.Equal(used.commands, fresh.commands) || len(fresh.commands) != 2 {
		t.Errorf("a batch after another is %q, %v, want %q, %v", used.data, used.commands, fresh.data, fresh.commands)
	}
}
