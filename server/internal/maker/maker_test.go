package maker_test

import (
	"testing"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/maker"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// key makes a Bloom filter as large as its argument says: of x words are wrong.
var key = maker.Key{
	Kind: catalog.Bloom, Exists: "there", Foreign: "foreign", NoMemory: "no memory",
	Fits: func(words int) bool { return words != 4 },
	Body: func(_ *engine.Context, c *engine.Call) (store.Body, string) {
		capacity := uint64(10)
		switch string(c.Args[2]) {
		case "wrong":
			return nil, "wrong argument"
		case "large":
			capacity = 1 << 29
		case "endless":
			capacity = 1 << 62
		}
		return &store.MakeBloom{Name: c.Args[1], Params: redisbloom.BloomParams{Capacity: capacity, ErrorRate: 0.01}}, ""
	},
}

func command(name string, k maker.Key) engine.Command {
	return k.Command(engine.Command{
		Name: name, Arity: -3, Flags: traits.Write, Keys: traits.OneKey(traits.KeyRW), Categories: []string{"write", "slow"}, Group: traits.GroupBloom,
	})
}

// TestKey makes keys by two commands, one of which looks for the key behind its arguments:
// whatever is answered, a key that is there stays what it is.
func TestKey(t *testing.T) {
	late := key
	late.Late = true
	b := commandtest.New(t, 4<<20)
	b.Rewire(func(c *engine.Config) { c.Commands = append(c.Commands, command("early", key), command("late", late)) })
	b.Script(t, `
		EARLY a small -> +OK
		LATE b small -> +OK
		BF.INFO a CAPACITY -> [+Capacity :10]
		BF.ADD a x -> :1
		SET s v -> +OK
		EARLY a small -> -there
		EARLY a wrong -> -there
		LATE a small -> -there
		LATE a wrong -> -wrong argument
		EARLY s wrong -> -foreign
		LATE s small -> -foreign
		LATE s wrong -> -wrong argument
		EARLY n wrong -> -wrong argument
		EARLY n small more -> -ERR wrong number of arguments for 'early' command
		EARLY n large -> -no memory
		LATE n large -> -no memory
		EARLY n endless -> -no memory
		EXISTS n -> :0
		BF.EXISTS a x -> :1
		GET s -> "v"`)
	b.Crash(t)
}

// TestKeyInATransaction counts what a command would make before any is run: one that is too
// large is refused, arguments that make nothing are not.
func TestKeyInATransaction(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Rewire(func(c *engine.Config) { c.Commands = append(c.Commands, command("early", key)) })
	b.Script(t, `
		MULTI -> +OK
		EARLY n wrong -> +QUEUED
		EARLY n large more -> +QUEUED
		EARLY n small -> +QUEUED
		EXEC -> [-wrong argument -ERR wrong number of arguments for 'early' command +OK]
		MULTI -> +OK
		EARLY m large -> +QUEUED`)
	if got := b.Line("EXEC"); got[:len("-EXECABORT")] != "-EXECABORT" {
		t.Errorf("a transaction that makes a filter of 600 MB: %s", got)
	}
}
