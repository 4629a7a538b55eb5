package fuse

import (
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/shards"
	"github.com/bloomery/bloomery/sizing"
)

const (
	// lineWords is the number of words in a cache line, at which every array
	// begins.
	lineWords = 8
	// entryWords is the length of an entry of the directory:
	//
	//	word 0  different keys in the shard
	//	word 1  63    40 39  32 31        0
	//	        | seed  | log  | segments |
	entryWords = 2

	segmentBits, logBits = 32, 8
	// maxSegments of the shortest have as many slots as a shard can have.
	maxSegments = 1 << (32 - sizing.MinFuseLog)
)

// kind returns the number of the kind of filter.
func kind[T Fingerprint]() uint16 {
	switch width[T]() {
	case 8:
		return envelope.KindFuse8
	case 16:
		return envelope.KindFuse16
	}
	return envelope.KindFuse32
}

// kindName returns the name of the kind of filter.
func kindName[T Fingerprint]() string { return fmt.Sprintf("fuse%d", width[T]()) }

// directoryWords returns the length of the directory of 2^b shards, which is
// whole lines.
func directoryWords(b uint) int { return (entryWords<<b + lineWords - 1) &^ (lineWords - 1) }

// header returns the header of the encoding.
func (f *array[T]) header() envelope.Header {
	return envelope.Header{
		Kind:     kind[T](),
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.arity),
		Extra:    uint32(f.bits),
		Capacity: f.items,
		Rate:     f.rate,
		Size:     f.slots * uint64(width[T]()),
		Payload:  8*uint64(directoryWords(f.bits)) + f.slots*uint64(width[T]()/8),
	}
}

// directory returns what comes before the arrays: an entry for each shard.
func (f *array[T]) directory() []uint64 {
	words := make([]uint64, directoryWords(f.bits))
	for i := range f.shards {
		s := &f.shards[i]
		words[entryWords*i] = s.items
		words[entryWords*i+1] = uint64(s.shape.Segments) | uint64(s.shape.Log)<<segmentBits | uint64(s.seed)<<(segmentBits+logBits)
	}
	return words
}

// payload returns the parts of the payload.
func (f *array[T]) payload() [][]uint64 {
	parts := append(make([][]uint64, 0, 1+len(f.shards)), f.directory())
	for i := range f.shards {
		parts = append(parts, packed(f.shards[i].table))
	}
	return parts
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Filter[T]) AppendBinary(dst []byte) ([]byte, error) {
	if f.arity == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.payload()...), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Filter[T]) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Filter[T]) WriteTo(w io.Writer) (int64, error) {
	if f.arity == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.payload()...)
}

// parse checks all that a header says. The shards are in the payload.
func parse[T Fingerprint](h envelope.Header, given hashing.Hasher) (array[T], error) {
	if err := h.CheckKind(kind[T]()); err != nil {
		return array[T]{}, err
	}
	switch {
	case h.K != 3 && h.K != 4:
		return array[T]{}, fmt.Errorf("%w: arity %d", bloomery.ErrCorrupt, h.K)
	case h.Extra > shards.MaxBits:
		return array[T]{}, fmt.Errorf("%w: 2^%d shards", bloomery.ErrCorrupt, h.Extra)
	case h.Size%64 != 0 || h.Payload != 8*uint64(directoryWords(uint(h.Extra)))+h.Size/8:
		return array[T]{}, fmt.Errorf("%w: payload of %d bytes for %d bits in 2^%d shards", bloomery.ErrCorrupt, h.Payload, h.Size, h.Extra)
	}
	hasher, err := h.Hasher(given)
	return array[T]{hasher: hasher, rate: h.Rate, arity: int(h.K), bits: uint(h.Extra)}, err
}

