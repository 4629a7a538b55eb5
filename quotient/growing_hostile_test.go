package quotient_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/sizing"
)

// grown returns a small filter with elders, counts, and fingerprints of several
// lengths.
func grown(tb testing.TB) *quotient.Growing {
	tb.Helper()
	g := quotient.GrowingOf(1, sizing.Growing{Slots: 52, Bits: 3})
	for i, h := range hashes(700, 12) {
		for range 1 + i%70/67*i {
			if err := g.InsertHash(h); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for _, h := range hashes(700, 12)[:20] {
		g.DeleteHash(h)
	}
	return g
}

// refusedGrowing asks all decoders to refuse data and to leave what they had.
func refusedGrowing(t *testing.T, name string, data []byte, byView bool) {
	t.Helper()
	g := quotient.NewGrowing(10, 0.1)
	before := encoded(t, g)
	errs := map[string]error{"unmarshal": g.UnmarshalBinary(data)}
	_, errs["decode"] = quotient.Config{}.DecodeGrowing(data)
	_, errs["read"] = quotient.Config{}.Read(bytes.NewReader(data))
	v, err := quotient.Config{}.View(data)
	if byView || err != nil {
		errs["view"] = err
	} else {
		errs["verify"] = v.Verify()
		_, errs["clone"] = v.Clone()
	}
	for way, err := range errs {
		if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
		}
	}
	if !bytes.Equal(before, encoded(t, g)) {
		t.Errorf("%s: the refused encoding changed the filter", name)
	}
}

// TestGrowingHostileClaims refuses headers and heads, under sound checksums, that
// claim what is not so, before anything is allocated for them.
func TestGrowingHostileClaims(t *testing.T) {
	sealed, err := envelope.Open(encoded(t, grown(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(h *envelope.Header, words []uint64){
		"no bits":             func(h *envelope.Header, _ []uint64) { h.K = 0 },
		"another width":       func(h *envelope.Header, _ []uint64) { h.K++ },
		"most bits":           func(h *envelope.Header, _ []uint64) { h.K = 255 },
		"no slots":            func(h *envelope.Header, _ []uint64) { h.Extra &^= 255 },
		"another expectation": func(h *envelope.Header, _ []uint64) { h.Extra |= 20 << 8 },
		"other first address": func(h *envelope.Header, _ []uint64) { h.Extra += 1 << 16 },
		"largest":             func(h *envelope.Header, _ []uint64) { h.Size = math.MaxUint64 },
		"no capacity":         func(h *envelope.Header, _ []uint64) { h.Capacity = 0 },
		"largest capacity":    func(h *envelope.Header, _ []uint64) { h.Capacity = math.MaxUint64 },
		"no segments":         func(_ *envelope.Header, words []uint64) { words[3] = 0 },
		"many segments":       func(_ *envelope.Header, words []uint64) { words[3] = math.MaxUint64 },
		"two segments":        func(_ *envelope.Header, words []uint64) { words[3] = 2 },
		"many elders":         func(_ *envelope.Header, words []uint64) { words[4] = math.MaxUint64 / 2 },
		"a prefix":            func(_ *envelope.Header, words []uint64) { words[5]++ },
		"a long prefix":       func(_ *envelope.Header, words []uint64) { words[5] |= 255 },
		"more quotients":      func(_ *envelope.Header, words []uint64) { words[5] += 1 << 8 },
		"most quotients":      func(_ *envelope.Header, words []uint64) { words[5] |= 255 << 8 },
		"odd slots":           func(_ *envelope.Header, words []uint64) { words[5] += 1 << 16 },
		"most spill":          func(_ *envelope.Header, words []uint64) { words[5] |= math.MaxUint32 << 32 },
	} {
		h, words := sealed.Header, sealed.Words()
		change(&h, words)
		refusedGrowing(t, name, envelope.Append(nil, h, words), true)
	}
	for name, change := range map[string]func(words []uint64){
		"more items":      func(words []uint64) { words[0]++ },
		"most items":      func(words []uint64) { words[0] = math.MaxUint64 },
		"fewer slots":     func(words []uint64) { words[1]-- },
		"a lower rate":    func(words []uint64) { words[2] /= 2 },
		"another elder":   func(words []uint64) { words[6] ^= 1 << 62 },
		"a count of none": func(words []uint64) { words[7] = 0 },
		"a higher count":  func(words []uint64) { words[7]++ },
	} {
		words := sealed.Words()
		change(words)
		refusedGrowing(t, name, envelope.Append(nil, sealed.Header, words), false)
	}
	short := sealed.Header
	short.Payload = 8
	refusedGrowing(t, "no head", envelope.Append(nil, short, []uint64{0}), true)
	deep := sealed.Header
	deep.Payload = 1 << 42
	refusedGrowing(t, "terabytes", append(deep.AppendTo(nil), make([]byte, 1000)...), true)
}

// TestGrowingHostileElders exchanges elders of a filter whose segments have split for
// their neighbours, which as a rule have no void slots: each segment looks at its own.
func TestGrowingHostileElders(t *testing.T) {
	g := quotient.GrowingOf(1, sizing.Growing{Slots: 64, Bits: 3})
	for _, h := range hashes(30_000, 3) {
		if err := g.InsertHash(h); err != nil {
			t.Fatal(err)
		}
	}
	segments, _, elders := quotient.Segments(g)
	if segments < 2 || elders < 100 {
		t.Fatalf("%d segments and %d elders", segments, elders)
	}
	sealed, err := envelope.Open(encoded(t, g))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	const tried = 5
	for i := elders - tried; i < elders; i++ {
		words := sealed.Words()
		code := &words[5+segments+2*i]
		*code ^= 2 << bits.TrailingZeros64(*code) // the last bit of the prefix, before the mark
		_, err := quotient.Config{}.DecodeGrowing(envelope.Append(nil, sealed.Header, words))
		if errors.Is(err, bloomery.ErrCorrupt) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused < 4 {
		t.Errorf("%d of %d elders without void slots are refused", refused, tried)
	}
}

// TestGrowingHostilePayloads flips bits under a sound checksum. They are noticed,
// unless they make the payload of another multiset, which then works. Views of
// them answer something.
func TestGrowingHostilePayloads(t *testing.T) {
	sealed, err := envelope.Open(encoded(t, grown(t)))
	if err != nil {
		t.Fatal(err)
	}
	accepted, all, step := 0, 0, 3
	if testing.Short() {
		step = 11
	}
	for i := 0; i < len(sealed.Payload)*8; i += step {
		words := sealed.Words()
		words[i/64] ^= 1 << (i % 64)
		all++
		if openGrowing(t, envelope.Append(nil, sealed.Header, words)) {
			accepted++
		}
	}
	if accepted == 0 || accepted > all/2 {
		t.Errorf("%d of %d flipped bits are accepted", accepted, all)
	}
}

// openGrowing opens data in every way, uses what it gets, and reports whether it
// was accepted.
func openGrowing(t *testing.T, data []byte) bool {
	t.Helper()
	hs, found := hashes(64, 12), make([]bool, 64)
	if v, err := (quotient.Config{}).View(data); err == nil {
		v.ContainsHashes(found, hs)
		v.(bloomery.Counter).CountHash(hs[0])
		v.Stats()
	}
	g, err := quotient.Config{}.DecodeGrowing(data)
	if err != nil {
		for _, cause := range []error{bloomery.ErrCorrupt, bloomery.ErrVersion, bloomery.ErrIncompatible, bloomery.ErrKey} {
			if errors.Is(err, cause) {
				return false
			}
		}
		t.Fatalf("an error of no known cause: %v", err)
	}
	if again := encoded(t, g); !bytes.Equal(again, data) {
		t.Fatal("what was read is written otherwise")
	}
	for range 4 {
		for _, h := range hs {
			if err := g.InsertHash(h); err != nil && !errors.Is(err, bloomery.ErrFull) {
				t.Fatal(err)
			} else if err == nil && !g.ContainsHash(h) {
				t.Fatal("a key is lost")
			}
		}
	}
	for _, h := range hs {
		g.DeleteHash(h)
	}
	if err := quotient.CheckGrowing(g); err != nil {
		t.Fatal(err)
	}
	return true
}

// FuzzUnmarshalGrowing: whatever comes in, no panic, an error of a known cause,
// and what is accepted works and is written as it was.
func FuzzUnmarshalGrowing(f *testing.F) {
	f.Add(encoded(f, grown(f)))
	f.Add(encoded(f, quotient.NewGrowing(1, 0.5)))
	f.Add(encoded(f, quotient.NewGrowing(2000, 1e-6)))
	f.Fuzz(func(t *testing.T, data []byte) { openGrowing(t, data) })
}

// FuzzPayloadGrowing puts any bytes where the payload is, under a sound checksum.
func FuzzPayloadGrowing(f *testing.F) {
	sealed, err := envelope.Open(encoded(f, grown(f)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed.Header.K, sealed.Header.Extra, sealed.Payload)
	f.Fuzz(func(t *testing.T, k uint8, extra uint32, payload []byte) {
		h := sealed.Header
		words := make([]uint64, len(payload)/8)
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(payload[8*i:])
		}
		h.K, h.Extra, h.Payload = k, extra, uint64(len(words)*8)
		openGrowing(t, envelope.Append(nil, h, words))
	})
}

// TestGrowingHostileSpill refuses a segment with more blocks behind its last one than its
// keys can need: one run could go through all of them.
func TestGrowingHostileSpill(t *testing.T) {
	g := quotient.NewGrowing(1000, 0.01)
	sealed, err := envelope.Open(encoded(t, g))
	if err != nil {
		t.Fatal(err)
	}
	address, slots := g.Shape().First(1000)
	q := g.Shape().Segment(address, slots, 0)
	for spill, want := range map[uint64]error{q.Spill: nil, 2*q.Blocks + 8: nil, 2*q.Blocks + 9: bloomery.ErrCorrupt, 1 << 16: bloomery.ErrCorrupt} {
		h, words := sealed.Header, sealed.Words()
		q.Spill = spill
		words[5] = words[5]&math.MaxUint32 | spill<<32
		words = append(words[:6], make([]uint64, (q.Bits()/8+16+7)/8)...)
		h.Size, h.Payload = q.Bits(), uint64(len(words))*8
		if _, err := (quotient.Config{}).DecodeGrowing(envelope.Append(nil, h, words)); !errors.Is(err, want) {
			t.Errorf("%d blocks behind the last of %d: %v, want %v", spill, q.Blocks, err, want)
		}
	}
}
