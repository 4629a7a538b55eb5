package engine_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/checkup"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

var largestMiB = flag.Int("largest", 0, "run commands on filters and sketches of so many MiB, with the default of max-transaction")

// largest has the largest call of every command that can be in a transaction, on the keys
// that fillLargest makes. {i} is the number of the call, {items}, {pairs}, {numbers},
// {hashes}, {keys} and {sets} are several hundred words. A command without one fails the
// test. With "new" in its name a key is not there. Lines are different calls.
var largest = map[string]string{
	"acl|cat": "ACL CAT", "acl|deluser": "ACL DELUSER nobody", "acl|dryrun": "ACL DRYRUN default GET x", "acl|genpass": "ACL GENPASS 4096",
	"acl|getuser": "ACL GETUSER default", "acl|help": "ACL HELP", "acl|list": "ACL LIST", "acl|log": "ACL LOG", "acl|setuser": "ACL SETUSER some{i} on nopass ~* +@all",
	"acl|users": "ACL USERS", "acl|whoami": "ACL WHOAMI",
	"append": "APPEND text x\nAPPEND newtext{i} x", "asking": "ASKING",
	"bf.add": "BF.ADD bf x{i}", "bf.card": "BF.CARD layers", "bf.debug": "BF.DEBUG layers", "bf.exists": "BF.EXISTS layers x{i}",
	"bf.info": "BF.INFO layers", "bf.insert": "BF.INSERT newinsert{i} CAPACITY {capacity} ITEMS x", "bf.loadchunk": "BF.LOADCHUNK newload{i} 1 $bf", "bf.madd": "BF.MADD bf {items}",
	"bf.mexists": "BF.MEXISTS layers {items}", "bf.reserve": "BF.RESERVE newbf{i} 0.01 {capacity}", "bf.scandump": "BF.SCANDUMP bf 1",
	"cf.add": "CF.ADD cf x{i}", "cf.addnx": "CF.ADDNX cf x{i}", "cf.compact": "CF.COMPACT poured\nCF.COMPACT crumbs2", "cf.count": "CF.COUNT poured x{i}\nCF.COUNT wide x{i}", "cf.debug": "CF.DEBUG poured\nCF.DEBUG crumbs",
	"cf.del": "CF.DEL poured {i}\nCF.DEL crumbs2 item{i}", "cf.exists": "CF.EXISTS poured x{i}", "cf.info": "CF.INFO poured", "cf.insert": "CF.INSERT cf ITEMS {items}",
	"cf.insertnx": "CF.INSERTNX full ITEMS {items}", "cf.loadchunk": "CF.LOADCHUNK newcf{i} 1 $cf", "cf.mexists": "CF.MEXISTS poured {items}\nCF.MEXISTS wide {items}\nCF.MEXISTS crumbs {items}",
	"cf.reserve": "CF.RESERVE newcuckoo{i} {capacity}", "cf.scandump": "CF.SCANDUMP cf 1",
	"client|getname": "CLIENT GETNAME", "client|help": "CLIENT HELP", "client|id": "CLIENT ID", "client|info": "CLIENT INFO", "client|kill": "CLIENT KILL ID 99",
	"client|list": "CLIENT LIST", "client|no-evict": "CLIENT NO-EVICT ON", "client|no-touch": "CLIENT NO-TOUCH ON", "client|pause": "CLIENT PAUSE x", "client|reply": "CLIENT REPLY ON",
	"client|setinfo": "CLIENT SETINFO lib-name x", "client|setname": "CLIENT SETNAME x", "client|tracking": "CLIENT TRACKING OFF", "client|unpause": "CLIENT UNPAUSE",
	"cluster|countkeysinslot": "CLUSTER COUNTKEYSINSLOT 1", "cluster|help": "CLUSTER HELP", "cluster|info": "CLUSTER INFO", "cluster|keyslot": "CLUSTER KEYSLOT x", "cluster|myid": "CLUSTER MYID",
	"cluster|nodes": "CLUSTER NODES", "cluster|shards": "CLUSTER SHARDS", "cluster|slots": "CLUSTER SLOTS",
	"cms.incrby": "CMS.INCRBY cms {pairs}", "cms.info": "CMS.INFO cms", "cms.initbydim": "CMS.INITBYDIM newcms{i} {width} 5", "cms.initbyprob": "CMS.INITBYPROB newprob{i} 0.000001 0.01",
	"cms.merge": "CMS.MERGE cms 2 cms cms2", "cms.query": "CMS.QUERY deep {items}",
	"command|count": "COMMAND COUNT", "command|docs": "COMMAND DOCS", "command|getkeys": "COMMAND GETKEYS GET x", "command|help": "COMMAND HELP", "command|info": "COMMAND INFO", "command|list": "COMMAND LIST",
	"config|get": "CONFIG GET *", "config|help": "CONFIG HELP", "config|resetstat": "CONFIG RESETSTAT", "config|set": "CONFIG SET slowlog-max-len 128",
	"copy": "COPY bloom newcopy{i}\nCOPY members newmembers{i}\nCOPY tiny newtiny{i}", "dbsize": "DBSIZE", "debug|help": "DEBUG HELP", "decr": "DECR n", "decrby": "DECRBY n 2", "del": "DEL parts{i} {keys}", "dump": "DUMP bf\nDUMP members\nDUMP crumbs", "echo": "ECHO x",
	"eval": "EVAL x 0", "eval_ro": "EVAL_RO x 0", "evalsha": "EVALSHA x 0", "evalsha_ro": "EVALSHA_RO x 0", "exists": "EXISTS {keys}", "expire": "EXPIRE bf 1000", "expireat": "EXPIREAT bf 9999999999",
	"expiretime": "EXPIRETIME bf", "fcall": "FCALL x 0", "fcall_ro": "FCALL_RO x 0",
	"filter.add": "FILTER.ADD bloom {items}\nFILTER.ADD growth {items}", "filter.addhash": "FILTER.ADDHASH quotient {hashes}", "filter.card": "FILTER.CARD window\nFILTER.CARD bloom\nFILTER.CARD counting\nFILTER.CARD members\nFILTER.CARD tiny", "filter.clear": "FILTER.CLEAR scalable\nFILTER.CLEAR members\nFILTER.CLEAR tiny", "filter.count": "FILTER.COUNT counting {items}", "filter.get": "FILTER.GET counting {items}",
	"filter.create": "FILTER.CREATE newfilter{i} bloom CAPACITY {capacity}\nFILTER.CREATE newlayers{i} layers OVER quorum window", "filter.del": "FILTER.DEL counting {items}", "filter.density": "FILTER.DENSITY bloom 4096\nFILTER.DENSITY counting 100\nFILTER.DENSITY members 4096\nFILTER.DENSITY tiny 4096\nFILTER.DENSITY growing 1", "filter.dump": "FILTER.DUMP bloom 0\nFILTER.DUMP members 0", "filter.news": "FILTER.NEWS bloom\nFILTER.NEWS members",
	"filter.false": "FILTER.FALSE bloom {items}", "filter.fold": "FILTER.FOLD bloom3", "filter.followers": "FILTER.FOLLOWERS bloom", "filter.gone": "FILTER.GONE bloom {items}", "filter.grow": "FILTER.GROW bloom4", "filter.has": "FILTER.HAS quorum {items}\nFILTER.HAS over {items}", "filter.hashash": "FILTER.HASHASH window {hashes}",
	"filter.health": "FILTER.HEALTH COUNT 100000", "filter.info": "FILTER.INFO quorum JSON\nFILTER.INFO bloom\nFILTER.INFO members\nFILTER.INFO tiny", "filter.intersect": "FILTER.INTERSECT newboth{i} bloom bloom2", "filter.kinds": "FILTER.KINDS",
	"filter.layers": "FILTER.LAYERS quorum\nFILTER.LAYERS counting\nFILTER.LAYERS members\nFILTER.LAYERS tiny", "filter.list": "FILTER.LIST SORT probed COUNT 1000", "filter.load": "FILTER.LOAD newloaded{i} 1 $filter\nFILTER.LOAD newsourced{i} 1 $filter FROM s VERSION 1\nFILTER.LOAD small2 1 $filter FROM s{i} VERSION 1", "filter.plan": "FILTER.PLAN 1000000 0.001 NEEDS deletes",
	"filter.read": "FILTER.READ LOCAL", "filter.repair": "FILTER.REPAIR bloom {items}", "filter.set": "FILTER.SET bloom NEWS 1{i}", "filter.similar": "FILTER.SIMILAR bloom bloom2", "filter.union": "FILTER.UNION bloom bloom2",
	"filter.where": "FILTER.WHERE * {items}", "flushall": "FLUSHALL", "flushdb": "FLUSHDB", "function": "FUNCTION x",
	"get": "GET text", "getdel": "GETDEL text{i}", "getex": "GETEX text PERSIST", "getset": "GETSET text x", "incr": "INCR n\nINCR newcount{i}", "incrby": "INCRBY n 2", "info": "INFO", "keys": "KEYS *a*b*c*", "lastsave": "LASTSAVE",
	"latency|doctor": "LATENCY DOCTOR", "latency|help": "LATENCY HELP", "latency|histogram": "LATENCY HISTOGRAM", "latency|history": "LATENCY HISTORY command", "latency|latest": "LATENCY LATEST", "latency|reset": "LATENCY RESET",
	"memory|help": "MEMORY HELP", "memory|usage": "MEMORY USAGE layers", "mget": "MGET {keys}", "module|help": "MODULE HELP", "module|list": "MODULE LIST", "mset": "MSET {sets}",
	"object|encoding": "OBJECT ENCODING bf", "object|freq": "OBJECT FREQ bf", "object|help": "OBJECT HELP", "object|idletime": "OBJECT IDLETIME bf", "object|refcount": "OBJECT REFCOUNT bf",
	"persist": "PERSIST bf", "pexpire": "PEXPIRE bf 100000", "pexpireat": "PEXPIREAT bf 9999999999999", "pexpiretime": "PEXPIRETIME bf", "ping": "PING", "psetex": "PSETEX n 100000 5", "psubscribe": "PSUBSCRIBE x", "pttl": "PTTL bf",
	"publish": "PUBLISH x y", "pubsub": "PUBSUB x", "punsubscribe": "PUNSUBSCRIBE", "randomkey": "RANDOMKEY", "readonly": "READONLY", "readwrite": "READWRITE", "rename": "RENAME parts{i} newname{i}", "renamenx": "RENAMENX parts{i} newname{i}",
	"restore": "RESTORE newrestored{i} 0 $dump", "scan": "SCAN 0 COUNT 1000000", "script": "SCRIPT x", "select": "SELECT 0", "set": "SET new{i} x", "setex": "SETEX new{i} 100 x", "setnx": "SETNX new{i} x", "setrange": "SETRANGE text 0 x",
	"slowlog|get": "SLOWLOG GET", "slowlog|help": "SLOWLOG HELP", "slowlog|len": "SLOWLOG LEN", "slowlog|reset": "SLOWLOG RESET", "spublish": "SPUBLISH x y", "ssubscribe": "SSUBSCRIBE x", "strlen": "STRLEN text",
	"subscribe": "SUBSCRIBE x", "sunsubscribe": "SUNSUBSCRIBE",
	"tdigest.add": "TDIGEST.ADD tdigest {numbers}", "tdigest.byrank": "TDIGEST.BYRANK tdigest {hashes}", "tdigest.byrevrank": "TDIGEST.BYREVRANK tdigest {hashes}", "tdigest.cdf": "TDIGEST.CDF tdigest {numbers}",
	"tdigest.create": "TDIGEST.CREATE newdigest{i} COMPRESSION {compression}", "tdigest.info": "TDIGEST.INFO tdigest", "tdigest.max": "TDIGEST.MAX tdigest", "tdigest.merge": "TDIGEST.MERGE newmerged{i} 2 tdigest tdigest",
	"tdigest.min": "TDIGEST.MIN tdigest", "tdigest.quantile": "TDIGEST.QUANTILE tdigest {numbers}", "tdigest.rank": "TDIGEST.RANK tdigest {numbers}", "tdigest.reset": "TDIGEST.RESET tdigest2", "tdigest.revrank": "TDIGEST.REVRANK tdigest {numbers}",
	"tdigest.trimmed_mean": "TDIGEST.TRIMMED_MEAN tdigest 0.1 0.9", "time": "TIME",
	"topk.add": "TOPK.ADD topk {items}", "topk.count": "TOPK.COUNT topk {items}", "topk.incrby": "TOPK.INCRBY topk {pairs}", "topk.info": "TOPK.INFO topk", "topk.list": "TOPK.LIST topk", "topk.query": "TOPK.QUERY topk {items}",
	"topk.reserve": "TOPK.RESERVE newtopk{i} 1000 {width} 5 0.9", "touch": "TOUCH {keys}", "ttl": "TTL bf", "type": "TYPE bf", "unlink": "UNLINK parts{i} {keys}", "unsubscribe": "UNSUBSCRIBE", "unwatch": "UNWATCH", "wait": "WAIT 0 0",
}

