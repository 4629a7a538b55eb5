package bloom

import (
	"io"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/kernel"
	"github.com/bloomery/bloomery/internal/memory"
)

// lines is a blocked array that is only read: what Filter and View share.
type lines struct {
	base
	blocks []kernel.Block
}

func (l *lines) words() []uint64 { return kernel.Words(l.blocks) }

// Contains reports whether key may be in the set. False is certain.
func (l *lines) Contains(key []byte) bool { return l.ContainsHash(l.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (l *lines) ContainsString(key string) bool { return l.ContainsHash(l.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (l *lines) ContainsHash(h uint64) bool {
	return len(l.blocks) > 0 && kernel.Has(l.blocks, l.shape.K, h)
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It is several times
// faster than as many single calls. It panics if dst is shorter than hs.
func (l *lines) ContainsHashes(dst []bool, hs []uint64) {
	if len(l.blocks) == 0 {
		clear(dst[:len(hs):len(dst)])
		return
	}
	kernel.HasAll(dst, l.blocks, l.shape.K, hs)
}

// ContainsKeys is ContainsHashes for keys.
func (l *lines) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := l.hasher.HashKeys(hs[:], keys)
		l.ContainsHashes(dst[:n], hs[:n])
		keys, dst = keys[n:], dst[n:]
	}
}

// Stats tells the state of the filter. The fill of arrays above 64 KiB is
// taken from a sample of at most 1 MiB, so it costs the same for every size;
// PredictedSigma is how far that makes Predicted swing.
func (l *lines) Stats() bloomery.Stats { return l.stats("bloom", l.words(), count, 0) }

// Saturation returns the share of set bits. It reads the whole array.
func (l *lines) Saturation() float64 {
	w := l.words()
	return l.fill(count(w), uint64(len(w)))
}

// EstimateCount estimates the number of different keys from the set bits. It
// reads the whole array. A full array answers math.MaxUint64: any number of
// keys would look the same.
func (l *lines) EstimateCount() uint64 { return l.estimate(l.words()) }

// clone returns a Filter of its own memory with the same keys.
func (l *lines) clone() *Filter {
	w := memory.Words(len(l.blocks) * 8)
	copy(w, l.words())
	return &Filter{lines{l.base, kernel.Blocks(w)}}
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (l *lines) AppendBinary(dst []byte) ([]byte, error) {
	if len(l.blocks) == 0 {
		return dst, errZero("marshal")
	}
	w := l.words()
	return envelope.Append(dst, l.header(envelope.KindBloom, w), w), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (l *lines) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (l *lines) WriteTo(w io.Writer) (int64, error) {
	if len(l.blocks) == 0 {
		return 0, errZero("write")
	}
	words := l.words()
	return envelope.WriteTo(w, l.header(envelope.KindBloom, words), words)
}
