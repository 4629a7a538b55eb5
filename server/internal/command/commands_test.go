package command_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/glob"
)

// TestCommands runs small scripts: each line is a command, " -> " and the reply.
// Scripts begin with an empty server.
func TestCommands(t *testing.T) {
	scripts := map[string]string{
		"strings": `
			SET a 1 -> +OK
			SET a 2 NX -> nil
			SET a 3 XX GET -> "1"
			SET a 1 NX XX -> -ERR syntax error
			SET a 1 EX 0 -> -ERR invalid expire time in 'set' command
			SET a 5 PX 1000 -> +OK
			PTTL a -> :1000
			SET a 6 KEEPTTL -> +OK
			PTTL a -> :1000
			INCR a -> :7
			INCRBY a 3 -> :10
			DECRBY a 4 -> :6
			PTTL a -> :1000
			APPEND a x -> :2
			INCR a -> -ERR value is not an integer or out of range
			SETRANGE a 4 yz -> :6
			STRLEN a -> :6
			GET nokey -> nil
			SET m 9223372036854775807 -> +OK
			INCR m -> -ERR increment or decrement would overflow`,
		"strings, several and in exchange": `
			BF.ADD f x -> :1
			MSET a 1 b 2 a 3 -> +OK
			MGET a b nokey f -> ["3" "2" nil nil]
			MSET a 1 b -> -ERR wrong number of arguments for 'mset' command
			MSET a -> -ERR wrong number of arguments for 'mset' command
			MGET -> -ERR wrong number of arguments for 'mget' command
			EXPIRE a 100 -> :1
			MSET a 4 f 5 -> +OK
			TTL a -> :-1
			GET f -> "5"
			DEL f -> :1
			BF.ADD f x -> :1
			SETEX a 10 v -> +OK
			TTL a -> :10
			PSETEX a 1500 v -> +OK
			PTTL a -> :1500
			SETEX a 0 v -> -ERR invalid expire time in 'setex' command
			PSETEX a -1 v -> -ERR invalid expire time in 'psetex' command
			SETEX a 9223372036854775807 v -> -ERR invalid expire time in 'setex' command
			SETEX a x v -> -ERR value is not an integer or out of range
			SETEX a 10 -> -ERR wrong number of arguments for 'setex' command
			SETNX a w -> :0
			SETNX f w -> :0
			SETNX n w -> :1
			GETSET a w -> "v"
			TTL a -> :-1
			GETSET new v -> nil
			GETSET f v -> -WRONGTYPE Operation against a key holding the wrong kind of value
			SET f v GET -> -WRONGTYPE Operation against a key holding the wrong kind of value
			SET f v NX GET -> -WRONGTYPE Operation against a key holding the wrong kind of value
			BF.EXISTS f x -> :1
			SET nokey v XX GET -> nil
			SET a v NX GET -> "w"
			SET a v EX x y -> -ERR syntax error
			GETDEL a -> "w"
			GETDEL a -> nil
			GETDEL f -> -WRONGTYPE Operation against a key holding the wrong kind of value
			GETEX nokey EX 0 -> nil
			GETEX f EX 0 -> -WRONGTYPE Operation against a key holding the wrong kind of value
			GETEX n -> "w"
			GETEX n EX 10 -> "w"
			TTL n -> :10
			GETEX n -> "w"
			TTL n -> :10
			GETEX n PERSIST -> "w"
			TTL n -> :-1
			GETEX n PERSIST EX 10 -> -ERR syntax error
			GETEX n EX 10 PERSIST -> -ERR syntax error
			GETEX n EX 10 PX 10 -> -ERR syntax error
			GETEX n EX -> -ERR syntax error
			GETEX n KEEPTTL -> -ERR syntax error
			GETEX n EX 0 -> -ERR invalid expire time in 'getex' command
			GETEX n EX x -> -ERR value is not an integer or out of range
			GETEX n PXAT 1700000000500 -> "w"
			PTTL n -> :500
			GETEX n EXAT 1 -> "w"
			EXISTS n -> :0
			MULTI -> +OK
			MSET a 1 b 2 -> +QUEUED
			MGET a b -> +QUEUED
			GETDEL a -> +QUEUED
			MSET a 1 b -> +QUEUED
			GETEX b EX 5 -> +QUEUED
			EXEC -> [+OK ["1" "2"] "1" -ERR wrong number of arguments for 'mset' command "2"]
			TTL b -> :5`,
		"refused": `
			SELECT 0 -> +OK
			SELECT x -> -ERR value is not an integer or out of range
			SELECT 99999999999 -> -ERR value is not an integer or out of range
			EVAL x -> -ERR wrong number of arguments for 'eval' command
			PUBLISH c -> -ERR wrong number of arguments for 'publish' command`,
		"keys": `
			BF.ADD b x -> :1
			CF.ADD c x -> :1
			SET s v -> +OK
			EXISTS b c s nokey b -> :4
			TYPE b -> +MBbloom--
			TYPE c -> +MBbloomCF
			TYPE s -> +string
			DBSIZE -> :3
			OBJECT ENCODING b -> "raw"
			OBJECT ENCODING s -> "embstr"
			COPY b d -> -ERR not supported for this module key
			COPY s d -> :1
			RENAME b b2 -> +OK
			BF.EXISTS b2 x -> :1
			RENAMENX b2 s -> :0
			RENAME nokey x -> -ERR no such key
			SCAN 0 COUNT 1000 TYPE MBbloom-- -> ["0" ["b2"]]
			SCAN 0 MATCH [c]* COUNT 1000 -> ["0" ["c"]]
			KEYS b? -> ["b2"]
			DEL b2 c nokey -> :2
			UNLINK s d -> :2
			DBSIZE -> :0
			RANDOMKEY -> nil`,
		"sketches": `
			CMS.INITBYDIM m 100 4 -> +OK
			CMS.INCRBY m a 3 b 4294967295 c 0 -> [:3 -CMS: INCRBY overflow :0]
			CMS.INCRBY m a 1 b -> -ERR wrong number of arguments for 'cms.incrby' command
			CMS.INCRBY m a 1 b -1 -> -CMS: Number cannot be negative
			CMS.QUERY m a b none -> [:3 :4294967295 :0]
			EXPIRE m 100 -> :1
			CMS.INCRBY m a 1 -> [:4]
			TTL m -> :100
			CMS.MERGE m 1 m WEIGHTS -1 -> -CMS: MERGE overflow
			CMS.MERGE m 1 none -> -CMS: key does not exist
			CMS.QUERY m a -> [:4]
			TOPK.RESERVE k 2 50 4 0.9 -> +OK
			TOPK.ADD k a b a c c c -> [nil nil nil "b" nil nil]
			TOPK.INCRBY k a 5 b x c 100 d 1 -> [nil -TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000 -TopK: not done, because of the increment before it -TopK: not done, because of the increment before it]
			TOPK.INCRBY k a 100001 c 1 -> [-TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000 -TopK: not done, because of the increment before it]
			TOPK.LIST k WITHC -> ["a" :7 "c" :3]
			TOPK.LIST none x -> -WITHCOUNT keyword expected
			TOPK.QUERY k a b -> [:1 :0]
			TDIGEST.CREATE d -> +OK
			TDIGEST.ADD d 7 -> +OK
			TDIGEST.RANK d 7 -> [:-9223372036854775808]
			TDIGEST.MIN d -> 7
			TDIGEST.ADD d 1 2 nan -> -ERR T-Digest: error parsing val parameter
			TDIGEST.ADD d 1 2 inf -> -ERR T-Digest: val parameter needs to be a finite number
			TDIGEST.ADD d 1 2 -> +OK
			TDIGEST.QUANTILE d 0 0.5 1 -> [1 2 7]
			TDIGEST.MERGE new 2 d d COMPRESSION 10 -> +OK
			TDIGEST.BYRANK new 5 6 -> [7 +Inf]
			TDIGEST.MERGE new 1 none -> -ERR T-Digest: key does not exist
			TYPE m -> +CMSk-TYPE
			TYPE k -> +TopK-TYPE
			TYPE d -> +TDIS-TYPE
			SCAN 0 COUNT 1000 TYPE TopK-TYPE -> ["0" ["k"]]
			OBJECT ENCODING d -> "raw"
			COPY d e -> -ERR not supported for this module key
			GET d -> -WRONGTYPE Operation against a key holding the wrong kind of value
			BF.ADD d x -> -WRONGTYPE Operation against a key holding the wrong kind of value
			CMS.QUERY d x -> -WRONGTYPE Operation against a key holding the wrong kind of value
			TDIGEST.MERGE m 1 d -> -WRONGTYPE Operation against a key holding the wrong kind of value
			COMMAND GETKEYS TDIGEST.MERGE d 2 a b -> ["d" "a" "b"]
			RENAME d e -> +OK
			TDIGEST.MAX e -> 7
			ACL CAT topk -> ["topk.add" "topk.count" "topk.incrby" "topk.info" "topk.list" "topk.query" "topk.reserve"]
			MULTI -> +OK
			CMS.INCRBY m a 1 b -> +QUEUED
			CMS.INCRBY m a 1 -> +QUEUED
			TDIGEST.QUANTILE e 1 -> +QUEUED
			EXEC -> [-ERR wrong number of arguments for 'cms.incrby' command [:5] [7]]`,
		"expire": `
			BF.ADD b x -> :1
			EXPIRE b 100 -> :1
			TTL b -> :100
			EXPIRE b 50 GT -> :0
			EXPIRE b 50 LT -> :1
			EXPIRE b 60 NX -> :0
			PERSIST b -> :1
			PERSIST b -> :0
			TTL b -> :-1
			EXPIRE b 10 GT -> :0
			TTL nokey -> :-2
			PEXPIREAT b 1700000000500 -> :1
			PTTL b -> :500
			EXPIRETIME b -> :1700000001
			EXPIRE b -1 -> :1
			EXISTS b -> :0
			EXPIRE nokey 5 -> :0`,
		"wrong types": `
			SET s v -> +OK
			BF.ADD s x -> -WRONGTYPE Operation against a key holding the wrong kind of value
			CF.ADD s x -> -WRONGTYPE Operation against a key holding the wrong kind of value
			BF.EXISTS s x -> :0
			CF.COUNT s x -> :0
			CF.DEL s x -> -Not found
			CF.COMPACT s -> -Cuckoo filter was not found
			BF.RESERVE s 0.1 10 -> -WRONGTYPE Operation against a key holding the wrong kind of value
			CF.ADD c x -> :1
			BF.ADD c x -> -WRONGTYPE Operation against a key holding the wrong kind of value
			BF.MEXISTS c x y -> [false false]
			BF.CARD c -> -WRONGTYPE Operation against a key holding the wrong kind of value
			GET c -> -WRONGTYPE Operation against a key holding the wrong kind of value`,
		"numbers": `
			BF.RESERVE a 0x1p-4 10 -> +OK
			BF.RESERVE b nan 10 -> -ERR bad error rate
			BF.RESERVE b 1e-400 10 -> -ERR bad error rate
			BF.RESERVE b -0.0 10 -> -ERR error rate must be in the range (0.000000, 1.000000)
			BF.RESERVE b inf 10 -> -ERR error rate must be in the range (0.000000, 1.000000)
			BF.RESERVE b 0.01 9223372036854775808 -> -ERR bad capacity
			BF.RESERVE b 0.01 10 EXPANSION 0 -> +OK
			BF.INFO b EXPANSION -> [+Expansion rate nil]
			BF.RESERVE d 0.01 10 EXPANSION 32769 -> -ERR expansion must be in the range [0, 32768]
			CF.RESERVE e 8 EXPANSION 3 BUCKETSIZE 0 MAXITERATIONS x -> -Couldn't parse MAXITERATIONS
			CF.RESERVE e 8 EXPANSION 3 -> +OK
			CF.DEBUG e -> "bktsize:2 buckets:4 items:0 deletes:0 filters:1 max_iterations:20 expansion:4"
			CF.RESERVE f 3 -> -Capacity must be in the range [2 * BUCKETSIZE, 1073741824]
			CF.RESERVE f 8 EXPANSION -> -ERR wrong number of arguments for 'cf.reserve' command`,
		//nolint:dupword // the same item three times is the test
		"full": `
			CF.RESERVE c 4 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0 -> +OK
			CF.INSERT c ITEMS a a a -> [1 -1 -1]
			CF.ADD c a -> -Filter is full
			CF.ADDNX c a -> :0
			BF.RESERVE b 0.01 1 NONSCALING -> +OK
			BF.MADD b x y z -> [true] -ERR non scaling filter is full
			BF.ADD b y -> -ERR non scaling filter is full
			BF.ADD b x -> :0`,
		"transactions": `
			MULTI -> +OK
			BF.ADD b x -> +QUEUED
			BF.EXISTS b x -> +QUEUED
			GET b -> +QUEUED
			EXEC -> [:1 :1 -WRONGTYPE Operation against a key holding the wrong kind of value]
			WATCH b -> +OK
			BF.ADD b y -> :1
			MULTI -> +OK
			BF.ADD b z -> +QUEUED
			EXEC -> nil
			BF.EXISTS b z -> :0
			WATCH b -> +OK
			BF.ADD b y -> :0
			MULTI -> +OK
			BF.ADD b z -> +QUEUED
			EXEC -> [:1]
			MULTI -> +OK
			NOSUCH -> -ERR unknown command 'NOSUCH', with args beginning with: 
			EXEC -> -EXECABORT Transaction discarded because of previous errors.
			EXEC -> -ERR EXEC without MULTI
			DISCARD -> -ERR DISCARD without MULTI`,
		"configuration": `
			CONFIG GET bf-* -> ["bf-error-rate" "0.01" "bf-expansion-factor" "2" "bf-initial-size" "100"]
			CONFIG SET bf-error-rate 0.5 -> +OK
			CONFIG GET bf-error-rate -> ["bf-error-rate" "0.25"]
			CONFIG SET bf-initial-size 7 bf-expansion-factor 0 -> +OK
			BF.ADD b x -> :1
			BF.INFO b CAPACITY -> [+Capacity :7]
			BF.INFO b EXPANSION -> [+Expansion rate nil]
			BF.RESERVE d 0.1 10 EXPANSION 2 -> -Nonscaling filters cannot expand
			CONFIG SET cf-bucket-size 3 cf-max-iterations 0 -> -ERR CONFIG SET failed (possibly related to argument 'cf-max-iterations') - Value for ` + "`cf-max-iterations`" + ` must be in the range [1, 65535]
			CONFIG GET cf-bucket-size -> ["cf-bucket-size" "2"]
			CONFIG SET cf-initial-size 8 -> +OK
			CONFIG SET cf-bucket-size 5 -> -ERR CONFIG SET failed (possibly related to argument 'cf-bucket-size') - Value for ` + "`cf-bucket-size`" + ` must be in the range [1, 4]
			CONFIG SET cf-expansion-factor 3 -> +OK
			CONFIG GET cf-expansion-factor -> ["cf-expansion-factor" "3"]
			CF.ADD c x -> :1
			CF.DEBUG c -> "bktsize:2 buckets:4 items:1 deletes:0 filters:1 max_iterations:20 expansion:4"
			CONFIG SET nosuch 1 -> -ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
			CONFIG SET save x -> -ERR CONFIG SET failed (possibly related to argument 'save') - can't set immutable config`,
		"connection": `
			CLIENT GETNAME -> nil
			CLIENT SETNAME me -> +OK
			CLIENT GETNAME -> "me"
			CLIENT ID -> :1
			CLIENT TRACKING on -> -ERR Client tracking is not supported by this server
			CLIENT maint_notifications on -> -ERR unknown subcommand 'maint_notifications'. Try CLIENT HELP.
			HELLO 4 -> -NOPROTO unsupported protocol version
			HELLO 3 AUTH -> -ERR Syntax error in HELLO option 'AUTH'
			SELECT 0 -> +OK
			AUTH x -> -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
			CLUSTER SLOTS -> -ERR This instance has cluster support disabled
			ACL WHOAMI -> "default"
			SAVE -> +OK
			BGSAVE soon -> -ERR syntax error
			DEBUG RELOAD -> +OK
			CONFIG GET appendonly -> ["appendonly" "yes"]
			WAIT 1 10 -> :0
			RESET -> +RESET
			CLIENT GETNAME -> nil`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			b := commandtest.New(t, 1<<30)
			for line := range strings.Lines(strings.TrimSpace(script)) {
				line = strings.Trim(line, "\t\n")
				cmd, want, _ := strings.Cut(line, " -> ")
				if got := b.Line(cmd); got != want {
					t.Errorf("%s\n got %s\nwant %s", cmd, got, want)
				}
			}
		})
	}
}

