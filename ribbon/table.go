package ribbon

import (
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// batch is how many keys are hashed before their hashes are looked up.
const batch = 256

// table is all that Filter and View know.
type table struct {
	hasher    hashing.Hasher
	w         *width
	r         int  // columns of a narrow block
	bits      uint // there are 2^bits shards
	keys      uint64
	asked     float64
	predicted float64
	slots     uint64 // of all layers, and keys in lists
	layered   bool   // all shards have a layer: some keys, and not few
	shards    []shard
	words     []uint64 // the payload
	stored    uint64   // words of the payload that are elsewhere, while a Stream is written
}

// Hash returns the hash under which the filter knows key.
func (t *table) Hash(key []byte) uint64 { return t.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (t *table) Hasher() hashing.Hasher { return t.hasher }

// Shards returns the number of shards, a power of two.
func (t *table) Shards() int { return len(t.shards) }

// Contains reports whether key may be in the set. False is certain.
func (t *table) Contains(key []byte) bool { return t.ContainsHash(t.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (t *table) ContainsString(key string) bool { return t.ContainsHash(t.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (t *table) ContainsHash(h uint64) bool {
	if len(t.shards) == 0 {
		return false // a zero Filter
	}
	return t.hasFrom(t.shardOf(h), 0, h)
}

// ContainsKeys is ContainsHashes for keys.
func (t *table) ContainsKeys(dst []bool, keys [][]byte) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := t.hasher.HashKeys(hs[:], keys)
		t.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// Stats tells the state of the filter. Items are counted, and Saturation is
// the share of slots that a key takes.
func (t *table) Stats() bloomery.Stats {
	s := bloomery.Stats{
		Kind:      "ribbon",
		Capacity:  t.keys,
		Items:     t.keys,
		Exact:     true,
		Bytes:     t.payload(),
		Asked:     t.asked,
		Predicted: t.predicted,
	}
	s.Bits = s.Bytes * 8
	if t.slots > 0 {
		s.Saturation = min(1, float64(t.keys)/float64(t.slots))
	}
	return s
}

// payload returns the length of the payload in bytes.
func (t *table) payload() uint64 { return 8 * (uint64(len(t.words)) + t.stored) }

// weigh sets what follows from the sizes of the layers: the number of slots
// and the rate to expect. A key that is asked for meets a layer about as often
// as rows can begin there, and the list as often as that has keys, which are
// never mistaken for others.
func (t *table) weigh() {
	t.layered = true
	t.slots = 0
	var narrow, wide, listed float64
	for _, s := range t.shards {
		t.layered = t.layered && len(s.layers) > 0
		for i := range s.layers {
			l := &s.layers[i]
			n := min(l.starts, uint64(l.narrow)*blockSlots)
			narrow += float64(n)
			wide += float64(l.starts - n)
			t.slots += l.starts + uint64(t.w.bits)
		}
		listed += float64(len(s.list))
		t.slots += uint64(len(s.list))
	}
	if t.keys > 0 && t.slots > 0 {
		t.predicted = math.Ldexp((narrow+wide/2)/(narrow+wide+listed), -t.r)
	}
}

// header returns the header of the encoding.
func (t *table) header() envelope.Header {
	payload := t.payload()
	return envelope.Header{
		Kind:     envelope.KindRibbon,
		Hash:     t.hasher.Kind(),
		Check:    t.hasher.Check(),
		K:        uint8(t.r),
		Extra:    uint32(t.w.words()) | uint32(t.bits)<<8,
		Capacity: t.keys,
		Rate:     t.asked,
		Size:     payload * 8,
		Payload:  payload,
	}
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (t *table) AppendBinary(dst []byte) ([]byte, error) {
	if t.w == nil {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, t.header(), t.words), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (t *table) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (t *table) WriteTo(w io.Writer) (int64, error) {
	if t.w == nil {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, t.header(), t.words)
}
