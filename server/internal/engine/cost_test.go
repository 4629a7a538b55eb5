package engine_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestEveryCommandHasACost asks that every command says what it costs in a transaction:
// those on items by their items, those that have nothing to do with data by their words,
// all others by a function.
func TestEveryCommandHasACost(t *testing.T) {
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		data := len(c.Keys) > 0 || c.Flags&(traits.ReadOnly|traits.Write|traits.Wrote) != 0
		if len(c.Subcommands) > 0 || c.Flags&(traits.NoMulti|traits.Immediate) != 0 || !data {
			return
		}
		if c.Cost == nil && c.On == nil {
			t.Errorf("%s has no cost", c.FullName())
		}
	})
}

// linesOf returns the words of lines, in each of which {i} is its number.
func linesOf(n int, line string) [][]string {
	list := make([][]string, n)
	for i := range list {
		list[i] = strings.Fields(strings.ReplaceAll(line, "{i}", strconv.Itoa(i)))
	}
	return list
}

// TestLongTransactions runs transactions that kept all other clients waiting for seconds.
// EXEC refuses them, and nothing of them is done.
func TestLongTransactions(t *testing.T) {
	b := newBench(t, 4<<30)
	fill := func(lines ...string) {
		for _, line := range lines {
			if got := b.line(line); got != "+OK" {
				t.Fatalf("%s = %s", line, got)
			}
		}
	}
	fill("CMS.INITBYDIM cms 2000000 5", "CMS.INITBYDIM cms2 2000000 5", "TOPK.RESERVE topk 100000", "TDIGEST.CREATE digest COMPRESSION 20000",
		"FILTER.CREATE a bloom CAPACITY 100000000", "FILTER.CREATE b bloom LIKE a", "CF.RESERVE stuck 1000 MAXITERATIONS 65535 EXPANSION 0")
	many(b.client, 3000, func(i int) []string {
		return []string{"FILTER.CREATE", fmt.Sprint("f", i), "bloom", "CAPACITY", "1000"}
	})
	many(b.client, 1000, func(i int) []string { return []string{"SET", strings.Repeat("n", 10_000) + fmt.Sprint(i), "x"} })
	fill("FILTER.CREATE full cuckoo CAPACITY 1000", "FILTER.CREATE empty cuckoo CAPACITY 1000000", "FILTER.CREATE rebuilt bloom CAPACITY 10000000", "FILTER.CREATE hashes standard CAPACITY 1000000 ERROR 1e-18",
		"FILTER.REBUILD rebuilt BEGIN standard CAPACITY 10000000 ERROR 1e-18", "CF.RESERVE moves 1000000 MAXITERATIONS 65535", "CF.RESERVE fixed 10000000 EXPANSION 0", "BF.RESERVE arrays 0.01 1 EXPANSION 1",
		"FILTER.CREATE layers layers OVER f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15")
	fill("FILTER.CREATE members quorum CAPACITY 10000 MEMBERS 255 NEED 255 PARTS 16", "FILTER.CREATE counting counting CAPACITY 10000000", "FILTER.CREATE small bloom CAPACITY 4096 PARTS 4096")
	many(b.client, 1200, func(i int) []string { return []string{"FILTER.ADD", "full", fmt.Sprint("x", i)} })
	fill("FILTER.CREATE unused quotient CAPACITY 200000", "FILTER.CREATE quotient quotient CAPACITY 20000", "FILTER.CREATE growing growing CAPACITY 100000")
	many(b.client, 40, func(i int) []string { return append([]string{"FILTER.ADD", "quotient"}, someWords("{items}", i)...) })
	many(b.client, 1000, func(i int) []string { return []string{"ACL", "SETUSER", fmt.Sprint("user", i), "~*", "+@all"} })
	items := func(n int, words ...string) [][]string {
		for i := range n {
			words = append(words, fmt.Sprint("item", i))
		}
		return [][]string{words}
	}
	rules := ""
	for i := range 4000 {
		rules += fmt.Sprint(" ~pattern", i)
	}
	for i := range 2 {
		b.do(append([]string{"BF.MADD", "arrays"}, someWords("{items}", i)...)...)
	}
	claims, _ := binary.Append(nil, binary.LittleEndian, struct { // there is no error for numbers
		Items, Buckets, Deletes, Filters uint64
		Bucket, Kicks, Expansion         uint16
	}{9, 16, 0, 32, 255, 20, 1})
	quantiles := []string{"TDIGEST.QUANTILE", "digest"}
	for i := range 999 {
		quantiles = append(quantiles, fmt.Sprint(float64(i)/999))
	}
	for _, tt := range []struct {
		name  string
		calls [][]string
	}{
		{"CMS.MERGE", linesOf(20, "CMS.MERGE cms 1 cms2")},
		{"TOPK.ADD", items(20_000, "TOPK.ADD", "topk")},
		{"FILTER.WHERE", items(90_000, "FILTER.WHERE", "*")},
		{"TDIGEST.QUANTILE", slices.Repeat([][]string{quantiles}, 20)},
		{"FILTER.HEALTH", linesOf(90, "FILTER.HEALTH COUNT 100000")},
		{"FILTER.LIST", linesOf(20, "FILTER.LIST SORT probed")},
		{"FILTER.UNION", linesOf(2, "FILTER.UNION a b")},
		{"FILTER.INTERSECT", linesOf(2, "FILTER.INTERSECT both{i} a b")},
		{"FILTER.SIMILAR", linesOf(2, "FILTER.SIMILAR a b")},
		{"FILTER.FOLD", linesOf(1, "FILTER.FOLD a")},
		{"CF.ADD to a full filter", linesOf(4000, "CF.ADD stuck same")},

		// What commands of the same transaction make counts.
		{"a sketch that is made", append(linesOf(1, "CMS.INITBYDIM new 2000000 5"), linesOf(20, "CMS.MERGE new 1 new")...)},
		{"a sketch that is made anew", slices.Concat(linesOf(1, "DEL cms"), linesOf(1, "CMS.INITBYDIM cms 20000000 5"), linesOf(2, "CMS.MERGE cms 1 cms"))},
		{"a name that is given away", slices.Concat(linesOf(1, "RENAME cms small"), linesOf(20, "CMS.MERGE small 1 small"))},
		{"a name that goes from hand to hand", slices.Concat(linesOf(1, "RENAME cms x0"), [][]string{{"RENAME", "x0", "x1"}, {"RENAME", "x1", "x2"}}, linesOf(20, "CMS.MERGE x2 1 x2"))},
		{"copies of copies", slices.Concat(linesOf(1, "COPY a c0"), [][]string{{"COPY", "c0", "c1"}, {"COPY", "c1", "c2"}})},
		{"filters like others", slices.Concat(linesOf(1, "FILTER.CREATE l0 bloom LIKE a"), [][]string{{"FILTER.CREATE", "l1", "bloom", "LIKE", "l0"}, {"FILTER.UNION", "l1", "l0"}})},
		{"filters that are made and removed", linesOf(10, "BF.RESERVE new{i} 0.01 100000000")},
		{"a filter that is made and removed", slices.Concat(slices.Repeat([][]string{{"BF.RESERVE", "new", "0.01", "100000000"}, {"DEL", "new"}}, 5))},
		{"a filter that INSERT makes", slices.Concat(linesOf(1, "BF.ADD new x"), slices.Repeat([][]string{{"DEL", "new"}, {"BF.INSERT", "new", "CAPACITY", "100000000", "ITEMS", "x"}}, 5))},
		{"a layer for every item", append(linesOf(1, "BF.RESERVE new 0.01 1 EXPANSION 1"), items(20_000, "BF.MADD", "new")...)},
		{"very large layers", append(linesOf(1, "BF.RESERVE new 0.01 1 EXPANSION 32768"), linesOf(40_000, "BF.ADD new x{i}")...)},
		{"a digest that a merge makes", slices.Concat(linesOf(1, "TDIGEST.MERGE new 1 digest COMPRESSION 2000000"), linesOf(20, "TDIGEST.QUANTILE new 0.5"))},
		{"a long string", slices.Concat(linesOf(1, "SETRANGE s 400000000 x"), linesOf(1, "APPEND s x"))},
		{"a string that gets longer", slices.Concat(linesOf(1, "SET s x"), linesOf(1, "SETRANGE s 50000000 x"), linesOf(10, "APPEND s x"))},
		{"a digest that is sorted again and again", slices.Repeat([][]string{{"TDIGEST.ADD", "digest", "1"}, {"TDIGEST.QUANTILE", "digest", "0.5"}}, 20)},
		{"all rows of a sketch", append(linesOf(1, "CMS.INITBYDIM deep 100 60000"), items(1000, "CMS.QUERY", "deep")...)},
		{"large increments", append(linesOf(1, "TOPK.RESERVE deep 10 8 5000 0.9"), linesOf(100, "TOPK.INCRBY deep x{i} 100000")...)},
		{"long items in many rows", append(linesOf(1, "CMS.INITBYDIM deep 100 5000"), slices.Repeat([][]string{{"CMS.QUERY", "deep", strings.Repeat("x", 10_000)}}, 100)...)},
		{"long names", linesOf(40, "KEYS *x*y*z")},
		{"long patterns", slices.Repeat([][]string{{"SCAN", "0", "MATCH", "*" + strings.Repeat("x", 4000) + "*", "COUNT", "100000"}}, 40)},
		{"FILTER.WHERE of long names", linesOf(40, "FILTER.WHERE *x*y*z item")},
		{"FILTER.ADD to a full filter", linesOf(8000, "FILTER.ADD full same{i}")},
		{"FILTER.ADD to a full filter that is made", append(linesOf(1, "FILTER.CREATE new cuckoo CAPACITY 100"), linesOf(8000, "FILTER.ADD new same{i}")...)},
		{"chosen hashes", append(linesOf(1, "FILTER.CREATE new cuckoo CAPACITY 1000000"), linesOf(8000, "FILTER.ADDHASH new {i}")...)},
		{"FILTER.ADD to a quotient filter that is nearly full", linesOf(20_000, "FILTER.ADD quotient new{i}")},
		{"FILTER.ADD to a cuckoo filter without a secret key", linesOf(8000, "FILTER.ADD empty new{i}")},
		{"FILTER.ADD to a quotient filter without a secret key", append(linesOf(2, "FILTER.ADD unused same"), linesOf(30_000, "FILTER.ADD unused new{i}")...)},
		{"chosen hashes of a growing filter", linesOf(30_000, "FILTER.ADDHASH growing {i}")},
		{"long items in filters that hash them each in its way", [][]string{{"FILTER.WHERE", "f*", strings.Repeat("x", 128<<10)}}},
		{"FILTER.COUNT of long items", slices.Repeat([][]string{{"FILTER.COUNT", "empty", strings.Repeat("x", 32<<20)}}, 8)},
		{"FILTER.REPAIR of long items", slices.Repeat([][]string{{"FILTER.REPAIR", "empty", strings.Repeat("x", 32<<20)}}, 8)},
		{"DEL of many names", items(50_000, "DEL")},
		{"strings under new names", linesOf(65_536, "SETNX new{i} x")},
		{"numbers under new names", linesOf(65_536, "INCR new{i}")},
		{"a number that is counted up", linesOf(90_000, "INCR n")},
		{"copies of a string", append(linesOf(1, "SETRANGE s 1000000 x"), linesOf(200, "COPY s copy REPLACE")...)},
		{"COMMAND DOCS", linesOf(60, "COMMAND DOCS")},
		{"strings with deadlines", linesOf(40_000, "SETEX new{i} 100 x")},
		{"FILTER.ADD to two filters", linesOf(60_000, "FILTER.ADD rebuilt x{i}")},
		{"very many hashes", linesOf(60_000, "FILTER.ADD hashes x{i}")},
		{"ACL LIST", linesOf(20, "ACL LIST")},
		{"ACL USERS", linesOf(20, "ACL USERS")},
		{"ACL SETUSER with long patterns", linesOf(20, "ACL SETUSER new{i} ~*"+strings.Repeat("[a-z]", 6000))},
		{"ACL SETUSER with many patterns", slices.Repeat(linesOf(1, "ACL SETUSER new"+rules), 2)},
		{"ACL SETUSER with many commands", slices.Repeat(linesOf(1, "ACL SETUSER new"+strings.Repeat(" +get", 4000)), 2)},
		{"CONFIG GET with many patterns", linesOf(1, "CONFIG GET"+strings.Repeat(" *a*b", 60_000))},
		{"CONFIG GET with a long pattern", linesOf(40, "CONFIG GET *"+strings.Repeat("[a-z]", 4095)+"*")},
		{"CONFIG RESETSTAT", linesOf(200, "CONFIG RESETSTAT")},
		{"COMMAND LIST with a long pattern", linesOf(20, "COMMAND LIST FILTERBY PATTERN *"+strings.Repeat("[a-z]", 4095)+"*")},
		{"LATENCY HISTOGRAM", linesOf(1, "LATENCY HISTOGRAM"+strings.Repeat(" get", 20_000))},
		{"FILTER.LAYERS of layers", linesOf(20_000, "FILTER.LAYERS layers")},
		{"CF.ADD with many moves", linesOf(60, "CF.ADD moves x{i}")},
		{"CF.ADD that may fail", linesOf(60_000, "CF.ADD fixed x{i}")},
		{"CF.DEL from a dump that claims few items", append([][]string{{"CF.LOADCHUNK", "new", "1", string(claims)}}, linesOf(7000, "CF.DEL new x{i}")...)},
		{"DUMP of many arrays", linesOf(900, "DUMP arrays")},
		{"CF.ADD of one item with many moves", append(linesOf(1, "CF.RESERVE new 64 MAXITERATIONS 65535 EXPANSION 1 BUCKETSIZE 1"), linesOf(300, "CF.ADD new same")...)},
		{"FILTER.HAS of layers", linesOf(20_000, "FILTER.HAS layers x")},
		{"DUMP of layers", linesOf(10_000, "DUMP layers")},
		{"FILTER.DENSITY", linesOf(10, "FILTER.DENSITY counting 4096")},
		{"FILTER.CARD", linesOf(400, "FILTER.CARD counting")},
		{"FILTER.CARD of many arrays", linesOf(20, "FILTER.CARD members")},
		{"FILTER.LAYERS", linesOf(200, "FILTER.LAYERS counting")},
		{"FILTER.CLEAR of many arrays", linesOf(20, "FILTER.CLEAR members")},
		{"FILTER.CLEAR of many parts", linesOf(20, "FILTER.CLEAR small")},
		{"FILTER.DUMP of many arrays", linesOf(20, "FILTER.DUMP members 0")},
		{"very many arrays", linesOf(1, "FILTER.CREATE new quorum CAPACITY 1000 MEMBERS 32 NEED 2 PARTS 128")},
	} {
		b.line("MULTI")
		for _, words := range append([][]string{{"SET", "mark", "x"}}, tt.calls...) {
			if got := b.do(words...); got != "+QUEUED" {
				t.Fatalf("%s: %s = %s", tt.name, words[0], got)
			}
		}
		if got := b.line("EXEC"); !strings.HasPrefix(got, "-EXECABORT") || !strings.Contains(got, "max-transaction allows 250000 KiB") {
			t.Errorf("%s: EXEC = %.200s", tt.name, got)
		}
		if got := b.line("GET mark"); got != "nil" {
			t.Fatalf("%s: a transaction that was refused has done something", tt.name)
		}
	}
}

