package command_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// mine is the keys that the samples use, and how they are made.
const mine = `
	BF.RESERVE mine:bf 0.01 100
	BF.ADD mine:bf x
	CF.RESERVE mine:cf 100
	CF.ADD mine:cf x
	FILTER.CREATE mine:f standard CAPACITY 100
	FILTER.ADD mine:f x
	FILTER.CREATE mine:g standard LIKE mine:f
	FILTER.CREATE mine:c counting CAPACITY 100
	FILTER.ADD mine:c x
	FILTER.CREATE mine:o growing CAPACITY 100
	FILTER.ADD mine:o x
	SET mine:s hello
	SET mine:n 5
	CMS.INITBYDIM mine:cms 10 3
	CMS.INITBYDIM mine:cms2 10 3
	TOPK.RESERVE mine:topk 3
	TDIGEST.CREATE mine:td
	TDIGEST.ADD mine:td 1 2 3`

// samples are calls of every command, each such that it works on the keys of mine.
const samples = `
	BF.ADD mine:bf y
	BF.CARD mine:bf
	BF.DEBUG mine:bf
	BF.EXISTS mine:bf x
	BF.INFO mine:bf CAPACITY
	BF.INSERT mine:bf CAPACITY 100 ERROR 0.1 NOCREATE ITEMS y z
	BF.INSERT mine:new ITEMS y
	BF.LOADCHUNK mine:new2 1 data
	BF.LOADCHUNK mine:bf 100 data
	BF.MADD mine:bf y z
	BF.MEXISTS mine:bf x y
	BF.RESERVE mine:new3 0.01 100 EXPANSION 2
	BF.SCANDUMP mine:bf 0
	CF.ADD mine:cf y
	CF.ADDNX mine:cf y
	CF.COMPACT mine:cf
	CF.COUNT mine:cf x
	CF.DEBUG mine:cf
	CF.DEL mine:cf x
	CF.EXISTS mine:cf x
	CF.INFO mine:cf
	CF.INSERT mine:cf CAPACITY 100 NOCREATE ITEMS y
	CF.INSERTNX mine:cf CAPACITY 100 NOCREATE ITEMS y
	CF.LOADCHUNK mine:new4 1 data
	CF.LOADCHUNK mine:cf 100 data
	CF.MEXISTS mine:cf x y
	CF.RESERVE mine:new5 100 BUCKETSIZE 2
	CF.SCANDUMP mine:cf 0
	FILTER.ADD mine:f y z
	FILTER.ADDHASH mine:f 1 2
	FILTER.CARD mine:f
	FILTER.CLEAR mine:f
	FILTER.COUNT mine:c x
	FILTER.CREATE mine:new6 bloom CAPACITY 100 ERROR 0.01 SEED 7 SLA 5 BUDGET 100000
	FILTER.CREATE mine:new7 standard LIKE mine:f
	FILTER.CREATE mine:new8 standard SLA 5 LIKE mine:f BUDGET 100000 NX
	FILTER.CREATE mine:new9 standard nx like mine:f
	FILTER.DEL mine:c x
	FILTER.DUMP mine:f 0
	FILTER.NEWS mine:f
	FILTER.FOLLOWERS mine:f
	FILTER.FALSE mine:f x
	FILTER.GONE mine:f x
	FILTER.SET mine:f NEWS 9
	FILTER.FOLD mine:f
	FILTER.GET mine:c x
	FILTER.GROW mine:f ERROR 0.1
	FILTER.GROW mine:o
	FILTER.DENSITY mine:f 4
	FILTER.HAS mine:f x y
	FILTER.HASHASH mine:f 1 2
	FILTER.HEALTH MATCH * COUNT 10
	FILTER.INFO mine:f JSON
	FILTER.INTERSECT mine:i mine:f mine:g
	FILTER.KINDS
	FILTER.READ LOCAL
	FILTER.LAYERS mine:f
	FILTER.LIST MATCH * SORT name DESC OFFSET 0 COUNT 100
	FILTER.LOAD mine:f 1 data VERSION 3
	FILTER.PLAN 1000 0.01 NEEDS deletes
	FILTER.REBUILD mine:f BEGIN standard CAPACITY 200 ERROR 0.01
	FILTER.REBUILD mine:f FEED y
	FILTER.REBUILD mine:f STATUS
	FILTER.REBUILD mine:f COMMIT FORCE
	FILTER.REBUILD mine:f ABORT
	FILTER.REPAIR mine:f x y
	FILTER.SIMILAR mine:f mine:g
	FILTER.UNION mine:f mine:g
	FILTER.UNION mine:u mine:f mine:g
	FILTER.WHERE * x y
	CMS.INCRBY mine:cms x 1 y 2
	CMS.INFO mine:cms
	CMS.INITBYDIM mine:new10 10 3
	CMS.INITBYPROB mine:new11 0.1 0.1
	CMS.MERGE mine:cms 2 mine:cms mine:cms2 WEIGHTS 1 2
	CMS.MERGE mine:cms 1 mine:cms2
	CMS.QUERY mine:cms x y
	TOPK.ADD mine:topk x y
	TOPK.COUNT mine:topk x
	TOPK.INCRBY mine:topk x 2
	TOPK.INFO mine:topk
	TOPK.LIST mine:topk WITHCOUNT
	TOPK.QUERY mine:topk x
	TOPK.RESERVE mine:new12 3 8 7 0.9
	TDIGEST.ADD mine:td 4 5
	TDIGEST.BYRANK mine:td 0
	TDIGEST.BYREVRANK mine:td 0
	TDIGEST.CDF mine:td 1
	TDIGEST.CREATE mine:new13 COMPRESSION 50
	TDIGEST.INFO mine:td
	TDIGEST.MAX mine:td
	TDIGEST.MERGE mine:td2 2 mine:td mine:td COMPRESSION 50 OVERRIDE
	TDIGEST.MIN mine:td
	TDIGEST.QUANTILE mine:td 0.5
	TDIGEST.RANK mine:td 1
	TDIGEST.RESET mine:td
	TDIGEST.REVRANK mine:td 1
	TDIGEST.TRIMMED_MEAN mine:td 0.1 0.9
	COPY mine:s mine:copy DB 0 REPLACE
	COPY mine:f mine:copy2
	DEL mine:s mine:n
	DUMP mine:bf
	EXISTS mine:s mine:n
	EXPIRE mine:s 100 NX
	EXPIRE mine:bf 0
	EXPIREAT mine:s 1800000000
	EXPIRETIME mine:s
	KEYS *
	OBJECT ENCODING mine:s
	OBJECT FREQ mine:s
	OBJECT HELP
	OBJECT IDLETIME mine:s
	OBJECT REFCOUNT mine:s
	PERSIST mine:s
	PEXPIRE mine:s 100000
	PEXPIREAT mine:s 1800000000000
	PEXPIRETIME mine:s
	PTTL mine:s
	RANDOMKEY
	RENAME mine:s mine:s2
	RENAMENX mine:s mine:s3
	RESTORE mine:restored 0 data REPLACE
	SCAN 0 MATCH * COUNT 1000 TYPE string
	TOUCH mine:s mine:n
	TTL mine:s
	TYPE mine:s
	UNLINK mine:s mine:n
	WAIT 0 0
	APPEND mine:s x
	DECR mine:n
	DECRBY mine:n 2
	GET mine:s
	GETDEL mine:s
	GETEX mine:s EX 100
	GETSET mine:s v
	INCR mine:n
	INCRBY mine:n 2
	MGET mine:s mine:n
	MSET mine:s v mine:n 1
	PSETEX mine:s 100000 v
	SET mine:s v XX EX 100
	SET mine:s v GET
	SETEX mine:s 100 v
	SETNX mine:new14 v
	SETRANGE mine:s 2 v
	STRLEN mine:s
	DISCARD
	EXEC
	MULTI
	UNWATCH
	WATCH mine:s mine:n
	AUTH nobody pw
	CLIENT GETNAME
	CLIENT HELP
	CLIENT ID
	CLIENT INFO
	CLIENT KILL ID 999
	CLIENT LIST
	CLIENT NO-EVICT ON
	CLIENT NO-TOUCH ON
	CLIENT PAUSE 1 WRITE
	CLIENT REPLY ON
	CLIENT SETINFO LIB-NAME x
	CLIENT SETNAME x
	CLIENT TRACKING OFF
	CLIENT UNPAUSE
	ECHO x
	HELLO 2 AUTH nobody pw
	PING x
	QUIT
	RESET
	SELECT 0
	ACL CAT read
	ACL DELUSER nobody
	ACL DRYRUN default GET mine:s
	ACL GENPASS 8
	ACL GETUSER default
	ACL HELP
	ACL LIST
	ACL LOAD
	ACL LOG 1
	ACL SAVE
	ACL SETUSER someone on
	ACL USERS
	ACL WHOAMI
	BGSAVE
	COMMAND
	COMMAND COUNT
	COMMAND DOCS get
	COMMAND GETKEYS GET mine:s
	COMMAND HELP
	COMMAND INFO get
	COMMAND LIST
	CONFIG GET save
	CONFIG HELP
	CONFIG RESETSTAT
	CONFIG REWRITE
	CONFIG SET timeout 0
	DBSIZE
	DEBUG HELP
	DEBUG RELOAD
	FLUSHALL
	FLUSHDB ASYNC
	INFO server
	LASTSAVE
	LATENCY DOCTOR
	LATENCY HELP
	LATENCY HISTOGRAM get
	LATENCY HISTORY command
	LATENCY LATEST
	LATENCY RESET
	MEMORY HELP
	MEMORY USAGE mine:s SAMPLES 0
	MODULE HELP
	MODULE LIST
	MONITOR
	SAVE
	SHUTDOWN NOSAVE
	SLOWLOG GET 1
	SLOWLOG HELP
	SLOWLOG LEN
	SLOWLOG RESET
	TIME
	ASKING
	CLUSTER FORGET 4
	CLUSTER REPLACE-LOG a:1 b:1
	CLUSTER UPGRADE
	CLUSTER COPIES 2
	CLUSTER PAUSE-MOVES
	CLUSTER RESUME-MOVES
	CLUSTER REBALANCE DRYRUN
	CLUSTER COUNTKEYSINSLOT 1
	CLUSTER BACKUP OPEN
	CLUSTER WHY mine:s
	CLUSTER HELP
	CLUSTER INFO
	CLUSTER KEYSLOT x
	CLUSTER MYID
	CLUSTER NODES
	CLUSTER SHARDS
	CLUSTER SLOTS
	READONLY
	READWRITE
	EVAL script 1 mine:s
	EVAL_RO script 1 mine:s
	EVALSHA sha 1 mine:s
	EVALSHA_RO sha 1 mine:s
	FCALL f 1 mine:s
	FCALL_RO f 1 mine:s
	FUNCTION LIST
	SCRIPT LOAD x
	PSUBSCRIBE x
	PUBLISH x y
	PUBSUB CHANNELS
	PUNSUBSCRIBE
	SPUBLISH x y
	SSUBSCRIBE x
	SUBSCRIBE x
	SUNSUBSCRIBE
	UNSUBSCRIBE`

