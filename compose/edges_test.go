package compose_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/hashing"
)

// posed is a filter whose Stats are made up, and that remembers the last hash.
type posed struct {
	*bloom.Filter
	stats bloomery.Stats
	last  uint64
}

func (p *posed) Stats() bloomery.Stats { return p.stats }

func (p *posed) AddHash(h uint64) bool {
	p.last = h
	return p.Filter.AddHash(h)
}

func pose(asked, predicted, sigma float64) *posed {
	return &posed{Filter: bloom.New(100, 0.01), stats: bloomery.Stats{Asked: asked, Predicted: predicted, PredictedSigma: sigma}}
}

func near(got, want float64) bool { return math.Abs(got-want) < 1e-12 }

// TestQuorumStats has joint rates that are computed by hand.
func TestQuorumStats(t *testing.T) {
	for name, c := range map[string]struct {
		need                    int
		members                 []bloomery.Hashed
		asked, predicted, sigma float64
	}{
		"one":          {1, []bloomery.Hashed{pose(0.1, 0.2, 0.03)}, 0.1, 0.2, 0.03},
		"near 1":       {1, []bloomery.Hashed{pose(0.1, 0.9, 0.3)}, 0.1, 0.9, 0.1},
		"both of two":  {2, []bloomery.Hashed{pose(0.1, 0.1, 0.03), pose(0.5, 0.5, 0.04)}, 0.05, 0.05, math.Hypot(0.03*0.5, 0.04*0.1)},
		"two of three": {2, []bloomery.Hashed{pose(0.1, 0, 0), pose(0.2, 1, 0), pose(0.3, 0.5, 0)}, 0.098, 0.5, 0},
		"one of three": {1, []bloomery.Hashed{pose(0.1, 0, 0), pose(0.2, 0, 0), pose(0.3, 0, 0)}, 1 - 0.9*0.8*0.7, 0, 0},
	} {
		q, err := compose.NewQuorum(c.need, c.members...)
		if err != nil {
			t.Fatal(err)
		}
		st := q.Stats()
		if !near(st.Asked, c.asked) || !near(st.Predicted, c.predicted) || !near(st.PredictedSigma, c.sigma) {
			t.Errorf("%s: asked %v, predicted %v by %v, want %v, %v by %v", name,
				st.Asked, st.Predicted, st.PredictedSigma, c.asked, c.predicted, c.sigma)
		}
	}
}

// TestQuorumOfSurelyWrong encodes a quorum whose joint rate rounds to 1.
func TestQuorumOfSurelyWrong(t *testing.T) {
	var members []bloomery.Hashed
	for range 60 {
		members = append(members, bloom.New(10, 0.9))
	}
	q, err := compose.NewQuorum(1, members...)
	if err != nil {
		t.Fatal(err)
	}
	if rate := q.Stats().Asked; rate != 1 {
		t.Fatalf("the joint rate is %v, not 1", rate)
	}
	data, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (compose.QuorumConfig{Open: openBloom}).Decode(data); err != nil {
		t.Errorf("Decode: %v", err)
	}
}

