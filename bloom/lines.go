package bloom

import (
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
)

// lines is a blocked array that is only read: what Filter and its view share.
type lines struct {
	base
	blocks []kernel.Block
}

func (f *lines) words() []uint64 { return kernel.Words(f.blocks) }

// Contains reports whether key may be in the set. False is certain.
func (f *lines) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *lines) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *lines) ContainsHash(h uint64) bool {
	return len(f.blocks) > 0 && kernel.Has(f.blocks, f.shape.K, h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (f *lines) ContainsHashes(dst []bool, hs []uint64) {
	if len(f.blocks) == 0 {
		clear(dst[:len(hs):len(dst)])
		return
	}
	kernel.HasAll(dst, f.blocks, f.shape.K, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (f *lines) ContainsKeys(dst []bool, keys [][]byte) { linesContain(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *lines) ContainsStrings(dst []bool, keys []string) { linesContain(f, dst, keys) }

func linesContain[K []byte | string](f *lines, dst []bool, keys []K) {
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
func (f *lines) String() string { return text(f) }

// Stats describes the state of the filter. The fill of arrays above 64 KiB is
// taken from a sample of at most 1 MiB, so it costs the same for every size;
// PredictedSigma is how far that makes Predicted swing.
func (f *lines) Stats() bloomery.Stats { return f.stats("bloom", f.words(), count, 0) }

// EstimateCount estimates the number of different keys from the set bits. It
// reads the whole array. A full array answers math.MaxUint64: any number of
// keys would look the same.
func (f *lines) EstimateCount() uint64 { return f.estimate(f.words()) }

// clone returns a Filter of its own memory with the same keys.
func (f *lines) clone() *Filter {
	w := memory.Words(len(f.blocks) * 8)
	copy(w, f.words())
	return &Filter{lines{f.base, kernel.Blocks(w)}}
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	return f.append(dst, envelope.KindBloom, f.words())
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	return f.writeTo(w, envelope.KindBloom, f.words())
}
