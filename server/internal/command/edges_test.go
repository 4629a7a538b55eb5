package command_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/rdb"
)

// edges are scripts as those of TestCommands: options, limits and mistakes, with
// the replies of Redis and RedisBloom.
var edges = map[string]string{
	"deadlines": `
		SET a v -> +OK
		EXPIRE a x -> -ERR value is not an integer or out of range
		EXPIRE a 100 XX -> :0
		EXPIRE a 100 GT -> :0
		EXPIRE a 100 LT -> :1
		TTL a -> :100
		EXPIRE a 100 NX -> :0
		EXPIRE a 50 NX -> :0
		EXPIRE a 50 GT -> :0
		EXPIRE a 200 GT -> :1
		TTL a -> :200
		EXPIRE a 300 LT -> :0
		EXPIRE a 150 LT -> :1
		EXPIRE a 120 XX -> :1
		TTL a -> :120
		EXPIRE a 10 NX XX -> -ERR NX and XX, GT or LT options at the same time are not compatible
		EXPIRE a 10 NX GT -> -ERR NX and XX, GT or LT options at the same time are not compatible
		EXPIRE a 10 GT LT -> -ERR GT and LT options at the same time are not compatible
		EXPIRE a 10 XX GT -> :0
		EXPIRE a 10 soon -> -ERR Unsupported option soon
		EXPIRE a 9223372036854775807 -> -ERR invalid expire time in 'expire' command
		EXPIRE nokey 10 -> :0
		PEXPIRE a 1499 -> :1
		TTL a -> :1
		PEXPIRE a 1500 -> :1
		TTL a -> :2
		PERSIST a -> :1
		EXPIRE a 100 NX -> :1
		PERSIST a -> :1
		PERSIST a -> :0
		TTL a -> :-1
		PTTL nokey -> :-2
		EXPIRETIME nokey -> :-2
		EXPIRETIME a -> :-1
		PEXPIREAT a 99999999999999 -> :1
		PEXPIRETIME a -> :99999999999999
		EXPIRETIME a -> :100000000000
		EXPIREAT a 1 -> :1
		GET a -> nil`,
	"copies, names and flushes": `
		SET a v EX 100 -> +OK
		COPY a b -> :1
		GET b -> "v"
		TTL b -> :100
		COPY a b -> :0
		COPY a b REPLACE -> :1
		COPY a c DB 0 -> :1
		COPY a c DB 1 -> -ERR DB index is out of range
		COPY a c DB x -> -ERR value is not an integer or out of range
		COPY a c DB -> -ERR syntax error
		COPY a c soon -> -ERR syntax error
		COPY a d DB 0 REPLACE -> :1
		COPY a a -> -ERR source and destination objects are the same
		COPY nokey b -> :0
		BF.RESERVE f 0.01 100 -> +OK
		BF.ADD f x -> :1
		COPY f g -> -ERR not supported for this module key
		BF.ADD g y -> :1
		BF.EXISTS f y -> :0
		BF.EXISTS g x -> :0
		RENAME nokey z -> -ERR no such key
		RENAME a a -> +OK
		RENAMENX a b -> :0
		RENAMENX a e -> :1
		EXISTS a e e nokey -> :2
		DEL b c nokey c -> :2
		UNLINK d -> :1
		DBSIZE -> :3
		TOUCH e nokey -> :1
		TYPE f -> +MBbloom--
		TYPE e -> +string
		TYPE nokey -> +none
		FLUSHALL soon -> -ERR syntax error
		FLUSHALL ASYNC x -> -ERR syntax error
		FLUSHDB SYNC -> +OK
		DBSIZE -> :0
		FLUSHALL ASYNC -> +OK`,
	"memory, objects and scans": `
		SET a v -> +OK
		MEMORY USAGE nokey -> nil
		MEMORY USAGE a SAMPLES x -> -ERR value is not an integer or out of range
		MEMORY USAGE a SAMPLES -> -ERR syntax error
		MEMORY USAGE a SAMPLES -1 -> -ERR syntax error
		MEMORY USAGE nokey SAMPLES 0 -> nil
		MEMORY USAGE a SOMETHING 5 -> -ERR syntax error
		OBJECT -> -ERR wrong number of arguments for 'object' command
		OBJECT ENCODING a -> "embstr"
		OBJECT ENCODING nokey -> nil
		OBJECT REFCOUNT a -> :1
		OBJECT IDLETIME a -> :0
		BF.ADD f x -> :1
		OBJECT ENCODING f -> "raw"
		SCAN x -> -ERR invalid cursor
		SCAN 0 COUNT 0 -> -ERR syntax error
		SCAN 0 COUNT x -> -ERR value is not an integer or out of range
		SCAN 0 COUNT -> -ERR syntax error
		SCAN 0 TYPE string -> ["0" ["a"]]
		SCAN 0 TYPE MBbloom-- -> ["0" ["f"]]
		SCAN 0 MATCH z* -> ["0" []]
		SCAN 0 MATCH a COUNT 100 TYPE string -> ["0" ["a"]]
		SCAN 0 soon -> -ERR syntax error
		KEYS z* -> []`,
	"dumps that are none": `
		DUMP nokey -> nil
		RESTORE r 0 x -> -ERR DUMP payload version or checksum are wrong
		RESTORE r -1 x -> -ERR Invalid TTL value, must be >= 0
		RESTORE r x y -> -ERR value is not an integer or out of range
		RESTORE r 0 x REPLACE IDLETIME -> -ERR syntax error
		RESTORE r 0 x IDLETIME -1 -> -ERR Invalid IDLETIME value, must be >= 0
		RESTORE r 0 x IDLETIME x -> -ERR value is not an integer or out of range
		RESTORE r 0 x IDLETIME 0 -> -ERR DUMP payload version or checksum are wrong
		RESTORE r 0 x REPLACE FREQ -> -ERR syntax error
		RESTORE r 0 x FREQ x -> -ERR value is not an integer or out of range
		RESTORE r 0 x FREQ -1 -> -ERR Invalid FREQ value, must be >= 0 and <= 255
		RESTORE r 0 x FREQ 256 -> -ERR Invalid FREQ value, must be >= 0 and <= 255
		RESTORE r 0 x FREQ 255 -> -ERR DUMP payload version or checksum are wrong
		RESTORE r 0 x FREQ 1 IDLETIME 1 -> -ERR syntax error
		RESTORE r 0 x IDLETIME 1 FREQ 1 -> -ERR syntax error
		RESTORE r 0 x soon -> -ERR syntax error`,
	"BF, arguments": `
		BF.RESERVE f 0.01 100 EXPANSION 3 -> +OK
		BF.RESERVE f 0.01 100 -> -ERR item exists
		BF.RESERVE g 0 100 -> -ERR error rate must be in the range (0.000000, 1.000000)
		BF.RESERVE g 1 100 -> -ERR error rate must be in the range (0.000000, 1.000000)
		BF.RESERVE g x 100 -> -ERR bad error rate
		BF.RESERVE g 0.01 0 -> -ERR capacity must be in the range [1, 1073741824]
		BF.RESERVE g 0.01 x -> -ERR bad capacity
		BF.RESERVE g 0.01 100 EXPANSION -> -ERR no expansion
		BF.RESERVE g 0.01 100 EXPANSION x -> -ERR bad expansion
		BF.RESERVE g 0.01 100 EXPANSION -1 -> -ERR expansion must be in the range [0, 32768]
		BF.RESERVE g 0.01 100 EXPANSION 40000 -> -ERR expansion must be in the range [0, 32768]
		BF.RESERVE g 0.01 100 EXPANSION 0 -> +OK
		BF.INFO g EXPANSION -> [+Expansion rate nil]
		BF.RESERVE n 0.01 3 NONSCALING -> +OK
		BF.MADD n a b c d -> [true true true] -ERR non scaling filter is full
		BF.ADD n e -> -ERR non scaling filter is full
		BF.INFO n CAPACITY -> [+Capacity :3]
		BF.INFO n FILTERS -> [+Number of filters :1]
		BF.INFO n ITEMS -> [+Number of items inserted :3]
		BF.INFO n EXPANSION -> [+Expansion rate nil]
		BF.INFO n soon -> -Invalid information value
		BF.INFO nokey -> -ERR not found
		BF.INFO f -> [+Capacity :100 +Size :240 +Number of filters :1 +Number of items inserted :0 +Expansion rate :3]
		BF.CARD f -> :0
		BF.CARD nokey -> :0
		BF.INSERT i CAPACITY 10 ERROR 0.1 EXPANSION 4 ITEMS a b a -> [true true false]
		BF.INFO i CAPACITY -> [+Capacity :10]
		BF.INFO i EXPANSION -> [+Expansion rate :4]
		BF.INSERT i NOCREATE ITEMS c -> [true]
		BF.INSERT j NOCREATE ITEMS c -> -ERR not found
		BF.INSERT j NOCREATE CAPACITY 10 ITEMS c -> -ERR not found
		BF.INSERT j ITEMS -> -ERR wrong number of arguments for 'bf.insert' command
		BF.INSERT j CAPACITY -> -ERR wrong number of arguments for 'bf.insert' command
		BF.INSERT j CAPACITY x ITEMS a -> -Bad capacity
		BF.INSERT j CAPACITY 0 ITEMS a -> -Bad capacity
		BF.INSERT j ERROR x ITEMS a -> -Bad error rate
		BF.INSERT j ERROR 2 ITEMS a -> -Bad error rate
		BF.INSERT j EXPANSION x ITEMS a -> -Bad expansion
		BF.INSERT j EXPANSION 40000 ITEMS a -> -Bad expansion
		BF.INSERT j SOON ITEMS a -> -Unknown argument received
		BF.INSERT j NONSCALING EXPANSION 2 ITEMS a -> [true]
		BF.INSERT j a b -> -Unknown argument received
		BF.EXISTS nokey a -> :0
		BF.MEXISTS i a z -> [true false]
		BF.MEXISTS nokey a -> [false]
		SET s v -> +OK
		BF.ADD s x -> -WRONGTYPE Operation against a key holding the wrong kind of value
		BF.INFO s -> -WRONGTYPE Operation against a key holding the wrong kind of value
		BF.SCANDUMP nokey 0 -> -ERR not found
		BF.SCANDUMP f x -> -Second argument must be numeric
		BF.LOADCHUNK f x y -> -ERR Second argument must be numeric
		BF.LOADCHUNK new 1 y -> -ERR received bad data
		BF.LOADCHUNK new 5 y -> -ERR not found
		BF.LOADCHUNK f 99999 y -> -ERR invalid offset - no link found`,
	"CF, arguments": `
		CF.RESERVE f 100 -> +OK
		CF.RESERVE f 100 -> -ERR item exists
		CF.RESERVE g 0 -> -Capacity must be in the range [2 * BUCKETSIZE, 1073741824]
		CF.RESERVE g x -> -Bad capacity
		CF.RESERVE g 1 -> -Capacity must be in the range [2 * BUCKETSIZE, 1073741824]
		CF.RESERVE g 100 BUCKETSIZE x -> -Couldn't parse BUCKETSIZE
		CF.RESERVE g 100 BUCKETSIZE 0 -> -BUCKETSIZE: value must be in the range [1, 255]
		CF.RESERVE g 100 BUCKETSIZE 256 -> -BUCKETSIZE: value must be in the range [1, 255]
		CF.RESERVE g 100 MAXITERATIONS 0 -> -MAXITERATIONS: value must be in the range [1, 65535]
		CF.RESERVE g 100 MAXITERATIONS x -> -Couldn't parse MAXITERATIONS
		CF.RESERVE g 100 MAXITERATIONS 70000 -> -MAXITERATIONS: value must be in the range [1, 65535]
		CF.RESERVE g 100 EXPANSION x -> -Couldn't parse EXPANSION
		CF.RESERVE g 100 EXPANSION -1 -> -EXPANSION: value must be in the range [0, 32768]
		CF.RESERVE g 100 EXPANSION 40000 -> -EXPANSION: value must be in the range [0, 32768]
		CF.RESERVE g 100 BUCKETSIZE 4 MAXITERATIONS 10 EXPANSION 2 -> +OK
		CF.INFO g -> [+Size :184 +Number of buckets :32 +Number of filters :1 +Number of items inserted :0 +Number of items deleted :0 +Bucket size :4 +Expansion rate :2 +Max iterations :10]
		CF.ADD f a -> :1
		CF.ADDNX f a -> :0
		CF.ADDNX f b -> :1
		CF.COUNT f a -> :1
		CF.ADD f a -> :1
		CF.COUNT f a -> :2
		CF.COUNT nokey a -> :0
		CF.DEL f a -> :1
		CF.COUNT f a -> :1
		CF.DEL f zz -> :0
		CF.DEL nokey a -> -Not found
		CF.EXISTS f a -> :1
		CF.MEXISTS f a zz -> [true false]
		CF.MEXISTS nokey a -> [false]
		CF.INSERT i CAPACITY 50 ITEMS a b -> [1 1]
		CF.INSERT i NOCREATE ITEMS c -> [1]
		CF.INSERT j NOCREATE ITEMS c -> -ERR not found
		CF.INSERT j CAPACITY x ITEMS c -> -Bad capacity
		CF.INSERT j CAPACITY 0 ITEMS c -> -Capacity must be in the range [cf-bucket-size * 2, 1073741824]
		CF.INSERT j CAPACITY 1 ITEMS c -> -Capacity must be in the range [cf-bucket-size * 2, 1073741824]
		CF.INSERT j CAPACITY -> -ERR wrong number of arguments for 'cf.insert' command
		CF.INSERT j ITEMS -> -ERR wrong number of arguments for 'cf.insert' command
		CF.INSERT j SOON ITEMS a -> -Unknown argument received
		CF.INSERTNX i ITEMS a d -> [0 1]
		CF.COMPACT nokey -> -Cuckoo filter was not found
		CF.COMPACT i -> +OK
		CF.INFO nokey -> -ERR not found
		CF.SCANDUMP nokey 0 -> -ERR not found
		CF.SCANDUMP f x -> -Invalid position
		CF.SCANDUMP f -1 -> -Invalid position
		CF.LOADCHUNK f x y -> -Invalid position
		CF.LOADCHUNK f 0 y -> -Invalid position
		CF.LOADCHUNK new 1 y -> -Invalid header
		CF.LOADCHUNK new 5 y -> -ERR not found
		CF.LOADCHUNK f 99999 y -> -Couldn't load chunk!
		SET s v -> +OK
		CF.ADD s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		CF.DEL s a -> -Not found
		CF.COUNT s a -> :0
		CF.INFO s -> -WRONGTYPE Operation against a key holding the wrong kind of value`,
	"connections": `
		HELLO x -> -ERR Protocol version is not an integer or out of range
		HELLO 4 -> -NOPROTO unsupported protocol version
		HELLO 2 SETNAME -> -ERR Syntax error in HELLO option 'SETNAME'
		HELLO 2 AUTH default -> -ERR Syntax error in HELLO option 'AUTH'
		HELLO 2 SOON -> -ERR Syntax error in HELLO option 'SOON'
		CLIENT SETNAME you -> +OK
		CLIENT GETNAME -> "you"
		CLIENT ID -> :1
		CLIENT SETINFO LIB-NAME lib -> +OK
		CLIENT SETINFO LIB-VER 1.2 -> +OK
		CLIENT SETINFO SOON x -> -ERR Unrecognized option 'SOON'
		CLIENT NO-EVICT on -> +OK
		CLIENT NO-EVICT maybe -> -ERR syntax error
		CLIENT NO-TOUCH off -> +OK
		CLIENT NO-TOUCH maybe -> -ERR syntax error
		CLIENT REPLY maybe -> -ERR syntax error
		CLIENT REPLY on -> +OK
		CLIENT REPLY off -> +OK
		CLIENT REPLY ON -> +OK
		CLIENT REPLY Skip -> +OK
		PING -> +PONG
		CLIENT PAUSE x -> -ERR timeout is not an integer or out of range
		CLIENT PAUSE -1 -> -ERR timeout is negative
		CLIENT PAUSE 10 soon -> -ERR CLIENT PAUSE mode must be WRITE or ALL
		CLIENT UNPAUSE -> +OK
		CLIENT LIST TYPE soon -> -ERR Unknown client type 'soon'
		CLIENT LIST TYPE master -> ""
		CLIENT LIST ID x -> -ERR Invalid client ID
		CLIENT LIST ID 99 -> ""
		CLIENT LIST SOON -> -ERR syntax error
		CLIENT KILL nobody:1 -> -ERR No such client
		CLIENT KILL ID 99 -> :0
		CLIENT KILL ID x -> -ERR client-id should be greater than 0
		CLIENT KILL ID 0 -> -ERR client-id should be greater than 0
		CLIENT KILL ID -1 -> -ERR client-id should be greater than 0
		CLIENT KILL TYPE soon -> -ERR Unknown client type 'soon'
		CLIENT KILL TYPE master -> :0
		CLIENT KILL USER nobody -> -ERR No such user 'nobody'
		CLIENT KILL ADDR 1.2.3.4:5 -> :0
		CLIENT KILL LADDR 1.2.3.4:5 -> :0
		CLIENT KILL SKIPME maybe ID 1 -> -ERR syntax error
		CLIENT KILL SKIPME yes ID 1 -> :0
		CLIENT KILL MAXAGE x -> -ERR maxage is not an integer or out of range
		CLIENT KILL MAXAGE 100 -> :0
		CLIENT KILL SOON 1 -> -ERR syntax error
		CLIENT KILL ID -> -ERR No such client
		CLIENT SOON -> -ERR unknown subcommand 'SOON'. Try CLIENT HELP.
		CLIENT CACHING yes -> -ERR unknown subcommand 'CACHING'. Try CLIENT HELP.
		CLIENT TRACKING off -> +OK
		CLIENT GETREDIR -> -ERR unknown subcommand 'GETREDIR'. Try CLIENT HELP.
		PING -> +PONG
		PING hi -> "hi"
		PING a b -> -ERR wrong number of arguments for 'ping' command
		ECHO hi -> "hi"
		SELECT 0 -> +OK
		SELECT 1 -> -ERR DB index is out of range: this server has one database, 0. Give the keys of each application a prefix, or run a server for each
		SELECT x -> -ERR value is not an integer or out of range
		AUTH a b -> -WRONGPASS invalid username-password pair or user is disabled.
		CONFIG SET requirepass p -> +OK
		AUTH default p -> +OK
		AUTH p -> +OK
		AUTH other p -> -WRONGPASS invalid username-password pair or user is disabled.
		AUTH default p p -> -ERR syntax error
		QUIT -> +OK`,
	"transactions": `
		MULTI -> +OK
		MULTI -> -ERR MULTI calls can not be nested
		SET a 1 -> +QUEUED
		INCR a -> +QUEUED
		GET nokey -> +QUEUED
		EXEC -> [+OK :2 nil]
		EXEC -> -ERR EXEC without MULTI
		DISCARD -> -ERR DISCARD without MULTI
		MULTI -> +OK
		SET a -> -ERR wrong number of arguments for 'set' command
		EXEC -> -EXECABORT Transaction discarded because of previous errors.
		WATCH a -> +OK
		MULTI -> +OK
		SET a 5 -> +QUEUED
		EXEC -> [+OK]
		WATCH a -> +OK
		SET a 6 -> +OK
		MULTI -> +OK
		SET a 7 -> +QUEUED
		EXEC -> nil
		GET a -> "6"
		WATCH a -> +OK
		UNWATCH -> +OK
		MULTI -> +OK
		WATCH a -> -ERR WATCH inside MULTI is not allowed
		DISCARD -> +OK
		MULTI -> +OK
		SET a 8 -> +QUEUED
		DISCARD -> +OK
		GET a -> "6"`,
	"settings and what looks at the server": `
		CONFIG GET maxmemory -> ["maxmemory" "1073741824"]
		CONFIG GET nothing -> []
		CONFIG SET nothing 1 -> -ERR Unknown option or number of arguments for CONFIG SET - 'nothing'
		CONFIG SET maxmemory -> -ERR wrong number of arguments for 'config|set' command
		CONFIG SET maxmemory x -> -ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value above 0
		CONFIG SET bf-error-rate 0.001 -> +OK
		CONFIG GET bf-error-rate -> ["bf-error-rate" "0.001"]
		CONFIG SET bf-error-rate 2 -> -ERR CONFIG SET failed (possibly related to argument 'bf-error-rate') - Value for ` + "`" + `bf-error-rate` + "`" + ` must be in the range (0.000000, 1.000000)
		CONFIG SET bf-initial-size 0 -> -ERR CONFIG SET failed (possibly related to argument 'bf-initial-size') - Value for ` + "`" + `bf-initial-size` + "`" + ` must be in the range [1, 1073741824]
		CONFIG SET bf-initial-size 200 -> +OK
		CONFIG GET bf-initial-size -> ["bf-initial-size" "200"]
		CONFIG SET bf-expansion-factor 4 -> +OK
		CONFIG GET bf-expansion-factor -> ["bf-expansion-factor" "4"]
		CONFIG SET bf-expansion-factor -1 -> -ERR CONFIG SET failed (possibly related to argument 'bf-expansion-factor') - Value for ` + "`" + `bf-expansion-factor` + "`" + ` must be in the range [0, 32768]
		CONFIG SET cf-bucket-size 3 -> +OK
		CONFIG GET cf-bucket-size -> ["cf-bucket-size" "3"]
		CONFIG SET cf-bucket-size 0 -> -ERR CONFIG SET failed (possibly related to argument 'cf-bucket-size') - Value for ` + "`" + `cf-bucket-size` + "`" + ` must be in the range [1, 255]
		CONFIG SET cf-initial-size 2048 -> +OK
		CONFIG GET cf-initial-size -> ["cf-initial-size" "2048"]
		CONFIG SET cf-max-iterations 5 -> +OK
		CONFIG GET cf-max-iterations -> ["cf-max-iterations" "5"]
		CONFIG SET cf-max-expansions 7 -> +OK
		CONFIG GET cf-max-expansions -> ["cf-max-expansions" "7"]
		CONFIG SET cf-expansion-factor 2 -> +OK
		CONFIG GET cf-expansion-factor -> ["cf-expansion-factor" "2"]
		CONFIG SET bf-error-rate 0.01 nothing 1 -> -ERR Unknown option or number of arguments for CONFIG SET - 'nothing'
		CONFIG GET bf-error-rate -> ["bf-error-rate" "0.001"]
		CONFIG RESETSTAT -> +OK
		CONFIG REWRITE -> -ERR The server is running without a config file
		CONFIG SOON -> -ERR unknown subcommand 'SOON'. Try CONFIG HELP.
		BF.ADD b x -> :1
		BF.INFO b CAPACITY -> [+Capacity :200]
		BF.INFO b EXPANSION -> [+Expansion rate :4]
		CF.ADD c x -> :1
		CF.INFO c -> [+Size :3128 +Number of buckets :1024 +Number of filters :1 +Number of items inserted :1 +Number of items deleted :0 +Bucket size :3 +Expansion rate :2 +Max iterations :5]
		SLOWLOG LEN -> :0
		SLOWLOG GET -> []
		SLOWLOG GET x -> -ERR count should be greater than or equal to -1
		SLOWLOG GET -2 -> -ERR count should be greater than or equal to -1
		SLOWLOG RESET -> +OK
		SLOWLOG SOON -> -ERR unknown subcommand 'SOON'. Try SLOWLOG HELP.
		LATENCY LATEST -> []
		LATENCY HISTORY command -> []
		LATENCY RESET -> :0
		LATENCY GRAPH command -> -ERR unknown subcommand 'GRAPH'. Try LATENCY HELP.
		LATENCY HISTOGRAM nothing -> []
		LATENCY SOON -> -ERR unknown subcommand 'SOON'. Try LATENCY HELP.
		ACL WHOAMI -> "default"
		ACL CAT nothing -> -ERR Unknown category 'nothing'
		ACL CAT bloom -> ["bf.add" "bf.card" "bf.debug" "bf.exists" "bf.info" "bf.insert" "bf.loadchunk" "bf.madd" "bf.mexists" "bf.reserve" "bf.scandump"]
		ACL USERS -> ["default"]
		ACL GETUSER nobody -> nil
		ACL SOON -> -ERR unknown subcommand 'SOON'. Try ACL HELP.
		COMMAND GETKEYS FILTER.CREATE a bloom LIKE b NX -> ["a" "b"]
		COMMAND GETKEYS FILTER.CREATE a bloom LIKE -> ["a"]
		COMMAND GETKEYS SET a 1 GET -> ["a"]
		COMMAND COUNT x -> -ERR wrong number of arguments for 'command|count' command
		COMMAND GETKEYS BF.ADD k x -> ["k"]
		COMMAND GETKEYS MSET a 1 b 2 -> ["a" "b"]
		COMMAND GETKEYS PING -> -ERR The command has no key arguments
		COMMAND GETKEYS SOON -> -ERR Invalid command specified
		COMMAND GETKEYS BF.ADD -> -ERR Invalid number of arguments specified for command
		COMMAND GETKEYSANDFLAGS BF.ADD k x -> -ERR unknown subcommand 'GETKEYSANDFLAGS'. Try COMMAND HELP.
		COMMAND LIST FILTERBY MODULE nothing -> []
		COMMAND LIST FILTERBY ACLCAT nothing -> []
		COMMAND LIST FILTERBY PATTERN bf.i* -> ["bf.info" "bf.insert"]
		COMMAND LIST FILTERBY SOON x -> -ERR syntax error
		COMMAND LIST SOON -> -ERR syntax error
		COMMAND INFO nothing -> [nil]
		COMMAND DOCS nothing -> []
		COMMAND SOON -> -ERR unknown subcommand 'SOON'. Try COMMAND HELP.
		MODULE SOON -> -ERR unknown subcommand 'SOON'. Try MODULE HELP.
		DEBUG SOON -> -ERR unknown subcommand 'SOON'. Try DEBUG HELP.
		DEBUG SLEEP x -> -ERR unknown subcommand 'SLEEP'. Try DEBUG HELP.`,
	"strings, arguments": `
		SET a 10 -> +OK
		SETRANGE a -1 x -> -ERR offset is out of range
		SETRANGE a x y -> -ERR value is not an integer or out of range
		SETRANGE a 600000000 x -> -ERR string exceeds maximum allowed size (proto-max-bulk-len)
		SETRANGE nokey 0 x -> :1
		GETEX a EX 10 -> "10"
		PTTL a -> :10000
		GETEX a PERSIST -> "10"
		TTL a -> :-1
		GETEX a EX 10 PX 10 -> -ERR syntax error
		GETEX a EXAT 1 -> "10"
		GET a -> nil
		SET b v EXAT 1 -> +OK
		GET b -> nil
		SET b v PXAT 99999999999999 -> +OK
		PEXPIRETIME b -> :99999999999999
		SET b v EX 10 KEEPTTL -> -ERR syntax error
		SET b v EX -> -ERR syntax error
		SET b v EX x -> -ERR value is not an integer or out of range
		SET b v soon -> -ERR syntax error
		INCRBY b 1 -> -ERR value is not an integer or out of range
		INCRBY n x -> -ERR value is not an integer or out of range
		DECR n -> :-1
		SET top 9223372036854775806 -> +OK
		INCR top -> :9223372036854775807
		INCR top -> -ERR increment or decrement would overflow
		SET low -9223372036854775807 -> +OK
		DECRBY low 1 -> :-9223372036854775808
		DECRBY low 1 -> -ERR increment or decrement would overflow
		DECRBY q -9223372036854775808 -> -ERR decrement would overflow
		APPEND nokey x -> :2
		STRLEN nokey -> :2
		STRLEN absent -> :0
		BF.ADD f x -> :1
		APPEND f x -> -WRONGTYPE Operation against a key holding the wrong kind of value
		STRLEN f -> -WRONGTYPE Operation against a key holding the wrong kind of value
		SETRANGE f 0 x -> -WRONGTYPE Operation against a key holding the wrong kind of value
		INCR f -> -WRONGTYPE Operation against a key holding the wrong kind of value
		GET f -> -WRONGTYPE Operation against a key holding the wrong kind of value
		SETEX k 10 v -> +OK
		PTTL k -> :10000
		PSETEX k 10 v -> +OK
		PTTL k -> :10`,
	"BF, words anywhere": `
		BF.RESERVE nonscaling 0.01 3 -> +OK
		BF.MADD nonscaling a b c d -> [true true true] -ERR non scaling filter is full
		BF.RESERVE expansion 0.01 100 -> -ERR bad expansion
		BF.RESERVE z 0.01 3 EXPANSION 0 -> +OK
		BF.MADD z a b c d -> [true true true] -ERR non scaling filter is full
		BF.RESERVE y 0.01 3 EXPANSION 0 NONSCALING -> +OK
		BF.RESERVE x 0.01 3 EXPANSION 2 NONSCALING -> -Nonscaling filters cannot expand
		BF.RESERVE x 0.01 3 EXPANSION 2 NONSCALING more -> -ERR wrong number of arguments for 'bf.reserve' command
		BF.RESERVE x 0.01 1 EXPANSION 2 -> +OK
		BF.MADD x a b c d -> [true true true true]
		BF.INFO x FILTERS -> [+Number of filters :3]
		BF.INSERT j ERROR 1 ITEMS a -> -Bad error rate
		BF.INSERT j ERROR 0 ITEMS a -> -Bad error rate
		BF.INSERT j CAPACITY 10 ERROR -> -ERR wrong number of arguments for 'bf.insert' command
		BF.INSERT j CAPACITY 10 ERROR 0.1 -> -ERR wrong number of arguments for 'bf.insert' command
		BF.INSERT j EXR 5 ITEMS a -> [true]
		BF.INFO j EXPANSION -> [+Expansion rate :5]
		BF.INSERT k NONSCALING CAPACITY 2 ITEMS a b c -> [true true] -ERR non scaling filter is full`,
	"CF, limits": `
		CF.RESERVE a 8 BUCKETSIZE 4 -> +OK
		CF.RESERVE b 7 BUCKETSIZE 4 -> -Capacity must be in the range [2 * BUCKETSIZE, 1073741824]
		CF.RESERVE b 510 BUCKETSIZE 255 -> +OK
		CF.RESERVE c 100 MAXITERATIONS 1 -> +OK
		CF.RESERVE d 100 MAXITERATIONS 65535 -> +OK
		CF.RESERVE e 100 EXPANSION 0 -> +OK
		CF.RESERVE f 100 EXPANSION 32768 -> +OK
		CF.RESERVE g 100 EXPANSION 32769 -> -EXPANSION: value must be in the range [0, 32768]
		CF.RESERVE g 100 BUCKETSIZE 1 -> +OK
		CF.RESERVE bucketsize 100 -> +OK
		CF.COMPACT -> -ERR wrong number of arguments for 'cf.compact' command
		CF.COMPACT a b -> -ERR wrong number of arguments for 'cf.compact' command
		CF.INSERT h CAPACITY 10 -> -ERR wrong number of arguments for 'cf.insert' command
		CF.INSERT h CAPACITY 10 NOCREATE -> -ERR wrong number of arguments for 'cf.insert' command
		CF.INSERT h CAPACITY 4 ITEMS a -> [1]
		CF.INSERTNX h ITEMS a b -> [0 1]
		CF.INSERTNX h ITEMS a -> [0]
		CF.INSERT i ITEMS a -> [1]
		CF.INFO i -> [+Size :1080 +Number of buckets :512 +Number of filters :1 +Number of items inserted :1 +Number of items deleted :0 +Bucket size :2 +Expansion rate :1 +Max iterations :20]
		SET s v -> +OK
		SET 100 v -> +OK
		CF.RESERVE s 100 -> -WRONGTYPE Operation against a key holding the wrong kind of value
		CF.RESERVE new 100 -> +OK
		CONFIG SET cf-max-expansions 1 -> +OK
		CF.INSERT i ITEMS b -> -Maximum expansions reached
		CF.INSERTNX i ITEMS b -> -Maximum expansions reached
		CF.ADD i b -> -Maximum expansions reached
		CF.COUNT i b -> :0`,
}