// TestUsualTransactions asks that EXEC takes what clients usually send: one load as long as the
// default allows, the others of an eighth of it.
func TestUsualTransactions(t *testing.T) {
	for i, tt := range []struct {
		name    string
		reserve string
		calls   [][]string
	}{
		{"a bulk load", "BF.RESERVE f 0.001 10000000", linesOf(80_000, "BF.ADD f item{i}")},
		{"a load with few errors", "BF.RESERVE f 0.000001 1250000", linesOf(8750, "BF.ADD f item{i}")},
		{"a bulk load of a filter that is made by it", "SET s x", linesOf(10_000, "BF.ADD f item{i}")},
		{"a bulk load with its filter", "SET s x", append(linesOf(1, "BF.RESERVE f 0.01 1250000"), linesOf(10_000, "BF.ADD f item{i}")...)},
		{"a bulk load of another kind", "FILTER.CREATE f bloom CAPACITY 1250000", linesOf(10_000, "FILTER.ADD f item{i}")},
		{"a bulk load of a cuckoo filter", "FILTER.CREATE f cuckoo CAPACITY 10000", linesOf(625, "FILTER.ADD f item{i}")},
		{"a bulk load of a cuckoo filter that is made by it", "SET s x", append(linesOf(1, "FILTER.CREATE f cuckoo CAPACITY 10000"), linesOf(625, "FILTER.ADD f item{i}")...)},
		{"a bulk load of a quotient filter", "FILTER.CREATE f quotient CAPACITY 25000", linesOf(1875, "FILTER.ADD f item{i}")},
		{"a load of a quotient filter with copies", "FILTER.CREATE f quotient CAPACITY 25000", slices.Repeat(linesOf(625, "FILTER.ADD f item{i}"), 3)},
		{"questions to a quotient filter", "FILTER.CREATE f quotient CAPACITY 25000", linesOf(8750, "FILTER.HAS f item{i}")},
		{"a bulk load of CF", "CF.RESERVE f 125000", linesOf(7500, "CF.ADD f item{i}")},
		{"a filter that its load replaces", "BF.RESERVE f 0.01 1000", append(linesOf(1, "DEL f"), append(linesOf(1, "BF.RESERVE f 0.01 1250000"), linesOf(10_000, "BF.ADD f item{i}")...)...)},
		{"a bulk load of a large CF", "CF.RESERVE f 100000000", linesOf(1250, "CF.ADD f item{i}")},
		{"a bulk load of a CF that is made by it", "SET s x", append(linesOf(1, "CF.RESERVE f 125000"), linesOf(2500, "CF.ADD f item{i}")...)},
		{"strings", "SET s x", linesOf(6250, "SET f{i} x")},
		{"strings of one name", "SET s x", linesOf(10_000, "SET s {i}")},
		{"counters", "CMS.INITBYDIM f 10000 7", linesOf(5000, "CMS.INCRBY f item{i} 1")},
		{"a digest", "TDIGEST.CREATE f", append(linesOf(6250, "TDIGEST.ADD f {i}"), linesOf(100, "TDIGEST.QUANTILE f 0.5 0.9 0.99")...)},
		{"a window of names", "SET s x", append(linesOf(125, "INCR n{i}"), linesOf(125, "EXPIRE n{i} 10")...)},
	} {
		b := newBench(t, 4<<30)
		if i > 0 {
			b.line(fmt.Sprint("CONFIG SET max-transaction ", session.DefaultMaxTransaction/8))
		}
		if got := b.line(tt.reserve); got != "+OK" {
			t.Fatal(got)
		}
		list := [][][]byte{bytesOf([]string{"MULTI"})}
		for _, words := range tt.calls {
			list = append(list, bytesOf(words))
		}
		replies := b.exec(append(list, bytesOf([]string{"EXEC"}))...)
		if r := replies[len(replies)-1]; len(r.Elems) != len(tt.calls) {
			t.Errorf("%s: EXEC = %.200s", tt.name, show(r))
		}
	}
}

