package ribbon

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

// opening returns the part of c that opens filters.
func (c Config) opening() envelope.Opening {
	return envelope.Opening{Package: "ribbon", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array. The error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible for another kind of filter, ErrKey or ErrParameter, or is
// that of Alloc.
func (c Config) Decode(data []byte) (*Filter, error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Filter).load)
}

// Read is Decode for a reader: it reads one filter, and no byte more. Memory
// grows with the bytes that have arrived, but Alloc is asked for all of it at
// once. Errors are those of Decode, ErrTooLarge, or those of r.
func (c Config) Read(r io.Reader) (*Filter, error) {
	return envelope.ReadFilter(c.opening(), "Read", r, (*Filter).load)
}

// load makes f what a source holds; on error f stays as it was.
func (f *table) load(given hashing.Hasher, from *envelope.Source) error {
	return f.loadKind(envelope.KindRibbon, given, from)
}

// loadKind is load for a filter or for a map.
func (f *table) loadKind(kind uint16, given hashing.Hasher, from *envelope.Source) error {
	var got table
	_, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parse(kind, h, given)
		return err
	})
	if err == nil {
		err = got.attach(words)
	}
	if err == nil {
		*f = got
	}
	return err
}

// UnmarshalBinary replaces f by the filter that data encodes. If that was made
// with a secret key or a function, f must have been made with the same, see
// Config.Decode. On error f stays as it was; the error wraps ErrCorrupt,
// ErrVersion, ErrIncompatible or ErrKey.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("ribbon", data, f.hasher, f.load)
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("ribbon: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}

// parse returns the table that a header of this kind describes, without shards.
// given is the hasher for filters whose hasher is not in the header.
func parse(kind uint16, h envelope.Header, given hashing.Hasher) (table, error) {
	if err := h.CheckKind(kind); err != nil {
		return table{}, err
	}
	words, bits, values := h.Extra&0xff, uint(h.Extra>>8), 0
	if kind == envelope.KindMap {
		bits, values = bits&0xff, int(bits>>8)
	}
	switch {
	case kind == envelope.KindMap && (values < 1 || values > int(h.K)):
		return table{}, fmt.Errorf("%w: values of %d bits in %d columns", bloomery.ErrCorrupt, values, h.K)
	case h.K < 1 || h.K > sizing.MaxRibbonColumns:
		return table{}, fmt.Errorf("%w: %d columns", bloomery.ErrCorrupt, h.K)
	case words < 1 || int(words) >= len(widths):
		return table{}, fmt.Errorf("%w: rows of %d words", bloomery.ErrCorrupt, words)
	case bits > shards.MaxBits:
		return table{}, fmt.Errorf("%w: 2^%d shards", bloomery.ErrCorrupt, bits)
	case h.Size != h.Payload*8 || h.Payload%(8*lineWords) != 0 || h.Payload/8 < uint64(lines(shardWords<<bits)):
		return table{}, fmt.Errorf("%w: payload of %d bytes for %d bits in %d shards", bloomery.ErrCorrupt, h.Payload, h.Size, 1<<bits)
	}
	t := table{w: &widths[words], r: int(h.K), bits: bits, keys: h.Capacity, asked: h.Rate}
	if values > 0 {
		t.field = field{bits: values, prints: t.r - values}
	}
	var err error
	t.hasher, err = h.Hasher(given)
	return t, err
}

// attach finds the shards in the words of a payload. It checks the order of the
// lists, by which keys are looked up in them: they are short.
func (f *table) attach(words []uint64) error {
	f.words = words
	all := make([]built, 1<<f.bits)
	dir := words
	for i := range all {
		if err := all[i].parse(&dir, uint64(len(words)), f.w, f.r); err != nil {
			return fmt.Errorf("%w: shard %d: %w", bloomery.ErrCorrupt, i, err)
		}
	}
	rest, err := f.locateIn(all, words[lines(len(words)-len(dir)):], lineWords)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %d words behind the last shard", bloomery.ErrCorrupt, len(rest))
	}
	f.weigh()
	return nil
}

// locateIn finds the shards in words, each of a multiple of pad words, and returns
// what is behind them.
func (f *table) locateIn(all []built, words []uint64, pad uint64) ([]uint64, error) {
	f.shards = make([]shard, len(all))
	for i := range all {
		n := (all[i].size(f) + pad - 1) / pad * pad
		if n > uint64(len(words)) {
			return nil, fmt.Errorf("%w: shard %d takes %d words, %d are left", bloomery.ErrCorrupt, i, n, len(words))
		}
		all[i].words, words = words[:n:n], words[n:]
		s := all[i].open(f)
		f.shards[i] = s
		if !slices.IsSorted(s.list) {
			return nil, fmt.Errorf("%w: shard %d: the list is not sorted", bloomery.ErrCorrupt, i)
		}
		for _, v := range s.values {
			if v>>f.field.bits != 0 {
				return nil, fmt.Errorf("%w: shard %d: a listed value of more than %d bits", bloomery.ErrCorrupt, i, f.field.bits)
			}
		}
	}
	return words, nil
}

// parse reads the shard's entry from the start of dir, which it shortens. No
// length that it accepts is more than that of the payload, limit.
func (b *built) parse(dir *[]uint64, limit uint64, w *width, r int) error {
	d := *dir
	if len(d) < shardWords {
		return errors.New("the directory ends")
	}
	layers, list := d[0], d[1]
	d = d[shardWords:]
	if layers > maxLayers || layers*layerWords > uint64(len(d)) || list > limit {
		return fmt.Errorf("%d layers and %d listed", layers, list)
	}
	b.list = int(list)
	b.shapes = make([]shape, layers)
	for i := range b.shapes {
		blocks, narrow := d[0], d[1]
		d = d[layerWords:]
		if blocks <= uint64(w.words()) || blocks > limit || narrow > blocks {
			return fmt.Errorf("layer %d has %d blocks, %d of them narrow", i, blocks, narrow)
		}
		if narrow < blocks && r == sizing.MaxRibbonColumns {
			return fmt.Errorf("layer %d has blocks of %d columns", i, r+1)
		}
		s := shape{int(blocks), int(narrow)}
		if blocks*uint64(r) > limit || uint64(s.words(w, r)) > limit {
			return fmt.Errorf("layer %d has %d blocks of %d columns", i, blocks, r)
		}
		b.shapes[i] = s
	}
	*dir = d
	return nil
}