// TestItemsOfAPipeline asks that commands that come together keep their own items.
func TestItemsOfAPipeline(t *testing.T) {
	b := newBench(t, 1<<30)
	var adds [][][]byte
	for _, kind := range []string{"BF", "CF"} {
		for i := range 20 {
			adds = append(adds, fields(fmt.Sprintf("%s.ADD %s%d item%d", kind, kind, i, i)))
		}
	}
	b.exec(adds...)
	for _, kind := range []string{"BF", "CF"} {
		for i := range 20 {
			for j := range 20 {
				want := ":0"
				if i == j {
					want = ":1"
				}
				if got := b.line(fmt.Sprintf("%s.EXISTS %s%d item%d", kind, kind, i, j)); got != want {
					t.Errorf("item %d in filter %d of %s: %s, want %s", j, i, kind, got, want)
				}
			}
		}
	}
	for _, kind := range []string{"BF", "CF"} {
		adds = adds[:0]
		for i := range 20 {
			adds = append(adds, fields(fmt.Sprintf("%s.ADD %s item%d", kind, kind, i)))
		}
		b.exec(adds...)
		for i := range 20 {
			if got := b.line(fmt.Sprintf("%s.EXISTS %s item%d", kind, kind, i)); got != ":1" {
				t.Errorf("item %d of 20 that were added to one filter of %s together: %s", i, kind, got)
			}
		}
	}
	if got := b.line("BF.DEBUG BF0"); !strings.Contains(got, "size:1") || !strings.Contains(got, "capacity:100 size:1 ratio:0.005") {
		t.Errorf("BF.DEBUG = %s", got)
	}
}