// TestCostIsFoundFast asks that what EXEC refuses holds the gate for a moment only: to
// find out what a transaction costs is no long work itself. It takes 10 to 25 ms; work that
// is quadratic takes seconds.
func TestCostIsFoundFast(t *testing.T) {
	b, timer := newTimed(t, 4<<30)
	many(b.client, 20_000, func(i int) []string { return []string{"SET", fmt.Sprint("name", i), "x"} })
	many(b.client, 1000, func(i int) []string { return []string{"BF.ADD", fmt.Sprint("f", i), "x"} })
	b.line("BF.RESERVE layers 0.01 1 EXPANSION 1")
	for i := range 20 {
		b.do(append([]string{"BF.MADD", "layers"}, someWords("{items}", i)...)...)
	}
	many(b.client, 40, func(i int) []string {
		return []string{"FILTER.CREATE", fmt.Sprint("s", i), "scalable", "CAPACITY", "4096", "PARTS", "1024"}
	})
	b.line("FILTER.CREATE parts bloom CAPACITY 4096 PARTS 4096")
	many(b.client, 10_000, func(i int) []string {
		return []string{"FILTER.CREATE", fmt.Sprint("u", i), "scalable", "CAPACITY", "1", "ERROR", fmt.Sprint(0.01 + float64(i)/1e7)}
	})
	allowed := 500 * time.Millisecond // a machine whose host is busy needs three times as long
	if strconv.IntSize == 32 {
		allowed *= 10 // numbers of 64 bits are two words there
	}
	if underRace {
		allowed *= 20
	}
	for _, tt := range []struct {
		name  string
		calls [][]string
	}{
		{"commands on all names", linesOf(20_000, "FILTER.WHERE * x")},
		{"descriptions of all names", linesOf(20_000, "FILTER.LIST SORT probed")},
		{"many layers", linesOf(20_000, "BF.EXISTS layers x{i}")},
		{"many ways to make a filter", linesOf(30_000, "BF.INSERT f CAPACITY 1{i} EXPANSION 1 ITEMS x")},
		{"many layers that items make", slices.Concat(linesOf(2000, "BF.RESERVE f 0.01 {i} EXPANSION 1"), linesOf(50_000, "BF.ADD f x{i}"))},
		{"many parts that grow", append(linesOf(40, "FILTER.ADD s{i}"+strings.Repeat(" x", 167)), linesOf(12, "FILTER.CLEAR parts")...)},
		{"filters that grow each in its way", linesOf(10_000, "FILTER.ADD u{i} a b c d e f")},
		{"names that become each other", append(linesOf(50_000, "RENAME f{i} f"), linesOf(20_000, "FILTER.INFO f")...)},
		{"names that are made of each other", linesOf(60_000, "CMS.MERGE f{i} 1 f")},
	} {
		var held time.Duration
		for range tries {
			r, took := timer.transact(b.client, tt.calls...)
			if !refused(r) {
				t.Fatalf("%s: EXEC = %.200s", tt.name, show(r))
			}
			if held = took; held <= allowed {
				break
			}
		}
		if held > allowed {
			t.Errorf("%s: EXEC has closed the gate for %v of the processor, want at most %v", tt.name, held, allowed)
		}
	}
}

