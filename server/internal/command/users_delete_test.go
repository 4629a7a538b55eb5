package command_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// kept are filters that have the item x, and how to ask for it.
var kept = []struct{ make, add, ask string }{
	{"BF.RESERVE kept 0.01 100", "BF.ADD kept x", "BF.EXISTS kept x"},
	{"CF.RESERVE kept 100", "CF.ADD kept x", "CF.EXISTS kept x"},
	{"FILTER.CREATE kept standard CAPACITY 100", "FILTER.ADD kept x", "FILTER.HAS kept x"},
	{"FILTER.CREATE kept counting CAPACITY 100", "FILTER.ADD kept x", "FILTER.HAS kept x"},
	{"FILTER.CREATE kept cuckoo CAPACITY 100", "FILTER.ADD kept x", "FILTER.HAS kept x"},
	{"FILTER.CREATE kept growing CAPACITY 100", "FILTER.ADD kept x", "FILTER.HAS kept x"},
}

// TestWhoMayAddCannotDelete runs every command that is not in the category delete on
// filters of several kinds: none of them loses an item, now or later.
func TestWhoMayAddCannotDelete(t *testing.T) {
	table := engine.NewTable(command.All())
	for _, filter := range kept {
		b := newWorld(t, "PING")
		b.Line("ACL SETUSER adder on >pw +@all -@delete ~*")
		for _, line := range []string{filter.make, filter.add} {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s", line, got)
			}
		}
		for _, words := range callsOf(samples) {
			cmd := commandOf(t, table, words)
			if slices.Contains(cmd.Categories, "admin") {
				continue
			}
			if slices.Contains(cmd.Categories, "delete") {
				if got := b.As(t, "adder", words...); got != "-NOPERM User adder has no permissions to run the '"+cmd.FullName()+"' command" {
					t.Errorf("%q: %s", words, got)
				}
				continue
			}
			cmd.Keys.Each(commandtest.Bytes(words), func(i int, _ traits.Key) {
				changed := slices.Clone(words)
				changed[i] = "kept"
				b.As(t, "adder", changed...)
				if got := b.As(t, "default", strings.Fields(filter.ask)...); got != ":1" && got != "[true]" {
					t.Fatalf("%s: %q loses an item: %s", filter.make, changed, got)
				}
				if got := b.Line("TTL kept"); got != ":-1" {
					t.Fatalf("%s: %q sets a deadline: %s", filter.make, changed, got)
				}
			})
		}
	}
}

// TestAddsLoseNothing adds far more to filters of every kind than they are made for, by a
// user who may not delete: the item that was there first stays there. Kinds that forget
// take no adds of such a user, by whatever command.
func TestAddsLoseNothing(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("ACL SETUSER adder on >pw +@all -@delete ~*")
	b.Line("ACL SETUSER feeder on >pw +@all -@delete ~* (+filter.del ~kept)")
	filters := []struct{ make, add, ask string }{
		{"BF.RESERVE kept 0.01 100 NONSCALING", "BF.MADD kept", "BF.MEXISTS kept"}, {"BF.RESERVE kept 0.01 100", "BF.MADD kept", "BF.MEXISTS kept"},
		{"CF.RESERVE kept 100 EXPANSION 0", "CF.INSERT kept ITEMS", "CF.MEXISTS kept"},
	}
	for _, k := range codec.Kinds() {
		if !k.Features.Static {
			filters = append(filters, struct{ make, add, ask string }{"FILTER.CREATE kept " + k.Name + " CAPACITY 100", "FILTER.ADD kept", "FILTER.HAS kept"})
		}
	}
	for _, f := range filters {
		b.Login(t, "default")
		b.Line("DEL kept")
		for _, line := range []string{f.make, f.add + " first"} {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s", line, got)
			}
		}
		b.Login(t, "adder")
		refused := 0
		adds := [][]string{strings.Fields(f.add), {"FILTER.REPAIR", "kept"}}
		if !strings.Contains(f.make, "F.RESERVE") {
			adds = append(adds, []string{"FILTER.ADDHASH", "kept"})
		}
		for _, words := range adds {
			for i := range 3000 {
				words = append(words, strconv.Itoa(i))
			}
			if got := b.Do(words...); strings.HasPrefix(got, "-NOPERM a filter of kind stable forgets items") {
				refused++
			}
		}
		if forgets := strings.Contains(f.make, " stable "); forgets != (refused > 0) || forgets && refused < len(adds) {
			t.Errorf("%s: %d of %d ways to add are refused", f.make, refused, len(adds))
		}
		if got := b.Line(f.ask + " first"); got != "[true]" && got != "[:1]" {
			t.Errorf("%s: adds have removed an item: %s", f.make, got)
		}
	}
	b.Login(t, "default")
	b.Line("DEL kept")
	b.Line("FILTER.CREATE kept stable CAPACITY 100")
	b.Line("FILTER.CREATE other stable CAPACITY 100")
	b.Login(t, "feeder") // who has the right for this key, in a selector of its own
	if got := b.Line("FILTER.ADD kept x") + b.Line("FILTER.ADD other x"); !strings.HasPrefix(got, "[true]-NOPERM a filter of kind stable") {
		t.Errorf("adds by one who may delete from one of them: %s", got)
	}
	b.Login(t, "default")
	if got := b.Line("ACL LOG 1"); !strings.Contains(got, `"object" "filter.del"`) || !strings.Contains(got, `"username" "feeder"`) {
		t.Errorf("ACL LOG: %s", got)
	}
}

