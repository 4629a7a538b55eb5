package server_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// recorded is one line of the recordings: what RedisBloom answered. Strings hold
// one byte per character.
type recorded struct {
	Group string   `json:"group"`
	Proto int      `json:"proto"`
	Args  []string `json:"args"`
	Reply string   `json:"reply"`
	Loose string   `json:"loose"`
}

// latin1 turns characters back into bytes.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// recordings returns the groups of a file in their order.
func recordings(t *testing.T, path string) (groups [][]recorded) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	last := ""
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		for i, a := range r.Args {
			r.Args[i] = latin1(a)
		}
		r.Reply = latin1(r.Reply)
		if name := fmt.Sprintf("RESP%d/%s", r.Proto, r.Group); name != last {
			groups, last = append(groups, nil), name
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestRecordings replays what RedisBloom answered, each group on a fresh server:
// its filters and its sketches. BLOOMERY_RECORDINGS names another file of the same
// form.
func TestRecordings(t *testing.T) {
	paths := []string{"testdata/redisbloom.jsonl", "../internal/redisbloom/testdata/sketches.jsonl"}
	if p := os.Getenv("BLOOMERY_RECORDINGS"); p != "" {
		paths = []string{p}
	}
	for _, path := range paths {
		replay(t, recordings(t, path))
	}
}

func replay(t *testing.T, groups [][]recorded) {
	t.Helper()
	for _, group := range groups {
		name := fmt.Sprintf("RESP%d/%s", group[0].Proto, group[0].Group)
		t.Run("single/"+name, func(t *testing.T) {
			c := open(t, group[0].Proto)
			for _, r := range group {
				compare(t, r, c.do(r.Args...))
			}
		})
		t.Run("pipelined/"+name, func(t *testing.T) {
			c := open(t, group[0].Proto)
			var all []byte
			for _, r := range group {
				all = append(all, request(r.Args...)...)
			}
			if _, err := c.nc.Write(all); err != nil {
				t.Fatal(err)
			}
			for _, r := range group {
				compare(t, r, c.reply())
			}
		})
	}
}

// open connects to a fresh server in a protocol.
func open(t *testing.T, proto int) *client {
	t.Helper()
	c := dial(t, start(t, server.Config{}))
	if proto == 3 {
		c.do("HELLO", "3")
	}
	return c
}

func compare(t *testing.T, r recorded, got string) {
	t.Helper()
	ok := got == r.Reply
	switch r.Loose {
	case "int":
		var n int
		_, err := fmt.Sscanf(got, ":%d\r\n", &n)
		ok = err == nil && n > 0
	case "bpe":
		ok = sameHeader(got, r.Reply)
	}
	if !ok {
		t.Errorf("%q\n got %q\nwant %q", r.Args, got, r.Reply)
	}
}

// sameHeader compares two replies of BF.SCANDUMP 0 and lets the bits per entry
// of every layer differ by 1e-12 of their value.
func sameHeader(got, want string) bool {
	if len(got) != len(want) {
		return false
	}
	at := strings.LastIndex(want[:len("*2\r\n:1\r\n$0000\r\n")], "\r\n") + 2
	g, w := []byte(got), []byte(want)
	for i := at + 20 + 32; i+8 <= len(w); i += 53 {
		a := math.Float64frombits(binary.LittleEndian.Uint64(g[i:]))
		b := math.Float64frombits(binary.LittleEndian.Uint64(w[i:]))
		if math.Abs(a-b) > 1e-12*math.Abs(b) {
			return false
		}
		copy(g[i:i+8], w[i:i+8])
	}
	return string(g) == string(w)
}
