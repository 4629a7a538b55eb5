package bloom

import (
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
)

// halves is an array of half cache lines, the blocks of the split layout, that
// is only read: what Split and SplitView share.
type halves struct {
	base
	blocks []kernel.SplitBlock
}

func (s *halves) words() []uint64 { return kernel.SplitWords(s.blocks) }

// Contains reports whether key may be in the set. False is certain.
func (s *halves) Contains(key []byte) bool { return s.ContainsHash(s.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (s *halves) ContainsString(key string) bool { return s.ContainsHash(s.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (s *halves) ContainsHash(h uint64) bool {
	return len(s.blocks) > 0 && kernel.HasSplit(s.blocks, h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (s *halves) ContainsHashes(dst []bool, hs []uint64) {
	if len(s.blocks) == 0 {
		clear(dst[:len(hs):len(dst)])
		return
	}
	kernel.HasAllSplit(dst, s.blocks, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (s *halves) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := s.hasher.HashKeys(hs[:], keys)
		s.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Stats tells the state of the filter. The fill of arrays above 64 KiB is
// taken from a sample of at most 1 MiB, so it costs the same for every size;
// PredictedSigma is how far that makes Predicted swing.
func (s *halves) Stats() bloomery.Stats { return s.stats("split", s.words(), count, 0) }

// Saturation returns the share of set bits. It reads the whole array.
func (s *halves) Saturation() float64 {
	w := s.words()
	return s.fill(count(w), uint64(len(w)))
}

// EstimateCount estimates the number of different keys from the set bits. It
// reads the whole array. A full array answers math.MaxUint64: any number of
// keys would look the same.
func (s *halves) EstimateCount() uint64 { return s.estimate(s.words()) }

// clone returns a Split of its own memory with the same keys.
func (s *halves) clone() *Split {
	w := memory.Words(len(s.blocks) * 4)
	copy(w, s.words())
	return &Split{halves{s.base, kernel.SplitBlocks(w)}}
}

// AppendBitset appends the bare array to dst, byte for byte the bitset of a
// filter in a Parquet file, without its header. Keys are found in it by those
// who hash as s does; for Parquet that is XXH64 with seed 0 of the value in
// plain encoding.
func (s *halves) AppendBitset(dst []byte) []byte { return envelope.AppendWords(dst, s.words()) }

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (s *halves) AppendBinary(dst []byte) ([]byte, error) {
	if len(s.blocks) == 0 {
		return dst, errZero("marshal")
	}
	w := s.words()
	return envelope.Append(dst, s.header(envelope.KindSplit, w), w), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (s *halves) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (s *halves) WriteTo(w io.Writer) (int64, error) {
	if len(s.blocks) == 0 {
		return 0, errZero("write")
	}
	words := s.words()
	return envelope.WriteTo(w, s.header(envelope.KindSplit, words), words)
}