// TestLayersAreFoundOutOnce asks many layers that are over the same filter, of many parts or made in many ways. EXEC takes that. It
// held the gate for seconds to find out how large the filter is, again for each of the layers.
func TestLayersAreFoundOutOnce(t *testing.T) {
	allowed := time.Second // it takes a tenth of that
	if underRace || strconv.IntSize == 32 {
		allowed *= 20
	}
	b, timer := newTimed(t, 4<<30)
	b.line("FILTER.CREATE parts bloom CAPACITY 4096 PARTS 4096")
	for _, tt := range []struct {
		over  string
		calls [][]string
	}{
		{"parts", linesOf(5000, "FILTER.HAS parts{i} x")},
		{"made", slices.Concat(linesOf(2000, "FILTER.CREATE made bloom CAPACITY 1{i}"), linesOf(2000, "FILTER.HAS made{i} x"))},
	} {
		many(b.client, 5000, func(i int) []string {
			return []string{"FILTER.CREATE", fmt.Sprint(tt.over, i), "layers", "OVER", tt.over}
		})
		var held time.Duration
		for range tries {
			r, took := timer.transact(b.client, tt.calls...)
			if refused(r) {
				t.Fatalf("layers over %s: EXEC = %.200s", tt.over, show(r))
			}
			if held = took; held <= allowed {
				break
			}
		}
		if held > allowed {
			t.Errorf("layers over %s: EXEC has closed the gate for %v of the processor, want at most %v", tt.over, held, allowed)
		}
	}
}

