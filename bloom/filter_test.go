package bloom_test

import (
	"io"
	"testing"

	"github.com/bloomery/bloomery/bloom"
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
