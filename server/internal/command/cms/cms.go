// Package cms is the CMS commands: count-min sketches as RedisBloom has them,
// replies and dumps to the byte.
package cms

import "github.com/bloomery/bloomery/server/internal/engine"

// Commands returns the CMS commands.
func Commands() []engine.Command {
	return []engine.Command{incrBy, info, initByDim, initByProb, merge, query}
}

// What RedisBloom says, byte for byte.
const (
	textMissing      = "CMS: key does not exist"
	textExists       = "CMS: key already exists"
	textWidth        = "CMS: invalid width"
	textDepth        = "CMS: invalid depth"
	textRate         = "CMS: invalid overestimation value"
	textProbability  = "CMS: invalid prob value"
	textArguments    = "CMS: invalid init arguments"
	textNoMemory     = "CMS: Insufficient memory to create the key"
	textNumber       = "CMS: Cannot parse number"
	textNegative     = "CMS: Number cannot be negative"
	textOverflow     = "CMS: INCRBY overflow"
	textNumKeys      = "CMS: invalid numkeys"
	textFewKeys      = "CMS: Number of keys must be positive"
	textKeys         = "CMS: wrong number of keys"
	textWeights      = "CMS: wrong number of keys/weights"
	textWeight       = "CMS: invalid weight value"
	textIncompatible = "CMS: width/depth is not equal"
	textMerge        = "CMS: MERGE overflow"

	// Of this server only: a merge of so many keys does not fit into a record.
	textManyKeys = "CMS: too many keys for one merge"
)
