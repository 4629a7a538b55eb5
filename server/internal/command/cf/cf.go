// Package cf is the CF commands: cuckoo filters as RedisBloom has them, replies
// and dumps to the byte.
package cf

import "github.com/bloomery/bloomery/server/internal/engine"

// Commands returns the CF commands.
func Commands() []engine.Command {
	return []engine.Command{
		add, addNX, compact, count, debug, del, exists, info, insert, insertNX, loadChunk, mExists, reserve, scanDump,
	}
}

// What RedisBloom says, byte for byte.
const (
	textRange           = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
	textInsertRange     = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
	textFull            = "Filter is full"
	textMost            = "Maximum expansions reached"
	textMissing         = "Not found"
	textCompactMissing  = "Cuckoo filter was not found"
	textPosition        = "Invalid position"
	textHeader          = "Invalid header"
	textCreate          = "Couldn't create filter!"
	textChunk           = "Couldn't load chunk!"
	textNoMemory        = "ERR Insufficient memory"
	textIterations      = "Couldn't parse MAXITERATIONS"
	textIterationsRange = "MAXITERATIONS: value must be in the range [1, 65535]"
	textBucket          = "Couldn't parse BUCKETSIZE"
	textBucketRange     = "BUCKETSIZE: value must be in the range [1, 255]"
	textGrow            = "Couldn't parse EXPANSION"
	textGrowRange       = "EXPANSION: value must be in the range [0, 32768]"
)