// calls returns the words of every line.
func callsOf(lines string) (calls [][]string) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		calls = append(calls, strings.Fields(line))
	}
	return calls
}

// commandOf returns the command or subcommand of a call.
func commandOf(t testing.TB, table *engine.Table, words []string) *engine.Command {
	t.Helper()
	cmd := table.Lookup([]byte(words[0]))
	if cmd != nil && len(cmd.Subcommands) > 0 && len(words) > 1 {
		cmd = cmd.Sub(strings.ToLower(words[1]))
	}
	if cmd == nil {
		t.Fatalf("%q is no command", words)
	}
	return cmd
}

// TestSamplesHaveEveryCommand asks that the tests of rights forget no command, and none
// of its keys.
func TestSamplesHaveEveryCommand(t *testing.T) {
	table := engine.NewTable(command.All())
	seen := map[*engine.Command]map[string]bool{} // what is done to keys
	for _, words := range callsOf(samples) {
		cmd := commandOf(t, table, words)
		args := commandtest.Bytes(words)
		if !cmd.Takes(len(args)) {
			t.Errorf("%q has a wrong number of arguments", words)
		}
		if seen[cmd] == nil {
			seen[cmd] = map[string]bool{}
		}
		keys := map[int]bool{}
		cmd.Keys.Each(args, func(i int, k traits.Key) { keys[i], seen[cmd][k.Access] = true, true })
		for i, word := range words {
			if strings.HasPrefix(word, "mine:") && !keys[i] && cmd.Group != traits.GroupScripting && words[0] != "ACL" && words[0] != "COMMAND" {
				t.Errorf("%q: the table has no key at %d", words, i)
			}
		}
	}
	table.Walk(func(cmd *engine.Command) {
		if seen[cmd] == nil && (len(cmd.Subcommands) == 0 || cmd.Run != nil) {
			t.Errorf("%s has no sample", cmd.FullName())
		}
		for _, k := range cmd.Keys {
			if !seen[cmd][k.Access] {
				t.Errorf("%s: no sample has a key of %q", cmd.FullName(), k.Access)
			}
		}
	})
}
