package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// samples has calls of every command that writes, each of which makes a record
// when it is run behind setup. A command without one fails the test.
var samples = map[string][]string{
	"append":           {"APPEND s x", "APPEND new x"},
	"bf.add":           {"BF.ADD b x", "BF.ADD new x"},
	"bf.insert":        {"BF.INSERT b ITEMS x y", "BF.INSERT new CAPACITY 5 ITEMS x"},
	"bf.loadchunk":     {"BF.LOADCHUNK b 5 abcd", "BF.LOADCHUNK new 1 $bloom"},
	"bf.madd":          {"BF.MADD b x y", "BF.MADD new x y"},
	"bf.reserve":       {"BF.RESERVE new 0.01 100"},
	"cf.add":           {"CF.ADD c x", "CF.ADD new x"},
	"cf.addnx":         {"CF.ADDNX c y", "CF.ADDNX new y"},
	"cf.compact":       {"CF.COMPACT c"},
	"cf.del":           {"CF.DEL c i"},
	"cf.insert":        {"CF.INSERT c ITEMS x y", "CF.INSERT new ITEMS x"},
	"cf.insertnx":      {"CF.INSERTNX c ITEMS x y", "CF.INSERTNX new ITEMS x"},
	"cf.loadchunk":     {"CF.LOADCHUNK c 5 abcd", "CF.LOADCHUNK new 1 $cuckoo"},
	"cf.reserve":       {"CF.RESERVE new 100"},
	"cms.incrby":       {"CMS.INCRBY m x 2 y 3", "CMS.INCRBY m x 0"},
	"cms.initbydim":    {"CMS.INITBYDIM new 10 3"},
	"cms.initbyprob":   {"CMS.INITBYPROB new 0.1 0.1"},
	"cms.merge":        {"CMS.MERGE m 2 m m WEIGHTS 1 2"},
	"copy":             {"COPY s new", "COPY p new"},
	"decr":             {"DECR n"},
	"decrby":           {"DECRBY n 2"},
	"del":              {"DEL s b", "DEL none"},
	"expire":           {"EXPIRE s 10", "EXPIRE none 10"},
	"expireat":         {"EXPIREAT s 1800000000"},
	"filter.add":       {"FILTER.ADD f x", "FILTER.ADD p x y z"},
	"filter.addhash":   {"FILTER.ADDHASH f 17", "FILTER.ADDHASH p 17 18 19"},
	"filter.clear":     {"FILTER.CLEAR f", "FILTER.CLEAR p"},
	"filter.create":    {"FILTER.CREATE new bloom", "FILTER.CREATE new cuckoo PARTS 4", "FILTER.CREATE new bloom LIKE p"},
	"filter.del":       {"FILTER.DEL f i"},
	"filter.fold":      {"FILTER.FOLD z"},
	"filter.gone":      {"FILTER.GONE p x y", "FILTER.GONE z x"},
	"filter.grow":      {"FILTER.GROW p", "FILTER.GROW p ERROR 0.5"},
	"filter.intersect": {"FILTER.INTERSECT new p q", "FILTER.INTERSECT p q"},
	"filter.load":      {"FILTER.LOAD new 1 $filter", "FILTER.LOAD f 1 $filter VERSION 3"},
	"filter.rebuild":   {"FILTER.REBUILD f BEGIN", "FILTER.REBUILD new BEGIN fuse8", "FILTER.REBUILD r FEED x", "FILTER.REBUILD r COMMIT", "FILTER.REBUILD r ABORT"},
	"filter.repair":    {"FILTER.REPAIR b x", "FILTER.REPAIR f x", "FILTER.REPAIR p x"},
	"filter.set":       {"FILTER.SET f NEWS 5", "FILTER.SET p NEWS 100"},
	"filter.union":     {"FILTER.UNION new p q", "FILTER.UNION q p"},
	"flushall":         {"FLUSHALL"},
	"flushdb":          {"FLUSHDB"},
	"getdel":           {"GETDEL s", "GETDEL none"},
	"getex":            {"GETEX s EX 10", "GETEX t PERSIST"},
	"getset":           {"GETSET s x", "GETSET new x"},
	"incr":             {"INCR n", "INCR new"},
	"incrby":           {"INCRBY n 2"},
	"mset":             {"MSET s x new y"},
	"persist":          {"PERSIST t", "PERSIST s"},
	"pexpire":          {"PEXPIRE s 10"},
	"pexpireat":        {"PEXPIREAT s 1800000000000"},
	"psetex":           {"PSETEX s 10 x"},
	"rename":           {"RENAME s new", "RENAME none new"},
	"renamenx":         {"RENAMENX s new", "RENAMENX s b"},
	"restore": {
		"RESTORE new 0 $dump", "RESTORE s 0 $dump REPLACE", "RESTORE new 0 $text",
		"RESTORE new 0 $packed", "RESTORE new 0 $cms", "RESTORE new 0 $topk", "RESTORE new 0 $tdigest",
	},
	"set":            {"SET s v", "SET new v", "SET s v GET", "SET s v NX"},
	"setex":          {"SETEX s 10 x", "SETEX new 10 x"},
	"setnx":          {"SETNX new x", "SETNX s x"},
	"setrange":       {"SETRANGE s 1 x"},
	"tdigest.add":    {"TDIGEST.ADD d 4 5"},
	"tdigest.create": {"TDIGEST.CREATE new", "TDIGEST.CREATE new COMPRESSION 10"},
	"tdigest.merge":  {"TDIGEST.MERGE new 1 d", "TDIGEST.MERGE d 2 d d COMPRESSION 50 OVERRIDE"},
	"tdigest.reset":  {"TDIGEST.RESET d"},
	"topk.add":       {"TOPK.ADD k x y"},
	"topk.incrby":    {"TOPK.INCRBY k x 5 y 0"},
	"topk.reserve":   {"TOPK.RESERVE new 3", "TOPK.RESERVE new 3 10 4 0.5"},
	"unlink":         {"UNLINK s"},
}