func TestEdges(t *testing.T) {
	for name, script := range edges {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1<<30)
			for line := range strings.Lines(strings.TrimSpace(script)) {
				cmd, want, _ := strings.Cut(strings.Trim(line, "\t\n"), " -> ")
				if got := b.line(cmd); got != want {
					t.Errorf("%s\n got %s\nwant %s", cmd, got, want)
				}
			}
		})
	}
}

// TestDumpsOfEverySort moves filters by DUMP and by pieces, with an entry in the place of
// another, deadlines and mistakes.
func TestDumpsOfEverySort(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.RESERVE bf 0.001 50 EXPANSION 3")
	b.line("CF.RESERVE cf 64 BUCKETSIZE 3 MAXITERATIONS 7 EXPANSION 2")
	for i := range 200 {
		item := strings.Repeat("x", i)
		b.do("BF.ADD", "bf", item)
		b.do("CF.ADD", "cf", item)
	}
	b.do("SET", "s", strings.Repeat("text", 50))
	for _, name := range []string{"bf", "cf", "s"} {
		dump := b.exec([][]byte{[]byte("DUMP"), []byte(name)})[0].Text
		for _, c := range []struct{ words, want string }{
			{"0", "+OK"},
			{"0", "-BUSYKEY Target key name already exists."},
			{"0 REPLACE", "+OK"},
			{"5000 REPLACE IDLETIME 3", "+OK"},
		} {
			words := strings.Fields(c.words)
			if got := b.do(append([]string{"RESTORE", name + "copy", words[0], dump}, words[1:]...)...); got != c.want {
				t.Errorf("RESTORE of %s %s = %s, want %s", name, c.words, got, c.want)
			}
		}
		if got := b.line("PTTL " + name + "copy"); got != ":5000" {
			t.Errorf("PTTL of %s = %s, want :5000", name, got)
		}
		if got := b.exec([][]byte{[]byte("DUMP"), []byte(name + "copy")})[0].Text; got != dump {
			t.Errorf("the copy of %s has another dump", name)
		}
		if got := b.do("RESTORE", name+"at", "1700000009000", dump, "ABSTTL"); got != "+OK" {
			t.Errorf("RESTORE ABSTTL = %s", got)
		}
		if got := b.line("PTTL " + name + "at"); got != ":9000" {
			t.Errorf("PTTL of %s = %s, want :9000", name, got)
		}
		if got := b.do("RESTORE", name+"gone", "1", dump, "ABSTTL"); got != "+OK" || b.line("EXISTS "+name+"gone") != ":0" {
			t.Errorf("RESTORE with a deadline in the past = %s", got)
		}
		for i := 0; i < len(dump); i += max(1, len(dump)/50) {
			bad := []byte(dump)
			bad[i] ^= 1
			if got := b.do("RESTORE", "bad", "0", string(bad)); got != "-ERR DUMP payload version or checksum are wrong" {
				t.Errorf("byte %d of %s changed: %s", i, name, got)
			}
		}
	}
	// Info and answers are those of the original.
	for _, line := range []string{"BF.INFO bf", "CF.INFO cf", "BF.CARD bf", "CF.COUNT cf xxx", "BF.EXISTS bf xxx"} {
		copied := strings.NewReplacer(" bf", " bfcopy", " cf", " cfcopy").Replace(line)
		if a, c := b.line(line), b.line(copied); a != c {
			t.Errorf("%s = %s, of the copy %s", line, a, c)
		}
	}
}