// parseShards reads the shards from the payload, which they keep.
func (f array[T]) parseShards(h envelope.Header, words []uint64) (array[T], error) {
	facts, rest := words[:directoryWords(f.bits)], words[directoryWords(f.bits):]
	f.shards = make([]shard[T], 1<<f.bits)
	for i := range f.shards {
		s, err := f.parseShard(facts[entryWords*i], facts[entryWords*i+1])
		if err != nil {
			return f, fmt.Errorf("%w: shard %d: %w", bloomery.ErrCorrupt, i, err)
		}
		n := s.shape.Slots() * uint64(width[T]()) / 64
		if n > uint64(len(rest)) {
			return f, fmt.Errorf("%w: shard %d: %d slots do not fit", bloomery.ErrCorrupt, i, s.shape.Slots())
		}
		s.table = lanes[T](rest[:n:n])
		f.shards[i], rest = s, rest[n:]
	}
	for _, w := range facts[entryWords<<f.bits:] {
		if w != 0 {
			return f, fmt.Errorf("%w: the directory is not filled with zeros", bloomery.ErrCorrupt)
		}
	}
	f = f.finished()
	if len(rest) > 0 || f.items != h.Capacity {
		return f, fmt.Errorf("%w: the shards have %d keys and leave %d words, the header says %d keys",
			bloomery.ErrCorrupt, f.items, len(rest), h.Capacity)
	}
	return f, nil
}

// parseShard returns the shard of an entry of the directory.
func (f array[T]) parseShard(items, entry uint64) (shard[T], error) {
	segments := entry & (1<<segmentBits - 1)
	if segments > maxSegments {
		return shard[T]{}, fmt.Errorf("%d segments", segments)
	}
	shape := sizing.FuseShard{Arity: f.arity, Log: uint(entry >> segmentBits & (1<<logBits - 1)), Segments: int(segments)}
	empty := shape == sizing.FuseShard{Arity: f.arity} && items == 0
	switch {
	case empty:
	case !possible(shape):
		return shard[T]{}, fmt.Errorf("%d segments of 2^%d slots", shape.Segments, shape.Log)
	case items > shape.Slots():
		return shard[T]{}, fmt.Errorf("%d keys in %d slots", items, shape.Slots())
	}
	return newShard[T](shape, uint32(entry>>(segmentBits+logBits)), items), nil
}

// possible reports whether an array can have this shape, which is not empty.
func possible(shape sizing.FuseShard) bool {
	longest := uint(sizing.MaxFuseLog3)
	if shape.Arity == 4 {
		longest = sizing.MaxFuseLog4
	}
	return shape.Log >= sizing.MinFuseLog && shape.Log <= longest &&
		shape.Segments >= shape.Arity && shape.Slots() <= math.MaxUint32
}

// opening returns the part of c that opens filters.
func (c Config[T]) opening() envelope.Opening {
	return envelope.Opening{Package: "fuse", Config: c, Hasher: c.Hasher, Alloc: c.Alloc}
}

// Decode returns the Filter that data encodes. Of c only Hasher and Alloc may
// be set: Hasher is needed for a filter that was made with a secret key or a
// function, Alloc places the array. The error wraps ErrCorrupt, ErrVersion,
// ErrIncompatible for another kind of filter, ErrKey or ErrParameter, or is
// that of Alloc.
func (c Config[T]) Decode(data []byte) (*Filter[T], error) {
	return envelope.Decode(c.opening(), "Decode", data, (*Filter[T]).load)
}

// Read is Decode for a reader: it reads one filter, and no byte more. Memory
// grows with the bytes that have arrived, but Alloc is asked for all of it at
// once. Errors are those of Decode, ErrTooLarge, or those of r.
func (c Config[T]) Read(r io.Reader) (*Filter[T], error) {
	return envelope.ReadFilter(c.opening(), "Read", r, (*Filter[T]).load)
}

// load makes f what a source holds; on error f stays as it was.
func (f *array[T]) load(given hashing.Hasher, from *envelope.Source) error {
	var got array[T]
	h, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parse[T](h, given)
		return err
	})
	if err == nil {
		got, err = got.parseShards(h, words)
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
func (f *Filter[T]) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("fuse", data, f.hasher, f.load)
}

// errZero is the error for the encoding of a filter that was never made.
func errZero(op string) error {
	return fmt.Errorf("fuse: %s: %w: a zero filter has no encoding", op, bloomery.ErrParameter)
}