// fillLargest makes the keys that largest names, those that can be of so many bytes, and
// returns the values that it names with a dollar and the numbers in braces.
func fillLargest(b *client, bytes int) map[string]string {
	numbers := map[string]string{
		"{capacity}": strconv.Itoa(bytes * 8 / 10), "{width}": strconv.Itoa(bytes / 20), "{compression}": strconv.Itoa(bytes / 96),
	}
	for _, line := range []string{
		"BF.RESERVE bf 0.01 {capacity}", "BF.RESERVE layers 0.01 1 EXPANSION 1", "CF.RESERVE cf {capacity}", "CF.RESERVE full 1000 MAXITERATIONS 65535 EXPANSION 0",
		"CMS.INITBYDIM cms {width} 5", "CMS.INITBYDIM cms2 {width} 5", "CMS.INITBYDIM deep 100 5000", "TOPK.RESERVE topk 2000 {width} 4 0.9",
		"TDIGEST.CREATE tdigest COMPRESSION {compression}", "TDIGEST.CREATE tdigest2 COMPRESSION {compression}",
		"FILTER.CREATE bloom bloom CAPACITY {capacity}", "FILTER.CREATE bloom2 bloom LIKE bloom", "FILTER.CREATE bloom3 bloom LIKE bloom", "FILTER.CREATE bloom4 bloom LIKE bloom", "FILTER.CREATE quotient quotient CAPACITY {capacity}", "FILTER.CREATE counting counting CAPACITY {width}",
		"FILTER.CREATE window window CAPACITY {width} SPAN 10m GENERATIONS 60", "FILTER.CREATE quorum quorum CAPACITY 10000 MEMBERS 200 NEED 100", "FILTER.CREATE over layers OVER quorum window bloom", "FILTER.CREATE scalable scalable CAPACITY {width}",
		"FILTER.CREATE small bloom CAPACITY 100", "FILTER.CREATE growing growing CAPACITY {width}", "CF.RESERVE wide 4096 BUCKETSIZE 255 EXPANSION 1",
		"FILTER.CREATE members quorum CAPACITY 1000 MEMBERS 255 NEED 255 PARTS 16", "FILTER.CREATE tiny bloom CAPACITY 4096 PARTS 4096",
		"FILTER.CREATE growth scalable CAPACITY 4096 PARTS 4096",
	} {
		for _, name := range []string{"{capacity}", "{width}", "{compression}"} {
			line = strings.ReplaceAll(line, name, numbers[name])
		}
		if got := b.line(line); got != "+OK" {
			panic(line + ": " + got)
		}
	}
	poured(b, "poured")
	crumbs(b, "crumbs")
	crumbs(b, "crumbs2")
	makeSmall(b)
	b.do(append([]string{"CF.INSERT", "wide", "ITEMS"}, slices.Repeat([]string{"same"}, 20_000)...)...)
	b.do(append([]string{"CF.INSERT", "full", "ITEMS"}, someWords("{items}", 0)...)...)
	b.do(append([]string{"CF.INSERT", "full", "ITEMS"}, someWords("{items}", 1)[:450]...)...)
	for i := range 10 {
		b.do(append([]string{"BF.MADD", "layers"}, someWords("{items}", i)...)...)
		b.do(append([]string{"FILTER.ADDHASH", "quotient"}, someWords("{hashes}", i)...)...)
	}
	many(b, bytes/96/200, func(i int) []string { return append([]string{"TDIGEST.ADD", "tdigest"}, someWords("{numbers}", i)...) })
	many(b, 20, func(i int) []string { return append([]string{"TOPK.ADD", "topk"}, someWords("{items}", i)...) })
	b.do("SET", "text", strings.Repeat("x", bytes))
	b.do("CF.ADD", "cf", "x") // of an empty one there is no dump
	text := func(i int, words ...string) string {
		r := b.exec(bytesOf(words))[0]
		if i >= 0 {
			r = r.Elems[i]
		}
		return r.Text
	}
	numbers["$bf"], numbers["$cf"] = text(1, "BF.SCANDUMP", "bf", "0"), text(1, "CF.SCANDUMP", "cf", "0")
	numbers["$filter"], numbers["$dump"] = text(1, "FILTER.DUMP", "small", "0"), text(-1, "DUMP", "small")
	return numbers
}

