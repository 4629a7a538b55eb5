package memory

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bloomery/bloomery"
)

var (
	// ErrUnavailable means that the system has no memory for an array.
	ErrUnavailable = errors.New("memory: the system has no memory for it")
	// ErrRoom means that something would have to grow by more bytes than its user has
	// given it. With more the operation can go on.
	ErrRoom = fmt.Errorf("memory: growth beyond the room that was given: %w", bloomery.ErrTooLarge)
)

// largeArray is the size from which arrays of the Go heap are aligned and on
// huge pages. Smaller ones take no more than their bytes.
const largeArray = 4 << 20

// Arena places the arrays of filters and sketches, and takes them back. A nil Arena,
// and one without Alloc, is the Go heap.
//
// A filter keeps the Arena that it was made with and grows in it. One Arena can serve
// many filters; its functions are called by whoever changes, makes or releases a filter,
// so several goroutines may call them at once.
type Arena struct {
	_ struct{}
	// Alloc returns memory for an array: at least the given number of bytes,
	// all zero, starting at a multiple of 8. Its error refuses the array, and
	// the operation that needed it fails and changes nothing.
	Alloc Alloc
	// Grow, if it is not nil, takes the place of Alloc for arrays by which a filter grows: most of
	// their bytes are not written soon.
	Grow Alloc
	// Free, if it is not nil, gets every array back exactly once, when nobody needs it
	// any more. The slice begins where the one of Alloc began and is as long as was
	// asked for.
	Free func(array []byte)

	kept   atomic.Int64
	sparse *Arena // see Sparse
	of     *Arena // whose sparse one it is
}

// Sparse returns an Arena with the same memory, all of whose arrays come from Grow: for a large filter that is
// made without items. It is a itself if there is no Grow.
func (a *Arena) Sparse() *Arena {
	if a == nil || a.sparse == nil {
		return a
	}
	return a.sparse
}

// Keep counts n more bytes (fewer if n is negative) that only copies of filters need: arrays that a
// filter has given up, and what writers have put aside.
func (a *Arena) Keep(n int) {
	if a == nil {
		return
	}
	if a.of != nil {
		a = a.of
	}
	a.kept.Add(int64(n))
}

// Kept returns the bytes that Keep has counted.
func (a *Arena) Kept() int64 { return a.kept.Load() }

// Heap reports whether arrays come from the Go heap.
func (a *Arena) Heap() bool { return a == nil || a.Alloc == nil }

// Bytes returns n zero bytes for a filter that takes total bytes with them. The
// Go runtime ends the process when memory runs out, so what cannot be had is
// refused first.
func (a *Arena) Bytes(n, total uint64) ([]byte, error) {
	if !a.Heap() {
		return ByteArray(int(n), a.Alloc)
	}
	if err := Fits(total); err != nil {
		return nil, err
	}
	if n < largeArray {
		return make([]byte, n), nil
	}
	return Bytes(int(n)), nil
}

// More is Bytes for an array by which a filter grows.
func (a *Arena) More(n, total uint64) ([]byte, error) {
	if a.Heap() || a.Grow == nil {
		return a.Bytes(n, total)
	}
	return ByteArray(int(n), a.Grow)
}

// Words returns an array of n zero words, as bytes and as words.
func (a *Arena) Words(n int) (array []byte, words []uint64, err error) {
	if !a.Heap() {
		array, err = ByteArray(8*n, a.Alloc)
	} else if err = Fits(8 * uint64(n)); err == nil {
		array = Bytes(8 * n)
	}
	if err != nil {
		return nil, nil, err
	}
	words, ok := Of(array)
	if !ok {
		a.Release(array)
		return nil, nil, fmt.Errorf("%w: Alloc returned memory that does not start at a multiple of 8", bloomery.ErrParameter)
	}
	return array, words, nil
}

// Release gives an array back.
func (a *Arena) Release(array []byte) {
	if !a.Heap() && a.Free != nil && len(array) > 0 {
		a.Free(array)
	}
}
