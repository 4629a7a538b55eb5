//go:build bloomerydebug

package engine_test

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/order"
)

// apart is a call outside of transactions, and what is done before it.
type apart struct{ before, line string }

// alone has the largest calls of commands outside of transactions, besides those of largest, which are as large as EXEC takes
// them. A value with a dollar is what largeValues says, keys with "new" in their names are removed when the call is over.
var alone = map[string][]apart{
	"acl|load": {{"", "ACL LOAD"}}, "acl|save": {{"", "ACL SAVE"}}, "auth": {{"", "AUTH default x"}}, "config|rewrite": {{"", "CONFIG REWRITE"}}, "hello": {{"", "HELLO 2"}}, "reset": {{"", "RESET"}},
	"watch": {{"", "WATCH {keys}"}},
	"save":  {{"", "SAVE"}, {"FILTER.ADD single {items}\nBF.MADD bf {items}\nFILTER.ADD grown {items}", "SAVE"}}, "debug|reload": {{"", "DEBUG RELOAD"}},
	"cluster|why": {{"", "CLUSTER WHY bf"}}, "cluster|backup": {{"", "CLUSTER BACKUP LIST"}}, "cluster|copies": {{"", "CLUSTER COPIES 2"}}, "cluster|forget": {{"", "CLUSTER FORGET 1"}},
	"cluster|pause-moves": {{"", "CLUSTER PAUSE-MOVES"}}, "cluster|rebalance": {{"", "CLUSTER REBALANCE"}}, "cluster|replace-log": {{"", "CLUSTER REPLACE-LOG 1 2"}}, "cluster|resume-moves": {{"", "CLUSTER RESUME-MOVES"}},
	"cluster|upgrade": {{"", "CLUSTER UPGRADE"}},

	"append": {{"SET newtext{i} $text", "APPEND newtext{i} $text"}}, "set": {{"SET newtext{i} $text", "SET newtext{i} $text"}}, "getdel": {{"SET newtext{i} $text", "GETDEL newtext{i}"}},
	"bf.loadchunk": {{"BF.LOADCHUNK newbf{i} 1 $bf", "BF.LOADCHUNK newbf{i} $bfat $bfchunk"}}, "cf.loadchunk": {{"CF.LOADCHUNK newcf{i} 1 $cf", "CF.LOADCHUNK newcf{i} $cfat $cfchunk"}},
	"copy": {
		{"", "COPY text newcopy{i}"}, {"", "COPY single newcopy{i}"}, {"", "COPY grown newcopy{i}"}, {"", "COPY quotient newcopy{i}"}, {"", "COPY quorum newcopy{i}"},
		{"BF.RESERVE newcopy{i} 0.01 {capacity}", "COPY single newcopy{i} REPLACE"},
	},
	"del":          {{"COPY single newgone{i}", "DEL newgone{i}"}, {"COPY grown newgone{i}", "DEL newgone{i}"}, {"BF.RESERVE newgone{i} 0.01 {capacity}", "DEL newgone{i}"}},
	"unlink":       {{"COPY single newgone{i}", "UNLINK newgone{i}"}},
	"expire":       {{"COPY single newgone{i}", "EXPIRE newgone{i} -1"}},
	"dump":         {{"", "DUMP cf"}, {"", "DUMP cms"}, {"", "DUMP topk"}, {"", "DUMP tdigest"}, {"", "DUMP text"}, {"", "DUMP single"}, {"", "DUMP grown"}, {"", "DUMP quotient"}, {"", "DUMP quorum"}},
	"filter.clear": {{"COPY grown newclear{i}", "FILTER.CLEAR newclear{i}"}, {"COPY single newclear{i}", "FILTER.CLEAR newclear{i}"}, {"COPY quorum newclear{i}", "FILTER.CLEAR newclear{i}"}},
	"filter.create": {
		{"", "FILTER.CREATE newgrown{i} growing CAPACITY {capacity}"}, {"", "FILTER.CREATE newquotient{i} quotient CAPACITY {capacity}"}, {"", "FILTER.CREATE newcuckoo{i} cuckoo CAPACITY {capacity}"},
		{"", "FILTER.CREATE newquorum{i} quorum CAPACITY {capacity} PARTS 1"},
	},
	"filter.dump": {{"", "FILTER.DUMP single 0"}, {"", "FILTER.DUMP grown 0"}, {"", "FILTER.DUMP quotient 0"}},
	"filter.fold": {{"COPY single newfold{i}", "FILTER.FOLD newfold{i}"}}, "filter.grow": {{"COPY single newgrow{i}", "FILTER.GROW newgrow{i}"}},
	"filter.load": {
		{"", "FILTER.LOAD newlarge{i} 1 $single"}, {"", "FILTER.LOAD newlarge{i} 1 $grown"}, {"", "FILTER.LOAD newlarge{i} 1 $slots"}, {"COPY single newlarge{i}", "FILTER.LOAD newlarge{i} 1 $single"},
		{"COPY single newlarge{i}", "FILTER.LOAD newlarge{i} 1 $single VERSION 7"},
	},
	"filter.rebuild": {
		{"FILTER.CREATE newrebuilt{i} bloom CAPACITY 1000", "FILTER.REBUILD newrebuilt{i} BEGIN bloom CAPACITY {capacity}"},
		{"FILTER.REBUILD newrebuilt{i} BEGIN bloom CAPACITY {capacity}", "FILTER.REBUILD newrebuilt{i} FEED {items}"},
		{"FILTER.REBUILD newrebuilt{i} BEGIN bloom CAPACITY {capacity}\nFILTER.REBUILD newrebuilt{i} FEED {items}", "FILTER.REBUILD newrebuilt{i} COMMIT FORCE"},
		{"FILTER.REBUILD newrebuilt{i} BEGIN fuse8 CAPACITY 1000000 ERROR 0.01\nFILTER.REBUILD newrebuilt{i} FEED {items}", "FILTER.REBUILD newrebuilt{i} COMMIT FORCE"},
		{"FILTER.REBUILD newrebuilt{i} BEGIN bloom CAPACITY {capacity}", "FILTER.REBUILD newrebuilt{i} ABORT"},
	},
	"filter.union": {{"COPY single newunion{i}", "FILTER.UNION newunion{i} single"}}, "filter.intersect": {{"", "FILTER.INTERSECT newboth{i} single single"}},
	"rename":    {{"COPY single newfrom{i}\nBF.RESERVE newto{i} 0.01 {capacity}", "RENAME newfrom{i} newto{i}"}},
	"restore":   {{"", "RESTORE newrestored{i} 0 $bfdump"}, {"", "RESTORE newrestored{i} 0 $cfdump"}, {"", "RESTORE newrestored{i} 0 $cmsdump"}, {"", "RESTORE newrestored{i} 0 $topkdump"}, {"", "RESTORE newrestored{i} 0 $tdigestdump"}, {"", "RESTORE newrestored{i} 0 $textdump"}, {"", "RESTORE newrestored{i} 0 $singledump"}, {"", "RESTORE newrestored{i} 0 $growndump"}},
	"cms.merge": {{"CMS.INITBYDIM newsum{i} {width} 5", "CMS.MERGE newsum{i} 2 cms cms2"}},
	"flushall":  {{"COPY single newgone{i}\nCOPY grown newgrown{i}", "FLUSHALL"}}, "flushdb": {{"FILTER.CREATE newsome{i} bloom CAPACITY 4096 PARTS 4096", "FLUSHDB"}},
}

