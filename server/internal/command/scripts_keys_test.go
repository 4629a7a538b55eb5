package command_test

// Scripts about names, deadlines, strings and dumps.

// keyScripts are scripts as those of TestCommands: options, limits and mistakes, with
// the replies of Redis and RedisBloom.
var keyScripts = map[string]string{
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
}
