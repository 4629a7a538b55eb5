package bloom_test

// Filters and arguments at the margins: zero, full, of one word, short.

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/envelope"
)

// TestZeroFilters asks zero filters for what they can say, and to panic for what they
// cannot do.
func TestZeroFilters(t *testing.T) {
	none := func(func([]byte) bool) {}
	for name, do := range map[string]func(){
		"Filter.AddSeq":      func() { new(bloom.Filter).AddSeq(none) },
		"Filter.Clear":       func() { new(bloom.Filter).Clear() },
		"Standard.AddSeq":    func() { new(bloom.Standard).AddSeq(none) },
		"Standard.Clear":     func() { new(bloom.Standard).Clear() },
		"Partitioned.AddSeq": func() { new(bloom.Partitioned).AddSeq(none) },
		"Concurrent.AddSeq":  func() { new(bloom.Concurrent).AddSeq(none) },
		"Concurrent.Clear":   func() { new(bloom.Concurrent).Clear() },
		"Scalable.AddSeq":    func() { new(bloom.Scalable).AddSeq(none) },
		"Scalable.Clear":     func() { new(bloom.Scalable).Clear() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a zero filter does not panic", name)
				}
			}()
			do()
		}()
	}
	for name, n := range map[string]uint64{
		"Filter": new(bloom.Filter).EstimateCount(), "Standard": new(bloom.Standard).EstimateCount(),
		"Partitioned": new(bloom.Partitioned).EstimateCount(),
	} {
		if n != 0 {
			t.Errorf("a zero %s has %d keys", name, n)
		}
	}
	for name, f := range map[string]io.WriterTo{"Filter": new(bloom.Filter), "Standard": new(bloom.Standard), "Scalable": new(bloom.Scalable)} {
		if n, err := f.WriteTo(io.Discard); n != 0 || err == nil {
			t.Errorf("a zero %s is written: %d bytes, %v", name, n, err)
		}
	}
}

// TestOneWord has filters of one word, or one block.
func TestOneWord(t *testing.T) {
	s, err := bloom.Config{Bits: 64, Hashes: 2}.NewStandard()
	if err != nil {
		t.Fatal(err)
	}
	s.AddString("a")
	if st := s.Stats(); st.Bits != 64 || st.Bytes != 8 || st.Items != 1 {
		t.Errorf("a filter of 64 bits with one key: %+v", st)
	}
}

// TestAddKeysToShortResults asks that nothing is added if there is no room for the
// results, though there is capacity behind them.
func TestAddKeysToShortResults(t *testing.T) {
	type adder interface {
		AddKeys(dst []bool, keys [][]byte)
		EstimateCount() uint64
	}
	for name, f := range map[string]adder{"Filter": bloom.New(100, 0.01), "Standard": bloom.NewStandard(100, 0.01)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a short dst does not panic", name)
				}
			}()
			f.AddKeys(make([]bool, 1, 2), [][]byte{[]byte("a"), []byte("b")})
		}()
		if n := f.EstimateCount(); n != 0 {
			t.Errorf("%s: %d keys were added", name, n)
		}
	}
}

// TestSigmaOfLayers has layers that are sampled: variances are added up, and the sum
// for one layer is its own.
func TestSigmaOfLayers(t *testing.T) {
	s := bloom.NewScalable(1_000_000, 0.01)
	s.AddHashes(nil, hashes(200_000, 1))
	one, all := s.Layer(0).PredictedSigma, s.Stats().PredictedSigma
	if one == 0 || math.Abs(all-one) > 1e-6*one {
		t.Errorf("sigma %v, that of the only layer is %v", all, one)
	}
}

// TestGivenTwice refuses sizes beside the rate from which they follow, and folds of
// filters that cannot be folded.
func TestGivenTwice(t *testing.T) {
	for _, c := range []bloom.Config{
		{Bits: 1024, Capacity: 100, ErrorRate: 0.01},
		{Hashes: 4, Capacity: 100, ErrorRate: 0.01},
		{Bits: 1024, Hashes: 4, ErrorRate: 0.01},
		{Bits: 1024, Capacity: 100},
		{Hashes: 4, Capacity: 100},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%+v: %v, want ErrParameter", c, err)
		}
	}
	f, err := bloom.Config{Bits: 4096, Hashes: 5}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Fold(2); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a filter of 5 bits per key is folded: %v", err)
	}
	if _, err := f.Fold(1); err != nil {
		t.Errorf("a fold by 1: %v", err)
	}
}