// TestRefusalsExplain asks that commands which are not supported say so, why, and
// what to do instead.
func TestRefusalsExplain(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, tt := range []struct {
		line  string
		words []string
	}{
		{"EVAL x 0", []string{"-ERR", "not supported", "MULTI", "WATCH"}},
		{"EVALSHA x 0", []string{"-ERR", "not supported", "MULTI"}},
		{"EVAL_RO x 0", []string{"-ERR", "not supported", "MULTI"}},
		{"FCALL x 0", []string{"-ERR", "not supported", "MULTI"}},
		{"SCRIPT LOAD x", []string{"-ERR", "not supported", "MULTI"}},
		{"FUNCTION LOAD x", []string{"-ERR", "not supported", "MULTI"}},
		{"SUBSCRIBE x", []string{"-ERR", "not supported", "beside it"}},
		{"PSUBSCRIBE x", []string{"-ERR", "not supported", "beside it"}},
		{"SSUBSCRIBE x", []string{"-ERR", "not supported", "beside it"}},
		{"PUBLISH x m", []string{"-ERR", "not supported", "beside it"}},
		{"SELECT 1", []string{"-ERR DB index is out of range", "one database", "prefix"}},
		{"SELECT -1", []string{"-ERR DB index is out of range", "one database", "prefix"}},
	} {
		got := b.Line(tt.line)
		for _, w := range tt.words {
			if !strings.Contains(got, w) {
				t.Errorf("%s = %s, without %q", tt.line, got, w)
			}
		}
	}
	if got := b.Line("COMMAND INFO eval"); !strings.Contains(got, "eval") {
		t.Errorf("COMMAND INFO eval = %s", got)
	}
}