// unwalked are the commands that are not walked, and why.
var unwalked = map[string]string{
	"exec": "TestLargestTransactions walks it", "monitor": "the client hears of others afterwards", "quit": "it ends the client", "shutdown": "it ends the server",
	"bgsave": "SAVE does the same, and is over when it is answered", "multi": "calls are queued behind it", "discard": "it is for calls that are queued",
}

// fillAlone makes the keys that alone names, of so many bytes and of one part each, and returns the values that do not change.
func fillAlone(b *client, bytes int) map[string]string {
	values := map[string]string{"{capacity}": fmt.Sprint(bytes * 8 / 10), "{width}": fmt.Sprint(bytes / 20), "{compression}": fmt.Sprint(bytes / 96)}
	for _, line := range []string{
		"BF.RESERVE bf 0.01 {capacity}", "CF.RESERVE cf {capacity}", "CMS.INITBYDIM cms {width} 5", "CMS.INITBYDIM cms2 {width} 5", "TOPK.RESERVE topk 2000 {width} 4 0.9",
		"TDIGEST.CREATE tdigest COMPRESSION {compression}", fmt.Sprint("FILTER.CREATE single bloom CAPACITY ", bytes*8/12, " PARTS 1"), fmt.Sprint("FILTER.CREATE slots quotient CAPACITY ", bytes*8/20, " PARTS 1"),
		fmt.Sprint("FILTER.CREATE grown growing CAPACITY ", bytes*8/20), "FILTER.CREATE quotient quotient CAPACITY {capacity}", fmt.Sprint("FILTER.CREATE quorum quorum CAPACITY ", bytes*8/30, " PARTS 1"),
	} {
		if got := b.do(largestCall(line, 0, values)...); got != "+OK" {
			panic(line + ": " + got)
		}
	}
	many(b, bytes/96/200, func(i int) []string { return append([]string{"TDIGEST.ADD", "tdigest"}, someWords("{numbers}", i)...) })
	b.do("SET", "text", strings.Repeat("x", bytes))
	for i := range 20 {
		b.do(append([]string{"CF.INSERT", "cf", "ITEMS"}, someWords("{items}", i)...)...)
		b.do(append([]string{"BF.MADD", "bf"}, someWords("{items}", i)...)...)
		b.do(append([]string{"FILTER.ADD", "grown"}, someWords("{items}", i)...)...)
	}
	for _, name := range []string{"bf", "cf"} {
		values["$"+name] = b.exec(bytesOf([]string{name + ".SCANDUMP", name, "0"}))[0].Elems[1].Text
	}
	return values
}

