// Package bf is the BF commands: Bloom filters as RedisBloom has them, replies
// and dumps to the byte.
package bf

import "github.com/bloomery/bloomery/server/internal/engine"

// Commands returns the BF commands.
func Commands() []engine.Command {
	return []engine.Command{
		add, card, debug, exists, info, insert, loadChunk, mAdd, mExists, reserve, scanDump,
	}
}

// What RedisBloom says, byte for byte. Many of its texts have no code in front.
const (
	textErrorRate       = "ERR bad error rate"
	textErrorRange      = "ERR error rate must be in the range (0.000000, 1.000000)"
	textCapacity        = "ERR bad capacity"
	textCapacityRange   = "ERR capacity must be in the range [1, 1073741824]"
	textNoExpansion     = "ERR no expansion"
	textExpansion       = "ERR bad expansion"
	textExpansionRange  = "ERR expansion must be in the range [0, 32768]"
	textNonScaling      = "Nonscaling filters cannot expand"
	textFull            = "ERR non scaling filter is full"
	textInsertError     = "Bad error rate"
	textInsertExpansion = "Bad expansion"
	textInfoValue       = "Invalid information value"
	textScanNumber      = "Second argument must be numeric"
	textLoadNumber      = "ERR Second argument must be numeric"
	textBadData         = "ERR received bad data"
	textBadOffset       = "ERR invalid offset - no link found"
	textBadChunk        = "ERR invalid chunk - Too big for current filter"
	textGrowth          = "ERR problem inserting into filter"
)
