package resp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/resp"
)

func reader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }

// show writes a reply for people.
func show(r *resp.Reply) string {
	switch {
	case r.Null:
		return "null"
	case r.Type == ':':
		return strconv.FormatInt(r.Int, 10)
	case r.Type == '*':
		parts := make([]string, len(r.Array))
		for i := range r.Array {
			parts[i] = show(&r.Array[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%c%q", r.Type, r.Text)
}

func TestReply(t *testing.T) {
	var p resp.Reply // one for all: nothing may stay behind
	for _, c := range []struct{ in, want string }{
		{"*3\r\n:1\r\n-ERR full\r\n$2\r\nhi\r\n", `[1 -"ERR full" $"hi"]`},
		{"+OK\r\n", `+"OK"`},
		{"-ERR no\r\n", `-"ERR no"`},
		{":-12\r\n", "-12"},
		{"$0\r\n\r\n", `$""`},
		{"$4\r\na\r\nb\r\n", `$"a\r\nb"`},
		{"$-1\r\n", "null"},
		{"*-1\r\n", "null"},
		{"*0\r\n", "[]"},
		{"*2\r\n*1\r\n:7\r\n*0\r\n", "[[7] []]"},
		{"*1\r\n:3\r\n", "[3]"},
	} {
		r := reader(c.in + "rest")
		if err := p.Read(r); err != nil || show(&p) != c.want {
			t.Errorf("%q: %s, %v, want %s", c.in, show(&p), err, c.want)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%q: %q is left", c.in, rest)
		}
	}
}

func TestReplyErrors(t *testing.T) {
	for _, in := range []string{
		"?\r\n", "\r\n", "+OK\n", ":x\r\n", ":\r\n", "$-2\r\n", "$99999999999\r\n", "*-7\r\n", "$2\r\nabcd", "%1\r\n",
		strings.Repeat("*1\r\n", 20) + ":1\r\n", "+" + strings.Repeat("x", 10_000) + "\r\n",
	} {
		if err := new(resp.Reply).Read(reader(in)); !errors.Is(err, resp.ErrReply) {
			t.Errorf("%q: %v, want ErrReply", in, err)
		}
	}
	for _, in := range []string{"+", "+OK", ":1\r", "$5\r\nabc", "$3\r\nabc", "*2\r\n:1\r\n", "*1\r\n", "$500000000\r\n"} {
		if err := new(resp.Reply).Read(reader(in)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, want that it is cut off", in, err)
		}
	}
	if err := new(resp.Reply).Read(reader("")); !errors.Is(err, io.EOF) {
		t.Errorf("no reply: %v, want EOF", err)
	}
}

// TestReplyWithin reads replies that have as much as they may have, and those that have more:
// before more of them comes.
func TestReplyWithin(t *testing.T) {
	for _, c := range []struct {
		in      string
		replies int
		text    int64
		ok      bool
	}{
		{"*3\r\n:1\r\n-no\r\n$2\r\nhi\r\n", 4, 4, true},
		{"*3\r\n:1\r\n-no\r\n$2\r\nhi\r\n", 3, 4, false},
		{"*3\r\n:1\r\n-no\r\n$2\r\nhi\r\n", 4, 3, false},
		{"*2\r\n*1\r\n:7\r\n*0\r\n", 4, 0, true},
		{"*2\r\n*1\r\n:7\r\n*0\r\n", 3, 0, false},
		{"*500000000\r\n", 100, 100, false},
		{"$500000000\r\n", 100, 100, false},
	} {
		if err := new(resp.Reply).ReadWithin(reader(c.in), c.replies, c.text); c.ok != (err == nil) || err != nil && !errors.Is(err, resp.ErrReply) {
			t.Errorf("%q within %d and %d: %v", c.in, c.replies, c.text, err)
		}
	}
}

func TestAppendCommand(t *testing.T) {
	if got, want := string(resp.AppendCommand(nil, "BF.ADD", "k", "")), "*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$0\r\n\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzReply asks for errors instead of panics, and for little memory.
func FuzzReply(f *testing.F) {
	for _, in := range []string{"*3\r\n:1\r\n-ERR full\r\n$2\r\nhi\r\n", "+OK\r\n", "$-1\r\n", "*2\r\n*1\r\n:7\r\n*0\r\n", "$500000000\r\n", "*400000000\r\n"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var p resp.Reply
		for r := reader(in); ; {
			err := p.Read(r)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, resp.ErrReply) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
