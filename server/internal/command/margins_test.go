package command_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
)

// TestRefusedCopiesLeaveNothing copies a filter with a wrong option and onto itself:
// both are refused, and nothing stays in memory.
func TestRefusedCopiesLeaveNothing(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE f bloom CAPACITY 100000")
	before := b.state.Bytes()
	b.script(t, `
		COPY f g SOON -> -ERR syntax error
		COPY f f -> -ERR source and destination objects are the same
		EXISTS g -> :0`)
	if after := b.state.Bytes(); after != before {
		t.Errorf("%d bytes after refused copies, %d before", after, before)
	}
}

// TestExpansionOfNothing checks that a filter with an expansion of 0 does not grow.
func TestExpansionOfNothing(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		BF.RESERVE f 0.01 1 EXPANSION 0 -> +OK
		BF.INFO f EXPANSION -> [+Expansion rate nil]
		BF.ADD f a -> :1
		BF.ADD f b -> -ERR non scaling filter is full`)
}

// TestOldValueNeedsReading has a user set a key that it may not read: GET of the old
// value is refused, though the new value is the name of a key that it may read.
func TestOldValueNeedsReading(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		ACL SETUSER u on nopass %W~k %R~v +set +get -> +OK
		AUTH u x -> +OK
		SET k v -> +OK`)
	if got := b.line("SET k v GET"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("SET k v GET = %s, want a refusal", got)
	}
	if got := b.line("COMMAND INFO incr"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("COMMAND INFO = %s, want a refusal", got)
	}
}

// TestFlagsOfIncrements asks COMMAND INFO for the flags of commands that count.
func TestFlagsOfIncrements(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, name := range []string{"incr", "decr", "incrby", "decrby"} {
		if got := b.line("COMMAND INFO " + name); !strings.Contains(got, "[+write +denyoom +fast]") {
			t.Errorf("COMMAND INFO %s = %s", name, got)
		}
	}
}

// TestRandomKeyIsReadable asks for a random key as users who may read one of 3,000, or
// none with that command: rules of different selectors do not add up.
func TestRandomKeyIsReadable(t *testing.T) {
	b := newBench(t, 1<<30)
	for i := range 3000 {
		b.line(fmt.Sprintf("SET k%d v", i))
	}
	b.script(t, `
		ACL SETUSER one on nopass ~k7 +randomkey -> +OK
		ACL SETUSER none on nopass ~nokey +randomkey +acl (~k7 +get) -> +OK
		AUTH one x -> +OK
		RANDOMKEY -> "k7"
		AUTH none x -> +OK
		RANDOMKEY -> nil`)
}

