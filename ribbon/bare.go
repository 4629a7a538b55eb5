package ribbon

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// bareWord is the length of the last word of a bare filter, and of each word
	// before it that describes a layer:
	//
	//	63  56 55    48 47    40 39     32 31          0
	//	| tag | zero   | layers | columns | listed keys |
	//
	//	63        32 31        0
	//	| narrow    | blocks    |
	bareWord = 8
	// bareTag is the last byte. No other bare form ends in it.
	bareTag = 0x40
)

// Bare is a Filter of one shard, with rows of 64, in the bytes that Filter.AppendBare has
// written: its layers and its list, and a word for each layer and for all behind them.
// It is for places that have a checksum of their own and hand out nothing but bytes, such
// as the filter blocks of a database: to open it takes a load for each layer, of which
// there are two to five, and allocates nothing.
//
// It knows neither its hasher nor how many keys it has: the caller hashes keys as for
// the Filter. A zero Bare is empty.
//
// Safe for concurrent use, as long as nobody changes the bytes.
type Bare struct {
	body   []byte // layers, and the list
	shapes []byte // a word for each layer
	r      int
}

// errBare is made once: opening allocates nothing, if it fails, too.
var errBare = fmt.Errorf("ribbon: open bare: %w: not the bare form of a ribbon filter", bloomery.ErrCorrupt)

// OpenBare returns the filter in data, which it keeps. Lengths are checked, contents
// cannot be: bytes of a valid shape that nobody wrote are a filter with any keys. The
// error wraps ErrCorrupt; a caller that gets one must take every key for present.
func OpenBare(data []byte) (Bare, error) {
	n := len(data) - bareWord
	if n < 0 {
		return Bare{}, errBare
	}
	last := binary.LittleEndian.Uint64(data[n:])
	list, r, layers := last&math.MaxUint32, int(last>>32&0xff), int(last>>40&0xff)
	body := n - bareWord*layers
	if last>>48 != bareTag<<8 || r < 1 || r > sizing.MaxRibbonColumns || layers > maxLayers || body < 0 || body%8 != 0 {
		return Bare{}, errBare
	}
	b := Bare{data[:body], data[body:n], r}
	words, sound := list, true
	for at := 0; at < len(b.shapes); at += bareWord {
		blocks, narrow := b.shape(at)
		words += bareColumns(blocks, narrow, r) + bareCodes(blocks)
		sound = sound && blocks > 1 && narrow <= blocks && (narrow == blocks || r < sizing.MaxRibbonColumns)
	}
	if !sound || words != uint64(body/8) {
		return Bare{}, errBare
	}
	return b, nil
}

// shape returns the blocks and the narrow blocks that the word at this place names.
func (b *Bare) shape(at int) (blocks, narrow uint64) {
	word := binary.LittleEndian.Uint64(b.shapes[at:])
	return word & math.MaxUint32, word >> 32
}

// bareColumns is shape.colWords. With more narrow blocks than blocks it may wrap: OpenBare refuses
// those, whatever the sum is.
func bareColumns(blocks, narrow uint64, r int) uint64 { return blocks*uint64(r+1) - narrow }

// bareCodes is codeWordsFor, for rows of 64: there is a bucket for each two blocks.
func bareCodes(blocks uint64) uint64 { return (blocks/2 + perCodes - 1) / perCodes }

// ContainsHash reports whether the key with hash h may be in the set. False is certain.
func (b *Bare) ContainsHash(h uint64) bool {
	w, body := &widths[1], b.body
	for at := 0; at < len(b.shapes); at += bareWord {
		blocks, narrow := b.shape(at)
		l := span{(blocks - 1) * blockSlots, int(narrow)}
		start := startOf(h, l.starts)
		codes := 8 * bareColumns(blocks, narrow, b.r)
		bucket := start >> w.bucket
		code := uint64(body[codes+bucket/4]) >> (bucket % 4 * codeBits) & 3
		if w.keeps(start, code) {
			return l.matchBare(body, h, start, b.r)
		}
		body = body[codes+8*bareCodes(blocks):]
		h = bump(h)
	}
	return listed(body, h)
}

// matchBare is match64 for a layer at the start of body.
func (s *span) matchBare(body []byte, h, start uint64, r int) bool {
	x := row64(h)
	block, off := int(start/blockSlots), start%blockSlots
	lo, hi := x.lo<<(off&63), x.lo>>1>>(63-off&63)
	n := 8 * s.columns(block, r)
	cols := body[8*s.at(block, r):][:2*n]
	a, b := cols[:n], cols[n:]
	v := uint64(x.print)
	for len(a) >= 32 && len(b) >= 32 {
		d := differs(a, b, lo, hi) ^ v
		d |= differs(a[8:], b[8:], lo, hi) ^ v>>1
		d |= differs(a[16:], b[16:], lo, hi) ^ v>>2
		d |= differs(a[24:], b[24:], lo, hi) ^ v>>3
		if d&1 != 0 {
			return false
		}
		a, b, v = a[32:], b[32:], v>>4
	}
	var d uint64
	for len(a) >= 8 && len(b) >= 8 {
		d |= differs(a, b, lo, hi) ^ v
		a, b, v = a[8:], b[8:], v>>1
	}
	return d&1 == 0
}

// differs returns, in the lowest bit, the xor of the slots that a row has in one column
// of two neighbouring blocks.
func differs(a, b []byte, lo, hi uint64) uint64 {
	return uint64(bits.OnesCount64(binary.LittleEndian.Uint64(a)&lo ^ binary.LittleEndian.Uint64(b)&hi))
}

// listed reports whether h is in a sorted list of words.
func listed(list []byte, h uint64) bool {
	for len(list) > 0 {
		mid := len(list) / 16 * 8
		switch x := binary.LittleEndian.Uint64(list[mid:]); {
		case x == h:
			return true
		case x < h:
			list = list[mid+8:]
		default:
			list = list[:mid]
		}
	}
	return false
}

// AppendBare appends the bare form of the filter to dst, see Bare: layers, list, and 8
// bytes for each layer and for all. The error wraps ErrParameter for a zero filter and for
// one of several shards or of rows of 128: set Config.Shards to 1 if there are more than 4
// million keys, and leave Config.Width.
func (f *table) AppendBare(dst []byte) ([]byte, error) {
	switch {
	case f.w == nil:
		return dst, errZero("append bare")
	case f.field.bits > 0:
		return dst, fmt.Errorf("ribbon: append bare: %w: a map has no bare form", bloomery.ErrParameter)
	case f.bits > 0:
		return dst, fmt.Errorf("ribbon: append bare: %w: %d shards, a bare filter has one", bloomery.ErrParameter, len(f.shards))
	case f.w != &widths[1]:
		return dst, fmt.Errorf("ribbon: append bare: %w: rows of %d, a bare filter has 64", bloomery.ErrParameter, f.w.bits)
	}
	s := &f.shards[0]
	if uint64(len(f.words)) > math.MaxUint32 {
		return dst, fmt.Errorf("ribbon: append bare: %w: %d words", bloomery.ErrTooLarge, len(f.words))
	}
	for i := range s.layers {
		dst = envelope.AppendWords(envelope.AppendWords(dst, s.layers[i].cols), s.layers[i].codes)
	}
	dst = envelope.AppendWords(dst, s.list)
	for i := range s.layers {
		l := &s.layers[i]
		dst = binary.LittleEndian.AppendUint64(dst, (l.starts+blockSlots)/blockSlots|uint64(l.narrow)<<32)
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(len(s.list))|uint64(f.r)<<32|uint64(len(s.layers))<<40|bareTag<<56), nil
}
