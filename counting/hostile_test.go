package counting_test

import (
	"bytes"
	"encoding"
	"errors"
	"math"
	"math/bits"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/internal/envelope"
)

// Encodings with sound checksums whose header or words claim what is not so.
// They must be refused by every way in; what only the payload shows, a view
// finds by Verify.
func TestFilterHostile(t *testing.T) {
	f := counting.New(100, 1e-3)
	insert(t, f, hashes(100, 1))
	last := len(encoded(t, f))/8 - 10 // a word of the counters
	hostile(t, encoded(t, f), map[string]change{
		"another kind":     {header: func(h *envelope.Header) { h.Kind = envelope.KindSpectral }},
		"counters of 3":    {header: func(h *envelope.Header) { h.Extra = 3 }},
		"counters of 8":    {header: func(h *envelope.Header) { h.Extra = 8 }},
		"counters of 260":  {header: func(h *envelope.Header) { h.Extra = 260 }},
		"no counters":      {header: func(h *envelope.Header) { h.Extra = 0 }},
		"larger":           {header: func(h *envelope.Header) { h.Size += 512 }},
		"largest":          {header: func(h *envelope.Header) { h.Size = 1 << 63 }},
		"odd size":         {header: func(h *envelope.Header) { h.Size++ }},
		"k = 0":            {header: func(h *envelope.Header) { h.K = 0 }},
		"k = 17":           {header: func(h *envelope.Header) { h.K = 17 }},
		"no bits":          {header: func(h *envelope.Header) { h.Size = 0 }},
		"a lost bit":       {words: func(w []uint64) { clear(w[:8]) }},
		"a counter beside": {words: func(w []uint64) { w[last] = math.MaxUint64 }},
	}, func() decodable { return new(counting.Filter) })
}

func TestSpectralHostile(t *testing.T) {
	s := counting.NewSpectral(20, 0.1)
	insert(t, s, append(hashes(20, 1), hashes(20, 1)...))
	hostile(t, encoded(t, s), map[string]change{
		"counters of 4":      {header: func(h *envelope.Header) { h.Extra = 4 }},
		"counters of 64":     {header: func(h *envelope.Header) { h.Extra = 64 }},
		"a block more":       {header: func(h *envelope.Header) { h.Size += 512 }},
		"the rest of a line": {words: func(w []uint64) { w[1] = 1 }},
		"the end of a line":  {words: func(w []uint64) { w[7] = 1 }},
		"lost bits":          {words: func(w []uint64) { clear(w[8:16]) }},
		"a counter beside": {words: func(w []uint64) {
			unset := bits.TrailingZeros64(^w[8]) // of the first lane
			w[16+unset/2] |= 1 << (32*(unset%2) + 31)
		}},
		"another one beside": {words: func(w []uint64) {
			unset := 63 - bits.LeadingZeros64(^w[15])
			w[len(w)-32+unset/2] |= 1 << (32 * (unset % 2))
		}},
		"counters everywhere": {words: func(w []uint64) { fill(w[16:]) }},
	}, func() decodable { return new(counting.Spectral) })
}

func TestStableHostile(t *testing.T) {
	s := counting.NewStable(100, 0.1)
	insert(t, s, hashes(250, 1))
	data := encoded(t, s)
	blocks := s.Shape().Bits / 512
	hostile(t, data, map[string]change{
		"counters of 16":     {header: func(h *envelope.Header) { h.Extra = 16 }},
		"no capacity":        {header: func(h *envelope.Header) { h.Capacity = 0 }},
		"hand outside":       {words: func(w []uint64) { w[0] = blocks }},
		"hand far outside":   {words: func(w []uint64) { w[0] = math.MaxUint64 }},
		"credit of a period": {words: func(w []uint64) { w[1] = 34 }},
		"credit for ever":    {words: func(w []uint64) { w[1] = math.MaxUint64 }},
		"the rest of a line": {words: func(w []uint64) { w[3] = 1 }},
		"counters alone":     {words: func(w []uint64) { fill(w[8+8*blocks:]) }},
	}, func() decodable { return new(counting.Stable) })

	// A view with a sound checksum and a state that cannot be is not cloned:
	// inserts would panic.
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	words := sealed.Words()
	words[0], words[1] = math.MaxUint64, math.MaxUint64
	v, err := counting.Config{}.View(envelope.Append(nil, sealed.Header, words))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := v.Clone(); c != nil || !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("Clone of a corrupt view: %v, %v, want ErrCorrupt", c, err)
	}
}

// fill sets all bits.
func fill(words []uint64) {
	for i := range words {
		words[i] = math.MaxUint64
	}
}

// change is one lie, in the header or in the words.
type change struct {
	header func(h *envelope.Header)
	words  func(words []uint64)
}

type decodable interface {
	bloomery.Inserter
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}

func hostile(t *testing.T, data []byte, changes map[string]change, fresh func() decodable) {
	t.Helper()
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range changes {
		h, words := sealed.Header, sealed.Words()
		if c.header != nil {
			c.header(&h)
		} else {
			c.words(words)
		}
		bad := envelope.Append(nil, h, words)
		x := fresh()
		if err := x.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		_, readErr := counting.Config{}.Read(bytes.NewReader(bad))
		v, viewErr := counting.Config{}.View(bad)
		if viewErr == nil {
			viewErr = v.Verify()
		}
		for way, err := range map[string]error{"unmarshal": x.UnmarshalBinary(bad), "read": readErr, "view": viewErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrIncompatible) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
			}
		}
		if !bytes.Equal(data, encoded(t, x)) {
			t.Errorf("%s: the refused encoding changed the filter", name)
		}
	}
}

// TestViewsOfDamagedData clones what cannot be verified.
func TestViewsOfDamagedData(t *testing.T) {
	plain, spectral := counting.New(1000, 0.01), counting.NewSpectral(1000, 0.01)
	stable := counting.NewStable(1000, 0.01)
	for name, f := range map[string]encoding.BinaryMarshaler{"filter": plain, "spectral": spectral, "stable": stable} {
		data, err := f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		clone := func() (bool, error) {
			v, err := counting.Config{}.View(data)
			if err != nil {
				return false, err
			}
			f, err := v.Clone()
			return f != nil, err
		}
		if ok, err := clone(); !ok || err != nil {
			t.Errorf("%s: Clone: %v", name, err)
		}
		data[len(data)-100] ^= 1
		if ok, err := clone(); ok || !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: Clone of damaged data: %v, %v", name, ok, err)
		}
	}
}