// TestQuorumBatches inserts in all ways, until a member is full, and asks for
// batches of one key and of many.
func TestQuorumBatches(t *testing.T) {
	var keys [][]byte
	for i := range 5000 {
		keys = append(keys, []byte{byte(i), byte(i >> 8)})
	}
	for way, insert := range map[string]func(q *compose.Quorum, keys [][]byte) (int, error){
		"InsertHashes": func(q *compose.Quorum, keys [][]byte) (int, error) {
			var hs []uint64
			for _, key := range keys {
				hs = append(hs, q.Hash(key))
			}
			return q.InsertHashes(hs)
		},
		"InsertKeys": (*compose.Quorum).InsertKeys,
		"InsertSeq": func(q *compose.Quorum, keys [][]byte) (int, error) {
			return q.InsertSeq(slices.Values(keys))
		},
	} {
		q, err := compose.NewQuorum(2, bloom.New(1000, 1e-4), cuckoo.New(1000, 0.001))
		if err != nil {
			t.Fatal(err)
		}
		n, err := insert(q, keys)
		if n < 1000 || n >= len(keys) || !errors.Is(err, bloomery.ErrFull) {
			t.Fatalf("%s: %d of %d, %v, want some and ErrFull", way, n, len(keys), err)
		}
		for _, size := range []int{0, 1, 2, n} {
			found := make([]bool, size)
			q.ContainsKeys(found, keys[:size])
			if slices.Contains(found, false) {
				t.Errorf("%s: of %d keys not all are found", way, size)
			}
		}
		other, _ := compose.NewQuorum(2, bloom.New(1000, 1e-4), cuckoo.New(1000, 0.001))
		if m, err := insert(other, keys[:10]); m != 10 || err != nil {
			t.Errorf("%s of ten keys: %d, %v", way, m, err)
		}
	}
}

// TestLayersSalt asks for the hashes that the layers get: stored ones depend on
// them.
func TestLayersSalt(t *testing.T) {
	first, second, third := pose(0, 0, 0), pose(0, 0, 0), pose(0, 0, 0)
	l, err := compose.NewLayers(nil, first, second, third)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.InsertString("key"); err != nil {
		t.Fatal(err)
	}
	h := first.Hash([]byte("key"))
	if first.last != h || second.last != bloomery.Salted(h, 1) || third.last != bloomery.Salted(h, 2) {
		t.Errorf("hashes %x, %x, %x", first.last, second.last, third.last)
	}
}