// largeValue returns what stands for a name with a dollar: what the server answers of one of its large keys.
func largeValue(b *client, name string) string {
	answer := func(words ...string) (string, string) {
		r := b.exec(bytesOf(words))[0]
		if len(r.Elems) == 2 {
			return fmt.Sprint(r.Elems[0].N), r.Elems[1].Text
		}
		return "", r.Text
	}
	var value string
	switch key, what := strings.TrimPrefix(name, "$"), ""; {
	case key == "text":
		_, value = answer("GET", key)
	case strings.HasSuffix(key, "dump"):
		_, value = answer("DUMP", strings.TrimSuffix(key, "dump"))
	case strings.HasSuffix(key, "chunk"):
		what = strings.TrimSuffix(key, "chunk")
		_, value = answer(what+".SCANDUMP", what, "1")
	case strings.HasSuffix(key, "at"):
		what = strings.TrimSuffix(key, "at")
		value, _ = answer(what+".SCANDUMP", what, "1")
	default:
		_, value = answer("FILTER.DUMP", key, "0")
	}
	return value
}

// aloneCall returns the words of a call.
func aloneCall(b *client, line string, call int, values map[string]string) (words []string) {
	for w := range strings.FieldsSeq(line) {
		if _, known := values[w]; w[0] == '$' && !known {
			words = append(words, largeValue(b, w))
			continue
		}
		words = append(words, largestCall(w, call, values)...)
	}
	return words
}

// eachAlone calls f with all of alone, in tests by the names of the commands, in the order of the table. Those that empty the
// data come last.
func eachAlone(t *testing.T, f func(t *testing.T, v apart)) {
	t.Helper()
	var all []string
	left := maps.Clone(alone)
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		name := c.FullName()
		if len(c.Subcommands) > 0 || unwalked[name] != "" {
			return
		}
		if largest[name] == "" && len(alone[name]) == 0 {
			t.Errorf("%s has no call outside of transactions", name)
		}
		all = append(all, name)
		delete(left, name)
	})
	for name := range left {
		t.Errorf("there is no command %s", name)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(strings.Count(a, "flush"), strings.Count(b, "flush")) })
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			for _, v := range alone[name] {
				f(t, v)
			}
		})
	}
}