// TestRefusalsInTransactions checks where the log of refusals places them.
func TestRefusalsInTransactions(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		ACL SETUSER u on nopass +acl +multi +discard +auth -> +OK
		AUTH u x -> +OK
		MULTI -> +OK`)
	b.line("GET k")
	b.line("DISCARD")
	if got := b.line("ACL LOG"); !strings.Contains(got, `"context" "multi"`) {
		t.Errorf("ACL LOG = %s, want a refusal in a transaction", got)
	}
}

// TestSimilarity asks how alike filters are that have nothing, everything or half of
// their items in common.
func TestSimilarity(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, key := range []string{"a", "b", "c"} {
		b.line("FILTER.CREATE " + key + " bloom CAPACITY 1000")
	}
	b.script(t, `
		FILTER.SIMILAR a b -> 1
		FILTER.ADD a x -> [true]
		FILTER.ADD b x -> [true]
		FILTER.SIMILAR a b -> 1
		FILTER.SIMILAR a c -> 0`)
}

// TestClearEveryKind empties a filter of every kind that takes items.
func TestClearEveryKind(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, create := range []string{
		"bloom", "standard", "partitioned", "split", "scalable", "counting", "spectral", "stable", "cuckoo", "quotient", "growing",
		"window SPAN 60s", "quorum MEMBERS 3 NEED 2", "bloom PARTS 4",
	} {
		b.line("FILTER.CREATE f " + create)
		b.line("FILTER.ADD f x")
		for _, c := range [][2]string{{"HAS f x", "[true]"}, {"CLEAR f", "+OK"}, {"HAS f x", "[false]"}, {"ADD f x", "[true]"}} {
			if got := b.line("FILTER." + c[0]); got != c[1] {
				t.Errorf("%s: FILTER.%s = %s, want %s", create, c[0], got, c[1])
			}
		}
		b.line("DEL f")
	}
}

// TestWhereLetsTimePass looks for items in a window that has not been asked since a
// generation ended.
func TestWhereLetsTimePass(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE w window CAPACITY 1000 SPAN 60s GENERATIONS 6")
	b.line("FILTER.ADD w x")
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{15 * time.Second, `["x" ["w"] "y" []]`}, {2 * time.Minute, `["x" [] "y" []]`}} {
		b.now = b.now.Add(c.after)
		if got := b.line("FILTER.WHERE * x y"); got != c.want {
			t.Errorf("%v later: FILTER.WHERE = %s, want %s", c.after, got, c.want)
		}
	}
}

// TestRefusedCommitGoesOn commits a rebuild whose key was made meanwhile: once that is
// gone, it takes items and can be committed.
func TestRefusedCommitGoesOn(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, c := range [][2]string{
		{"FILTER.REBUILD f BEGIN bloom CAPACITY 100", "+OK"}, {"FILTER.REBUILD f FEED a", ""}, {"FILTER.CREATE f bloom", "+OK"},
		{"FILTER.REBUILD f COMMIT", "-"}, {"DEL f", ":1"}, {"FILTER.REBUILD f FEED b", ""}, {"FILTER.REBUILD f COMMIT", "+OK"},
		{"FILTER.HAS f a b c", "[true true false]"},
	} {
		if got := b.line(c[0]); !strings.HasPrefix(got, c[1]) || c[1] == "" && strings.HasPrefix(got, "-") {
			t.Errorf("%s = %s, want %s", c[0], got, c[1])
		}
	}
}

// TestPlanOfFewKeys asks for plans of one key, which a map serves better, and of none.
func TestPlanOfFewKeys(t *testing.T) {
	b := newBench(t, 1<<30)
	if got := b.line("FILTER.PLAN 1 0.01"); !strings.Contains(got, "So few keys fit into a map") {
		t.Errorf("FILTER.PLAN of one key = %s, want the warning that a map serves", got)
	}
	if got, want := b.line("FILTER.PLAN 0 0.01"), "-ERR keys must be a whole number of at least 1"; got != want {
		t.Errorf("FILTER.PLAN of no keys = %s, want %s", got, want)
	}
}

// withItems returns a command with items of a range of numbers.
func withItems(command string, from, to int) string {
	for i := from; i < to; i++ {
		command += fmt.Sprintf(" i%d", i)
	}
	return command
}

// TestSimilarityOfHalves has two filters share 50 of 150 items: a third, within the
// error of estimates from 1,000 slots.
func TestSimilarityOfHalves(t *testing.T) {
	b := newBench(t, 1<<30)
	for key, from := range map[string]int{"a": 0, "b": 50} {
		b.line("FILTER.CREATE " + key + " standard CAPACITY 1000")
		b.line(withItems("FILTER.ADD "+key, from, from+100))
	}
	if got, err := strconv.ParseFloat(b.line("FILTER.SIMILAR a b"), 64); err != nil || got < 0.28 || got > 0.39 {
		t.Errorf("FILTER.SIMILAR = %v, %v, want about a third", got, err)
	}
}

// TestCreateLikeInTransactions makes filters after others inside of transactions.
func TestCreateLikeInTransactions(t *testing.T) {
	b := newBench(t, 1<<30)
	b.script(t, `
		FILTER.CREATE f cuckoo CAPACITY 5000 -> +OK
		MULTI -> +OK
		FILTER.CREATE g cuckoo LIKE f -> +QUEUED
		FILTER.CREATE h cuckoo LIKE none -> +QUEUED
		EXEC -> [+OK -ERR LIKE: not found]`)
	if f, g := b.field(t, "f", "bytes"), b.field(t, "g", "bytes"); f != g {
		t.Errorf("%s bytes, like one of %s", g, f)
	}
	if got := b.line("FILTER.LOAD k 1 x SPAN 60s VERSION 1 more"); !strings.Contains(got, "wrong number of arguments") {
		t.Errorf("FILTER.LOAD with too much = %s", got)
	}
}

// TestInfoOfFullCounters adds an item until its counters are full.
func TestInfoOfFullCounters(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE f counting CAPACITY 100")
	before := b.line("FILTER.INFO f")
	for range 40 {
		b.line("FILTER.ADD f x")
	}
	if after := b.line("FILTER.INFO f"); strings.Contains(before, `"overflow"`) || !strings.Contains(after, `"overflow"`) {
		t.Errorf("FILTER.INFO of full counters = %s", after)
	}
}

// TestRebuildInFigures checks capacity and age of a rebuild, and the share of items
// that a commit is refused for.
func TestRebuildInFigures(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("FILTER.CREATE f cuckoo CAPACITY 1000")
	b.line(withItems("FILTER.ADD f", 0, 100))
	b.line("FILTER.REBUILD f BEGIN ribbon CAPACITY 1000")
	b.line(withItems("FILTER.REBUILD f FEED", 0, 50))
	status := b.line("FILTER.REBUILD f STATUS")
	for _, want := range []string{`"capacity" :1000 `, `"age" :0`, `"old_items" :100`, `"fed" :50`} {
		if !strings.Contains(status, want) {
			t.Errorf("STATUS = %s, without %s", status, want)
		}
	}
	if got := b.line("FILTER.REBUILD f COMMIT"); !strings.Contains(got, "holds 50.0% of the items") {
		t.Errorf("COMMIT = %s, want half of the items", got)
	}
	b.line("FILTER.REBUILD f ABORT")
	b.line("FILTER.REBUILD f BEGIN ribbon CAPACITY 100000000") // parts differ, so each has some more
	var capacity int
	_, status, _ = strings.Cut(b.line("FILTER.REBUILD f STATUS"), `"capacity" `)
	if _, err := fmt.Sscanf(status, ":%d", &capacity); err != nil || capacity <= 100_000_000 || capacity > 110_000_000 {
		t.Errorf("a capacity of %d, %v, want some more than 100,000,000", capacity, err)
	}
}

// TestBitsForEachItem makes filters by the bits that an item may take.
func TestBitsForEachItem(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, kind := range []string{"bloom", "standard", "partitioned", "split", "cuckoo", "quotient"} {
		if got := b.line("FILTER.CREATE " + kind + " " + kind + " CAPACITY 1000 BITS 20"); got != "+OK" {
			t.Errorf("%s: %s", kind, got)
			continue
		}
		if bits, err := strconv.Atoi(b.field(t, kind, "bits")); err != nil || bits > 20_480 || bits < 17_000 {
			t.Errorf("%s: %d bits, %v, want 20 for each of 1,000 items", kind, bits, err)
		}
	}
}

// TestTwoDumpsInATransaction dumps a filter twice at once: the second copies it, since
// the first has it frozen, and gives the same bytes.
func TestTwoDumpsInATransaction(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.ADD bf x")
	b.line("CF.ADD cf x")
	for _, key := range []string{"bf", "cf"} {
		one := b.line("DUMP " + key)
		b.line("MULTI")
		b.line("DUMP " + key)
		b.line("DUMP " + key)
		if got, want := b.line("EXEC"), "["+one+" "+one+"]"; got != want || len(one) < 50 {
			t.Errorf("%s: two dumps of %d bytes in all, want twice %d", key, len(got), len(one))
		}
	}
}

// TestLoadUsers reads the file of users: what is in it is in force, and if it cannot be
// read, all stays as it is.
func TestLoadUsers(t *testing.T) {
	b := newBench(t, 1<<30)
	text, failure := "user default on nopass ~* &* +@all\nuser alice on nopass ~* +get\n", error(nil)
	saved := ""
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: b.door, Keeper: b.door, Host: b, Clock: b.clock, MaxMemory: 1 << 30,
		Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
		Users: session.UserFile{Name: "users.acl", Read: func() ([]byte, error) { return []byte(text), failure }, Write: func(data []byte) error {
			saved = string(data)
			return failure
		}},
	})
	b.script(t, `
		ACL USERS -> ["default"]
		ACL LOAD -> +OK
		ACL USERS -> ["alice" "default"]
		ACL SAVE -> +OK`)
	if want := "user alice on nopass sanitize-payload ~* resetchannels -@all +get\nuser default on nopass sanitize-payload ~* &* +@all\n"; saved != want {
		t.Errorf("ACL SAVE has written %q, want %q", saved, want)
	}
	text, failure = "user default on nopass ~* &* +@all\n", errors.New("the disk is gone")
	b.script(t, `
		ACL LOAD -> -ERR the disk is gone. WARNING: ACL errors detected, no change to the previously active ACL rules was performed
		ACL SAVE -> -ERR There was an error trying to save the ACLs: the disk is gone`)
	failure = nil
	b.script(t, `
		ACL USERS -> ["alice" "default"]
		ACL LOAD -> +OK
		ACL USERS -> ["default"]`)
}