// TestRepliesOfTransactionsAreCounted asks that the replies of a transaction take no more
// memory than clients may have: reads for which there is none fail.
func TestRepliesOfTransactionsAreCounted(t *testing.T) {
	const memory = 64 << 20
	b := newBench(t, memory)
	b.line(fmt.Sprint("CONFIG SET max-transaction ", 10*session.DefaultMaxTransaction))
	b.line("BF.RESERVE f 0.01 100000")
	b.do("SET", "fill", strings.Repeat("x", memory*8/10)) // clients have their tenth
	for _, line := range []string{"COMMAND DOCS", "BF.SCANDUMP f 1", "FILTER.KINDS"} {
		list := slices.Repeat([][][]byte{bytesOf(strings.Fields(line))}, 200)
		list = slices.Concat([][][]byte{bytesOf([]string{"MULTI"})}, list, [][][]byte{bytesOf([]string{"EXEC"})})
		replies := b.exec(list...)
		failed := 0
		for _, r := range replies[len(replies)-1].Elems {
			if r.Failed() {
				failed++
			}
		}
		if got, most := b.engine.Budget.Clients(), int64(memory/4); got > most {
			t.Errorf("%s: %d bytes are held for clients, want at most %d", line, got, most)
		}
		if large := line != "FILTER.KINDS"; failed == 200 || large != (failed > 0) {
			t.Errorf("%s: %d of 200 failed", line, failed)
		}
		if got := b.line("PING"); got != "+PONG" || b.session.Memory() > 0 {
			t.Errorf("%s: PING = %s, and %d bytes are held", line, got, b.session.Memory())
		}
	}
}