// TestFoldOfOverfull folds a full filter for far more keys than it has bits: the rate stays
// below 1, so that the encoding is one that can be read.
func TestFoldOfOverfull(t *testing.T) {
	f, err := bloom.Config{Capacity: 1_000_000, Bits: 4096, Hashes: 8}.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(20_000, 1))
	g, err := f.Fold(2)
	if err != nil {
		t.Fatal(err)
	}
	data, err := g.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back bloom.Filter
	if err := back.UnmarshalBinary(data); err != nil || g.Stats().Asked >= 1 {
		t.Errorf("the rate asked for is %v, decoding: %v", g.Stats().Asked, err)
	}
}

// TestNoiseOfFull refuses noise for a filter whose keys cannot be counted.
func TestNoiseOfFull(t *testing.T) {
	f, err := bloom.Config{Bits: 512, Hashes: 1}.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(20_000, 1))
	if n, err := f.AddNoise(0.5, nil); n != 0 || !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("noise for a full filter: %d dummies, %v", n, err)
	}
}

// TestHighRates brings scalable filters whose layers have the highest rates through
// their encoding, and refuses higher ones.
func TestHighRates(t *testing.T) {
	const most = 6 / (math.Pi * math.Pi)
	first, err := bloom.Config{Capacity: 100, ErrorRate: most}.New()
	if err != nil {
		t.Fatal(err)
	}
	s, err := first.Scalable(0.9)
	if err != nil {
		t.Fatal(err)
	}
	other := bloom.NewScalable(100, 0.9)
	other.AddString("b")
	if err := s.Union(other); err != nil {
		t.Fatal(err)
	}
	if asked := s.Stats().Asked; asked >= 1 {
		t.Errorf("the rate asked for is %v", asked)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back bloom.Scalable
	if err := back.UnmarshalBinary(data); err != nil || !back.ContainsString("b") {
		t.Errorf("it does not come back: %v", err)
	}
	above, err := bloom.Config{Capacity: 100, ErrorRate: 0.65}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := above.Scalable(0.9); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a first layer of rate 0.65: %v, want ErrParameter", err)
	}
}

// TestMostLayers decodes 4096 layers, and refuses one more.
func TestMostLayers(t *testing.T) {
	s, err := bloom.Config{Capacity: 1, ErrorRate: 0.5}.NewScalable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	one := sealed.Words()
	for n, want := range map[int]error{4096: nil, 4097: bloomery.ErrCorrupt} {
		words := append([]uint64(nil), one[:8]...)
		for range n {
			words = append(words, one[8:16]...)
		}
		for range n {
			words = append(words, one[16:]...)
		}
		h := sealed.Header
		h.Extra, h.Size, h.Payload = uint32(n), h.Size*uint64(n), uint64(8*len(words))
		_, err := bloom.Config{}.Read(bytes.NewReader(envelope.Append(nil, h, words)))
		if !errors.Is(err, want) {
			t.Errorf("%d layers: %v, want %v", n, err, want)
		}
	}
}

// TestWhichOfOneBit asks all columns for a key that sets one bit.
func TestWhichOfOneBit(t *testing.T) {
	f, err := bloom.Config{Columns: 2, Bits: 1024, Hashes: 1}.NewSliced()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.AddColumn(); err != nil {
			t.Fatal(err)
		}
	}
	hs := hashes(2, 1)
	if _, err := f.AddHash(1, hs[0]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1 << 1, 0} {
		dst := make([]uint64, f.Words())
		if f.Which(dst, hs[i]); dst[0] != want {
			t.Errorf("key %d is in the columns %b, want %b", i, dst[0], want)
		}
	}
}
