package bloom

import (
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
)

// halves is an array of half cache lines, the blocks of the split layout, that
// is only read: what Split and its view share.
type halves struct {
	base
	blocks []kernel.SplitBlock
}

func (f *halves) words() []uint64 { return kernel.SplitWords(f.blocks) }

// Contains reports whether key may be in the set. False is certain.
func (f *halves) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *halves) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *halves) ContainsHash(h uint64) bool {
	return len(f.blocks) > 0 && kernel.HasSplit(f.blocks, h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (f *halves) ContainsHashes(dst []bool, hs []uint64) {
	if len(f.blocks) == 0 {
		clear(dst[:len(hs):len(dst)])
		return
	}
	kernel.HasAllSplit(dst, f.blocks, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (f *halves) ContainsKeys(dst []bool, keys [][]byte) { halvesContain(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *halves) ContainsStrings(dst []bool, keys []string) { halvesContain(f, dst, keys) }

func halvesContain[K []byte | string](f *halves, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// String returns Stats as a line of text, with the count of EstimateCount: it reads
// the whole array.
func (f *halves) String() string { return text(f) }

// Stats describes the state of the filter. The fill of arrays above 64 KiB is
// taken from a sample of at most 1 MiB, so it costs the same for every size;
// PredictedSigma is how far that makes Predicted swing.
func (f *halves) Stats() bloomery.Stats { return f.stats("split", f.words(), count, 0) }

// EstimateCount estimates the number of different keys from the set bits. It
// reads the whole array. A full array answers math.MaxUint64: any number of
// keys would look the same.
func (f *halves) EstimateCount() uint64 { return f.estimate(f.words()) }

// clone returns a Split of its own memory with the same keys.
func (f *halves) clone() *Split {
	w := memory.Words(len(f.blocks) * 4)
	copy(w, f.words())
	return &Split{halves{f.base, kernel.SplitBlocks(w)}}
}

// AppendBitset appends the bare array to dst, byte for byte the bitset of a
// filter in a Parquet file, without its header. Readers must
// hash as f does; for Parquet that is XXH64 with seed 0 of the value in plain
// encoding.
func (f *halves) AppendBitset(dst []byte) []byte { return envelope.AppendWords(dst, f.words()) }

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Split) AppendBinary(dst []byte) ([]byte, error) {
	return f.append(dst, envelope.KindSplit, f.words())
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Split) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Split) WriteTo(w io.Writer) (int64, error) {
	return f.writeTo(w, envelope.KindSplit, f.words())
}