// crumbs makes a filter of thousands of sub-filters, each of two slots.
func crumbs(b *client, key string) {
	b.line("CONFIG SET cf-max-expansions 65535")
	b.line("CF.RESERVE " + key + " 2 BUCKETSIZE 1 EXPANSION 1 MAXITERATIONS 1")
	many(b, 10, func(i int) []string {
		return append([]string{"CF.INSERT", key, "ITEMS"}, someWords("{items}", i)...)
	})
	b.line("CONFIG SET cf-max-expansions 32")
}

// makeSmall makes filters of several parts, and small ones.
func makeSmall(b *client) {
	many(b, 500, func(i int) []string { return []string{"FILTER.CREATE", fmt.Sprint("parts", i), "bloom", "PARTS", "16"} })
	many(b, 1000, func(i int) []string { return []string{"BF.ADD", fmt.Sprint("abc", i), "x"} })
}

// many runs n calls, some of them at a time.
func many(b *client, n int, each func(i int) []string) {
	calls := make([][][]byte, 0, 500)
	for i := range n {
		if calls = append(calls, bytesOf(each(i))); len(calls) == 500 || i == n-1 {
			b.exec(calls...)
			calls = calls[:0]
		}
	}
}

func bytesOf(words []string) [][]byte {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return args
}

