package redisbloom

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bloomery/bloomery"
)

// Loader puts a filter together from the pieces that [Frozen.Next] gave: the
// first one first, the others in any order, each exactly once. Make it with
// NewLoader.
//
// A Loader is for one goroutine.
type Loader struct {
	bloom  *Bloom
	cuckoo *Cuckoo
	arrays [][]byte
	has    [][]uint64 // a bit for every page of every array that has come
	prefix int
	left   int // pages that have not come
}

// NewLoader starts with the first piece. size is the length of all pieces
// together, as Frozen.Size returned it: a header that asks for another one is
// refused before anything is allocated. A nil m means the Go heap. The error
// wraps bloomery.ErrCorrupt, bloomery.ErrVersion or bloomery.ErrTooLarge, or is
// that of Alloc.
func NewLoader(first []byte, size int64, m *Memory) (*Loader, error) {
	if len(first) < prefixBytes {
		return nil, fmt.Errorf("redisbloom: load: %w: truncated", bloomery.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint16(first[len(bloomMagic):]); v != version {
		return nil, fmt.Errorf("redisbloom: load: %w %d", bloomery.ErrVersion, v)
	}
	header := first[prefixBytes:]
	if uint64(binary.LittleEndian.Uint32(first[8:])) != uint64(len(header)) {
		return nil, fmt.Errorf("redisbloom: load: %w: header of %d bytes", bloomery.ErrCorrupt, len(header))
	}
	l := &Loader{prefix: len(first)}
	if err := l.begin(string(first[:len(bloomMagic)]), header, uint64(size)-uint64(len(first)), m); err != nil {
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

// begin makes the filter that header describes, whose arrays must have so many
// bytes.
func (l *Loader) begin(magic string, header []byte, bytes uint64, m *Memory) error {
	switch magic {
	case bloomMagic:
		h, err := ParseBloomHeader(header)
		if err != nil || h.data != bytes {
			return fmt.Errorf("redisbloom: load: %w: header for another size than %d bytes", bloomery.ErrCorrupt, bytes)
		}
		if l.bloom, err = h.New(m); err != nil {
			return err
		}
		l.arrays = slices.Collect(l.bloom.Arrays())
	case cuckooMagic:
		h, err := ParseCuckooHeader(header)
		if err != nil || h.slots() != bytes {
			return fmt.Errorf("redisbloom: load: %w: header for another size than %d bytes", bloomery.ErrCorrupt, bytes)
		}
		if l.cuckoo, err = h.New(m); err != nil {
			return err
		}
		l.arrays = slices.Collect(l.cuckoo.Arrays())
	default:
		return fmt.Errorf("redisbloom: load: %w: not %q or %q", bloomery.ErrCorrupt, bloomMagic, cuckooMagic)
	}
	return nil
}

// pages returns the number of pages of an array of n bytes.
func pages(n int) int { return (n + pageBytes - 1) / pageBytes }

// Put stores a piece that starts at off of the binary form: whole pages of one
// array, none of which came before. The error wraps bloomery.ErrCorrupt, and
// then nothing has changed.
func (l *Loader) Put(piece []byte, off int64) error {
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
func (l *Loader) mark(has []uint64, from, to int) bool {
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

// Done returns the filter, a Bloom or a Cuckoo, when all pieces have come. The
// error wraps bloomery.ErrCorrupt.
func (l *Loader) Done() (*Bloom, *Cuckoo, error) {
	if l.left != 0 {
		return nil, nil, fmt.Errorf("redisbloom: load: %w: %d pages missing", bloomery.ErrCorrupt, l.left)
	}
	return l.bloom, l.cuckoo, nil
}

// Release gives the arrays of a filter that will not be used to Memory.Free.
// It is for a load that failed; the filter that Done returned has a Release of
// its own.
func (l *Loader) Release() {
	if l.bloom != nil {
		l.bloom.Release()
	}
	if l.cuckoo != nil {
		l.cuckoo.Release()
	}
	*l = Loader{left: 1}
}
