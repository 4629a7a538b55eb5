package answer

// Commands of Redis that clients may try, and what to do instead.

import (
	"strings"
	"sync"
)

// elsewhere are commands of Redis that are not served, by what they need.
var elsewhere = []struct{ instead, names string }{
	{
		"there are no hashes here. Keep them in a Redis server beside this one, or each field as a string of its own (SET)",
		"hdel hexists hexpire hexpireat hexpiretime hget hgetall hgetdel hgetex hincrby hincrbyfloat hkeys hlen hmget hmset hpersist hpexpire hpexpireat " +
			"hpexpiretime hpttl hrandfield hscan hset hsetex hsetnx hstrlen httl hvals",
	},
	{
		"there are no lists here. Use a Redis server, or a message broker, beside this one",
		"blmove blmpop blpop brpop brpoplpush lindex linsert llen lmove lmpop lpop lpos lpush lpushx lrange lrem lset ltrim rpop rpoplpush rpush rpushx",
	},
	{
		"there are no sets here. BF.ADD and BF.EXISTS keep which items were added, CF.ADD and CF.DEL also remove them. Keep a set that lists its items in a Redis server beside this one",
		"sadd scard sdiff sdiffstore sinter sintercard sinterstore sismember smembers smismember smove spop srandmember srem sscan sunion sunionstore",
	},
	{
		"there are no sorted sets here. TOPK.ADD keeps the most frequent items, TDIGEST.ADD the ranks and quantiles of numbers. Keep a set with scores in a Redis server beside this one",
		"bzmpop bzpopmax bzpopmin zadd zcard zcount zdiff zdiffstore zincrby zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember " +
			"zrange zrangebylex zrangebyscore zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex " +
			"zrevrangebyscore zrevrank zscan zscore zunion zunionstore",
	},
	{
		"there are no streams here. Use a Redis server, or a message broker, beside this one",
		"xack xackdel xadd xautoclaim xclaim xdel xdelex xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim",
	},
	{
		"there are no geospatial indexes here. Use a Redis server beside this one",
		"geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore",
	},
	{
		"there are no HyperLogLogs here. BF.ADD and BF.CARD, or FILTER.ADD and FILTER.CARD, estimate how many different items there are",
		"pfadd pfcount pfdebug pfmerge pfselftest",
	},
	{
		"there are no bitmaps here. BF.ADD and BF.EXISTS keep which items were seen; for bits by number use a Redis server beside this one",
		"bitcount bitfield bitfield_ro bitop bitpos getbit setbit",
	},
	{
		"there are no vectors here. Use a Redis server beside this one",
		"vadd vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vrange vrem vsetattr vsim",
	},
	{
		"a server has no master and no replicas. The nodes of a cluster hold copies (bloomery serve --cluster, INFO cluster), and bloomery follow keeps a copy of one filter",
		"failover replconf replicaof role slaveof",
	},
	{
		"nothing is sent as an RDB file. Copy all data with bloomery backup, or bloomery cluster backup, and one key with DUMP, BF.SCANDUMP or FILTER.DUMP",
		"psync sync",
	},
	{
		"keys are moved by the client: DUMP here and RESTORE there, or FILTER.DUMP and FILTER.LOAD",
		"migrate",
	},
	{
		"there is one database. Use a prefix of the key instead of a number",
		"move swapdb",
	},
	{
		"there are no lists and sets to sort here. Use a Redis server beside this one",
		"sort sort_ro",
	},
	{
		"the server shortens its log by itself. BGSAVE writes a snapshot now",
		"bgrewriteaof",
	},
}

// modules are beginnings of commands of modules of Redis that are not served.
const modules = "ft. graph. json. ts."

// insteadOf returns what to do instead of a command of Redis that is not served, or "".
func insteadOf(name []byte) string {
	const longest = 32
	if len(name) > longest {
		return ""
	}
	lower := Lower(name)
	if module, _, ok := strings.Cut(lower, "."); ok && strings.Contains(" "+modules, " "+module+".") {
		return "of the modules of Redis, BF, CF, CMS, TOPK and TDIGEST are served. Use a Redis server with this module beside this one"
	}
	return insteads()[lower]
}

var insteads = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, e := range elsewhere {
		for name := range strings.FieldsSeq(e.names) {
			all[name] = e.instead
		}
	}
	return all
})