func TestKeysExpire(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.ADD b x")
	b.Line("SET s v")
	b.Line("PEXPIRE b 100")
	b.Line("PEXPIRE s 100")
	b.Now = b.Now.Add(99 * time.Millisecond)
	if got := b.Line("BF.EXISTS b x"); got != ":1" {
		t.Errorf("before the deadline BF.EXISTS = %s, want :1", got)
	}
	b.Now = b.Now.Add(time.Millisecond)
	if got := b.Line("BF.EXISTS b x"); got != ":0" {
		t.Errorf("at the deadline BF.EXISTS = %s, want :0", got)
	}
	if got := b.Line("DBSIZE"); got != ":2" {
		t.Errorf("before the sweep DBSIZE = %s, want :2", got)
	}
	if got := b.Line("BF.ADD b y"); got != ":1" {
		t.Errorf("BF.ADD after the deadline = %s, want :1", got)
	}
	if got := b.Line("BF.EXISTS b x"); got != ":0" {
		t.Errorf("the new filter has what the old one had: %s", got)
	}
	b.Engine.Sweep(100)
	if got := b.Line("DBSIZE"); got != ":1" {
		t.Errorf("after the sweep DBSIZE = %s, want :1", got)
	}
	if got := b.Line("TTL b"); got != ":-1" {
		t.Errorf("TTL of the new filter = %s, want :-1", got)
	}
}