// TestLargeIncrementsAreSliced adds very much to the count of one item of a sketch of very
// many rows: others have their turn between pieces, and the answer is that of one.
func TestLargeIncrementsAreSliced(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines("TOPK.RESERVE deep 1 8 5000 0.9", "TOPK.RESERVE usual 1 8 7 0.9")
	for _, tt := range []struct {
		line, want  string
		least, most int
	}{
		{"TOPK.INCRBY deep first 5", "[nil]", 1, 1},
		{"TOPK.INCRBY deep second 20000 first 1", `["first" nil]`, 12, 14},
		{"TOPK.COUNT deep second", "[:20000]", 0, 0},
		{"TOPK.INCRBY usual first 100000", "[nil]", 1, 1},
	} {
		before := d.waits
		if got := b.line(tt.line); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.line, got, tt.want)
		}
		if n := d.waits - before; n < tt.least || n > tt.most {
			t.Errorf("%s: %d records, want %d to %d", tt.line, n, tt.least, tt.most)
		}
	}
}

// TestLongItemsAreRunInPieces counts items that every row of a sketch hashes as a whole.
func TestLongItemsAreRunInPieces(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines("CMS.INITBYDIM s 10 100")
	for size, least := range map[int]int{10: 1, 10_000: 30} {
		words := []string{"CMS.INCRBY", "s"}
		for i := range 64 {
			words = append(words, strings.Repeat("x", size)+fmt.Sprint(i), "1")
		}
		before := d.waits
		b.do(words...)
		if n := d.waits - before; n < least || n > 2*least {
			t.Errorf("64 items of %d bytes: %d records, want %d to %d", size, n, least, 2*least)
		}
	}
}