// TestPieces moves filters by SCANDUMP and LOADCHUNK, and brings pieces in which
// something is wrong.
func TestPieces(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.RESERVE bf 0.01 100")
	b.line("CF.RESERVE cf 100")
	for i := range 500 {
		item := strings.Repeat("x", i)
		b.do("BF.ADD", "bf", item)
		b.do("CF.ADD", "cf", item)
	}
	for _, kind := range []string{"bf", "cf"} {
		iter, pieces := "0", 0
		for {
			r := b.exec([][]byte{[]byte(kind + ".scandump"), []byte(kind), []byte(iter)})[0]
			next := show(r.Elems[0])[1:]
			if next == "0" {
				break
			}
			data := r.Elems[1].Text
			if got := b.do(kind+".loadchunk", kind+"copy", next, data); got != "+OK" {
				t.Fatalf("%s.LOADCHUNK %s = %s", kind, next, got)
			}
			if pieces++; pieces == 1 {
				for _, bad := range []string{data[:len(data)-1], data + "x", "", strings.Repeat("\xff", len(data))} {
					if got := b.do(kind+".loadchunk", kind+"bad", next, bad); !strings.HasPrefix(got, "-") || b.line("EXISTS "+kind+"bad") != ":0" {
						t.Errorf("%s.LOADCHUNK of a wrong header = %s", kind, got)
					}
				}
			} else if got := b.do(kind+".loadchunk", kind+"copy", next, data+data+"x"); !strings.HasPrefix(got, "-") {
				t.Errorf("%s.LOADCHUNK of too much = %s", kind, got)
			}
			iter = next
		}
		if a, c := b.do("DUMP", kind), b.do("DUMP", kind+"copy"); a != c || pieces < 2 {
			t.Errorf("%s: %d pieces make another filter", kind, pieces)
		}
	}
}

