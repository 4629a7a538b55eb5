package redisbloom

import (
	"encoding/binary"
	"fmt"

	"github.com/bloomery/bloomery"
)

// Loader puts a filter together from the pieces that [Frozen.Next] gave, in any
// order but with the first one first. Make it with NewLoader.
type Loader struct {
	bloom  *Bloom
	cuckoo *Cuckoo
	arrays [][]byte
	prefix int
	left   int64 // bytes of arrays that have not come
}

// NewLoader begins with the first piece. size is the length of all pieces
// together: a header that asks for another one is refused before anything is
// allocated. The error wraps bloomery.ErrCorrupt or bloomery.ErrVersion.
func NewLoader(first []byte, size int64) (*Loader, error) {
	if len(first) < prefixBytes {
		return nil, fmt.Errorf("redisbloom: load: %w: cut short", bloomery.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint16(first[len(bloomMagic):]); v != version {
		return nil, fmt.Errorf("redisbloom: load: %w %d", bloomery.ErrVersion, v)
	}
	header := first[prefixBytes:]
	if uint64(binary.LittleEndian.Uint32(first[8:])) != uint64(len(header)) {
		return nil, fmt.Errorf("redisbloom: load: %w: header of %d bytes", bloomery.ErrCorrupt, len(header))
	}
	l := &Loader{prefix: len(first), left: size - int64(len(first))}
	switch magic := string(first[:len(bloomMagic)]); magic {
	case bloomMagic:
		h, err := ParseBloomHeader(header)
		if err != nil || h.data != uint64(l.left) {
			return nil, fmt.Errorf("redisbloom: load: %w: header for %d bytes, not %d", bloomery.ErrCorrupt, h.data, l.left)
		}
		l.bloom = h.New()
		l.arrays = l.bloom.arrays()
	case cuckooMagic:
		h, err := ParseCuckooHeader(header)
		if err != nil || h.slots() != uint64(l.left) {
			return nil, fmt.Errorf("redisbloom: load: %w: header for another size than %d bytes", bloomery.ErrCorrupt, l.left)
		}
		l.cuckoo = h.New()
		l.arrays = l.cuckoo.arrays()
	default:
		return nil, fmt.Errorf("redisbloom: load: %w: not %q or %q", bloomery.ErrCorrupt, bloomMagic, cuckooMagic)
	}
	return l, nil
}

// Put stores a piece that begins at off of the binary form. The error wraps
// bloomery.ErrCorrupt.
func (l *Loader) Put(piece []byte, off int64) error {
	at := off - int64(l.prefix)
	for _, a := range l.arrays {
		if at >= int64(len(a)) {
			at -= int64(len(a))
			continue
		}
		if at < 0 || int64(len(piece)) > int64(len(a))-at || int64(len(piece)) > l.left {
			break
		}
		copy(a[at:], piece)
		l.left -= int64(len(piece))
		return nil
	}
	return fmt.Errorf("redisbloom: load: %w: no place for %d bytes at %d", bloomery.ErrCorrupt, len(piece), off)
}

// Done returns the filter, a Bloom or a Cuckoo, when all pieces have come. The
// error wraps bloomery.ErrCorrupt.
func (l *Loader) Done() (*Bloom, *Cuckoo, error) {
	if l.left != 0 {
		return nil, nil, fmt.Errorf("redisbloom: load: %w: %d bytes missing", bloomery.ErrCorrupt, l.left)
	}
	return l.bloom, l.cuckoo, nil
}
