package ribbon

import (
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// A body is a filter or a map as a part of another format, which has checksums of
// its own and asks by hash:
//
//	word 0       columns | words of a row << 8 | log2 of shards << 16 | value bits << 24
//	word 1       number of keys
//	a shard      listed keys | layers << 32, then for each layer blocks | narrow << 32
//	...
//	its layers, its list and the values of that, shard by shard, without padding
const bodyWords = 2

// AppendBody appends the filter or map to dst as a part of another format: its
// tables and what is needed to find them, without hasher and checksums. OpenBody or
// OpenMapBody opens it where it lies. The error wraps ErrParameter for a zero filter.
func (f *table) AppendBody(dst []uint64) ([]uint64, error) {
	if f.w == nil {
		return dst, errZero("append body")
	}
	dst = append(dst, uint64(f.r)|uint64(f.w.words())<<8|uint64(f.bits)<<16|uint64(f.field.bits)<<24, f.keys)
	for i := range f.shards {
		s := &f.shards[i]
		dst = append(dst, uint64(len(s.list))|uint64(len(s.layers))<<32)
		for _, l := range s.layers {
			blocks := (l.starts + uint64(f.w.bits)) / blockSlots
			dst = append(dst, blocks|uint64(l.narrow)<<32)
		}
	}
	for i := range f.shards {
		s := &f.shards[i]
		for _, l := range s.layers {
			dst = append(append(dst, l.cols...), l.codes...)
		}
		dst = append(append(dst, s.list...), s.values...)
	}
	return dst, nil
}

// OpenBody returns the Filter whose body words begin with, and what is behind it.
// The Filter uses words where they lie and is asked by hash: it has no hasher and no
// encoding. Lengths and lists are checked, tables cannot be. The error wraps
// ErrCorrupt, also if there are more than maxShards shards.
func OpenBody(words []uint64, maxShards int) (*Filter, []uint64, error) {
	t, rest, err := openBody(words, maxShards)
	if err == nil && t.field.bits != 0 {
		err = fmt.Errorf("%w: values of %d bits in a filter", bloomery.ErrCorrupt, t.field.bits)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ribbon: open body: %w", err)
	}
	return &Filter{t}, rest, nil
}

// OpenMapBody is OpenBody for a Map.
func OpenMapBody(words []uint64, maxShards int) (*Map, []uint64, error) {
	t, rest, err := openBody(words, maxShards)
	if err == nil && t.field.bits == 0 {
		err = fmt.Errorf("%w: no values in a map", bloomery.ErrCorrupt)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ribbon: open map body: %w", err)
	}
	return &Map{mapping{t}}, rest, nil
}

func openBody(words []uint64, maxShards int) (t table, rest []uint64, err error) {
	if len(words) < bodyWords {
		return t, nil, fmt.Errorf("%w: %d words", bloomery.ErrCorrupt, len(words))
	}
	if t, err = parseBody(words[0]); err != nil {
		return t, nil, err
	}
	if n := 1 << t.bits; n > maxShards || n > len(words) {
		return t, nil, fmt.Errorf("%w: %d shards in %d words", bloomery.ErrCorrupt, n, len(words))
	}
	t.keys = words[1]
	dir := words[bodyWords:]
	all := make([]built, 1<<t.bits)
	for i := range all {
		if err := all[i].parseBody(&dir, uint64(len(words)), &t); err != nil {
			return t, nil, fmt.Errorf("%w: shard %d: %w", bloomery.ErrCorrupt, i, err)
		}
	}
	if rest, err = t.locateIn(all, dir, 1); err != nil {
		return t, nil, err
	}
	t.stored = uint64(len(words) - len(rest))
	t.weigh()
	return t, rest, nil
}

// parseBody returns the table that the first word of a body describes.
func parseBody(word uint64) (table, error) {
	r, row, b, values := int(word&0xff), word>>8&0xff, uint(word>>16&0xff), int(word>>24&0xff)
	if word>>32 != 0 || r < 1 || r > sizing.MaxRibbonColumns || row < 1 || int(row) >= len(widths) || b > shards.MaxBits || values > r {
		return table{}, fmt.Errorf("%w: %d columns, rows of %d words, 2^%d shards, values of %d bits", bloomery.ErrCorrupt, r, row, b, values)
	}
	t := table{w: &widths[row], r: r, bits: b}
	if values > 0 {
		t.field = field{bits: values, prints: r - values}
	}
	return t, nil
}

// parseBody reads the shard's entry from the start of dir, which it shortens, see
// parse.
func (b *built) parseBody(dir *[]uint64, limit uint64, t *table) error {
	d := *dir
	if len(d) == 0 || d[0]>>32 > maxLayers || d[0]>>32 > uint64(len(d)-1) {
		return errors.New("the directory ends")
	}
	layers := d[0] >> 32
	entry := []uint64{layers, d[0] & math.MaxUint32}
	for _, l := range d[1 : 1+layers] {
		entry = append(entry, l&math.MaxUint32, l>>32)
	}
	*dir = d[1+layers:]
	return b.parse(&entry, limit, t.w, t.r)
}