// someWords returns the words that stand for many.
func someWords(name string, call int) []string {
	const many = 500
	list := make([]string, 0, 2*many)
	for i := range many {
		n := call*many + i
		switch name {
		case "{items}":
			list = append(list, fmt.Sprint("item", n))
		case "{pairs}":
			list = append(list, fmt.Sprint("item", n), "1")
		case "{numbers}":
			list = append(list, fmt.Sprint(float64(n*7919%1_000_003)/1_000_003))
		case "{hashes}":
			list = append(list, fmt.Sprint(n))
		case "{keys}":
			list = append(list, fmt.Sprint("abc", n%1000))
		case "{sets}":
			list = append(list, fmt.Sprint("s", n), "v")
		}
	}
	return list
}

// largestCall returns the words of the largest call of a command.
func largestCall(line string, call int, values map[string]string) (words []string) {
	for w := range strings.FieldsSeq(line) {
		if v, ok := values[w]; ok {
			words = append(words, v)
		} else if w[0] == '{' && w != "{i}" {
			words = append(words, someWords(w, call)...)
		} else {
			words = append(words, strings.ReplaceAll(w, "{i}", strconv.Itoa(call)))
		}
	}
	return words
}

// holdTimer measures how long a transaction that writes has closed the gate, in
// processor time: its records stand between marks.
type holdTimer struct {
	*local.Door
	clock       func() time.Duration
	began, held time.Duration
}

