package bloom

import (
	"io"
	"math/bits"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/sizing"
)

// The positions of a key in a flat array of m bits: with y = h + i*probeStep,
// probe i is the upper 64 bits of ((y ^ y>>32) * probeMul) * m; in slices of m
// bits it is that far into slice i. One multiply and one xorshift per probe
// make the probes independent. Double hashing would save the multiply, but
// then two positions fix all the others, which gives small arrays many times
// the error asked for. The constants are part of the file format.
const (
	probeStep = 0x9e3779b97f4a7c15
	probeMul  = 0xd6e8feb86659fd93

	probeStep2 = 2 * probeStep & (1<<64 - 1)
	probeStep3 = 3 * probeStep & (1<<64 - 1)
	probeStep4 = 4 * probeStep & (1<<64 - 1)
)

// flat is an array of bits that is only read: what Standard, Partitioned and
// their views share. A probe chooses one of span bits, and the next one does
// so step bits further on: Standard has the whole array and 0, Partitioned the
// length of a slice for both.
type flat struct {
	base
	words      []uint64
	span, step uint64
}

func newFlat(b base, words []uint64) flat {
	if b.shape.Layout == sizing.Partitioned {
		slice := b.shape.Bits / uint64(b.shape.K)
		return flat{b, words, slice, slice}
	}
	return flat{b, words, b.shape.Bits, 0}
}

// kind returns the number of the kind of filter that has this layout.
func (f *flat) kind() uint16 {
	if f.shape.Layout == sizing.Partitioned {
		return envelope.KindPartitioned
	}
	return envelope.KindStandard
}

// probe returns the position for y in m bits.
func probe(y, m uint64) uint64 {
	at, _ := bits.Mul64((y^y>>32)*probeMul, m)
	return at
}

// bit returns the bit at position at, in the lowest bit of the result.
func bit(words []uint64, at uint64) uint64 { return words[at>>6] >> (at & 63) }

// Contains reports whether key may be in the set. False is certain.
func (f *flat) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *flat) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *flat) ContainsHash(h uint64) bool {
	if f.step != 0 {
		return f.slicesHave(h)
	}
	// The first four bits are read before anything is decided: their reads
	// overlap, and of the keys that are absent from a half-full array 15 of 16
	// end at this one branch, which is hardly ever mispredicted. The rest are
	// tested one by one, which is cheapest for keys that are there.
	w, m, k := f.words, f.span, f.shape.K
	if len(w) == 0 {
		return false // a zero filter
	}
	if k >= 4 {
		b := bit(w, probe(h, m))
		b &= bit(w, probe(h+probeStep, m))
		b &= bit(w, probe(h+probeStep2, m))
		b &= bit(w, probe(h+probeStep3, m))
		if b&1 == 0 {
			return false
		}
		h += probeStep4
		k -= 4
	}
	for ; k > 0; k-- {
		at := probe(h, m)
		if w[at>>6]&(1<<(at&63)) == 0 {
			return false
		}
		h += probeStep
	}
	return true
}

// slicesHave is ContainsHash for an array of slices. It is a function of its
// own because its additions would make Standard slower.
func (f *flat) slicesHave(h uint64) bool {
	w, m, k, from := f.words, f.span, f.shape.K, uint64(0)
	if k >= 4 {
		b := bit(w, probe(h, m))
		b &= bit(w, m+probe(h+probeStep, m))
		b &= bit(w, 2*m+probe(h+probeStep2, m))
		b &= bit(w, 3*m+probe(h+probeStep3, m))
		if b&1 == 0 {
			return false
		}
		h += probeStep4
		from = 4 * m
		k -= 4
	}
	for ; k > 0; k-- {
		at := from + probe(h, m)
		if w[at>>6]&(1<<(at&63)) == 0 {
			return false
		}
		h += probeStep
		from += m
	}
	return true
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
func (f *flat) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	for i, h := range hs {
		dst[i] = f.ContainsHash(h)
	}
}

// ContainsKeys is ContainsHashes for keys.
func (f *flat) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = f.Contains(key)
	}
}

// ContainsStrings is ContainsHashes for strings.
func (f *flat) ContainsStrings(dst []bool, keys []string) {
	dst = dst[:len(keys):len(dst)]
	for i, key := range keys {
		dst[i] = f.ContainsString(key)
	}
}

// String returns Stats as a line of text, with the count of EstimateCount: it reads
// the whole array.
func (f *flat) String() string { return text(f) }

// Stats describes the state of the filter. The fill of arrays above 64 KiB is
// taken from a sample of at most 1 MiB, so it costs the same for every size;
// PredictedSigma is how far that makes Predicted swing.
func (f *flat) Stats() bloomery.Stats {
	if len(f.words) == 0 {
		return bloomery.Stats{} // a zero filter is of no kind yet
	}
	return f.stats(f.shape.Layout.String(), f.words, count, 0)
}

// EstimateCount estimates the number of different keys from the set bits. It
// reads the whole array. A full array answers math.MaxUint64: any number of
// keys would look the same.
func (f *flat) EstimateCount() uint64 { return f.estimate(f.words) }

// copied returns the same array in memory of its own.
func (f *flat) copied() flat {
	w := memory.Words(len(f.words))
	copy(w, f.words)
	return newFlat(f.base, w)
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *flatSet) AppendBinary(dst []byte) ([]byte, error) {
	return f.append(dst, f.kind(), f.words)
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *flatSet) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *flatSet) WriteTo(w io.Writer) (int64, error) {
	return f.writeTo(w, f.kind(), f.words)
}
