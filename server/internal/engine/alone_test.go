package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// setAll is a command of several records: SETALL key value [key value ...].
var setAll = engine.Command{
	Name: "setall", Arity: -3, Flags: traits.Write | traits.Alone, Keys: traits.Keys{{First: 1, Last: -1, Step: 2, Access: traits.KeyOW}},
	Prepare: func(x *engine.Context, c *engine.Call) *engine.Op {
		if c.Option == nil {
			c.Option = 1
		}
		at := c.Option.(int)
		return x.Contents().Record(&store.Set{String: store.String{Name: c.Args[at], Value: c.Args[at+1]}})
	},
	Reply: func(c *engine.Call, _ *store.Result) {
		if at := c.Option.(int) + 2; at < len(c.Args) {
			c.Option = at
			return // prepared again, for the next key
		}
		c.Answer(answer.OK())
	},
}

// TestAloneIsAlone runs a command of several records beside others that look at
// all its keys: they see all of it or nothing, and so does recovery.
func TestAloneIsAlone(t *testing.T) {
	b := newBench(t, 1<<30)
	b.engine = engine.New(engine.Config{
		Commands: append(command.All(), setAll), State: b.state, Door: b.door, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30,
		Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	if got := b.line("SETALL a 0 b 0 c 0"); got != "+OK" {
		t.Fatal(got)
	}
	var ops []store.Op
	for _, group := range b.door.groups {
		for _, r := range group {
			ops = append(ops, r.Op())
		}
	}
	if want := []store.Op{store.OpBegin, store.OpSet, store.OpSet, store.OpSet, store.OpCommit}; !slices.Equal(ops, want) {
		t.Errorf("records %v, want %v", ops, want)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		c := b.connect()
		wg.Go(func() {
			for n := range 300 {
				if i%2 == 0 {
					v := string('a' + rune((n+i)%20))
					c.line("SETALL a " + v + " b " + v + " c " + v)
					continue
				}
				c.lines("MULTI", "GET a", "GET b", "GET c")
				if got := strings.Fields(strings.Trim(c.line("EXEC"), "[]")); len(got) != 3 || got[0] != got[1] || got[1] != got[2] {
					t.Errorf("a, b, c = %q: half of a command was seen", got)
				}
			}
		})
	}
	wg.Wait()
	if got := b.lines("MULTI", "SETALL a 1 b 2", "GET b", "EXEC")[3]; got != `[+OK "2"]` {
		t.Errorf("in a transaction: %s", got)
	}
	b.replays(t)
}

// TestTransactionsAreAlone has transactions move a value between two keys, while
// others ask for both in one transaction.
func TestTransactionsAreAlone(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("SET left 1000")
	b.line("SET right 0")
	var wg sync.WaitGroup
	for i := range 4 {
		c := b.connect()
		wg.Go(func() {
			for range 200 {
				if i < 2 {
					c.lines("MULTI", "DECR left", "INCR right", "EXEC")
					continue
				}
				got := c.lines("MULTI", "GET left", "GET right", "EXEC")[3]
				var left, right int
				if n, err := fmt.Sscanf(got, `["%d" "%d"]`, &left, &right); n != 2 || err != nil || left+right != 1000 {
					t.Errorf("left and right are %s, together not 1000", got)
				}
			}
		})
	}
	wg.Wait()
	if got := b.lines("GET left", "GET right"); !slices.Equal(got, []string{`"600"`, `"400"`}) {
		t.Errorf("at the end %q", got)
	}
	b.replays(t)
}