// TestLongItemsOfManyRowsAreRefused asks for items that would take seconds to hash, in
// every row of a sketch, with the gate held.
func TestLongItemsOfManyRowsAreRefused(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("CMS.INITBYDIM deep 1 65536", "CMS.INITBYDIM usual 100 8", "TOPK.RESERVE rows 1 1 4096 0.9", "TOPK.RESERVE slots 10000 1 4 0.9")
	const refused = "-ERR an item is too long for this sketch: each of its"
	for _, tt := range []struct {
		words string
		size  int
		want  string
	}{
		{"CMS.INCRBY deep ITEM 1", 511, "[:1]"},
		{"CMS.INCRBY deep a 1 ITEM 1", 512, refused},
		{"CMS.QUERY deep ITEM", 511, "[:1]"},
		{"CMS.QUERY deep a ITEM", 512, refused},
		{"CMS.INCRBY usual ITEM 1", 1 << 20, "[:1]"},
		{"CMS.INCRBY usual ITEM 1", 4 << 20, refused},
		{"TOPK.ADD rows ITEM", 8000, "[nil]"},
		{"TOPK.ADD rows a ITEM", 8192, refused},
		{"TOPK.INCRBY rows ITEM 1", 8192, refused},
		{"TOPK.COUNT rows ITEM", 8192, refused},
		{"TOPK.ADD slots ITEM", 256 << 10, "[nil]"},
	} {
		before, words := len(b.door.groups), strings.Fields(tt.words)
		words[slices.Index(words, "ITEM")] = strings.Repeat("x", tt.size)
		if got := b.do(words...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s of %d bytes = %.80s, want %s", tt.words, tt.size, got, tt.want)
		}
		if tt.want == refused && len(b.door.groups) != before {
			t.Errorf("%s of %d bytes has made a record", tt.words, tt.size)
		}
	}
}

// TestLongGroups asks that a transaction of a cluster is refused as on one server: every
// node would apply it with its gate closed.
func TestLongGroups(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines("TOPK.RESERVE topk 100000", "TDIGEST.CREATE digest COMPRESSION 20000", "SET s v")
	sent := d.waits
	for _, lines := range [][]string{
		{"SET s w", "TOPK.ADD topk " + strings.Repeat("item ", 900)},
		{"SET s w", "TDIGEST.QUANTILE digest " + strings.Repeat("0.5 ", 900)},
		{"TDIGEST.QUANTILE digest " + strings.Repeat("0.5 ", 900)},
	} {
		if got := b.transaction(lines...); !strings.HasPrefix(got, "-EXECABORT") || !strings.Contains(got, "max-transaction") {
			t.Errorf("%.40s = %.200s", lines, got)
		}
	}
	if got := b.line("GET s"); got != `"v"` || d.waits != sent {
		t.Errorf("GET s = %s, and %d records were sent", got, d.waits-sent)
	}
}

// TestRightsAreFoundOutBefore runs a transaction of a user with very many patterns: they
// are not compared with names while the others wait, and no pattern with what is no name.
func TestRightsAreFoundOutBefore(t *testing.T) {
	b, timer := newTimed(t, 1<<30)
	rules := []string{"ACL", "SETUSER", "carol", "on", ">pw", "+@all", "~marked"}
	for i := range 3000 {
		rules = append(rules, fmt.Sprint("~tenant", i, ":*"))
	}
	long := strings.Repeat("n", store.MaxName+1)
	if got := b.do("GET", long); got != "nil" {
		t.Errorf("GET of a very long name by a user with all rights = %s", got)
	}
	if got := b.do(append(rules, "~n*")...) + b.line("AUTH carol pw"); got != "+OK+OK" {
		t.Fatal(got)
	}
	if got := b.do("GET", long); got != "-"+engine.TextNoKey {
		t.Errorf("GET of a very long name by a user with patterns = %s", got)
	}
	if got := b.do("GET", long[1:]); got != "nil" {
		t.Errorf("GET of the longest name by a user with patterns = %s", got)
	}
	allowed := 250 * time.Millisecond
	if underRace {
		allowed *= 20
	}
	var held time.Duration
	for range tries {
		r, took := timer.transact(b.client, linesOf(5000, "GET tenant2999:{i}")...)
		if len(r.Elems) != 5001 || r.Elems[1].Failed() {
			t.Fatalf("EXEC = %.200s", show(r))
		}
		if held = took; held <= allowed {
			return
		}
	}
	t.Errorf("EXEC has closed the gate for %v of the processor, want at most %v", held, allowed)
}

