package command_test

// Scripts about connections, transactions and settings.

// sessionScripts are scripts as those of TestCommands: options, limits and mistakes, with
// the replies of Redis and RedisBloom.
var sessionScripts = map[string]string{
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
}
