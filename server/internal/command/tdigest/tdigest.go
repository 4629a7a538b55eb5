// Package tdigest is the TDIGEST commands: quantiles and ranks of a stream of
// numbers, by t-digests as RedisBloom has them, replies and dumps to the byte.
package tdigest

import "github.com/bloomery/bloomery/server/internal/engine"

// Commands returns the TDIGEST commands.
func Commands() []engine.Command {
	return []engine.Command{
		add, byRank, byRevRank, cdf, create, info, largest, merge, quantile, rank, reset, revRank, smallest, trimmedMean,
	}
}

// What RedisBloom says, byte for byte.
const (
	textMissing        = "ERR T-Digest: key does not exist"
	textExists         = "ERR T-Digest: key already exists"
	textWord           = "ERR T-Digest: wrong keyword"
	textCompression    = "ERR T-Digest: error parsing compression parameter"
	textLowCompression = "ERR T-Digest: compression parameter needs to be a positive integer"
	textNoMemory       = "ERR T-Digest: allocation failed"
	textNoRoom         = "ERR T-Digest: allocation of destination digest failed"
	textValue          = "ERR T-Digest: error parsing val parameter"
	textInfinite       = "ERR T-Digest: val parameter needs to be a finite number"
	textNumKeys        = "ERR T-Digest: error parsing numkeys"
	textFewKeys        = "ERR T-Digest: numkeys needs to be a positive integer"
	textQuantile       = "ERR T-Digest: error parsing quantile"
	textQuantileRange  = "ERR T-Digest: quantile should be in [0,1]"
	textCDF            = "ERR T-Digest: error parsing cdf"
	textRankValue      = "ERR T-Digest: error parsing value"
	textRank           = "ERR T-Digest: error parsing rank"
	textLowRank        = "ERR T-Digest: rank needs to be non negative"
	textLowCut         = "ERR T-Digest: error parsing low_cut_percentile"
	textHighCut        = "ERR T-Digest: error parsing high_cut_percentile"
	textCutRange       = "ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]"
	textCutOrder       = "ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile"
	textOverflow       = "ERR T-Digest: overflow detected"

	// Of this server only: a merge of so many keys does not fit into a record.
	textManyKeys = "ERR T-Digest: too many keys for one merge"
)