// TestManyNames removes more names than one record has.
func TestManyNames(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, n := range []int{1, 127, 128, 129, 256, 257, 1000} {
		set, names := []string{"MSET"}, []string{"DEL", "nokey"}
		for i := range n {
			name := fmt.Sprint("name", i)
			set, names = append(set, name, "v"), append(names, name)
		}
		names = append(names, "name0", "stays not") // twice, and never there
		b.do(set...)
		b.do("SET", "other", "v")
		if got := b.do(append([]string{"EXISTS"}, names[1:]...)...); got != fmt.Sprint(":", n+1) {
			t.Errorf("EXISTS of %d names, one of them twice = %s", n, got)
		}
		if got := b.do(names...); got != fmt.Sprint(":", n) {
			t.Errorf("DEL of %d names = %s", n, got)
		}
		if got := b.line("DBSIZE"); got != ":1" {
			t.Errorf("after DEL of %d names DBSIZE = %s, want :1", n, got)
		}
	}
}

// TestScanWalks visits every name, with about as many in a call as were asked for:
// ten if nothing was.
func TestScanWalks(t *testing.T) {
	b := newBench(t, 1<<30)
	const names, chain = 2000, 30
	for i := range names {
		b.do("SET", fmt.Sprint("name", i), "v")
	}
	for _, c := range []struct {
		words string
		count int
	}{{"", 10}, {" COUNT 1", 1}, {" COUNT 9", 9}, {" COUNT 300", 300}, {" COUNT 5000", 5000}} {
		seen, cursor := map[string]bool{}, "0"
		for {
			r := b.exec(fields("SCAN " + cursor + c.words))[0]
			for _, name := range r.Elems[1].Elems {
				seen[name.Text] = true
			}
			cursor = r.Elems[0].Text
			if cursor == "0" {
				break
			}
			if got := len(r.Elems[1].Elems); got < c.count || got > c.count+chain {
				t.Fatalf("SCAN%s has %d names", c.words, got)
			}
		}
		if len(seen) != names {
			t.Errorf("SCAN%s finds %d of %d names", c.words, len(seen), names)
		}
	}
}

