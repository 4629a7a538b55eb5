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
func (a *array[T]) header() envelope.Header {
	return envelope.Header{
		Kind:     kind[T](),
		Hash:     a.hasher.Kind(),
		Check:    a.hasher.Check(),
		K:        uint8(a.arity),
		Extra:    uint32(a.bits),
		Capacity: a.items,
		Rate:     a.rate,
		Size:     a.slots * uint64(width[T]()),
		Payload:  8*uint64(directoryWords(a.bits)) + a.slots*uint64(width[T]()/8),
	}
}

// directory returns what comes before the arrays: an entry for each shard.
func (a *array[T]) directory() []uint64 {
	words := make([]uint64, directoryWords(a.bits))
	for i := range a.shards {
		s := &a.shards[i]
		words[entryWords*i] = s.items
		words[entryWords*i+1] = uint64(s.shape.Segments) | uint64(s.shape.Log)<<segmentBits | uint64(s.seed)<<(segmentBits+logBits)
	}
	return words
}

// payload returns the parts of the payload.
func (a *array[T]) payload() [][]uint64 {
	parts := append(make([][]uint64, 0, 1+len(a.shards)), a.directory())
	for i := range a.shards {
		parts = append(parts, packed(a.shards[i].table))
	}
	return parts
}

// AppendBinary appends the encoding of the filter to dst. The error is always
// nil.
func (a *array[T]) AppendBinary(dst []byte) ([]byte, error) {
	return envelope.Append(dst, a.header(), a.payload()...), nil
}

// MarshalBinary returns the encoding of the filter. The error is always nil.
func (a *array[T]) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (a *array[T]) WriteTo(w io.Writer) (int64, error) {
	return envelope.WriteTo(w, a.header(), a.payload()...)
}

// parse checks all that a header says. The shards are in the payload.
func parse[T Fingerprint](h envelope.Header, given hashing.Hasher) (array[T], error) {
	switch {
	case h.Kind != kind[T]():
		return array[T]{}, fmt.Errorf("%w: the filter is of kind %d, not of kind %d (%s)", bloomery.ErrIncompatible, h.Kind, kind[T](), kindName[T]())
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
func (a array[T]) parseShards(h envelope.Header, words []uint64) (array[T], error) {
	facts, rest := words[:directoryWords(a.bits)], words[directoryWords(a.bits):]
	a.shards = make([]shard[T], 1<<a.bits)
	for i := range a.shards {
		s, err := a.parseShard(facts[entryWords*i], facts[entryWords*i+1])
		if err != nil {
			return a, fmt.Errorf("%w: shard %d: %w", bloomery.ErrCorrupt, i, err)
		}
		n := s.shape.Slots() * uint64(width[T]()) / 64
		if n > uint64(len(rest)) {
			return a, fmt.Errorf("%w: shard %d: %d slots do not fit", bloomery.ErrCorrupt, i, s.shape.Slots())
		}
		s.table = lanes[T](rest[:n:n])
		a.shards[i], rest = s, rest[n:]
	}
	for _, w := range facts[entryWords<<a.bits:] {
		if w != 0 {
			return a, fmt.Errorf("%w: the directory is not filled with zeros", bloomery.ErrCorrupt)
		}
	}
	a = a.finished()
	if len(rest) > 0 || a.items != h.Capacity {
		return a, fmt.Errorf("%w: the shards have %d keys and leave %d words, the header says %d keys",
			bloomery.ErrCorrupt, a.items, len(rest), h.Capacity)
	}
	return a, nil
}

// parseShard returns the shard of an entry of the directory.
func (a array[T]) parseShard(items, entry uint64) (shard[T], error) {
	segments := entry & (1<<segmentBits - 1)
	if segments > maxSegments {
		return shard[T]{}, fmt.Errorf("%d segments", segments)
	}
	shape := sizing.Fuse{Arity: a.arity, Log: uint(entry >> segmentBits & (1<<logBits - 1)), Segments: int(segments)}
	longest := uint(sizing.MaxFuseLog3)
	if a.arity == 4 {
		longest = sizing.MaxFuseLog4
	}
	empty := shape == sizing.Fuse{Arity: a.arity} && items == 0
	switch {
	case empty:
	case shape.Log < sizing.MinFuseLog || shape.Log > longest || shape.Segments < a.arity || shape.Slots() > math.MaxUint32:
		return shard[T]{}, fmt.Errorf("%d segments of 2^%d slots", shape.Segments, shape.Log)
	case items > shape.Slots():
		return shard[T]{}, fmt.Errorf("%d keys in %d slots", items, shape.Slots())
	}
	return newShard[T](shape, uint32(entry>>(segmentBits+logBits)), items), nil
}

// open checks header, lengths and directory of an encoding.
func open[T Fingerprint](data []byte, given hashing.Hasher, words func(envelope.Sealed) ([]uint64, error)) (array[T], envelope.Sealed, error) {
	sealed, err := envelope.Open(data)
	if err != nil {
		return array[T]{}, sealed, err
	}
	a, err := parse[T](sealed.Header, given)
	if err != nil {
		return a, sealed, err
	}
	w, err := words(sealed)
	if err != nil {
		return a, sealed, err
	}
	a, err = a.parseShards(sealed.Header, w)
	return a, sealed, err
}
