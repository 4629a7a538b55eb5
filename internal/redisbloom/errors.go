package redisbloom

import (
	"fmt"

	"github.com/bloomery/bloomery"
)

// One error for every answer that RedisBloom words in its own way; compare with
// errors.Is. All of them wrap a cause of package bloomery.
var (
	// ErrFull means that a filter that must not grow has no room for a new
	// item.
	ErrFull = fmt.Errorf("redisbloom: add: filter is %w", bloomery.ErrFull)
	// ErrGrowth means that the filter cannot grow: it would be larger than
	// this package allows, whatever the caller gives.
	ErrGrowth = fmt.Errorf("redisbloom: add: growth: %w", bloomery.ErrTooLarge)
	// ErrTooLarge means that a filter of these parameters, or of this header,
	// is larger than this package allows.
	ErrTooLarge = fmt.Errorf("redisbloom: new: %w", bloomery.ErrTooLarge)

	// ErrHeaderLength means that a header does not have the length that its
	// kind, or its number of layers, asks for.
	ErrHeaderLength = fmt.Errorf("redisbloom: load: header of the wrong length: %w", bloomery.ErrCorrupt)
	// ErrHeader means that a header has the right length and contents that
	// contradict each other.
	ErrHeader = fmt.Errorf("redisbloom: load: header: %w", bloomery.ErrCorrupt)
	// ErrChunkPosition means that the position of a chunk is impossible: it is
	// not positive, or less than the length of the chunk.
	ErrChunkPosition = fmt.Errorf("redisbloom: load: chunk position: %w", bloomery.ErrParameter)
	// ErrChunkOffset means that a chunk would start outside the filter.
	ErrChunkOffset = fmt.Errorf("redisbloom: load: chunk outside the filter: %w", bloomery.ErrParameter)
	// ErrChunkLength means that a chunk would run past the end of its layer.
	ErrChunkLength = fmt.Errorf("redisbloom: load: chunk too long: %w", bloomery.ErrParameter)

	// ErrOverflow means that counts leave their range.
	ErrOverflow = fmt.Errorf("redisbloom: merge: overflow: %w", bloomery.ErrTooLarge)

	// ErrFrozen means that a filter is frozen already.
	ErrFrozen = fmt.Errorf("redisbloom: freeze: frozen already: %w", bloomery.ErrParameter)
)

// errZero is the error of an operation on a zero value.
func errZero(operation, kind string) error {
	return fmt.Errorf("redisbloom: %s: %w: zero %s", operation, bloomery.ErrParameter, kind)
}
