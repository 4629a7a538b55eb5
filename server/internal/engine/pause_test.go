package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// pausedEngine is an engine with a command of every sort that a pause knows.
func pausedEngine() (*Engine, *Session) {
	e := New(Config{State: store.New(), Commands: []Command{
		{Name: "read", Flags: traits.ReadOnly}, {Name: "write", Flags: traits.Write}, {Name: "wrote", Flags: traits.ReadOnly | traits.Wrote},
		{Name: "operate", Flags: traits.Admin | traits.Write}, {Name: "auth", Flags: traits.NoAuth}, {Name: "exec", Flags: traits.Immediate},
		{Name: "box", Subcommands: []Command{{Name: "look", Flags: traits.ReadOnly}, {Name: "operate", Flags: traits.Admin}}},
	}})
	return e, NewSession(1, "", "", time.Time{}, func() {})
}

// TestPauseHoldsBack asks which commands a pause holds back.
func TestPauseHoldsBack(t *testing.T) {
	e, s := pausedEngine()
	held := func() string {
		var all []string
		for _, line := range []string{"read", "WRITE", "wrote", "operate", "auth", "exec", "box look", "box operate", "box none", "none"} {
			c := callOf(nil, strings.Fields(line)...)
			if e.Pause.Any() && e.paused(s, &c) {
				all = append(all, line)
			}
		}
		return strings.Join(all, ", ")
	}
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"no pause", func() {}, ""},
		{"a pause of all", func() { e.Pause.Begin(time.Hour, true) }, "read, WRITE, wrote, exec, box look"},
		{"a pause of writes", func() { e.Pause.Begin(time.Hour, false) }, "WRITE, wrote"},
		{"a transaction that writes", func() { s.queuedWrite = true }, "WRITE, wrote, exec"},
		{"inside a transaction", func() { s.alone = true }, ""},
		{"outside again", func() { s.alone = false }, "WRITE, wrote, exec"},
		{"no pause any more", func() { e.Pause.End(false) }, ""},
	} {
		if c.do(); held() != c.want {
			t.Errorf("%s holds back %q, want %q", c.name, held(), c.want)
		}
	}
}
