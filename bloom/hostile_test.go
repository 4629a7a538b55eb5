package bloom_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Encodings with sound checksums whose header or layers claim what is not so.
// They must be refused, by every way in, before anything is allocated for them.
func TestScalableHostile(t *testing.T) {
	s := bloom.NewScalable(100, 5e-6) // its layers are standard
	s.AddHashes(nil, hashes(1000, 1))
	data, _ := s.MarshalBinary()
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	rate := func(p float64) uint64 { return math.Float64bits(p) }
	for name, change := range map[string]func(h *envelope.Header, words []uint64){
		"no layers":               func(h *envelope.Header, _ []uint64) { h.Extra = 0 },
		"one layer more":          func(h *envelope.Header, _ []uint64) { h.Extra++ },
		"one layer less":          func(h *envelope.Header, _ []uint64) { h.Extra-- },
		"too many layers":         func(h *envelope.Header, _ []uint64) { h.Extra = 4097 },
		"most layers":             func(h *envelope.Header, _ []uint64) { h.Extra = math.MaxUint32 },
		"growth 1":                func(h *envelope.Header, _ []uint64) { h.K = 1 },
		"no first capacity":       func(h *envelope.Header, _ []uint64) { h.Capacity = 0 },
		"no rate":                 func(h *envelope.Header, _ []uint64) { h.Rate = 0 },
		"rate below the least":    func(h *envelope.Header, w []uint64) { h.Rate = 9e-16 },
		"least rate of all":       func(h *envelope.Header, w []uint64) { h.Rate = math.SmallestNonzeroFloat64 },
		"larger":                  func(h *envelope.Header, _ []uint64) { h.Size += 512 },
		"largest":                 func(h *envelope.Header, _ []uint64) { h.Size = math.MaxUint64 },
		"smaller":                 func(h *envelope.Header, _ []uint64) { h.Size -= 64 },
		"total below rate":        func(_ *envelope.Header, w []uint64) { w[0] = rate(1e-6) },
		"total not a number":      func(_ *envelope.Header, w []uint64) { w[0] = rate(math.NaN()) },
		"none made":               func(_ *envelope.Header, w []uint64) { w[1] = 0 },
		"too many made":           func(_ *envelope.Header, w []uint64) { w[1] = math.MaxUint64 },
		"more made than layers":   func(h *envelope.Header, w []uint64) { w[1] = uint64(h.Extra) + 1 },
		"rule beside a rest":      func(_ *envelope.Header, w []uint64) { w[2], w[3] = 0, 1 },
		"rest of line":            func(_ *envelope.Header, w []uint64) { w[7] = 1 },
		"unknown kind of layer":   func(_ *envelope.Header, w []uint64) { w[8] = 3 },
		"other kind of layer":     func(_ *envelope.Header, w []uint64) { w[3*8] = 1; w[3*8+1]++ },
		"layer without bits":      func(_ *envelope.Header, w []uint64) { w[9] = 0 },
		"layer of odd bits":       func(_ *envelope.Header, w []uint64) { w[9]++ },
		"largest layer":           func(_ *envelope.Header, w []uint64) { w[9] = 1 << 63 },
		"layer beyond all":        func(_ *envelope.Header, w []uint64) { w[9] = math.MaxUint64 - 511 },
		"layer with k = 0":        func(_ *envelope.Header, w []uint64) { w[10] = 0 },
		"layer with k = 17":       func(_ *envelope.Header, w []uint64) { w[10] = 17 },
		"layer with largest k":    func(_ *envelope.Header, w []uint64) { w[10] = math.MaxUint64 },
		"layer without capacity":  func(_ *envelope.Header, w []uint64) { w[11] = 0 },
		"layer with rate 1":       func(_ *envelope.Header, w []uint64) { w[12] = rate(1) },
		"layer above total":       func(_ *envelope.Header, w []uint64) { w[12] = rate(1.1e-5) },
		"layer with rate 0.7":     func(_ *envelope.Header, w []uint64) { w[12] = rate(0.7) },
		"layer with least rate":   func(_ *envelope.Header, w []uint64) { w[12] = rate(1e-300) },
		"layer over capacity":     func(_ *envelope.Header, w []uint64) { w[11] += w[11] / 8 },
		"layer of most capacity":  func(_ *envelope.Header, w []uint64) { w[11] = math.MaxUint64 },
		"more items than bits":    func(_ *envelope.Header, w []uint64) { w[13] = w[9] + 1 },
		"rest of a layer's line":  func(_ *envelope.Header, w []uint64) { w[14] = 1 },
		"padding that is not nil": func(_ *envelope.Header, w []uint64) { w[len(w)-1] = 1 },
	} {
		h, words := sealed.Header, sealed.Words()
		change(&h, words)
		bad := envelope.Append(nil, h, words)
		x := bloom.NewScalable(10, 0.1)
		x.AddString("stays")
		before, _ := x.MarshalBinary()
		_, readErr := bloom.Config{}.Read(bytes.NewReader(bad))
		_, viewErr := bloom.Config{}.View(bad)
		for way, err := range map[string]error{"unmarshal": x.UnmarshalBinary(bad), "read": readErr, "view": viewErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
			}
		}
		if after, _ := x.MarshalBinary(); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused encoding changed the filter", name)
		}
	}
	// Numbers that are possible, though no history leads there, do no harm.
	for name, change := range map[string]func(words []uint64){
		"all items":     func(w []uint64) { w[4*8+5] = w[4*8+1] },
		"less capacity": func(w []uint64) { w[4*8+3] = 1 },
		"no items":      func(w []uint64) { w[4*8+5] = 0 },
	} {
		words := sealed.Words()
		change(words)
		var x bloom.Scalable
		if err := x.UnmarshalBinary(envelope.Append(nil, sealed.Header, words)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x.AddHashes(nil, hashes(1000, 2))
		for _, h := range hashes(1000, 2) {
			if !x.ContainsHash(h) {
				t.Fatalf("%s: a key is forgotten", name)
			}
		}
		x.Stats()
		x.Clear()
	}
}

