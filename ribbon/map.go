package ribbon

import (
	"io"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
)

var (
	_ bloomery.Hashed = (*Map)(nil)
	_ bloomery.Getter = (*Map)(nil)
)

// Map has a small value for each key of a set that never changes: which block,
// which shard, which cache has it. It keeps no keys. A key that is there always
// gets its value. An absent key gets false or, with the false positive rate, an
// arbitrary value. As a filter it is the set of its keys.
//
// A key takes the bits that it takes in a Filter of the same rate, plus those of a
// value. A lookup takes as long as in a Filter with as many bits per key.
//
// Make one with BuildMap or Config.BuildMap. A zero Map is empty and cannot be
// encoded, but UnmarshalBinary can replace it.
//
// Safe for concurrent readers; a writer needs exclusion.
type Map struct{ mapping }

// mapping is all that Map and its view know.
type mapping struct{ table }

// ValueBits returns how many bits a value has.
func (m *mapping) ValueBits() int { return m.field.bits }

// Get returns the value of key and true, or false if key is certainly absent.
func (m *mapping) Get(key []byte) (value uint32, ok bool) { return m.GetHash(m.hasher.Hash(key)) }

// GetString is Get for a string.
func (m *mapping) GetString(key string) (value uint32, ok bool) {
	return m.GetHash(m.hasher.HashString(key))
}

// GetHash is Get for a key whose hash is h.
func (m *mapping) GetHash(h uint64) (value uint32, ok bool) {
	if len(m.shards) == 0 {
		return 0, false // a zero Map
	}
	return m.getFrom(m.shardOf(h), 0, h)
}

// getFrom returns the value of the key that layer first of the shard knows by
// hash h.
func (m *mapping) getFrom(s *shard, first int, h uint64) (value uint32, ok bool) {
	for ; first < len(s.layers); first++ {
		l := &s.layers[first]
		start := startOf(h, l.starts)
		if l.keeps(start, m.w) {
			return m.getAt(l, h, start)
		}
		h = bump(h)
	}
	if i, found := slices.BinarySearch(s.list, h); found {
		return uint32(s.values[i]), true
	}
	return 0, false
}

// getAt is getFrom in a layer that keeps the key.
func (m *mapping) getAt(l *layer, h, start uint64) (value uint32, ok bool) {
	if m.r == 1 && int(start/blockSlots)+m.w.words() < l.narrow {
		return l.bit(m.w, h, start), true
	}
	if m.w.bits == 64 {
		return m.field.get64(l, h, start, m.r)
	}
	return m.field.get128(l, h, start, m.r)
}

// GetHashes sets values[i] and ok[i] to GetHash(hs[i]). It panics if one of them
// is shorter than hs.
func (m *mapping) GetHashes(values []uint32, ok []bool, hs []uint64) {
	values, ok = values[:len(hs):len(values)], ok[:len(hs):len(ok)]
	if !m.layered || len(hs) <= fewKeys {
		for i, h := range hs {
			values[i], ok[i] = m.GetHash(h)
		}
		return
	}
	var places [window]place
	for len(hs) > 0 {
		n := min(window, len(hs))
		m.aim(&places, hs[:n])
		m.collect(values[:n], ok[:n], hs[:n], &places)
		values, ok, hs = values[n:], ok[n:], hs[n:]
	}
}

// collect answers for the keys of one window.
func (m *mapping) collect(values []uint32, ok []bool, hs []uint64, places *[window]place) {
	for i, h := range hs {
		p := &places[i&(window-1)]
		s := &m.shards[p.shard]
		if l := &s.layers[0]; l.keeps(p.start, m.w) {
			values[i], ok[i] = m.getAt(l, h, p.start)
		} else {
			values[i], ok[i] = m.getFrom(s, 1, bump(h))
		}
	}
}

// Contains reports whether key may be in the set. False is certain.
func (m *mapping) Contains(key []byte) bool { return m.ContainsHash(m.hasher.Hash(key)) }

// ContainsString is Contains for a string.
func (m *mapping) ContainsString(key string) bool { return m.ContainsHash(m.hasher.HashString(key)) }

// ContainsHash is Contains for a key whose hash is h.
func (m *mapping) ContainsHash(h uint64) bool {
	_, ok := m.GetHash(h)
	return ok
}

// ContainsHashes sets dst[i] to ContainsHash(hs[i]). It panics if dst is
// shorter than hs.
func (m *mapping) ContainsHashes(dst []bool, hs []uint64) {
	dst = dst[:len(hs):len(dst)]
	var values [batch]uint32
	for len(hs) > 0 {
		n := min(batch, len(hs))
		m.GetHashes(values[:n], dst[:n], hs[:n])
		dst, hs = dst[n:], hs[n:]
	}
}

// ContainsKeys is ContainsHashes for keys.
func (m *mapping) ContainsKeys(dst []bool, keys [][]byte) { mapContains(m, dst, keys) }

// ContainsStrings is ContainsHashes for strings.
func (m *mapping) ContainsStrings(dst []bool, keys []string) { mapContains(m, dst, keys) }

func mapContains[K []byte | string](m *mapping, dst []bool, keys []K) {
	dst = dst[:len(keys):len(dst)]
	var hs [batch]uint64
	for len(keys) > 0 {
		n := hashing.HashBatch(m.hasher, hs[:], keys)
		m.ContainsHashes(dst[:n], hs[:n])
		dst, keys = dst[n:], keys[n:]
	}
}

// AppendBinary appends the encoding of the map to dst. The error is nil but for a
// zero Map.
func (m *Map) AppendBinary(dst []byte) ([]byte, error) {
	if m.words == nil {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, m.header(), m.words), nil
}

// MarshalBinary returns the encoding of the map. The error is nil but for a zero
// Map.
func (m *Map) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// WriteTo writes the encoding of the map to w.
func (m *Map) WriteTo(w io.Writer) (int64, error) {
	if m.words == nil {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, m.header(), m.words)
}

// UnmarshalBinary replaces m by the map that data encodes, see
// Filter.UnmarshalBinary.
func (m *Map) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("ribbon", data, m.hasher, m.load)
}

// load makes m what a source holds; on error m stays as it was.
func (m *mapping) load(given hashing.Hasher, from *envelope.Source) error {
	return m.loadKind(envelope.KindMap, given, from)
}

// DecodeMap is Decode for a Map.
func (c Config) DecodeMap(data []byte) (*Map, error) {
	return envelope.Decode(c.opening(), "DecodeMap", data, (*Map).load)
}

// ReadMap is Read for a Map.
func (c Config) ReadMap(r io.Reader) (*Map, error) {
	return envelope.ReadFilter(c.opening(), "ReadMap", r, (*Map).load)
}

// mapView is a mapping over an encoding that stays where it lies.
type mapView struct {
	mapping
	envelope.Viewed
}

// Clone returns a Map, see bloomery.View.
func (m *mapView) Clone() (bloomery.Hashed, error) {
	t, err := m.cloned(&m.Viewed)
	if err != nil {
		return nil, err
	}
	return &Map{mapping{t}}, nil
}