// TestChunksCanDelete shows why LOADCHUNK counts as a delete: it replaces bits.
func TestChunksCanDelete(t *testing.T) {
	for _, family := range []string{"BF", "CF"} {
		b := commandtest.New(t, 1<<30)
		for _, key := range []string{"empty", "kept"} {
			if family == "BF" {
				b.Line("BF.RESERVE " + key + " 0.01 100")
			} else {
				b.Line("CF.RESERVE " + key + " 100")
			}
		}
		b.Line(family + ".ADD kept x")
		r := b.Exec(commandtest.Bytes([]string{family + ".SCANDUMP", "empty", "1"}))[0]
		chunk := []string{family + ".LOADCHUNK", "kept", fmt.Sprint(r.Elems[0].N), r.Elems[1].Text}
		b.Line("ACL SETUSER adder on >pw +@all -@delete ~*")
		if got := b.As(t, "adder", chunk...); !strings.HasPrefix(got, "-NOPERM") {
			t.Errorf("%s: %s", chunk[0], got)
		}
		if got := b.As(t, "default", chunk...) + b.Line(family+".EXISTS kept x"); got != "+OK:0" {
			t.Errorf("%s by a user who may delete, and EXISTS: %s", chunk[0], got)
		}
	}
}

// TestDeletesOfAbsentItems shows why deletes are apart: those of items that were never
// added remove others.
func TestDeletesOfAbsentItems(t *testing.T) {
	const keys, deletes, batch = 1000, 100_000, 1000
	b := commandtest.New(t, 1<<30)
	b.Line("FILTER.CREATE c counting CAPACITY 1000 ERROR 0.01")
	b.Line("ACL SETUSER adder on >pw +@all -@delete ~*")
	b.Login(t, "adder")
	items := func(command, prefix string, from int) [][]byte {
		args := commandtest.Bytes([]string{command, "c"})
		for i := range batch {
			args = append(args, fmt.Append(nil, prefix, from+i))
		}
		return args
	}
	b.Exec(items("FILTER.ADD", "key", 0))
	if got := b.Line("FILTER.DEL c absent"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("FILTER.DEL: %s", got)
	}
	b.Login(t, "default")
	for from := 0; from < deletes; from += batch {
		b.Exec(items("FILTER.DEL", "absent", from))
	}
	left := 0
	for _, has := range b.Exec(items("FILTER.HAS", "key", 0))[0].Bools {
		if has {
			left++
		}
	}
	if left > keys/2 {
		t.Errorf("%d of %d keys are left after %d deletes of others, expected less than half", left, keys, deletes)
	}
	b.Login(t, "adder")
	// One pipeline, a group of one filter: each command is asked for on its own.
	replies := b.Exec(commandtest.Bytes([]string{"FILTER.ADD", "c", "y"}), commandtest.Bytes([]string{"FILTER.DEL", "c", "y"}), commandtest.Bytes([]string{"FILTER.ADD", "c", "z"}))
	if got := commandtest.Show(replies[1]); !strings.HasPrefix(got, "-NOPERM") || replies[0].Kind == answer.Error || replies[2].Kind == answer.Error {
		t.Errorf("in a pipeline: %s, %s, %s", commandtest.Show(replies[0]), got, commandtest.Show(replies[2]))
	}
	if got := b.Line("FILTER.HAS c y z"); got != "[true true]" {
		t.Errorf("FILTER.HAS: %s", got)
	}
}

// TestAddsToARebuildThatForgets asks that a user who may not delete cannot add to a filter
// that will be one that forgets: its rebuild would lose what was fed.
func TestAddsToARebuildThatForgets(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("FILTER.CREATE k bloom CAPACITY 1000")
	b.Line("FILTER.REBUILD k BEGIN stable CAPACITY 100")
	b.Line("ACL SETUSER eve on nopass ~* +@all -@delete")
	b.Line("AUTH eve x")
	if got := b.Line("FILTER.ADD k item"); !strings.HasPrefix(got, "-NOPERM a filter of kind stable forgets items") {
		t.Errorf("an add beside a rebuild that forgets = %s", got)
	}
}