// setupLines make one key of every kind.
var setupLines = []string{
	"BF.ADD b i", "CF.ADD c i", "SET s v", "SET n 5", "SET t v EX 100",
	"CMS.INITBYDIM m 10 3", "CMS.INCRBY m i 1", "TOPK.RESERVE k 3 10 3 0.9", "TOPK.ADD k i", "TDIGEST.CREATE d", "TDIGEST.ADD d 1 2 3",
	"FILTER.CREATE f cuckoo CAPACITY 100", "FILTER.ADD f i", "FILTER.CREATE p bloom CAPACITY 100 PARTS 4",
	"FILTER.CREATE q bloom LIKE p", "FILTER.ADD p i", "FILTER.ADD q i", "FILTER.CREATE z bloom CAPACITY 20000",
	"FILTER.CREATE r bloom",
}

// setup fills a bench with one key of every kind, and returns what samples name
// with a dollar.
func setup(b *bench) map[string]string {
	for _, line := range setupLines {
		b.line(line)
	}
	b.line("FILTER.REBUILD r BEGIN")
	text := func(line string, part int) string {
		words := [][]byte{}
		for w := range strings.FieldsSeq(line) {
			words = append(words, []byte(w))
		}
		r := b.exec(words)[0]
		if part >= 0 {
			r = r.Elems[part]
		}
		return r.Text
	}
	return map[string]string{
		"$bloom": text("BF.SCANDUMP b 0", 1), "$cuckoo": text("CF.SCANDUMP c 0", 1),
		"$filter": text("FILTER.DUMP f 0", 1), "$packed": text("DUMP p", -1),
		"$dump": text("DUMP b", -1), "$text": text("DUMP s", -1),
		"$cms": text("DUMP m", -1), "$topk": text("DUMP k", -1), "$tdigest": text("DUMP d", -1),
	}
}

func words(line string, values map[string]string) []string {
	list := strings.Fields(line)
	for i, w := range list {
		if v, ok := values[w]; ok {
			list[i] = v
		}
	}
	return list
}