// TestLargestCallsHoldLocksShortly runs every command with its largest input, outside of transactions, and asks for how long it
// has held the gate, the lock of a part, or that of the names, by the processor: that is what another client waits.
func TestLargestCallsHoldLocksShortly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the time of a thread is not known")
	}
	mib, limit := 2, 100*time.Millisecond // all take less than 20 ms, but machines differ
	if *largestMiB > 0 {
		mib, limit = *largestMiB, 20*time.Millisecond
	}
	t.Run("alone", func(t *testing.T) {
		b := newDisk(t, 64<<30)
		values, call := fillAlone(b.client, mib<<20), 0
		eachAlone(t, func(t *testing.T, v apart) { b.holdsShortly(t, v, &call, values, limit) })
	})
	t.Run("also in transactions", func(t *testing.T) {
		if *largestMiB == 0 {
			t.Skip("it takes long: see -largest")
		}
		b := newDisk(t, 64<<30)
		values, call := fillLargest(b.client, mib<<20), 0
		eachLargest(t, func(line string) {
			if strings.Contains(line, "parts{i}") {
				call = 0
				makeSmall(b.client)
			}
			b.holdsShortly(t, apart{line: line}, &call, values, limit)
		})
	})
}

// holdsShortly asks that a call holds no lock for longer than a limit.
func (b *bench) holdsShortly(t *testing.T, v apart, call *int, values map[string]string, limit time.Duration) {
	t.Helper()
	var h lockTimes
	for range tries {
		h = b.holds(v, *call, values)
		if *call += 2; h.longest() <= limit {
			break
		}
	}
	if h.longest() > limit {
		t.Errorf("%.60s has held the gate for %v, the lock of a part for %v, that of names for %v, want at most %v\n%.1500s", v.line, h.gate, h.part, h.names, limit, h.worst)
	}
	if h.failed != "" && strings.Contains(v.line, "new") {
		t.Errorf("%.60s: %.200s", v.line, h.failed)
	}
	t.Logf("gate %v, part %v, names %v: %.70s %.60s", h.gate, h.part, h.names, v.line, h.failed)
}

// lockTimes is for how long a call has held locks.
type lockTimes struct {
	gate, part, names time.Duration
	worst             string // the stack of the longest
	failed            string // what was answered, if it is an error
}

func (h *lockTimes) longest() time.Duration { return max(h.gate, h.part, h.names) }

// holds returns for how long one call has held the gate and the lock of the names, and another one, of the same command, that of a
// part: to record locks itself takes long.
func (b *bench) holds(v apart, call int, values map[string]string) (h lockTimes) {
	prepare := func(call int) [][]byte {
		for line := range strings.Lines(v.before) {
			if got := b.do(aloneCall(b.client, line, call, values)...); strings.HasPrefix(got, "-") {
				panic(line + ": " + got)
			}
		}
		return bytesOf(aloneCall(b.client, v.line, call, values))
	}
	words := prepare(call)
	b.engine.GateReport()
	order.MeasureNames()
	r := b.exec(words)[0]
	var worstNames string
	h.names, worstNames = order.MeasuredNames()
	if r.Failed() {
		h.failed = r.Text
	}
	held := b.engine.GateReport()
	for _, s := range held.Shared {
		h.gate = max(h.gate, s.CPU)
	}
	words = prepare(call + 1)
	order.Record(true)
	order.Take()
	b.exec(words)
	report := order.Take()
	order.Record(false)
	h.part = report.LongestPart
	switch h.longest() {
	case h.gate:
		h.worst = held.Worst
	case h.part:
		h.worst = report.WorstPart
	default:
		h.worst = worstNames
	}
	b.clean(v, call)
	b.clean(v, call+1)
	return h
}

// clean removes what a call of alone has made.
func (b *bench) clean(v apart, call int) {
	names := []string{"UNLINK"}
	for w := range strings.FieldsSeq(v.before + "\n" + v.line) {
		if strings.HasPrefix(w, "new") {
			names = append(names, strings.ReplaceAll(w, "{i}", fmt.Sprint(call)))
		}
	}
	if len(names) > 1 {
		b.do(names...)
	}
}
