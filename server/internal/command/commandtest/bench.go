// Package commandtest has what tests of commands share: an engine with all commands, one
// session, a clock that tests set and a log that they can read.
package commandtest

import (
	"runtime"
	"testing"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Bench is an engine with one session, a clock that tests set and a log that they can
// read. It is the Host of its engine. One goroutine uses it; others use its clients.
type Bench struct {
	Engine  *engine.Engine
	State   *store.State
	Door    *local.Door
	Files   *folder.Memory
	Session *engine.Session
	Now     time.Time
	Tick    time.Duration // what the clock goes on by when it is read
	Work    engine.Workspace
	About   status.Server // beside those facts that every bench has
	Rewrite error         // of RewriteConfig
	Ended   int           // calls of Shutdown

	maxMemory int64
}

// New returns a bench without data.
func New(tb testing.TB, maxMemory int64) *Bench {
	tb.Helper()
	return open(tb, &Bench{State: store.New(), Files: &folder.Memory{}, Now: time.UnixMilli(1_700_000_000_000), maxMemory: maxMemory})
}

// Open returns a bench on files, nil for none, with secret keys.
func Open(tb testing.TB, files *folder.Memory, now time.Time, keys map[string]hashing.Hasher) *Bench {
	tb.Helper()
	if files == nil {
		files = &folder.Memory{}
	}
	b := &Bench{State: store.New(), Files: files, Now: now, maxMemory: 1 << 30}
	b.State.SetKeys(keys)
	return open(tb, b)
}

// Keys returns two secret keys, called old and new.
func Keys() map[string]hashing.Hasher {
	return map[string]hashing.Hasher{"old": hashing.Keyed([16]byte{1}), "new": hashing.Keyed([16]byte{2})}
}

func open(tb testing.TB, b *Bench) *Bench {
	tb.Helper()
	b.OpenDoor(tb, local.Config{Files: b.Files, Fsync: local.Always, SnapshotAfter: -1})
	b.Session = engine.NewSession(1, "127.0.0.1:1", "127.0.0.1:2", b.Now, func() {})
	return b
}

// OpenDoor opens a door to the state of the bench, and an engine behind it.
func (b *Bench) OpenDoor(tb testing.TB, c local.Config) {
	tb.Helper()
	c.State = b.State
	var err error
	if b.Door, err = local.Open(c); err != nil {
		tb.Fatal(err)
	}
	b.Rewire()
}

// WithoutLog makes the bench keep nothing, and lets it begin without data.
func (b *Bench) WithoutLog(tb testing.TB) {
	tb.Helper()
	b.State, b.Files = store.New(), nil
	b.OpenDoor(tb, local.Config{})
}

// Rewire makes an engine for the door and the state that the bench has now, with changes.
func (b *Bench) Rewire(changes ...func(*engine.Config)) {
	c := engine.Config{
		Commands: command.All(), State: b.State, Door: b.Door, Keeper: b.Door, Host: b, Clock: b.clock,
		MaxMemory: b.maxMemory, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	}
	for _, change := range changes {
		change(&c)
	}
	b.Engine = engine.New(c)
}

// clock returns the time of the bench. It writes only if tests make it tick: they
// have one session then.
func (b *Bench) clock() time.Time {
	if b.Tick > 0 {
		b.Now = b.Now.Add(b.Tick)
	}
	return b.Now
}

// Watch lets the health of filters be measured for so long on the clock of the bench.
func (b *Bench) Watch(d time.Duration) {
	runtime.LockOSThread() // work is the processor time of the thread
	defer runtime.UnlockOSThread()
	for end := b.Now.Add(d); b.Now.Before(end); {
		p := b.Engine.Health().Step()
		if p.Idle {
			p.Spare = end.Sub(b.Now)
		}
		b.Now = b.Now.Add(min(p.Owed+p.Spare, end.Sub(b.Now)))
	}
}

// Sessions implements engine.Host.
func (b *Bench) Sessions() []*engine.Session { return []*engine.Session{b.Session} }

// Shutdown implements engine.Host.
func (b *Bench) Shutdown() { b.Ended++ }

// RewriteConfig implements engine.Host.
func (b *Bench) RewriteConfig() error { return b.Rewrite }

// Facts implements engine.Host.
func (b *Bench) Facts() status.Server {
	f := b.About
	if f.Started.IsZero() {
		f.Started = b.Now
	}
	f.Clients = max(f.Clients, 1)
	return f
}