// TestNoReplyHidesALoss runs every command that writes, alone and in a
// transaction, over a door that keeps nothing: no reply but the error.
func TestNoReplyHidesALoss(t *testing.T) {
	refused := fmt.Errorf("%w: test", door.ErrRefused)
	unknown := fmt.Errorf("%w: test", door.ErrUnknown)
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if c.Flags&(traits.Write|traits.Wrote) == 0 {
			return
		}
		if len(samples[c.FullName()]) == 0 {
			t.Errorf("%s writes, and has no sample", c.FullName())
		}
		for _, line := range samples[c.FullName()] {
			for _, lose := range []error{refused, unknown} {
				for _, late := range []bool{false, true} {
					code := "-MISCONF"
					if lose == unknown {
						code = "-UNKNOWN"
					}
					b := newBench(t, 1<<30)
					values := setup(b)
					b.door.lose, b.door.late = lose, late
					if got := b.do(words(line, values)...); !strings.HasPrefix(got, code) {
						t.Errorf("%s over a door that says %v (late: %t) = %s", line, lose, late, got)
					}
					if code = "[" + code; c.Flags&traits.NoMulti != 0 {
						code = "-EXECABORT"
					}
					b.line("MULTI")
					b.do(words(line, values)...)
					if got := b.line("EXEC"); !strings.HasPrefix(got, code) {
						t.Errorf("%s in a transaction over a door that says %v (late: %t) = %s", line, lose, late, got)
					}
					b.engine.Release(b.session) // replies are written
					if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
						t.Errorf("%s: %d bytes stay set aside or held", line, got)
					}
				}
			}
		}
	})
}

// TestSamplesWrite asks that the samples do make records, so that the test above
// means something.
func TestSamplesWrite(t *testing.T) {
	for name, lines := range samples {
		for _, line := range lines {
			b := newBench(t, 1<<30)
			values := setup(b)
			before := len(b.door.groups)
			if got := b.do(words(line, values)...); strings.HasPrefix(got, "-ERR syntax") || strings.HasPrefix(got, "-ERR wrong number") {
				t.Errorf("%s: %s = %s", name, line, got)
			}
			if len(b.door.groups) == before {
				t.Errorf("%s: %s makes no record", name, line)
			}
		}
	}
}

// TestPipelineWaitsOnce asks that a pipeline over many filters waits for its
// records once, and that a call which looks at what they change waits first.
func TestPipelineWaitsOnce(t *testing.T) {
	b := newBench(t, 1<<30)
	var adds []string
	for i := range 32 {
		b.line(fmt.Sprint("BF.RESERVE b", i, " 0.01 100"))
		b.line(fmt.Sprint("CF.RESERVE c", i, " 100"))
		adds = append(adds, fmt.Sprint("BF.ADD b", i, " x"), fmt.Sprint("CF.ADD c", i, " x"), fmt.Sprint("SET s", i, " v"))
	}
	b.door.late = true
	for i, got := range b.lines(adds...) {
		if got != ":1" && got != "+OK" {
			t.Errorf("%s = %s", adds[i], got)
		}
	}
	if b.door.waits != 1 {
		t.Errorf("%d waits for a pipeline of %d writes on different keys, want 1", b.door.waits, len(adds))
	}
	for _, tt := range []struct {
		lines, want []string
	}{
		{[]string{"BF.ADD b0 y", "BF.EXISTS b0 y"}, []string{":1", ":1"}},
		{[]string{"SET a 1", "GET a", "INCR a", "GET a"}, []string{"+OK", `"1"`, ":2", `"2"`}},
		{[]string{"BF.ADD b1 y", "DEL b1", "BF.EXISTS b1 y"}, []string{":1", ":1", ":0"}},
		{[]string{"SET q 1", "RENAME q r", "GET r", "GET q"}, []string{"+OK", "+OK", `"1"`, "nil"}},
		{[]string{"BF.ADD made x", "BF.ADD made y", "CF.ADD made x"}, []string{":1", ":1", "-WRONGTYPE Operation against a key holding the wrong kind of value"}},
		{[]string{"SET z 1", "DBSIZE"}, []string{"+OK", fmt.Sprint(":", b.state.Names.Len()+3)}},
		{[]string{"SET w 1", "FLUSHALL", "GET w", "DBSIZE"}, []string{"+OK", "+OK", "nil", ":0"}},
	} {
		if got := b.lines(tt.lines...); !slices.Equal(got, tt.want) {
			t.Errorf("%q = %q, want %q", tt.lines, got, tt.want)
		}
	}
}

// TestLateDoorAnswersAlike runs one random history over a door that applies at
// once and one that applies when it is waited for: all replies must be the same.
func TestLateDoorAnswersAlike(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 3))
		now, late := newBench(t, 1<<30), newBench(t, 1<<30)
		late.door.late = true
		for range 300 {
			var lines []string
			for range 1 + rng.IntN(20) {
				lines = append(lines, randomLine(rng))
			}
			want, got := now.lines(lines...), late.lines(lines...)
			for i := range lines {
				if got[i] != want[i] {
					t.Fatalf("seed %d: %q of %q = %s over a late door, want %s", seed, lines[i], lines, got[i], want[i])
				}
			}
		}
		if string(snapshot(now.state)) != string(snapshot(late.state)) {
			t.Errorf("seed %d: the states differ", seed)
		}
		late.replays(t)
	}
}