// TestMemoryIsRefused asks that whatever would take more memory than there is
// gets an error, that nothing is allocated for it, and that the rest works on.
func TestMemoryIsRefused(t *testing.T) {
	const limit = 1 << 20
	b := commandtest.New(t, limit)
	for _, tt := range []struct{ cmd, want string }{
		{"BF.RESERVE k 1e-300 1073741824", "-ERR Insufficient memory to create filter"},
		{"BF.RESERVE k 0.001 1073741824", "-ERR Insufficient memory to create filter"},
		{"CF.RESERVE k 1073741824", "-ERR Insufficient memory"},
		{"BF.INSERT k CAPACITY 1073741824 ITEMS a", "-OOM command not allowed when used memory > 'maxmemory'."},
		{"CF.INSERT k CAPACITY 1073741824 ITEMS a", "-OOM command not allowed when used memory > 'maxmemory'."},
		{"SETRANGE k 500000000 x", "-OOM command not allowed when used memory > 'maxmemory'."},
		{"EXISTS k", ":0"},
		{"BF.RESERVE g 0.01 1000 EXPANSION 32768", "+OK"},
		{"CF.RESERVE h 500000 EXPANSION 32768", "+OK"},
		{"CF.ADD h a", ":1"},
	} {
		if got := b.Line(tt.cmd); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.cmd, got, tt.want)
		}
	}
	refused := false
	for i := range 3000 {
		got := b.Do("BF.ADD", "g", strings.Repeat("x", i))
		refused = refused || strings.HasPrefix(got, "-OOM")
	}
	if !refused {
		t.Error("a Bloom filter that grows by 32768 was never refused")
	}
	if got := b.Line("BF.INFO g FILTERS"); got != "[+Number of filters :1]" {
		t.Errorf("BF.INFO g FILTERS = %s, want 1", got)
	}
	// Repeated items fill their buckets and ask for a sub-filter that does
	// not fit; others still find a slot.
	last := ""
	for range 10 {
		last = b.Line("CF.ADD h a")
	}
	if !strings.HasPrefix(last, "-OOM") {
		t.Errorf("CF.ADD of an item without room = %s, want OOM", last)
	}
	if got := b.Line("CF.ADD h other"); got != ":1" {
		t.Errorf("CF.ADD of an item with room = %s, want :1", got)
	}
	if got := b.State.Bytes(); got > limit {
		t.Errorf("%d bytes in use, limit %d", got, limit)
	}
	if got := b.Line("DEL g h"); got != ":2" {
		t.Errorf("DEL = %s, want :2", got)
	}
	if got := b.State.Bytes(); got != 0 {
		t.Errorf("%d bytes in use after DEL, want 0", got)
	}
}

