package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// small is an engine without a door, for commands that only answer.
func small(commands ...Command) (*Engine, *Session) {
	e := New(Config{State: store.New(), MaxMemory: 1 << 20, Commands: commands})
	s := NewSession(1, "", "", time.Time{}, func() {})
	e.Users.LogOut(&s.Client) // as Exec begins
	return e, s
}

// sent is a workspace with the calls of lines.
func sent(lines ...string) *Workspace {
	w := &Workspace{}
	for _, line := range lines {
		w.Add(callOf(nil, strings.Fields(line)...).Args)
	}
	return w
}

func answers(w *Workspace) (all []string) {
	for i := range w.Calls {
		all = append(all, w.Calls[i].Reply.Text)
	}
	return all
}

// TestExecStops asks behind which commands Exec stops, and that it goes on where it
// has stopped.
func TestExecStops(t *testing.T) {
	say := func(_ *Context, c *Call) { c.Answer(answer.Text(string(c.Args[0]))) }
	e, s := small(
		Command{Name: "a", Arity: 1, Run: say}, Command{Name: "fast", Arity: -1, Flags: traits.Fast, Run: say},
		Command{Name: "heavy", Arity: 1, Flags: traits.Heavy, Run: say},
		Command{Name: "quit", Arity: 1, Run: func(x *Context, c *Call) { x.s.Quit = true; say(x, c) }},
		Command{Name: "late", Arity: 1, Run: func(_ *Context, c *Call) { c.AnswerLater(func() answer.Reply { return answer.Text("made late") }) }},
	)
	w := sent("a", "heavy", "late", "fast", "FAST x", "fast", "none", "a a", "quit", "a")
	var stops []int
	for done := 0; done < len(w.Calls) && !s.Quit; {
		done += e.Exec(s, w, done)
		stops = append(stops, done)
	}
	if want := []int{2, 9}; !slices.Equal(stops, want) {
		t.Errorf("Exec stops behind calls %v, want %v", stops, want)
	}
	if last := s.Last.Load(); last == nil || *last != "quit" {
		t.Errorf("CLIENT LIST shows %v, want quit", last)
	}
	want := []string{"a", "heavy", "made late", "fast", "FAST", "fast", "ERR unknown command 'none', with args beginning with: ", "ERR wrong number of arguments for 'a' command", "quit", ""}
	if got := answers(w); !slices.Equal(got, want) {
		t.Errorf("the answers are %q, want %q", got, want)
	}
	for name, want := range map[string]session.Usage{"a": {Calls: 1, Rejected: 1}, "fast": {Calls: 3}, "heavy": {Calls: 1}, "late": {Calls: 1}} {
		got := e.notes.Counters.Sum(e.table.Lookup([]byte(name)).index)
		if got.Calls != want.Calls || got.Rejected != want.Rejected || got.Failed != 0 {
			t.Errorf("%s was used %+v, want %+v", name, got, want)
		}
	}
}

// TestBrowsersEnd asks that what a browser sends ends the connection without a reply.
func TestBrowsersEnd(t *testing.T) {
	for line, ends := range map[string]bool{"POST / HTTP/1.1": true, "Host: here": true, "posts": false, "GET /": false} {
		e, s := small()
		w := sent(line)
		e.Exec(s, w, 0)
		if s.Quit != ends || w.Calls[0].Mute != ends {
			t.Errorf("%s: the connection ends: %v, without a reply: %v", line, s.Quit, w.Calls[0].Mute)
		}
	}
}