// Do implements door.Door.
func (d *holdTimer) Do(ops []*door.Op) {
	if ops[0].Record.Op() == store.OpCommit {
		d.held = d.clock() - d.began
	}
	d.Door.Do(ops)
	if ops[0].Record.Op() == store.OpBegin {
		d.began = d.clock()
	}
}

// newTimed is newDisk over a door that measures transactions.
func newTimed(t *testing.T, maxMemory int64) (*bench, *holdTimer) {
	t.Helper()
	b := newDisk(t, maxMemory)
	timer := &holdTimer{Door: b.door.Door, clock: checkup.Worked()}
	if timer.clock == nil {
		t.Skip("there is no clock of processor time here")
	}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: timer, Keeper: b.door.Door, Host: b, MaxMemory: maxMemory,
		Clock: b.clock, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	b.client = b.connect()
	return b, timer
}

// transact queues calls, and returns the reply of EXEC and how long it has closed the
// gate.
func (d *holdTimer) transact(c *client, calls ...[]string) (answer.Reply, time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	list := [][][]byte{bytesOf([]string{"MULTI"}), bytesOf([]string{"SET", "marked", "x"})} // what writes stands between marks
	for _, words := range calls {
		list = append(list, bytesOf(words))
	}
	d.held = 0
	replies := c.exec(append(list, bytesOf([]string{"EXEC"}))...)
	return replies[len(replies)-1], d.held
}

// refused reports whether EXEC has refused a transaction for what it costs.
func refused(r answer.Reply) bool {
	return r.Kind == answer.Error && strings.HasPrefix(r.Text, "EXECABORT") && strings.Contains(r.Text, "max-transaction")
}