// TestPatternsOfUsersCount walks over the names as a user with very many patterns: all of
// them are compared with every name, so a transaction is refused, and SCAN looks at few
// names at a time.
func TestPatternsOfUsersCount(t *testing.T) {
	b := newBench(t, 1<<30)
	many(b.client, 1000, func(i int) []string { return []string{"SET", fmt.Sprint("a name of a string", i), "x"} })
	b.lines("FILTER.CREATE a:stable stable CAPACITY 1000", "FILTER.CREATE a:layers layers OVER a:stable a:2 a:3 a:4 a:5 a:6 a:7 a:8")
	rules := []string{"ACL", "SETUSER", "carol", "on", ">pw", "+@all"}
	for i := range 2000 {
		rules = append(rules, fmt.Sprint("~other", i))
	}
	if got := b.do(append(rules, "~a*")...) + b.line("AUTH carol pw"); got != "+OK+OK" {
		t.Fatal(got)
	}
	add := strings.TrimSpace(strings.Repeat("FILTER.ADD a:stable x\n", 800))
	ask := strings.TrimSpace(strings.Repeat("FILTER.HAS a:layers x\n", 400))
	again := "ACL SETUSER carol on" + strings.Repeat("\nGET a:name", 1000)
	get, dry := strings.TrimSpace(strings.Repeat("ACL GETUSER carol\n", 150)), "ACL DRYRUN carol MGET"+strings.Repeat(" a:name", 1000)
	newDry := strings.Join(append([]string{"ACL", "SETUSER", "dora"}, rules[4:1500]...), " ") + strings.Repeat("\nACL DRYRUN dora GET "+strings.Repeat("x", 2000), 20)
	for _, line := range []string{"KEYS *", "FILTER.LIST", "SCAN 0 COUNT 1000", "FILTER.WHERE * x", "RANDOMKEY", add, ask, again, get, dry, newDry} {
		if got := b.transaction(strings.Split(line, "\n")...); !strings.HasPrefix(got, "-EXECABORT") || !strings.Contains(got, "max-transaction") {
			t.Errorf("%s in a transaction: %.200s", line, got)
		}
	}
	others := ""
	for i := range 200 {
		others += fmt.Sprintf("ACL SETUSER user%d on >pw ~user:* ~shared:* +@read +@write -@dangerous +ping &*\n", i)
	}
	for _, line := range []string{others, "CONFIG SET slowlog-max-len 100" + strings.Repeat("\nGET a:name", 10)} {
		if got := b.transaction(strings.Split(strings.TrimSpace(line), "\n")...); !strings.HasPrefix(got, "[+OK ") {
			t.Errorf("%.100s, and others, in a transaction: %.200s", line, got)
		}
	}
	found := 0
	for cursor := "0"; ; {
		r := b.exec(bytesOf([]string{"SCAN", cursor, "COUNT", "100"}))[0]
		if n := len(r.Elems[1].Elems); n > 50 {
			t.Fatalf("a step of SCAN has compared %d names with 2,001 patterns", n)
		}
		found += len(r.Elems[1].Elems)
		if cursor = r.Elems[0].Text; cursor == "0" {
			break
		}
	}
	if got := b.exec(bytesOf([]string{"KEYS", "*"}))[0]; found != 1002 || len(got.Elems) != 1002 {
		t.Errorf("SCAN finds %d names and KEYS %d, want 1,002", found, len(got.Elems))
	}
}

// TestGroupsAreCountedWhenTheyAreApplied has other clients make a sketch larger while the
// transaction of a cluster is under way: what would take long is not run with the gate
// closed.
func TestGroupsAreCountedWhenTheyAreApplied(t *testing.T) {
	b, d := newShared(t, 1<<30)
	other := b.connect()
	b.lines("CONFIG SET max-transaction 10000", "TDIGEST.CREATE digest", "TDIGEST.ADD digest 1 2 3", "SET s v")
	reads := "TDIGEST.QUANTILE digest " + strings.Repeat("0.5 ", 900)
	if got := b.transaction("SET s w", reads); !strings.HasPrefix(got, "[+OK [") {
		t.Errorf("on a small digest: %.200s", got)
	}
	d.between = func() {
		d.between = nil
		other.lines("DEL digest", "TDIGEST.CREATE digest COMPRESSION 200000")
		many(other, 20, func(i int) []string { return append([]string{"TDIGEST.ADD", "digest"}, someWords("{numbers}", i)...) })
	}
	if got := b.transaction("SET s x", reads); !strings.HasPrefix(got, "[+OK -TRYAGAIN ") {
		t.Errorf("on a digest that has become large: %.200s", got)
	}
	if got := b.line("GET s"); got != `"x"` {
		t.Errorf("GET s = %s", got)
	}
}