// TestGateOfCommands asks which commands run inside the gate.
func TestGateOfCommands(t *testing.T) {
	var e *Engine
	var s *Session
	inside := map[string]bool{}
	look := func(_ *Context, c *Call) {
		inside[string(c.Args[0])] = s.inside
		c.Answer(answer.OK())
	}
	after := func(_ *Context, _ *Call) { inside["after"] = s.inside }
	e, s = small(
		Command{Name: "key", Arity: 1, Keys: traits.OneKey(traits.KeyRO), Run: look}, Command{Name: "all", Arity: 1, Flags: traits.ReadOnly, Run: look},
		Command{Name: "outside", Arity: 1, Keys: traits.OneKey(traits.KeyRO), Flags: traits.Outside, Run: look, After: after},
		Command{Name: "ping", Arity: 1, Run: look}, Command{Name: "quick", Arity: 1, Flags: traits.Fast, Run: look},
		Command{Name: "look", Arity: 1, Flags: traits.Outside, Run: func(x *Context, c *Call) {
			x.Look(func() { inside["inside look"] = s.inside })
			look(x, c)
		}},
	)
	// A fast command that has nothing to do with data stays where its neighbour was.
	e.Exec(s, sent("quick", "key", "outside", "all", "ping", "look"), 0)
	want := map[string]bool{"quick": false, "key": true, "outside": false, "all": true, "ping": false, "look": false, "inside look": true, "after": false}
	for name, in := range want {
		if got, ok := inside[name]; !ok || got != in {
			t.Errorf("%s was run inside the gate: %v, want %v", name, got, in)
		}
	}
	e.Exec(s, sent("key", "quick"), 0)
	if !inside["quick"] || s.inside {
		t.Errorf("a fast command behind one on data: inside %v; then the session is inside: %v", inside["quick"], s.inside)
	}
}

// TestWeightLeavesTheGate asks that a command that looks at many names lets others in.
func TestWeightLeavesTheGate(t *testing.T) {
	e, s := small()
	x := &Context{e: e, s: s}
	e.enter(s)
	x.Worked(maxWeight - 1)
	if e.enter(s); s.weight != maxWeight-1 {
		t.Errorf("a weight of %d after %d names", s.weight, maxWeight-1)
	}
	if x.Worked(1); s.weight != 0 || !s.inside {
		t.Errorf("a weight of %d after %d names, inside %v", s.weight, maxWeight, s.inside)
	}
	e.leave(s)
	if x.Worked(5); s.inside {
		t.Error("a session outside the gate is let in")
	}
	s.alone = true
	if e.enter(s); s.inside {
		t.Error("who has closed the gate enters it")
	}
}

// fake is a command on items that is described and never run.
type fake Bundling

func (f fake) Bundling() Bundling              { return Bundling(f) }
func (fake) Cost(*Costs, *Call)                {}
func (fake) Unfit(Turn, *Call, *catalog.Entry) {}
func (fake) Run(Turn, *catalog.Entry, []Call)  {}
func (fake) RunPieces(Turn, []Call)            {}
func (fake) Settled(Turn, Span)                {}

// TestJoins asks which calls make one bundle.
func TestJoins(t *testing.T) {
	f, g := &Family{Kind: catalog.Bloom}, &Family{Kind: catalog.Cuckoo}
	adds, has := fake{Family: f, Joins: true, Records: true}, fake{Family: f, Joins: true}
	e, s := small(
		Command{Name: "add", Arity: -3, On: adds}, Command{Name: "put", Arity: 3, On: adds},
		Command{Name: "grow", Arity: 3, Flags: traits.DenyOOM, On: adds},
		Command{Name: "has", Arity: -3, On: has}, Command{Name: "dump", Arity: 3, Flags: traits.Heavy, On: has},
		Command{Name: "other", Arity: -3, On: fake{Family: g, Joins: true}}, Command{Name: "get", Arity: -2},
		Command{Name: "count", Arity: -3, On: fake{Family: f}}, Command{Name: "ask", Arity: -3, On: fake{Family: f}},
	)
	for _, c := range []struct {
		first, next string
		want        bool
	}{
		{"add k x", "add k y", true}, {"add k x", "ADD k y", true}, {"add k x", "put k y", true}, {"put k x", "add k y z", true},
		{"add k x", "add j y", false}, {"add k x", "has k x", false}, {"has k x", "add k x", false}, {"has k x", "has k y", true},
		{"has k x", "other k x", false}, {"has k x", "dump k x", false}, {"dump k x", "dump k x", false}, {"dump k x", "has k x", false},
		{"add k x", "grow k x", false}, {"grow k x", "grow k y", true}, {"add k x", "add k", false}, {"add k x", "add", false},
		{"add k x", "put k y z", false}, {"add k x", "get k", false}, {"add k x", "none k y", false},
		{"count k x", "count k y", true}, {"count k x", "ask k x", false}, {"has k x", "count k x", false},
	} {
		first, next := callOf(nil, strings.Fields(c.first)...), callOf(nil, strings.Fields(c.next)...)
		first.cmd = e.table.Lookup(first.Args[0])
		if got := e.joins(s, &first, &next); got != c.want {
			t.Errorf("%s joins %s: %v, want %v", c.next, c.first, got, c.want)
		}
	}
}