// TestStripedStats adds up what stripes say.
func TestStripedStats(t *testing.T) {
	one, err := compose.StripedConfig{Capacity: 1000, Stripes: 1, Make: func(n int) (bloomery.Hashed, error) {
		return bloom.New(n, 0.01), nil
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	if got := one.Stats().Capacity; got != 1000 {
		t.Errorf("one stripe has capacity %d, want 1000", got)
	}
	s, err := compose.StripedConfig{Capacity: 1000, Stripes: 4, Make: func(int) (bloomery.Hashed, error) {
		p := pose(0.1, 0.2, 0.03)
		p.stats.Items = math.MaxUint64
		return p, nil
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if !near(st.Asked, 0.1) || !near(st.Predicted, 0.2) || !near(st.PredictedSigma, 0.015) || st.Items != math.MaxUint64 {
		t.Errorf("asked %v, predicted %v by %v, %d items", st.Asked, st.Predicted, st.PredictedSigma, st.Items)
	}
	if new(compose.Striped).ContainsHash(1) {
		t.Error("a zero Striped contains a key")
	}
}

// TestWindowAddsInAllWays adds keys and asks for them in batches.
func TestWindowAddsInAllWays(t *testing.T) {
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("a")}
	fresh := []bool{true, true, false}
	for name, c := range windows {
		for way, add := range map[string]func(w *compose.Window) []bool{
			"Add": func(w *compose.Window) []bool {
				return []bool{w.Add(keys[0]), w.Add(keys[1]), w.Add(keys[2])}
			},
			"AddString": func(w *compose.Window) []bool {
				return []bool{w.AddString("a"), w.AddString("b"), w.AddString("a")}
			},
			"AddKeys": func(w *compose.Window) []bool {
				dst := []bool{false, false, true, true}
				w.AddKeys(dst, keys)
				if !dst[3] {
					t.Error("AddKeys changes what is behind its keys")
				}
				return dst[:3]
			},
			"AddKeys of one": func(w *compose.Window) []bool {
				dst := make([]bool, 3)
				for i := range keys {
					w.AddKeys(dst[i:i+1], keys[i:i+1])
				}
				return dst
			},
			"AddKeys for nothing": func(w *compose.Window) []bool { w.AddKeys(nil, keys); return fresh },
			"AddSeq":              func(w *compose.Window) []bool { w.AddSeq(slices.Values(keys)); return fresh },
		} {
			w := newWindow(t, c)
			if got := add(w); !slices.Equal(got, fresh) {
				t.Errorf("%s: %s gives %v, want %v", name, way, got, fresh)
			}
			got := []bool{false, false, true, true}
			w.ContainsKeys(got, [][]byte{keys[0], keys[1], []byte("absent")})
			if !slices.Equal(got, []bool{true, true, false, true}) {
				t.Errorf("%s: after %s, ContainsKeys gives %v", name, way, got)
			}
			got = []bool{false, true}
			w.ContainsHashes(got, []uint64{w.Hash(keys[1])})
			if !slices.Equal(got, []bool{true, true}) {
				t.Errorf("%s: after %s, ContainsHashes gives %v", name, way, got)
			}
		}
	}
}

// TestZeroWindow has no key, and panics with a sentence when one is added.
func TestZeroWindow(t *testing.T) {
	w := new(compose.Window)
	dst := []bool{true, true}
	w.ContainsHashes(dst, []uint64{1})
	if w.ContainsHash(1) || dst[0] || !dst[1] {
		t.Errorf("a zero window gives %v", dst)
	}
	for name, call := range map[string]func(){
		"AddHash":   func() { w.AddHash(1) },
		"AddHashes": func() { w.AddHashes(nil, nil) },
		"AddSeq":    func() { w.AddSeq(slices.Values([][]byte{})) },
		"NewWindow": func() { compose.NewWindow(0, 0.01, 4) },
		"no rate":   func() { compose.NewWindow(10, 0, 4) },
		"no spans":  func() { compose.NewWindow(10, 0.01, 0) },
	} {
		func() {
			defer func() {
				said := ""
				switch r := recover().(type) {
				case string:
					said = r
				case error:
					said = r.Error()
				}
				if !strings.HasPrefix(said, "compose: ") {
					t.Errorf("%s: panic %q, want a sentence", name, said)
				}
			}()
			call()
		}()
	}
}

// TestWindowOverfull adds so many keys that all bits are set.
func TestWindowOverfull(t *testing.T) {
	w := compose.NewWindow(10, 0.01, 2)
	w.AddHashes(nil, hashes(100_000, 3))
	if st := w.Stats(); st.Items != math.MaxUint64 {
		t.Errorf("%d items, want the largest number", st.Items)
	}
}

// TestRotatingWindowsAreSecretFromTheStart adds one hash to two windows: where it
// lies depends on the secret already in generation 0.
func TestRotatingWindowsAreSecretFromTheStart(t *testing.T) {
	var arrays [][]byte
	for i := range byte(2) {
		c := compose.WindowConfig{Capacity: 1000, ErrorRate: 0.01, Rotate: true, Hasher: hashing.Keyed([16]byte{i})}
		w := newWindow(t, c)
		for _, h := range hashes(100, 5) {
			w.AddHash(h)
		}
		data, err := w.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		arrays = append(arrays, data[128:len(data)-64]) // without header and checksum
	}
	if bytes.Equal(arrays[0], arrays[1]) {
		t.Error("the secret does not change where keys lie")
	}
}

// TestWindowViewOfDamagedData verifies and clones data as it was and with a bit
// changed.
func TestWindowViewOfDamagedData(t *testing.T) {
	w := newWindow(t, windows["half lines"])
	w.AddString("a")
	data, err := w.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	v, err := compose.WindowConfig{}.View(data)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := v.Clone(); err != nil || !c.Contains([]byte("a")) || v.Verify() != nil {
		t.Errorf("Clone: %v", err)
	}
	data[len(data)/2] ^= 1
	if err := v.Verify(); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Verify of damaged data: %v", err)
	}
	if c, err := v.Clone(); c != nil || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Clone of damaged data: %v", err)
	}
}
