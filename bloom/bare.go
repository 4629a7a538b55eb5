package bloom

import (
	"fmt"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
)

// Bare is a Filter in the bytes that Filter.AppendBare has written: blocks, and one byte
// behind them for the bits of a key. It is for places that have a checksum of their own
// and hand out nothing but bytes, such as the filter blocks of a database: to open it is
// a comparison of lengths, and allocates nothing.
//
// It knows neither its hasher nor its rate: the caller hashes keys as the Filter did.
// A zero Bare is empty.
//
// Safe for concurrent use, as long as nobody changes the bytes.
type Bare struct {
	blocks []byte
	k      int
}

// errBare is made once: opening allocates nothing, if it fails, too.
var errBare = fmt.Errorf("bloom: open bare: %w: not the bare form of a bloom filter", bloomery.ErrCorrupt)

// OpenBare returns the filter in data, which it keeps. Lengths are checked, contents
// cannot be: bytes of a valid length that nobody wrote are a filter with any keys. The
// error wraps ErrCorrupt; a caller that gets one must take every key for present.
func OpenBare(data []byte) (Bare, error) {
	n := len(data) - 1
	if n < kernel.BlockBytes || n%kernel.BlockBytes != 0 || data[n] < 1 || data[n] > kernel.MaxK {
		return Bare{}, errBare
	}
	return Bare{data[:n], int(data[n])}, nil
}

// ContainsHash reports whether the key with hash h may be in the set. False is certain.
func (b *Bare) ContainsHash(h uint64) bool {
	return len(b.blocks) > 0 && kernel.HasBare(b.blocks, b.k, h)
}

// AppendBare appends the bare form of the filter to dst, see Bare: an eighth of a byte for
// each bit, and one byte. The error is nil but for a zero filter.
func (f *lines) AppendBare(dst []byte) ([]byte, error) {
	if len(f.blocks) == 0 {
		return dst, errZero("append bare")
	}
	return append(envelope.AppendWords(dst, f.words()), byte(f.shape.K)), nil
}