// TestLargestTransactions queues every command with its largest input as often as EXEC
// takes it, and asks that what EXEC takes is short for others: about 100 ms of the
// processor at the default of max-transaction, and with a smaller one that much less.
func TestLargestTransactions(t *testing.T) {
	mib, most, margin := 4, 4000, 20 // a machine whose host is busy needs three times as long
	if *largestMiB > 0 {
		mib, most, margin = *largestMiB, session.DefaultMaxTransaction, 1
	}
	if underRace {
		margin *= 20
	}
	b, timer := newTimed(t, 4<<30)
	allowed := 150 * time.Millisecond * time.Duration(margin*most) / session.DefaultMaxTransaction
	values := fillLargest(b.client, mib<<20)
	b.line(fmt.Sprint("CONFIG SET max-transaction ", most))
	call := 0
	try := func(line string) (n int, r answer.Reply, held time.Duration) {
		words := len(largestCall(line, call, values))
		for next := 1; next*words+3 <= most && held <= allowed; next *= 4 {
			calls := make([][]string, next)
			for i := range calls {
				calls[i] = largestCall(line, call, values)
				call++
			}
			reply, took := timer.transact(b.client, calls...)
			held = max(held, took)
			if refused(reply) {
				break
			}
			n, r = next, reply
		}
		return n, r, held
	}
	eachLargest(t, func(line string) {
		var n int
		var r answer.Reply
		var held time.Duration
		for range tries {
			if strings.Contains(line, "parts{i}") {
				call = 0
				makeSmall(b.client)
			}
			if n, r, held = try(line); held <= allowed {
				break
			}
		}
		if n > 0 && r.Kind != answer.Array {
			t.Errorf("%d times %.60s: %.200s", n, line, show(r))
		}
		t.Logf("%v %d times %.60s", held, n, line)
		if held > allowed {
			t.Errorf("%d times %.60s took %v of the processor, want at most %v", n, line, held, allowed)
		}
	})
}

// TestTransactionsOnNewFilters writes items to large filters that nobody has written to, and asks that what EXEC takes is
// short for others: the system clears 2 MiB for almost every item, which is done before.
func TestTransactionsOnNewFilters(t *testing.T) {
	mib, margin := 4, 20
	if *largestMiB > 0 {
		mib, margin = *largestMiB, 1
	}
	if underRace {
		margin *= 20
	}
	allowed := 150 * time.Millisecond * time.Duration(margin)
	for _, tt := range []struct {
		name, make, add string
		keys, calls     int
	}{
		{"20 BF.MADD to 20 filters", "BF.RESERVE k{key} 0.01 {capacity}", "BF.MADD k{key} {items}", 20, 1},
		{"BF.MADD of many items to one", "BF.RESERVE k{key} 0.01 {twice}", "BF.MADD k{key} {items}", 1, 6},
		{"CMS.INCRBY", "CMS.INITBYDIM k{key} {wide} 5", "CMS.INCRBY k{key} {pairs}", 1, 1},
		{"TOPK.ADD", "TOPK.RESERVE k{key} 10 {wide} 5 0.9", "TOPK.ADD k{key} {items}", 1, 1},
		{"FILTER.ADD to 4 filters of 4 parts", "FILTER.CREATE k{key} bloom CAPACITY {capacity} PARTS 4", "FILTER.ADD k{key} {items}", 4, 1},
		{"a filter that was cleared", "FILTER.CREATE k{key} bloom CAPACITY {capacity}\nFILTER.ADD k{key} {items}\nFILTER.CLEAR k{key}", "FILTER.ADD k{key} {items}", 1, 6},
	} {
		var held time.Duration
		for range tries {
			b, timer := newTimed(t, 16<<30)
			var calls [][]string
			for key := range tt.keys {
				line := func(line string, call int) []string {
					for name, n := range map[string]int{"{key}": key, "{capacity}": mib << 20 * 8 / 10, "{twice}": mib << 20 * 16 / 10, "{wide}": mib << 20 / 4} {
						line = strings.ReplaceAll(line, name, strconv.Itoa(n))
					}
					return largestCall(line, call, nil)
				}
				for make := range strings.SplitSeq(tt.make, "\n") {
					if got := b.do(line(make, 0)...); strings.HasPrefix(got, "-") {
						t.Fatal(tt.name, got)
					}
				}
				for call := range tt.calls {
					calls = append(calls, line(tt.add, key+call))
				}
			}
			var r answer.Reply
			if r, held = timer.transact(b.client, calls...); r.Kind != answer.Array {
				t.Fatalf("%s: %.200s", tt.name, show(r))
			}
			if b.state.Discard(); held <= allowed {
				break
			}
		}
		t.Logf("%v %s", held, tt.name)
		if held > allowed {
			t.Errorf("%s took %v of the processor, want at most %v", tt.name, held, allowed)
		}
	}
}

