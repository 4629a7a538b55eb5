package memory

import (
	"fmt"

	"github.com/bloomery/bloomery"
)

// Alloc is what users give to place arrays elsewhere than on the Go heap: it
// returns at least so many bytes, all zero.
type Alloc = func(bytes int) ([]byte, error)

// Fits refuses an array that cannot be had, before it is asked for: the Go
// runtime ends the process when memory runs out. The error wraps ErrTooLarge.
func Fits(bytes uint64) error {
	if limit := Limit(); bytes > limit {
		return fmt.Errorf("%w: the array takes %d bytes, there are %d bytes of memory", bloomery.ErrTooLarge, bytes, limit)
	}
	return nil
}

// Array returns an array of n zero words, from alloc if that is not nil. Errors
// wrap ErrParameter or are those of alloc.
func Array(n int, alloc Alloc) ([]uint64, error) {
	if alloc == nil {
		return Words(n), nil
	}
	b, err := ByteArray(8*n, alloc)
	if err != nil {
		return nil, err
	}
	words, ok := Of(b)
	if !ok {
		return nil, fmt.Errorf("%w: Alloc returned memory that does not begin at a multiple of 8", bloomery.ErrParameter)
	}
	return words, nil
}

// ByteArray is Array for n bytes, which may begin anywhere.
func ByteArray(n int, alloc Alloc) ([]byte, error) {
	if alloc == nil {
		return Bytes(n), nil
	}
	b, err := alloc(n)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, fmt.Errorf("%w: Alloc returned %d bytes instead of %d", bloomery.ErrParameter, len(b), n)
	}
	return b[:n:n], nil
}
