package filter_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestLayersOverFilters asks filters of several families one after the other, and meets what
// becomes of names.
func TestLayersOverFilters(t *testing.T) {
	b := newBench(t, 1<<30)
	many := func(from, to int) string {
		items := make([]string, 0, to-from)
		for i := from; i < to; i++ {
			items = append(items, strconv.Itoa(i))
		}
		return strings.Join(items, " ")
	}
	long := strings.Repeat("n", 4000)
	for _, c := range [][2]string{
		{"FILTER.CREATE front bloom CAPACITY 10000 ERROR 0.0001 SEED 1", "+OK"},
		{"FILTER.CREATE parts standard CAPACITY 10000 ERROR 0.0001 PARTS 4 SEED 2", "+OK"},
		{"FILTER.CREATE today window CAPACITY 10000 ERROR 0.0001 SEED 3", "+OK"},
		{"BF.RESERVE old 0.0001 10000", "+OK"},
		{"FILTER.CREATE all layers OVER front parts today old", "+OK"},
		{"FILTER.CREATE all layers OVER front", "-ERR item exists"},
		{"FILTER.CREATE all layers NX OVER front", ":0"},
		{"FILTER.CREATE front layers OVER parts", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"FILTER.ADD front a b c d", "[true true true true]"},
		{"FILTER.ADD parts a b c", "[true true true]"},
		{"FILTER.ADD today a b", "[true true]"},
		{"BF.ADD old a", ":1"},
		{"FILTER.HAS all a b c d e", "[true false false false false]"},
		{"FILTER.LAYERS all", `[["layer" :0 "key" "front" "stopped" :1] ["layer" :1 "key" "parts" "stopped" :1] ["layer" :2 "key" "today" "stopped" :1] ["layer" :3 "key" "old" "stopped" :1]]`},
		{"TYPE all", "+bloomlyrs"},
		{"FILTER.ADD all x", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"FILTER.DUMP all 0", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"BF.EXISTS all x", ":0"},

		{"COPY all copy", ":1"},
		{"FILTER.HAS copy a b", "[true false]"},
		{"RENAME copy other", "+OK"},
		{"RENAME old gone", "+OK"},
		{"FILTER.HAS other a b", "-ERR the layer 'old' is not there"},
		{"FILTER.HAS other d e", "[false false]"}, // that layer is not asked
		{"SET old x", "+OK"},
		{"FILTER.HAS other a", "-WRONGTYPE the layer 'old' is not a filter"},
		{"FILTER.CREATE old layers OVER front", "-WRONGTYPE Operation against a key holding the wrong kind of value"},
		{"DEL old", ":1"},
		{"FILTER.CREATE old layers OVER other", "+OK"}, // no layers over layers
		{"FILTER.HAS other a", "-WRONGTYPE the layer 'old' is not a filter"},
		{"RENAME gone old", "+OK"},
		{"FILTER.HAS other a b", "[true false]"},

		{"FILTER.CREATE x layers", "-ERR kind layers takes OVER and the names of filters: FILTER.CREATE key layers [NX] OVER filter [filter ...]"},
		{"FILTER.CREATE x layers OVER", "-ERR kind layers takes OVER and the names of filters: FILTER.CREATE key layers [NX] OVER filter [filter ...]"},
		{"FILTER.CREATE x layers CAPACITY 5", "-ERR kind layers takes OVER and the names of filters: FILTER.CREATE key layers [NX] OVER filter [filter ...]"},
		{"FILTER.CREATE x layers OVER a b a", "-ERR OVER names 'a' twice"},
		{"FILTER.CREATE x layers OVER " + many(0, 17), "-ERR OVER takes 16 filters at most"},
		{"FILTER.CREATE x layers OVER " + long, "-ERR OVER takes names of 3072 bytes together at most"},
		{"FILTER.CREATE x layers OVER front x", "-ERR OVER names 'x' itself: layers stand over other filters"},
		{"FILTER.CREATE x layers OVER like more", "+OK"},
		{"FILTER.HAS x a", "-ERR the layer 'like' is not there"},
		{"FILTER.ADD front " + many(0, 3000), "[" + strings.TrimSpace(strings.Repeat("true ", 3000)) + "]"},
		{"FILTER.CREATE two layers OVER front parts", "+OK"},
		{"FILTER.ADD parts " + many(1000, 3000), "[" + strings.TrimSpace(strings.Repeat("true ", 2000)) + "]"},
		{"FILTER.HAS two " + many(0, 4000), "[" + strings.TrimSpace(strings.Repeat("false ", 1000)+strings.Repeat("true ", 2000)+strings.Repeat("false ", 1000)) + "]"},
		{"FILTER.LAYERS two", `[["layer" :0 "key" "front" "stopped" :1000] ["layer" :1 "key" "parts" "stopped" :1000]]`},
	} {
		if got := b.Line(c[0]); got != c[1] {
			t.Errorf("%.80s = %.300s, want %.300s", c[0], got, c[1])
		}
	}
	info := b.Line("FILTER.INFO two")
	for _, want := range []string{`"kind" "layers"`, `"layers" :2`, `"queries" :4000`, `"found" :2000`, `"stopped" :2000`} {
		if !strings.Contains(info, want) {
			t.Errorf("FILTER.INFO two = %s, without %s", info, want)
		}
	}
	if got := b.Line("FILTER.WHERE * a"); strings.Contains(got, "other") {
		t.Errorf("FILTER.WHERE finds layers: %s", got)
	}
	dumped := b.Exec([][]byte{[]byte("DUMP"), []byte("two")})[0].Text
	if got := b.Do("RESTORE", "again", "0", dumped); got != "+OK" {
		t.Errorf("RESTORE = %s", got)
	}
	if got := b.Line("FILTER.HAS again 5 1005"); got != "[false true]" {
		t.Errorf("FILTER.HAS of layers that were restored = %s", got)
	}
	for _, when := range []string{"the log", "a snapshot"} {
		b = restarted(t, b, nil)
		b.Script(t, `
			FILTER.HAS two 5 1005 5005 -> [false true false]
			FILTER.LAYERS two -> [["layer" :0 "key" "front" "stopped" :1] ["layer" :1 "key" "parts" "stopped" :1]]
			FILTER.HAS other a b -> [true false]
			DEL again -> `+map[string]string{"the log": ":1", "a snapshot": ":0"}[when]+`
			SAVE -> +OK`)
	}
}

