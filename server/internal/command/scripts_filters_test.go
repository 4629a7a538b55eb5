package command_test

// Scripts about Bloom and cuckoo filters.

// filterScripts are scripts as those of TestCommands: options, limits and mistakes, with
// the replies of Redis and RedisBloom.
var filterScripts = map[string]string{
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