// TestManySubFilters asks that a cuckoo filter with tens of thousands of
// sub-filters works and stays answerable.
func TestManySubFilters(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("CONFIG SET cf-max-expansions 65536")
	b.Line("CF.RESERVE m 2 BUCKETSIZE 1 MAXITERATIONS 1")
	args := [][]byte{[]byte("CF.INSERT"), []byte("m"), []byte("ITEMS")}
	for range 20_000 {
		args = append(args, []byte("a"))
	}
	if r := b.Exec(args)[0]; len(r.Codes) != 20_000 || r.Codes[19_999] != 1 {
		t.Fatalf("CF.INSERT: %d results", len(r.Codes))
	}
	for _, tt := range []struct{ cmd, want string }{
		{"CF.EXISTS m a", ":1"},
		{"CF.EXISTS m b", ":0"},
		{"CF.DEL m a", ":1"},
		{"CF.ADD m a", ":1"},
		{"CF.COMPACT m", "+OK"},
	} {
		if got := b.Line(tt.cmd); got != tt.want {
			t.Errorf("%s = %s, want %s", tt.cmd, got, tt.want)
		}
	}
	if got := b.Line("CF.DEBUG m"); !strings.Contains(got, "items:20000") {
		t.Errorf("CF.DEBUG = %s, want 20000 items", got)
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-1", -1, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false},
		{"+5", 0, false},
		{"05", 0, false},
		{" 5", 0, false},
		{"5 ", 0, false},
		{"1.5", 0, false},
		{"", 0, false},
		{"-", 0, false},
		{"-0", 0, false},
		{"99999999999999999999", 0, false},
	} {
		if got, ok := answer.ParseInt([]byte(tt.in)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseInt(%q) = %d, %t, want %d, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	for _, tt := range []struct {
		in   string
		want float64
		ok   bool
	}{
		{"0.01", 0.01, true},
		{"1e-2", 0.01, true},
		{".5", 0.5, true},
		{"+.5", 0.5, true},
		{"0x1p-4", 0.0625, true},
		{"0x10", 16, true},
		{"inf", math.Inf(1), true},
		{"-Infinity", math.Inf(-1), true},
		{"0e5", 0, true},
		{"0x0p3", 0, true},
		{"nan", 0, false},
		{"1e-400", 0, false},
		{"1e400", 0, false},
		{" 1", 0, false},
		{"1 ", 0, false},
		{"", 0, false},
		{"1_0", 0, false},
		{"0x_1p0", 0, false},
		{"--1", 0, false},
		{"x", 0, false},
	} {
		if got, ok := answer.ParseFloat([]byte(tt.in)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseFloat(%q) = %v, %t, want %v, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	for in, want := range map[float64]string{
		0.005: "0.005", 0.00125: "0.00125", 1e-5: "1e-05", 1.5e-300: "1.5e-300", 0.0001: "0.0001", 0.000078125: "7.8125e-05",
		0.25: "0.25", 1: "1", 123456789: "1.23457e+08", 0.1234567: "0.123457",
	} {
		if got := answer.FormatG(in); got != want {
			t.Errorf("formatG(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abb", false},
		{"?", "", false},
		{"a?c", "abc", true},
		{"[a-c]x", "bx", true},
		{"[^a-c]x", "bx", false},
		{"[^a-c]x", "dx", true},
		{`\*`, "*", true},
		{`\*`, "a", false},
		{"[abc", "b", true},
		{"a[", "a", false},
		{"**a**", "bab", true},
		{"[c-a]", "b", true},
		{`[\]]`, "]", true},
	} {
		if got := glob.Match(tt.pattern, tt.s); got != tt.want {
			t.Errorf("match(%q, %q) = %t, want %t", tt.pattern, tt.s, got, tt.want)
		}
	}
}

func TestDumpFormat(t *testing.T) {
	if got := rdb.Checksum([]byte("123456789")); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("checksum = %x, want e9c6d914c4b8d9ca", got)
	}
	// "aaaaaaaaaaaaaaaaaaaaaaaa" as Redis packs it: one literal, one copy.
	if got, ok := rdb.UnpackLZF([]byte{0, 'a', 0xe0, 14, 0}, 24); !ok || string(got) != strings.Repeat("a", 24) {
		t.Errorf("unpackLZF = %q, %t", got, ok)
	}
	b := commandtest.New(t, 1<<30)
	for _, tt := range []struct{ payload, want string }{
		{"", "-ERR DUMP payload version or checksum are wrong"},
		{"0123456789", "-ERR DUMP payload version or checksum are wrong"},
		{string(rdb.AppendFooter([]byte{7, 1, 2, 3})), "-ERR Bad data format"},
		{string(rdb.AppendFooter([]byte{4, 1, 'a'})), "-ERR Bad data format"},
		{string(rdb.AppendFooter([]byte{0, 1, 'a'})), "+OK"},
	} {
		if got := b.Do("RESTORE", "k", "0", tt.payload); got != tt.want {
			t.Errorf("RESTORE of %q = %s, want %s", tt.payload, got, tt.want)
		}
	}
	if got := b.Line("GET k"); got != `"a"` {
		t.Errorf("GET of a restored string = %s", got)
	}
	if got := b.Do("RESTORE", "k", "0", string(rdb.AppendFooter([]byte{0, 0}))); got != "-BUSYKEY Target key name already exists." {
		t.Errorf("RESTORE over a key = %s", got)
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE b 0.01 100000")
	b.Line("CF.RESERVE c 100000")
	b.Line("FILTER.CREATE f bloom CAPACITY 100000")
	b.Line("FILTER.CREATE g quotient CAPACITY 100000")
	b.Line("FILTER.CREATE p bloom CAPACITY 100000 PARTS 4")
	b.Line("FILTER.CREATE r bloom CAPACITY 100000 PARTS 4")
	b.Line("FILTER.REBUILD r BEGIN")
	t.Run("user=default", func(t *testing.T) { hotPath(t, b) })
	b.Line("ACL SETUSER bob on >pw +@all -@dangerous %R~x* ~[a-z] addrate=1000000000")
	b.Login(t, "bob")
	t.Run("user=bob", func(t *testing.T) { hotPath(t, b) })
}

func hotPath(t *testing.T, b *commandtest.Bench) {
	for _, cmd := range []string{
		"FILTER.HAS f item", "FILTER.ADD f item", "FILTER.HAS f x y z", "FILTER.HAS g item", "FILTER.ADD g item", "FILTER.DEL g item", "FILTER.HAS p item",
		"BF.EXISTS b item", "BF.ADD b item", "CF.EXISTS c item", "CF.ADD c item", "CF.DEL c item", "BF.MEXISTS b x y z", "PING",
		"FILTER.REBUILD r FEED item", "FILTER.REBUILD r FEED x y z",
	} {
		var args [][]byte
		for w := range strings.FieldsSeq(cmd) {
			args = append(args, []byte(w))
		}
		var w engine.Workspace
		run := func() {
			w.Reset()
			for range 16 {
				w.Add(args)
			}
			b.Engine.Exec(b.Session, &w, 0)
		}
		run()
		if got := testing.AllocsPerRun(200, run); got > 0.5 && !underRace {
			t.Errorf("16 times %s: %v allocations, want 0", cmd, got)
		}
	}
}