// TestLayersInTransactions asks layers in the transaction that makes them, and meets
// max-transaction.
func TestLayersInTransactions(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Script(t, `
		MULTI -> +OK
		FILTER.CREATE a bloom -> +QUEUED
		FILTER.CREATE l layers OVER a b -> +QUEUED
		FILTER.ADD a x y -> +QUEUED
		BF.ADD b x -> +QUEUED
		FILTER.HAS l x y z -> +QUEUED
		FILTER.LAYERS l -> +QUEUED
		EXEC -> [+OK +OK [true true] :1 [true false false] [["layer" :0 "key" "a" "stopped" :1] ["layer" :1 "key" "b" "stopped" :1]]]
		FILTER.CREATE m quorum MEMBERS 255 CAPACITY 100000 -> +OK
		FILTER.CREATE l2 layers OVER m -> +OK
		CONFIG SET max-transaction 300 -> +OK
		MULTI -> +OK
		FILTER.HAS a x y z -> +QUEUED
		EXEC -> [[true true false]]`)
	const over = "-EXECABORT Transaction discarded"
	for _, calls := range [][]string{
		{"FILTER.HAS m x y z"}, {"FILTER.HAS l2 x y z"},
		{"RENAME l2 l3", "FILTER.HAS l3 x y z"},
		{"FILTER.CREATE l4 layers OVER m", "FILTER.HAS l4 x y z"},
	} {
		b.OK(t, "MULTI")
		for _, c := range calls {
			b.Line(c)
		}
		if got := b.Line("EXEC"); !strings.HasPrefix(got, over) {
			t.Errorf("%q in a transaction = %s", calls, got)
		}
	}
}

// TestRightsToLayers asks layers as users who may ask some of them.
func TestRightsToLayers(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, line := range []string{
		"FILTER.CREATE bob:a bloom", "FILTER.CREATE secret bloom", "FILTER.CREATE bob:l layers OVER bob:a secret", "FILTER.CREATE bob:m layers OVER secret",
		"ACL SETUSER bob on >pw +@all ~bob:*", "ACL SETUSER reader on >pw +filter.has %R~*",
	} {
		b.OK(t, line)
	}
	b.Line("FILTER.ADD bob:a x")
	b.Line("FILTER.ADD secret x")
	const denied = "-NOPERM the layer 'secret' needs the right to 'filter.has' on its key, too"
	for _, c := range []struct{ user, call, want string }{
		{"bob", "FILTER.HAS bob:l x", denied}, {"bob", "FILTER.HAS bob:l y", "[false]"}, // the first stops it
		{"bob", "FILTER.HAS bob:m y", denied}, {"reader", "FILTER.HAS bob:l x y", "[true false]"},
		{"bob", "FILTER.CREATE bob:n layers OVER secret", "+OK"}, {"bob", "FILTER.HAS bob:n x", denied},
	} {
		if got := b.As(t, c.user, strings.Fields(c.call)...); got != c.want {
			t.Errorf("%s: %s = %s, want %s", c.user, c.call, got, c.want)
		}
	}
}

// TestLayersInAPipeline adds to a layer and asks the layers in one pipeline, with very long
// items and very many among them.
func TestLayersInAPipeline(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Script(t, `
		FILTER.CREATE a bloom -> +OK
		FILTER.CREATE c cuckoo -> +OK
		FILTER.CREATE l layers OVER a c -> +OK`)
	long := strings.Repeat("x", 1<<20)
	many := make([]string, 1000)
	for i := range many {
		many[i] = "m" + strconv.Itoa(i)
	}
	calls := [][]string{
		{"FILTER.ADD", "a", "p", long}, {"FILTER.ADD", "c", "p", long}, {"FILTER.HAS", "l", "p"}, {"FILTER.HAS", "l", long, "q"}, {"FILTER.HAS", "l", "q"},
		append([]string{"FILTER.ADD", "a"}, many...), append([]string{"FILTER.ADD", "c"}, many[500:]...), append([]string{"FILTER.HAS", "l"}, many...), {"FILTER.HAS", "a", "p"},
	}
	var words [][][]byte
	for _, c := range calls {
		words = append(words, commandtest.Bytes(c))
	}
	replies := b.Exec(words...)
	for i, want := range map[int]string{
		2: "[true]", 3: "[true false]", 4: "[false]", 8: "[true]",
		7: "[" + strings.TrimSpace(strings.Repeat("false ", 500)+strings.Repeat("true ", 500)) + "]",
	} {
		if got := commandtest.Show(replies[i]); got != want {
			t.Errorf("call %d of the pipeline = %.100s, want %.100s", i, got, want)
		}
	}
}
