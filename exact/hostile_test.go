package exact_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/ribbon"
)

// TestHostile has sound checksums and a header or a front that claims what is not
// so. All ways in refuse it.
func TestHostile(t *testing.T) {
	f, err := exact.Config{}.BuildGroups(t.Context(), []exact.Group{{hashes(300, 1), hashes(9000, 2)}, {hashes(5, 3), nil}})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := envelope.Open(encoded(t, f))
	if err != nil {
		t.Fatal(err)
	}
	type header = *envelope.Header
	for name, change := range map[string]func(h header, w []uint64){
		"no stages":          func(h header, _ []uint64) { h.Extra &^= 0xff },
		"one stage":          func(h header, _ []uint64) { h.Extra-- },
		"a stage more":       func(h header, _ []uint64) { h.Extra++ },
		"many stages":        func(h header, _ []uint64) { h.Extra |= 0xff },
		"one shard":          func(h header, _ []uint64) { h.Extra &= 0xff },
		"most shards":        func(h header, _ []uint64) { h.Extra |= math.MaxUint32 &^ 0xff },
		"a number":           func(h header, _ []uint64) { h.K = 1 },
		"larger":             func(h header, _ []uint64) { h.Size += 64 },
		"no groups":          func(_ header, w []uint64) { w[0] = 0 },
		"one group":          func(_ header, w []uint64) { w[0] = 1 },
		"9 groups":           func(_ header, w []uint64) { w[0] = 9 },
		"many groups":        func(_ header, w []uint64) { w[0] = exact.MaxGroups + 1 },
		"most groups":        func(_ header, w []uint64) { w[0] = math.MaxUint64 },
		"no such filter":     func(_ header, w []uint64) { w[2] = 1 },
		"bytes behind":       func(_ header, w []uint64) { w[2] |= 1 << 63 },
		"no columns":         func(_ header, w []uint64) { w[3] &^= 0xff },
		"33 columns":         func(_ header, w []uint64) { w[3] |= 33 },
		"rows of 3 words":    func(_ header, w []uint64) { w[3] |= 3 << 8 },
		"2^21 shards":        func(_ header, w []uint64) { w[3] |= 21 << 16 },
		"2^20 shards":        func(_ header, w []uint64) { w[3] |= 20 << 16 },
		"a map first":        func(_ header, w []uint64) { w[3] |= 1 << 24 },
		"reserved bits":      func(_ header, w []uint64) { w[3] |= 1 << 32 },
		"many layers":        func(_ header, w []uint64) { w[5] |= 13 << 32 },
		"most layers":        func(_ header, w []uint64) { w[5] = math.MaxUint64 },
		"a longest list":     func(_ header, w []uint64) { w[5] |= math.MaxUint32 },
		"most blocks":        func(_ header, w []uint64) { w[6] |= math.MaxUint32 },
		"more narrow blocks": func(_ header, w []uint64) { w[6] |= math.MaxUint32 << 32 },
		"another kind":       func(h header, _ []uint64) { h.Kind = envelope.KindRibbon },
		"no rate":            func(h header, _ []uint64) { h.Rate = math.NaN() },
	} {
		h, words := sealed.Header, sealed.Words()
		change(&h, words)
		refused(t, name, envelope.Append(nil, h, words))
	}
	for cut := 0; cut < len(sealed.Words()); cut += 8 { // a payload that ends anywhere
		h := sealed.Header
		h.Payload = uint64(cut) * 8
		h.Size = h.Payload * 8
		refused(t, "cut", envelope.Append(nil, h, sealed.Words()[:cut]))
	}
	h := sealed.Header
	h.Payload += 64
	h.Size = h.Payload * 8
	refused(t, "a line more", envelope.Append(nil, h, append(sealed.Words(), make([]uint64, 8)...)))

	h.Extra, h.Payload, h.Size = 0, 64, 512
	refused(t, "nothing", envelope.Append(nil, h, make([]uint64, 8)))

	two, err := ribbon.BuildMap(hashes(10, 1), make([]uint32, 10), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	words, err := two.AppendBody([]uint64{1, 0, 0xfd}) // one group, which the map alone answers for
	if err != nil {
		t.Fatal(err)
	}
	words = append(words, make([]uint64, -len(words)&7)...)
	h.Extra, h.Payload, h.Size = 1, uint64(len(words))*8, uint64(len(words))*64
	refused(t, "values of 2 bits", envelope.Append(nil, h, words))
}

// refused asks all ways in to refuse data.
func refused(t *testing.T, name string, data []byte) {
	t.Helper()
	var f exact.Filter
	_, readErr := exact.Config{}.Read(bytes.NewReader(data))
	_, viewErr := exact.Config{}.View(data)
	for way, err := range map[string]error{"unmarshal": f.UnmarshalBinary(data), "read": readErr, "view": viewErr} {
		if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrIncompatible) {
			t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
		}
	}
}

// FuzzUnmarshal opens whatever comes: no panic, an error of a known cause, and what
// is accepted comes out as it went in and answers alike alone and with others.
func FuzzUnmarshal(f *testing.F) {
	for _, n := range []int{0, 3, 300} {
		for _, c := range []exact.Config{{}, {Width: 64, Shards: 2, ErrorRate: 0.001}} {
			x := built(f, c, hashes(n, 1), hashes(10*n, 2))
			f.Add(encoded(f, x))
		}
	}
	x, err := exact.Config{}.BuildGroups(f.Context(), []exact.Group{{hashes(50, 1), hashes(500, 2)}, {nil, nil}, {hashes(9, 3), nil}, {hashes(9, 4), hashes(9, 5)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded(f, x))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = resealed(data)
		var x exact.Filter
		err := x.UnmarshalBinary(data)
		_, readErr := exact.Config{}.Read(bytes.NewReader(data))
		if v, err := (exact.Config{}).View(data); err == nil {
			v.ContainsString("b")
			v.Stats()
		}
		if err != nil {
			for _, err := range []error{err, readErr} {
				if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrIncompatible) {
					t.Errorf("error without a known cause: %v", err)
				}
			}
			return
		}
		hs := []uint64{0, 42, 1 << 63, 1<<64 - 1, 7}
		dst := make([]bool, len(hs))
		x.ContainsHashes(dst, hs)
		for i, h := range hs {
			if x.ContainsHash(h) != dst[i] {
				t.Errorf("hash %x: %v alone, %v with others", h, !dst[i], dst[i])
			}
			x.ContainsIn(i, h)
		}
		x.Stats()
		if again, err := x.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("accepted bytes do not come out as they went in: %v", err)
		}
		if readErr != nil {
			t.Errorf("UnmarshalBinary accepts, Read says %v", readErr)
		}
	})
}

// resealed returns data with the length of the payload and all checksums as they
// must be, if that can be had by changing them.
func resealed(data []byte) []byte {
	const head, tail = envelope.HeaderSize, 8
	if len(data) < head+tail || len(data) > 1<<20 {
		return data
	}
	h, err := envelope.ParseHeader(slices.Clone(data[:head]))
	if err != nil {
		le := binary.LittleEndian
		h = envelope.Header{
			Kind: le.Uint16(data[10:]), K: data[13], Check: le.Uint64(data[16:]), Capacity: le.Uint64(data[24:]),
			Rate: 0.5, Extra: le.Uint32(data[56:]),
		}
	}
	payload := data[head : head+(len(data)-head-tail)&^7]
	h.Payload = uint64(len(payload))
	h.Size = h.Payload * 8
	words := make([]uint64, len(payload)/8)
	envelope.GetWords(words, payload)
	return envelope.Append(nil, h, words)
}