// TestTransactionsThatMakeArrays has transactions make filters, or have them grow, and write items to the new arrays: it asks
// that what EXEC takes is short for others, though no page of these arrays can be made before.
func TestTransactionsThatMakeArrays(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("arrays of a GiB and more do not fit between what earlier tests have left")
	}
	margin := 20
	if *largestMiB > 0 {
		margin = 1
	}
	if underRace {
		margin *= 20
	}
	allowed := 150 * time.Millisecond * time.Duration(margin)
	some := func(i int) string { return strconv.Itoa(i) }
	alike := func(i int) string {
		if i%10 == 0 {
			return "hot"
		}
		return some(i)
	}
	for _, tt := range []struct {
		name, before, add string // {i} is another item each time, {n} one of 4 numbers
		fill              int    // how many calls of add come before
		calls             []string
		item              func(int) string
		items             int // calls of add in the transaction
	}{
		{"a BF is made", "", "BF.ADD k {i}", 0, []string{"BF.RESERVE k 0.01 80000000"}, some, 1000},
		{"a CF is made", "", "CF.ADD k {i}", 0, []string{"CF.RESERVE k 100000000 EXPANSION 0"}, some, 3000},
		{"a filter is made", "", "FILTER.ADD k {i}", 0, []string{"FILTER.CREATE k bloom CAPACITY 190000000"}, some, 1000},
		{"a CMS is made", "", "CMS.INCRBY k {i} 1", 0, []string{"CMS.INITBYDIM k 10000000 5"}, some, 1000},
		{"a TOPK is made", "", "TOPK.ADD k {i}", 0, []string{"TOPK.RESERVE k 10 4500000 5 0.9"}, some, 1000},
		{"filters on huge pages are made", "", "FILTER.ADD k{n} {i}", 0, []string{
			"FILTER.CREATE k0 bloom CAPACITY 13000000", "FILTER.CREATE k1 bloom CAPACITY 13000000", "FILTER.CREATE k2 bloom CAPACITY 13000000",
			"FILTER.CREATE k3 bloom CAPACITY 13000000",
		}, some, 1000},
		{"a BF grows", "BF.RESERVE k 0.01 7600 EXPANSION 20000", "BF.ADD k {i}", 7500, nil, some, 1000},
		{"a CF grows", "CF.RESERVE k 8192 BUCKETSIZE 4 EXPANSION 32768", "CF.ADD k {i}", 6000, nil, some, 1000},
		{"a CF grows by items that are alike", "CF.RESERVE k 100000000", "CF.ADD k {i}", 0, nil, alike, 1000},
		{"a CF is made, and grows by items that are alike", "", "CF.ADD k {i}", 0, []string{"CF.RESERVE k 10000000"}, alike, 1000},
		{"a CF grows, and items are looked for", "CF.RESERVE k 100000000", "CF.ADDNX k {i}", 0, slices.Repeat([]string{"CF.ADD k hot"}, 124), some, 1000},
		{"items are looked for in a new CMS", "CMS.INITBYDIM k 300000 1000", "CMS.QUERY k {i}", 0, nil, some, 2500},
		{"items are looked for in a new filter", "FILTER.CREATE k counting CAPACITY 300000000", "FILTER.COUNT k {i}", 0, nil, some, 50_000},
		{"an item in 1,000 places", "CMS.INITBYDIM k 50000 1000", "CMS.INCRBY k {i} 1", 0, nil, some, 1},
	} {
		var held time.Duration
		for range tries {
			b, timer := newTimed(t, 16<<30)
			line := func(line string, i int) []string {
				return strings.Fields(strings.NewReplacer("{i}", tt.item(i), "{n}", strconv.Itoa(i%4)).Replace(line))
			}
			if tt.before != "" {
				if got := b.do(line(tt.before, 0)...); strings.HasPrefix(got, "-") {
					t.Fatal(tt.name, got)
				}
			}
			for i := range tt.fill {
				b.do(line(tt.add, -i-1)...)
			}
			var calls [][]string
			for _, call := range tt.calls {
				calls = append(calls, line(call, 0))
			}
			for i := range tt.items {
				calls = append(calls, line(tt.add, i+1))
			}
			var r answer.Reply
			if r, held = timer.transact(b.client, calls...); r.Kind != answer.Array {
				t.Fatalf("%s: %.200s", tt.name, show(r))
			}
			if b.state.Discard(); held <= allowed {
				break
			}
		}
		t.Logf("%v %s", held, tt.name)
		if held > allowed {
			t.Errorf("%s: EXEC took %v of the processor, want at most %v", tt.name, held, allowed)
		}
	}
}