// TestUnkeptWrites asks that the replies of writes, and of no others, report that the
// log could not be synced.
func TestUnkeptWrites(t *testing.T) {
	calls := []Call{
		callOf(&Command{Name: "get", Flags: traits.ReadOnly}), callOf(&Command{Name: "set", Flags: traits.Write}), callOf(&Command{Name: "compact", Flags: traits.Wrote}),
		callOf(&Command{Name: "exec"}), callOf(nil, "none"),
	}
	unkept(calls, errors.New("a\r\nb"))
	for i, want := range []bool{false, true, true, true, false} {
		got := calls[i].Reply
		if got.Failed() != want || want && got.Text != "MISCONF The write was done in memory, but it is not on disk and may be lost (a b)." {
			t.Errorf("call %d is answered %q", i, got.Text)
		}
	}
}

// TestEventOf asks which event of LATENCY a command is.
func TestEventOf(t *testing.T) {
	if eventOf(&Command{Flags: traits.Fast | traits.Write}) != "fast-command" || eventOf(&Command{Flags: traits.Write}) != "command" {
		t.Error("fast commands and others are one event")
	}
}

// TestBudgetBounds asks where the budget ends: for records, for what clients hold, and
// for the tenth that is theirs alone.
func TestBudgetBounds(t *testing.T) {
	e, s := small()
	b := &e.Budget
	const most = 1 << 20
	if b.Max() != most || b.Left() != most || b.Reserve(most+1) || !b.Reserve(most) || b.Left() != 0 || b.Full() {
		t.Errorf("%d of %d bytes are left", b.Left(), b.Max())
	}
	if b.Reserve(1) || b.Used() != most {
		t.Errorf("%d bytes are used of %d", b.Used(), most)
	}
	// Data fills the budget: clients have a tenth.
	if !e.Hold(s, most/10) || !b.Full() || e.Hold(s, 1) {
		t.Errorf("clients hold %d bytes", b.Clients())
	}
	if e.Hold(s, -1); b.Clients() != most/10 || s.Memory() != b.Clients() {
		t.Errorf("clients hold %d bytes, one of them %d", b.Clients(), s.Memory())
	}
	if e.holdReply(s, 1) || s.replyBytes != 0 || b.Clients() != most/10 {
		t.Errorf("a reply without room holds %d bytes", s.replyBytes)
	}
	e.Hold(s, -most/10)
	b.Release(most)
	if b.Used() != 0 || b.Peak() < most || b.Left() != most {
		t.Errorf("%d bytes used, at most %d", b.Used(), b.Peak())
	}
	// Nothing else fills it: clients may have all of it, and no more.
	if !e.holdReply(s, most) || e.holdReply(s, 1) || s.replyBytes != most {
		t.Errorf("replies hold %d bytes", s.replyBytes)
	}
	if e.Release(s); b.Clients() != 0 || s.replyBytes != 0 {
		t.Errorf("%d bytes are held for replies that are written", b.Clients())
	}
	x := &Context{e: e, s: s}
	if x.Budget().SetMax(5); b.Max() != 5 {
		t.Errorf("the bound is %d", b.Max())
	}
	if b.Reserve(5); b.Left() != 0 {
		t.Errorf("%d bytes are left", b.Left())
	}
	if x.Budget().SetMax(3); b.Left() != 0 || !b.Full() {
		t.Errorf("%d bytes are left beyond the bound", b.Left())
	}
	if b.Data() != 0 {
		t.Errorf("no data takes %d bytes", b.Data())
	}
	release, ok := x.Contents().Reserve(1)
	if ok || release != nil {
		t.Error("bytes beyond the bound are set aside")
	}
}