// randomLine is a command on few keys, so that they meet.
func randomLine(rng *rand.Rand) string {
	key, other, item := "k"+string('a'+rune(rng.IntN(4))), "k"+string('a'+rune(rng.IntN(4))), fmt.Sprint("i", rng.IntN(30))
	number := fmt.Sprint(rng.IntN(1000), ".", rng.IntN(100))
	lines := []string{
		"CMS.INITBYDIM " + key + " 7 3", "CMS.INCRBY " + key + " " + item + " 3", "CMS.INCRBY " + key + " " + item + " 1 x 2 y x",
		"CMS.INCRBY " + key + " " + item + " 2", "CMS.QUERY " + key + " " + item + " x", "CMS.INFO " + key,
		"CMS.MERGE " + key + " 2 " + key + " " + other + " WEIGHTS 1 -1", "CMS.MERGE " + key + " 1 " + other,
		"TOPK.RESERVE " + key + " 3 4 2 0.5", "TOPK.ADD " + key + " " + item, "TOPK.ADD " + key + " " + item + " x y z", "TOPK.LIST " + key + " WITHCOUNT",
		"TOPK.INCRBY " + key + " " + item + " 5 x 7", "TOPK.INCRBY " + key + " " + item + " 5 x y z 3", "TOPK.QUERY " + key + " " + item, "TOPK.COUNT " + key + " " + item,
		"TDIGEST.CREATE " + key + " COMPRESSION 2", "TDIGEST.ADD " + key + " " + number, "TDIGEST.ADD " + key + " 1 2 " + number, "TDIGEST.ADD " + key + " x",
		"TDIGEST.QUANTILE " + key + " 0.5 1", "TDIGEST.RANK " + key + " " + number, "TDIGEST.BYRANK " + key + " 2", "TDIGEST.TRIMMED_MEAN " + key + " 0.1 0.9",
		"TDIGEST.INFO " + key, "TDIGEST.MERGE " + key + " 1 " + other, "TDIGEST.MERGE " + key + " 2 " + key + " " + other + " OVERRIDE", "TDIGEST.RESET " + key,
		"DUMP " + key,
		"BF.ADD " + key + " " + item, "BF.MADD " + key + " " + item + " x" + item, "BF.EXISTS " + key + " " + item,
		"CF.ADD " + key + " " + item, "CF.ADD " + key + " " + item, "CF.ADDNX " + key + " " + item, "CF.DEL " + key + " " + item,
		"CF.INSERT " + key + " ITEMS " + item + " y", "CF.COUNT " + key + " " + item, "CF.COMPACT " + key,
		"SET " + key + " 5", "INCR " + key, "APPEND " + key + " 1", "GET " + key, "DEL " + key + " " + other, "RENAME " + key + " " + other,
		"EXPIRE " + key + " 100", "PERSIST " + key, "TTL " + key, "TYPE " + key, "EXISTS " + key + " " + other, "DBSIZE",
		"BF.RESERVE " + key + " 0.1 5", "CF.RESERVE " + key + " 4 BUCKETSIZE 1 MAXITERATIONS 1", "COPY " + key + " " + other,
		"MULTI", "EXEC", "WATCH " + key, "BF.INFO " + key, "CF.INFO " + key,
		"MSET " + key + " 1 " + other + " 2", "MGET " + key + " " + other, "GETSET " + key + " 7", "GETDEL " + key, "GETEX " + key + " EX 50",
		"SETEX " + key + " 10 1", "SETNX " + key + " 3", "SET " + key + " 4 GET",
		"FILTER.CREATE " + key + " counting CAPACITY 50", "FILTER.CREATE " + key + " bloom CAPACITY 50 PARTS 4",
		"FILTER.CREATE " + key + " window CAPACITY 50 PARTS 2", "FILTER.ADD " + key + " " + item + " x" + item, "FILTER.ADD " + key + " " + item,
		"FILTER.HAS " + key + " " + item, "FILTER.DEL " + key + " " + item, "FILTER.CLEAR " + key, "FILTER.CARD " + key,
		"FILTER.UNION " + key + " " + other, "FILTER.INTERSECT " + key + " " + other,
	}
	return lines[rng.IntN(len(lines))]
}
