package commandtest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// Exec runs commands together and returns their replies.
func (b *Bench) Exec(commands ...[][]byte) []answer.Reply {
	b.Work.Reset()
	for _, args := range commands {
		b.Work.Add(args)
	}
	for done := 0; done < len(commands); {
		n := b.Engine.Exec(b.Session, &b.Work, done)
		if n == 0 {
			if b.Session.Quit {
				break
			}
			b.Engine.Pause.End(true) // what is held back is run
		}
		done += n
	}
	replies := make([]answer.Reply, len(commands))
	for i := range replies {
		replies[i] = b.Work.Calls[i].Reply
	}
	return replies
}

// Do runs one command of words and returns its reply in a short form.
func (b *Bench) Do(words ...string) string { return Show(b.Exec(Bytes(words))[0]) }

// Line is Do for a command whose words have no blanks.
func (b *Bench) Line(s string) string { return b.Do(strings.Fields(s)...) }

// OK is Line for a command whose reply is OK.
func (b *Bench) OK(t testing.TB, line string) {
	t.Helper()
	if got := b.Line(line); got != "+OK" {
		t.Fatalf("%s = %s", line, got)
	}
}

// Script runs lines "command -> reply".
func (b *Bench) Script(t testing.TB, script string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(script)) {
		cmd, want, _ := strings.Cut(strings.Trim(line, "\t\n"), " -> ")
		if got := b.Line(cmd); got != want {
			t.Errorf("%s\n got %s\nwant %s", cmd, got, want)
		}
	}
}

// Login makes a new session that of a user, whose password is pw.
func (b *Bench) Login(t testing.TB, user string) {
	t.Helper()
	b.Engine.Close(b.Session)
	b.Session = engine.NewSession(b.Session.ID+1, "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
	b.OK(t, "AUTH "+user+" pw")
}

// As makes a new session that of a user and runs one command in it.
func (b *Bench) As(t testing.TB, user string, words ...string) string {
	t.Helper()
	b.Login(t, user)
	return b.Do(words...)
}

// Client is a session of its own, for one goroutine.
type Client struct {
	b *Bench
	s *engine.Session
	w engine.Workspace
}

// Client returns another session of the bench.
func (b *Bench) Client(id int) *Client {
	return &Client{b: b, s: engine.NewSession(int64(id), "", "", b.Now, func() {})}
}

// Do runs one command of words and returns its reply in a short form.
func (c *Client) Do(words ...string) string {
	c.w.Reset()
	c.w.Add(Bytes(words))
	for done := 0; done < 1; {
		done += c.b.Engine.Exec(c.s, &c.w, done)
	}
	return Show(c.w.Calls[0].Reply)
}

// Fields returns the words of a line as Exec takes them.
func Fields(line string) [][]byte { return Bytes(strings.Fields(line)) }

// Bytes returns words as Exec takes them.
func Bytes(words []string) [][]byte {
	list := make([][]byte, len(words))
	for i, w := range words {
		list[i] = []byte(w)
	}
	return list
}

// Show writes a reply for people: +OK, -error, :1, "bulk", nil, [a b].
func Show(r answer.Reply) string {
	switch r.Kind {
	case answer.Status:
		return "+" + r.Text
	case answer.Error:
		return "-" + r.Text
	case answer.Int, answer.Bool:
		return fmt.Sprint(":", r.N)
	case answer.Double:
		return fmt.Sprint(math.Float64frombits(uint64(r.N)))
	case answer.Bulk, answer.Verbatim:
		return fmt.Sprintf("%q", r.Text)
	case answer.Null, answer.NullArray:
		return "nil"
	case answer.Bools:
		s := fmt.Sprint(r.Bools)
		if r.Text != "" {
			s += " -" + r.Text
		}
		return s
	case answer.Codes, answer.CodeInts:
		return fmt.Sprint(r.Codes)
	case answer.Array, answer.Map, answer.Set, answer.Fields:
		var parts []string
		for _, e := range r.Elems {
			parts = append(parts, Show(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return "none"
	}
}
