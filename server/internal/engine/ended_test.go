package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestEndedSessionRunsNothing asks that of a session whose client is gone nothing more
// is run, except a transaction that has begun.
func TestEndedSessionRunsNothing(t *testing.T) {
	var ran []string
	note := func(_ *Context, c *Call) {
		ran = append(ran, string(c.Args[0]))
		c.Answer(answer.OK())
	}
	commands := []Command{
		{Name: "a", Arity: 1, Run: note},
		{Name: "end", Arity: 1, Run: func(x *Context, c *Call) { x.s.End(); note(x, c) }},
	}
	e, s := small(commands...)
	w := sent("a", "end", "a")
	if n := e.Exec(s, w, 0); n != 2 {
		t.Errorf("Exec ran %d calls, want 2", n)
	}
	if n := e.Exec(s, w, 2); n != 0 {
		t.Errorf("then Exec ran %d calls, want none", n)
	}
	if want := []string{"a", "end"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	e, s = small(commands...)
	ran = nil
	w = sent("exec")
	s.ctx, s.w, s.queue = Context{e: e, s: s}, w, [][][]byte{{[]byte("end")}, {[]byte("a")}}
	e.commit(s, &w.Calls[0])
	if want := []string{"end", "a"}; !slices.Equal(ran, want) || len(w.Calls[0].Reply.Elems) != 2 {
		t.Errorf("a transaction ran %q, want %q", ran, want)
	}
}

// TestRightsAreFoundOutInPieces asks for many names as a user with many patterns: once the client is killed, no more of them are
// compared, and nothing is done.
func TestRightsAreFoundOutInPieces(t *testing.T) {
	ran := false
	e, s := small(Command{Name: "a", Arity: -1, Keys: traits.Keys{{First: 1, Last: -1, Step: 1, Access: traits.KeyRO}}, Run: func(_ *Context, c *Call) {
		ran = true
		c.Answer(answer.OK())
	}})
	rules := []string{"on", ">pw", "+@all"}
	for i := range 1000 {
		rules = append(rules, fmt.Sprint("~other", i))
	}
	if err := e.Users.Set("carol", append(rules, "~name")); err != nil || !e.Users.Login(&s.Client, []byte("carol"), []byte("pw")) {
		t.Fatal("carol cannot log in", err)
	}
	w := sent("a" + strings.Repeat(" name", 20))
	s.ctx, s.w = Context{e: e, s: s}, w
	cmd := e.table.resolve(w.Calls[0].Args)
	if !cmd.allowed(s, s.Rights(), w.Calls[0].Args) {
		t.Error("a user may not touch its names")
	}
	s.patterns = 0
	if stranger := [][]byte{[]byte("a"), []byte("stranger")}; cmd.allowed(s, s.Rights(), stranger) || s.patterns < 1000 {
		t.Errorf("a name that is refused was compared with %d patterns, as others are told", s.patterns)
	}
	s.End()
	for at := range 2 {
		if cmd.allowed(s, s.Rights(), w.Calls[0].Args) {
			t.Errorf("all names of a client that was killed were compared (%d)", at)
		}
	}
	if w.Calls[0].cmd = cmd; e.permitted(s, &w.Calls[0], s.Rights()) || len(e.Users.Log.Latest(9)) != 0 {
		t.Errorf("what is not compared any more is allowed, or noted as refused: %v", e.Users.Log.Latest(9))
	}
	w, s.multiFailed = sent("exec"), false
	s.queue = slices.Repeat([][][]byte{{[]byte("a"), []byte("name")}}, 20)
	if e.commit(s, &w.Calls[0]); ran || w.Calls[0].Reply.Text != answer.TextStopped {
		t.Errorf("EXEC of a client that was killed meanwhile: %+v, has run: %t", w.Calls[0].Reply, ran)
	}
}

// TestMonitorsWaitForTheGate asks that the commands of a transaction are shown, in
// order and without those that were refused, but not while the gate is closed: to make
// their lines takes longer than most commands.
func TestMonitorsWaitForTheGate(t *testing.T) { synctest.Test(t, testMonitorsWait) }

func testMonitorsWait(t *testing.T) {
	var got []byte
	var early []int
	say := func(_ *Context, c *Call) {
		synctest.Wait()
		early = append(early, len(got))
		c.Answer(answer.OK())
	}
	e, s := small(Command{Name: "a", Arity: -1, Run: say}, Command{Name: "b", Arity: 1, Run: say})
	e.Budget.SetMax(1 << 30)
	x := &Context{e: e, s: NewSession(2, "", "", time.Time{}, func() {})}
	if !x.Server().Monitor() {
		t.Fatal("the session is no monitor")
	}
	m := x.s.Monitor()
	go func() {
		for lines, ok := m.Next(); ok; lines, ok = m.Next() {
			got = append(got, lines...)
		}
	}()
	w := sent("exec")
	s.ctx, s.w, s.queue = Context{e: e, s: s}, w, [][][]byte{{[]byte("a"), []byte("1")}, {[]byte("none")}, {[]byte("b"), []byte("too"), []byte("many")}, {[]byte("b")}}
	e.commit(s, &w.Calls[0])
	if want := []int{0, 0}; !slices.Equal(early, want) {
		t.Errorf("inside the gate a monitor had %v bytes of lines, want none", early)
	}
	synctest.Wait()
	if got := string(got); strings.Count(got, "\n") != 2 || !strings.Contains(got, "] \"a\" \"1\"\r\n") || !strings.HasSuffix(got, "] \"b\"\r\n") {
		t.Errorf("a monitor sees %q, want a 1 and b", got)
	}
	e.unmonitor(x.s)
}