// fields returns the words of a command.
func fields(line string) (args [][]byte) {
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	return args
}

// TestCuckooShrinks deletes most of what is in many sub-filters: what is left moves
// together, at deletes and by CF.COMPACT.
func TestCuckooShrinks(t *testing.T) {
	for _, items := range []int{60, 3000} { // compacted at once, and in pieces
		b := newBench(t, 1<<30)
		b.line("CF.RESERVE c 8 BUCKETSIZE 2 EXPANSION 1")
		filters := func() (n int) {
			info := b.exec(fields("CF.INFO c"))[0].Elems
			for i := 0; i+1 < len(info); i += 2 {
				if info[i].Text == "Number of filters" {
					n = int(info[i+1].N)
				}
			}
			return n
		}
		for i := range items {
			if got := b.line(fmt.Sprint("CF.ADD c item", i)); got != ":1" {
				if i < 50 {
					t.Fatalf("CF.ADD of item %d = %s", i, got)
				}
				items = i // no more sub-filters: enough
				break
			}
		}
		full := filters()
		left := items / 20
		for i := left; i < items; i++ {
			if got := b.line(fmt.Sprint("CF.DEL c item", i)); got != ":1" {
				t.Fatalf("CF.DEL of item %d = %s", i, got)
			}
		}
		deleted := filters()
		if got := b.line("CF.COMPACT c"); got != "+OK" {
			t.Fatalf("CF.COMPACT = %s", got)
		}
		compact := filters()
		if full < 4 || deleted >= full || compact > deleted || compact > max(1, full/4) {
			t.Errorf("%d items: %d sub-filters, %d after deletes, %d after CF.COMPACT", items, full, deleted, compact)
		}
		for i := range left {
			if got := b.line(fmt.Sprint("CF.EXISTS c item", i)); got != ":1" {
				t.Fatalf("item %d is forgotten: %s", i, got)
			}
		}
	}
}

// TestDumpsHaveTheirTypes looks at the first bytes of dumps: a module's value, and
// the type with version 4 of its encoding.
func TestDumpsHaveTheirTypes(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.ADD bf x")
	b.line("CF.ADD cf x")
	for name, kind := range map[string]string{"bf": "MBbloom--", "cf": "MBbloomCF"} {
		want := binary.BigEndian.AppendUint64([]byte{7, 0x81}, rdb.ModuleID(kind, 4))
		if got := b.exec(fields("DUMP " + name))[0].Text; !strings.HasPrefix(got, string(want)) {
			t.Errorf("the dump of %s begins with %x, want %x", name, got[:min(10, len(got))], want)
		}
	}
}