// TestNewPagesAreCounted asks that EXEC refuses what would write to, or read, very many pages of new arrays: others
// waited for 0.2 to 0.6 seconds.
func TestNewPagesAreCounted(t *testing.T) {
	again := func(n int, lines ...string) (calls []string) {
		for i := range n {
			for _, line := range lines {
				calls = append(calls, strings.ReplaceAll(line, "{i}", strconv.Itoa(i)))
			}
		}
		return calls
	}
	growing := again(40, "BF.RESERVE k{i} 0.01 100 EXPANSION 32768", "BF.MADD k{i} "+strings.Join(someWords("{items}", 1)[:99], " "))
	for name, tt := range map[string]struct{ before, calls []string }{
		"a CF grows again and again": {again(1, "CF.RESERVE k 130000000"), slices.Concat(again(120, "CF.ADD k hot"), again(30_000, "CF.ADD k x{i}"))},
		"items are sought in a CF that grows": {
			again(1, "CF.RESERVE k 100000000"), slices.Concat(again(124, "CF.ADD k hot"), again(3000, "CF.ADDNX k x{i}")),
		},
		"items are sought by CF.INSERTNX in a CF that grows": {
			again(1, "CF.RESERVE k 100000000"), slices.Concat(again(124, "CF.ADD k hot"), again(3000, "CF.INSERTNX k ITEMS x{i}")),
		},
		"items are asked for in a CF that grows": {
			again(1, "CF.RESERVE k 100000000"), slices.Concat(again(124, "CF.ADD k hot"), again(3000, "CF.EXISTS k x{i}")),
		},
		"items are deleted from a CF that grows": {
			again(1, "CF.RESERVE k 100000000"), slices.Concat(again(124, "CF.ADD k hot"), again(3000, "CF.DEL k x{i}")),
		},
		"BFs that grow get each other's names": {growing, again(40, "BF.MADD k{i} "+strings.Join(someWords("{items}", 2), " "), "RENAMENX k0 k{i}")},
		"a CMS is made again and again":        {nil, again(11, "CMS.INITBYDIM k 2300 2000", "CMS.INCRBY k a 1 b 1 c 1 d 1 e 1", "DEL k")},
		"a quorum is made":                     {nil, again(1, "FILTER.CREATE k quorum CAPACITY 361861 MEMBERS 255 NEED 10", "FILTER.ADD k a b c d e f g h i j")},
		"a filter is cleared":                  {again(1, "FILTER.CREATE k bloom CAPACITY 25000000"), slices.Concat([]string{"FILTER.CLEAR k"}, again(50_000, "FILTER.ADD k x{i}"))},
		"a TOPK of many rows is made":          {nil, slices.Concat(again(1, "TOPK.RESERVE k 10 2000 1179 0.9"), again(2100, "TOPK.ADD k x{i}"))},
	} {
		b, timer := newTimed(t, 16<<30)
		for _, line := range tt.before {
			if got := b.line(line); strings.HasPrefix(got, "-") {
				t.Fatal(name, got)
			}
		}
		var calls [][]string
		for _, call := range tt.calls {
			calls = append(calls, strings.Fields(call))
		}
		if r, held := timer.transact(b.client, calls...); r.Kind != answer.Error {
			t.Errorf("%s: EXEC was not refused, and took %v of the processor", name, held)
		}
		b.state.Discard()
	}
}

// eachLargest calls f with the largest calls of every command that a transaction takes.
// Those that empty the data come last.
func eachLargest(t *testing.T, f func(line string)) {
	t.Helper()
	var last []string
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if len(c.Subcommands) > 0 || c.Flags&(traits.NoMulti|traits.Immediate) != 0 {
			return
		}
		lines, ok := largest[c.FullName()]
		if !ok {
			t.Errorf("%s has no largest call", c.FullName())
		}
		for line := range strings.SplitSeq(lines, "\n") {
			if strings.HasPrefix(c.Name, "flush") {
				last = append(last, line)
			} else {
				f(line)
			}
		}
	})
	for _, line := range last {
		f(line)
	}
}

// tries is how often what took too long is measured again: the collector, or another
// process that has emptied the caches, does not come at the same moment every time.
const tries = 8
