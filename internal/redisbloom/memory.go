package redisbloom

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// largeArray is the size from which arrays of the Go heap are aligned and on
// huge pages. Smaller ones take no more than their bytes.
const largeArray = 4 << 20

// Memory places the arrays of filters: the layers of a [Bloom], the sub-filters
// of a [Cuckoo], the cells and nodes of the sketches. A nil Memory, and one
// without Alloc, is the Go heap.
//
// A filter keeps the Memory that it was made with and grows in it. One Memory
// can serve many filters; its functions are called by whoever changes, makes or
// releases a filter, so several goroutines may call them at once.
type Memory struct {
	_ struct{}
	// Alloc returns memory for an array: at least the given number of bytes,
	// all zero, starting at a multiple of 8. Its error refuses the array, and
	// the operation that needed it fails and changes nothing.
	Alloc func(bytes int) ([]byte, error)
	// Free, if it is not nil, gets every array back exactly once, when neither
	// the filter nor a snapshot of it needs it any more: a sub-filter that
	// Compact dropped, all arrays after Release, those that were there when a
	// constructor failed. The slice begins where the one of Alloc began and is
	// as long as was asked for.
	Free func(array []byte)
}

// heap reports whether arrays come from the Go heap.
func (m *Memory) heap() bool { return m == nil || m.Alloc == nil }

// array returns n zero bytes for a filter that takes total bytes with them. The
// Go runtime ends the process when memory runs out, so what cannot be had is
// refused first.
func (m *Memory) array(n, total uint64) ([]byte, error) {
	if !m.heap() {
		return memory.ByteArray(int(n), m.Alloc)
	}
	if err := memory.Fits(total); err != nil {
		return nil, err
	}
	if n < largeArray {
		return make([]byte, n), nil
	}
	return memory.Bytes(int(n)), nil
}

// words returns an array of n zero words, as bytes and as words.
func (m *Memory) words(n int) ([]byte, []uint64, error) {
	var array []byte
	var err error
	if !m.heap() {
		array, err = memory.ByteArray(8*n, m.Alloc)
	} else if err = memory.Fits(8 * uint64(n)); err == nil {
		array = memory.Bytes(8 * n)
	}
	if err != nil {
		return nil, nil, err
	}
	words, ok := memory.Of(array)
	if !ok {
		m.free(array)
		return nil, nil, fmt.Errorf("%w: Alloc returned memory that does not start at a multiple of 8", bloomery.ErrParameter)
	}
	return array, words, nil
}

// free gives an array back.
func (m *Memory) free(array []byte) {
	if !m.heap() && m.Free != nil && len(array) > 0 {
		m.Free(array)
	}
}

// grown is array for a filter that is there already.
func (m *Memory) grown(n, total uint64) ([]byte, error) {
	a, err := m.array(n, total)
	if err != nil {
		return nil, fmt.Errorf("redisbloom: add: no memory to grow: %w", err)
	}
	return a, nil
}
