package answer

// The versions of Redis and RedisBloom that clients see.

// RedisVersion is the version of Redis that clients see: the one that the
// replies are those of.
const RedisVersion = "7.4.1"

// BloomVersion is the version of RedisBloom that clients see, as a number:
// 8.0.0, the first with the configuration names that CONFIG knows here.
const BloomVersion = 80000

// BloomModule describes the module that RedisBloom would be.
func BloomModule() Reply {
	return Pairs(
		Text("name"), Text("bf"),
		Text("ver"), Integer(BloomVersion),
		Text("path"), Text(""),
		Text("args"), List(),
	)
}
