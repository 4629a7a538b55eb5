package redisbloom

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// Loader puts a filter or sketch together from the pieces that [Frozen.Next]
// gave: the first one first, the others in any order, each exactly once.
// Functions like [NewBloomLoader] start one with the first piece. Their size is
// the length of all pieces together, as [Frozen.Size] returned it: a header
// that asks for another one is refused before anything is allocated. A nil m
// means the Go heap. Their error wraps bloomery.ErrCorrupt, bloomery.ErrVersion
// or bloomery.ErrTooLarge, or is that of Alloc.
//
// A Loader is for one goroutine.
type Loader[F releaser] struct {
	filter F
	arrays [][]byte
	has    [][]uint64 // a bit for every page of every array that has come
	prefix int
	left   int          // pages that have not come
	finish func() error // if not nil, makes the filter of the arrays
}

// releaser is a filter or sketch: what can be released.
type releaser interface{ Release() }

// NewBloomLoader starts to load a Bloom: see [Loader].
func NewBloomLoader(first []byte, size int64, m *memory.Arena) (*Loader[*Bloom], error) {
	return newLoader(bloomMagic, first, size, func(header []byte, bytes uint64) (*Bloom, [][]byte, error) {
		h, err := ParseBloomHeader(header)
		if err != nil || h.data != bytes {
			return nil, nil, errPieces(bytes)
		}
		b, err := h.New(m)
		if err != nil {
			return nil, nil, err
		}
		return b, slices.Collect(b.Arrays()), nil
	})
}

// NewCuckooLoader starts to load a Cuckoo: see [Loader].
func NewCuckooLoader(first []byte, size int64, m *memory.Arena) (*Loader[*Cuckoo], error) {
	return newLoader(cuckooMagic, first, size, func(header []byte, bytes uint64) (*Cuckoo, [][]byte, error) {
		h, err := ParseCuckooHeader(header)
		if err != nil || h.slots() != bytes {
			return nil, nil, errPieces(bytes)
		}
		c, err := h.New(m)
		if err != nil {
			return nil, nil, err
		}
		return c, slices.Collect(c.Arrays()), nil
	})
}

// errPieces is the error of a header that is bad or for another size.
func errPieces(bytes uint64) error {
	return fmt.Errorf("redisbloom: load: %w: header is not for %d bytes", bloomery.ErrCorrupt, bytes)
}

// newLoader checks the first piece and starts with what begin makes of its
// header: the filter, and the arrays for the bytes that follow.
func newLoader[F releaser](magic string, first []byte, size int64, begin func(header []byte, bytes uint64) (F, [][]byte, error)) (*Loader[F], error) {
	if len(first) < prefixBytes {
		return nil, fmt.Errorf("redisbloom: load: %w: truncated", bloomery.ErrCorrupt)
	}
	if string(first[:len(magic)]) != magic {
		return nil, fmt.Errorf("redisbloom: load: %w: not %q", bloomery.ErrCorrupt, magic)
	}
	if v := binary.LittleEndian.Uint16(first[len(magic):]); v != version {
		return nil, fmt.Errorf("redisbloom: load: %w %d", bloomery.ErrVersion, v)
	}
	header := first[prefixBytes:]
	if uint64(binary.LittleEndian.Uint32(first[8:])) != uint64(len(header)) {
		return nil, fmt.Errorf("redisbloom: load: %w: header of %d bytes", bloomery.ErrCorrupt, len(header))
	}
	l := &Loader[F]{prefix: len(first)}
	var err error
	if l.filter, l.arrays, err = begin(header, uint64(size)-uint64(len(first))); err != nil {
		return nil, err
	}
	l.has = make([][]uint64, len(l.arrays))
	for i, a := range l.arrays {
		n := pages(len(a))
		l.has[i] = make([]uint64, (n+63)/64)
		l.left += n
	}
	return l, nil
}

// pages returns the number of pages of an array of n bytes.
func pages(n int) int { return (n + pageBytes - 1) / pageBytes }

// Put stores a piece that starts at off of the binary form: whole pages of one
// array, none of which came before. The error wraps bloomery.ErrCorrupt, and
// then nothing has changed.
func (l *Loader[F]) Put(piece []byte, off int64) error {
	at := off - int64(l.prefix)
	for i, a := range l.arrays {
		if at >= int64(len(a)) {
			at -= int64(len(a))
			continue
		}
		if at < 0 || int64(len(piece)) > int64(len(a))-at {
			break
		}
		from, to := int(at), int(at)+len(piece)
		if from%pageBytes != 0 || to%pageBytes != 0 && to != len(a) || len(piece) == 0 {
			return fmt.Errorf("redisbloom: load: %w: %d bytes at %d are not whole pages", bloomery.ErrCorrupt, len(piece), off)
		}
		if !l.mark(l.has[i], from/pageBytes, pages(to)) {
			return fmt.Errorf("redisbloom: load: %w: %d bytes at %d came before", bloomery.ErrCorrupt, len(piece), off)
		}
		copy(a[from:], piece)
		return nil
	}
	return fmt.Errorf("redisbloom: load: %w: no place for %d bytes at %d", bloomery.ErrCorrupt, len(piece), off)
}

// mark notes that pages from … to-1 have come. It reports false, and notes
// nothing, if one of them came before.
func (l *Loader[F]) mark(has []uint64, from, to int) bool {
	for p := from; p < to; p++ {
		if has[p/64]>>(p%64)&1 != 0 {
			return false
		}
	}
	for p := from; p < to; p++ {
		has[p/64] |= 1 << (p % 64)
	}
	l.left -= to - from
	return true
}

// Done returns what was loaded when all pieces have come. The error wraps
// bloomery.ErrCorrupt.
func (l *Loader[F]) Done() (F, error) {
	var none F
	if l.left != 0 {
		return none, fmt.Errorf("redisbloom: load: %w: %d pages missing", bloomery.ErrCorrupt, l.left)
	}
	if l.finish != nil {
		if err := l.finish(); err != nil {
			return none, err
		}
	}
	return l.filter, nil
}

// Release gives the arrays of what will not be used to the Arena. It is for a
// load that failed; what Done returned has a Release of its own.
func (l *Loader[F]) Release() {
	if l.arrays != nil {
		l.filter.Release()
	}
	*l = Loader[F]{left: 1}
}
