package command_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bench is an engine with one session, a clock that tests set and a log that they
// can read.
type bench struct {
	engine  *engine.Engine
	state   *store.State
	door    *local.Door
	files   *folder.Memory
	session *engine.Session
	now     time.Time
	tick    time.Duration // what the clock goes on by when it is read
	work    engine.Workspace
	facts   status.Server // beside those that every bench has
	rewrite error         // of RewriteConfig
	ended   int           // calls of Shutdown
}

func newBench(tb testing.TB, maxMemory int64) *bench {
	tb.Helper()
	return openOn(tb, &bench{state: store.New(), files: &folder.Memory{}, now: time.UnixMilli(1_700_000_000_000)}, maxMemory)
}

// openBench returns a bench on files, nil for none, with secret keys.
func openBench(tb testing.TB, files *folder.Memory, now time.Time, keys map[string]hashing.Hasher) *bench {
	tb.Helper()
	if files == nil {
		files = &folder.Memory{}
	}
	b := &bench{state: store.New(), files: files, now: now}
	b.state.SetKeys(keys)
	return openOn(tb, b, 1<<30)
}

func openOn(tb testing.TB, b *bench, maxMemory int64) *bench {
	tb.Helper()
	var err error
	if b.door, err = local.Open(local.Config{State: b.state, Files: b.files, Fsync: local.Always, SnapshotAfter: -1}); err != nil {
		tb.Fatal(err)
	}
	b.engine = engine.New(engine.Config{
		Commands: command.All(),
		State:    b.state, Door: b.door, Keeper: b.door, Host: b, Clock: b.clock, MaxMemory: maxMemory,
		Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	b.session = engine.NewSession(1, "127.0.0.1:1", "127.0.0.1:2", b.now, func() {})
	return b
}

// withoutLog makes the bench keep nothing.
func (b *bench) withoutLog(tb testing.TB) {
	tb.Helper()
	b.state, b.files = store.New(), nil
	var err error
	if b.door, err = local.Open(local.Config{State: b.state}); err != nil {
		tb.Fatal(err)
	}
	b.rewire()
}

// rewire makes an engine for the door and the state that the bench has now.
func (b *bench) rewire() {
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: b.door, Keeper: b.door, Host: b, Clock: b.clock,
		MaxMemory: b.engine.Budget.Max(), Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
}

// clock returns the time of the bench. It writes only if tests make it tick: they
// have one session then.
func (b *bench) clock() time.Time {
	if b.tick > 0 {
		b.now = b.now.Add(b.tick)
	}
	return b.now
}

// Sessions implements command.Host.
func (b *bench) Sessions() []*engine.Session { return []*engine.Session{b.session} }

// Shutdown implements engine.Host.
func (b *bench) Shutdown() { b.ended++ }

// RewriteConfig implements engine.Host.
func (b *bench) RewriteConfig() error { return b.rewrite }

// Facts implements engine.Host.
func (b *bench) Facts() status.Server {
	f := b.facts
	if f.Started.IsZero() {
		f.Started = b.now
	}
	f.Clients = 1
	return f
}

// exec runs commands together and returns their replies.
func (b *bench) exec(commands ...[][]byte) []answer.Reply {
	b.work.Reset()
	for _, args := range commands {
		b.work.Add(args)
	}
	for done := 0; done < len(commands); {
		n := b.engine.Exec(b.session, &b.work, done)
		if n == 0 {
			if b.session.Quit {
				break
			}
			b.engine.Pause.End(true) // what is held back is run
		}
		done += n
	}
	replies := make([]answer.Reply, len(commands))
	for i := range replies {
		replies[i] = b.work.Calls[i].Reply
	}
	return replies
}

// do runs one command of words and returns its reply in a short form.
func (b *bench) do(words ...string) string {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return show(b.exec(args)[0])
}

// line is do for a command whose words have no blanks.
func (b *bench) line(s string) string { return b.do(strings.Fields(s)...) }

// show writes a reply for people: +OK, -error, :1, "bulk", nil, [a b].
func show(r answer.Reply) string {
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
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return "none"
	}
}