// A file of a few hundred bytes cannot claim so much that the next keys take
// much memory: whatever is accepted grows as constructors allow.
func TestScalableHostileGrowth(t *testing.T) {
	small, err := bloom.Config{Capacity: 10, ErrorRate: 0.5, Growth: 255}.NewScalable()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := small.MarshalBinary()
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for i, rate := range []float64{0.5, 1e-3, 1e-15, 1e-100, 1e-300, 0.5, 1e-3, 1e-15} {
		for capacity := uint64(1); capacity < 1<<40; capacity += capacity/8 + 1 {
			h, words := sealed.Header, sealed.Words()
			words[2] = uint64(i / 5) // the rule of before, that of today
			h.Rate = rate
			words[0] = math.Float64bits(math.Nextafter(1, 0))
			words[12] = math.Float64bits(0.6)
			words[11], words[13] = capacity, min(capacity, h.Size)
			var s bloom.Scalable
			if s.UnmarshalBinary(envelope.Append(nil, h, words)) != nil {
				continue
			}
			accepted++
			s.AddHashes(nil, hashes(20, 3))
			if got := s.Stats().Bytes; got > 4<<20 {
				t.Fatalf("rate %v, capacity %d: %d bytes of file became %d bytes in 20 adds", rate, capacity, len(data), got)
			}
		}
	}
	if accepted == 0 {
		t.Error("no file was accepted")
	}
}

// A rule for the rates of layers that this release does not know is that of a later
// one, not damage.
func TestScalableOfLaterRule(t *testing.T) {
	data, _ := bloom.NewScalable(100, 0.01).MarshalBinary()
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	words := sealed.Words()
	words[2] = 2
	var s bloom.Scalable
	if err := s.UnmarshalBinary(envelope.Append(nil, sealed.Header, words)); !errors.Is(err, bloomery.ErrVersion) {
		t.Errorf("a file of a later rule: %v, want ErrVersion", err)
	}
}
