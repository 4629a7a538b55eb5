package ribbon

import (
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

// noJSON refuses JSON, and is no field that can be seen.
type noJSON = envelope.NoJSON

// batch is how many keys are hashed before their hashes are looked up.
const batch = 256

// table is all that Filter and Map know, and their views.
type table struct {
	noJSON
	hasher    hashing.Hasher
	w         *width
	r         int // columns of a narrow block
	field     field
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

// Hash returns the filter's hash of key.
func (f *table) Hash(key []byte) uint64 { return f.hasher.Hash(key) }

// Hasher returns the hasher of the filter.
func (f *table) Hasher() hashing.Hasher { return f.hasher }

// Shards returns the number of shards, a power of two.
func (f *table) Shards() int { return len(f.shards) }

// Contains reports whether key may be in the set. False is certain.
func (f *table) Contains(key []byte) bool { return f.ContainsHash(f.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (f *table) ContainsString(key string) bool { return f.ContainsHash(f.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (f *table) ContainsHash(h uint64) bool {
	if len(f.shards) == 0 {
		return false // a zero Filter
	}
	return f.hasFrom(f.shardOf(h), 0, h)
}

// ContainsKeys is ContainsHashes for keys.
func (f *table) ContainsKeys(dst []bool, keys [][]byte) { tableContains(f, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (f *table) ContainsStrings(dst []bool, keys []string) { tableContains(f, dst, keys) }

func tableContains[K []byte | string](f *table, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(f.hasher, hs[:], keys)
		f.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// String returns Stats as a line of text.
func (f *table) String() string { return f.Stats().String() }

// Stats describes the state of the filter. Items are counted, and Saturation is
// the share of slots that a key takes.
func (f *table) Stats() bloomery.Stats {
	s := bloomery.Stats{
		Kind:      envelope.KindName(f.kind()),
		Capacity:  f.keys,
		Items:     f.keys,
		Exact:     true,
		Bytes:     f.payload(),
		Asked:     f.asked,
		Predicted: f.predicted,
	}
	s.Bits = s.Bytes * 8
	if f.slots > 0 {
		s.Saturation = min(1, float64(f.keys)/float64(f.slots))
	}
	return s
}

// kind returns the number of the kind.
func (f *table) kind() uint16 {
	if f.field.bits > 0 {
		return envelope.KindMap
	}
	return envelope.KindRibbon
}

// payload returns the length of the payload in bytes.
func (f *table) payload() uint64 { return 8 * (uint64(len(f.words)) + f.stored) }

// weigh sets what follows from the sizes of the layers: the number of slots
// and the rate to expect. A key that is asked for meets a layer about as often
// as rows can begin there, and the list as often as that has keys, which are
// never mistaken for others.
func (f *table) weigh() {
	f.layered = true
	f.slots = 0
	var narrow, wide, listed float64
	for _, s := range f.shards {
		f.layered = f.layered && len(s.layers) > 0
		for i := range s.layers {
			l := &s.layers[i]
			n := min(l.starts, uint64(l.narrow)*blockSlots)
			narrow += float64(n)
			wide += float64(l.starts - n)
			f.slots += l.starts + uint64(f.w.bits)
		}
		listed += float64(len(s.list))
		f.slots += uint64(len(s.list))
	}
	if f.keys > 0 && f.slots > 0 {
		f.predicted = math.Ldexp((narrow+wide/2)/(narrow+wide+listed), f.field.bits-f.r)
	}
}

// header returns the header of the encoding.
func (f *table) header() envelope.Header {
	payload := f.payload()
	return envelope.Header{
		Kind:     f.kind(),
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.r),
		Extra:    uint32(f.w.words()) | uint32(f.bits)<<8 | uint32(f.field.bits)<<16,
		Capacity: f.keys,
		Rate:     f.asked,
		Size:     payload * 8,
		Payload:  payload,
	}
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	if f.words == nil {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.words), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.words == nil {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.words)
}
