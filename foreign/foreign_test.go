package foreign_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/bip37"
	"github.com/bloomery/bloomery/foreign/dcso"
	"github.com/bloomery/bloomery/foreign/guava"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
	"github.com/bloomery/bloomery/foreign/rocksdb"
)

// rule has one bit for a key: its first byte.
func rule(key []byte, bits uint64, _ int, visit func(uint64) bool) bool {
	return visit(uint64(append(key, 0)[0]) % bits)
}

func TestZero(t *testing.T) {
	var b foreign.Bloom
	if b.Contains([]byte("alice")) || b.Items() != 0 || b.EstimateCount() != 0 || b.Stats() != (bloomery.Stats{}) {
		t.Errorf("a zero Bloom: %v, %+v", b.Contains([]byte("alice")), b.Stats())
	}
	if _, err := b.MarshalBinary(); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("written: %v", err)
	}
	if _, err := json.Marshal(&b); err == nil {
		t.Error("JSON, and no error")
	}
	defer func() {
		if recover() == nil {
			t.Error("Add to a zero Bloom does not panic")
		}
	}()
	b.Add([]byte("alice"))
}

// TestUnion unites filters of one layout, and names what differs in others.
func TestUnion(t *testing.T) {
	must := func(b *foreign.Bloom, err error) *foreign.Bloom {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a := must(dcso.New(1000, 0.01))
	b := must(dcso.New(1000, 0.01))
	for i, key := range formattest.Keys(1000, 1) {
		if i%2 == 0 {
			a.Add(key)
		} else {
			b.Add(key)
		}
	}
	sum := a.Items() + b.Items()
	if err := a.Union(b); err != nil || a.Items() != sum {
		t.Errorf("Union: %v, %d keys, want %d", err, a.Items(), sum)
	}
	for _, key := range formattest.Keys(1000, 1) {
		if !a.Contains(key) {
			t.Fatal("a key is lost")
		}
	}
	before, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*foreign.Bloom{
		"format": must(guava.New(1000, 0.01, guava.Mitz64)), "bits": must(dcso.New(1001, 0.01)), "probes": must(dcso.New(1000, 0.01)), "zero": new(foreign.Bloom),
	} {
		if name == "probes" {
			l := o.Layout()
			l.Probes++
			o = must(l.New())
		}
		if err := a.Union(o); !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("%s: %v", name, err)
		}
	}
	x, y := must(guava.New(10, 0.01, guava.Mitz64)), must(guava.New(10, 0.01, guava.Mitz32))
	if err := x.Union(y); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("another strategy: %v", err)
	}
	if after, err := a.MarshalBinary(); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a refused union has changed the filter: %v", err)
	}
}

// TestMostItems counts on from the largest number that a file can claim.
func TestMostItems(t *testing.T) {
	for _, claimed := range []uint64{math.MaxUint64 - 1, math.MaxUint64} {
		b, err := dcso.New(10, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		b.SetItems(claimed)
		for _, key := range formattest.Keys(3, 1) {
			b.Add(key)
		}
		if err := b.Union(b); err != nil || b.Items() != math.MaxUint64 {
			t.Errorf("%d keys and more: %d, %v", claimed, b.Items(), err)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	good := foreign.Layout{Format: "test", Bits: 100, Probes: 1, Rule: rule}
	if _, err := good.New(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*foreign.Layout){
		"no rule":        func(l *foreign.Layout) { l.Rule = nil },
		"many probes":    func(l *foreign.Layout) { l.Probes = foreign.MaxProbes + 1 },
		"negative":       func(l *foreign.Layout) { l.Probes = -1 },
		"many bits":      func(l *foreign.Layout) { l.Bits = math.MaxUint64 },
		"too many bytes": func(l *foreign.Layout) { l.Bits = 1 << 62 },
	} {
		l := good
		change(&l)
		if _, err := l.New(); !errors.Is(err, bloomery.ErrParameter) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.Little(make([]byte, 13)); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s, from bytes: %v", name, err)
		}
	}
	for size, want := range map[int]error{12: bloomery.ErrCorrupt, 13: nil, 16: nil, 17: bloomery.ErrCorrupt} {
		if _, err := good.Little(make([]byte, size)); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
	if _, err := good.Little(append(make([]byte, 12), 0x10)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a bit behind the end: %v", err)
	}
}

// TestLarge has an array that Stats takes a sample of: its figures are those of the
// whole within four standard deviations.
func TestLarge(t *testing.T) {
	const n = 2_000_000
	b, err := rocksdb.New(n, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range formattest.Keys(n, 1) {
		b.Add(key)
	}
	s := b.Stats()
	if items := float64(s.Items); s.Exact || math.Abs(items-n) > n/100 || math.Abs(float64(b.EstimateCount())-n) > n/100 {
		t.Errorf("%d keys, all bits say %d, want %d", s.Items, b.EstimateCount(), n)
	}
	if s.PredictedSigma <= 0 || math.Abs(s.Predicted-0.012) > 0.003 {
		t.Errorf("rate %v ± %v", s.Predicted, s.PredictedSigma)
	}
}

func TestCounts(t *testing.T) {
	b, err := bip37.New(bip37.Config{Capacity: 10, ErrorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	if b.Add([]byte("alice")); b.Items() != 0 || b.Stats().Items != 1 {
		t.Errorf("a format that does not count: %d, %d", b.Items(), b.Stats().Items)
	}
	found := make([]bool, 2)
	b.ContainsKeys(found, [][]byte{[]byte("alice"), []byte("bob")})
	if !found[0] || found[1] {
		t.Errorf("ContainsKeys = %v", found)
	}
	var out bytes.Buffer
	if n, err := b.WriteTo(&out); err != nil || n != int64(out.Len()) || n == 0 {
		t.Errorf("WriteTo = %d, %v", n, err)
	}
}
