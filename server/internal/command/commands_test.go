package command_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
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
