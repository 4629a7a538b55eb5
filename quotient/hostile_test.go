package quotient_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/quotient"
)

// sample returns a filter with counts, a long run and free blocks.
func sample(tb testing.TB) *quotient.Filter {
	tb.Helper()
	f := quotient.New(300, 1e-2)
	for i, h := range hashes(100, 1) {
		for range 1 + i%7*(i%3) {
			if err := f.InsertHash(h); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return f
}

// Encodings with sound checksums whose header claims what is not so are refused
// by every way in, before anything is allocated for them.
func TestHostileHeaders(t *testing.T) {
	sealed, err := envelope.Open(marshal(t, sample(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(h *envelope.Header){
		"no remainder":       func(h *envelope.Header) { h.K = 0 },
		"another remainder":  func(h *envelope.Header) { h.K++ },
		"too long remainder": func(h *envelope.Header) { h.K = 57 },
		"longest remainder":  func(h *envelope.Header) { h.K = 255 },
		"no slots":           func(h *envelope.Header) { h.Extra &^= 255 },
		"too many slots":     func(h *envelope.Header) { h.Extra |= 255 },
		"more spill":         func(h *envelope.Header) { h.Extra += 1 << 12 },
		"most spill":         func(h *envelope.Header) { h.Extra |= 0xffffff00 },
		"larger":             func(h *envelope.Header) { h.Size += 8 },
		"largest":            func(h *envelope.Header) { h.Size = math.MaxUint64 },
		"smaller":            func(h *envelope.Header) { h.Size /= 2 },
		"no size":            func(h *envelope.Header) { h.Size = 0 },
	} {
		h := sealed.Header
		change(&h)
		refused(t, name, envelope.Append(nil, h, sealed.Words()), true)
	}
	// Header and payload agree on sizes that no hash can fill, or that are huge.
	for name, h := range map[string]envelope.Header{
		"too much for a hash": {K: 56, Extra: 64, Size: 1024 * (72 + 64*57)},
		"terabytes":           {K: 1, Extra: 64, Size: 1 << 30 * (72 + 64*2)},
	} {
		h.Kind, h.Payload = envelope.KindQuotient, 24+h.Size/8+16
		data := append(h.AppendTo(nil), make([]byte, 1000)...)
		refused(t, name, data, true)
	}
}

// refused asks all decoders to refuse data and to leave what they had.
func refused(t *testing.T, name string, data []byte, byView bool) {
	t.Helper()
	f := filled(t, hashes(10, 3), 0.1)
	before := marshal(t, f)
	errs := map[string]error{"unmarshal": f.UnmarshalBinary(data)}
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
	if !bytes.Equal(before, marshal(t, f)) {
		t.Errorf("%s: the refused encoding changed the filter", name)
	}
}

// Every bit of a payload is held to the others: a flipped one under a sound
// checksum is noticed, unless it makes the payload of another multiset. Views
// of it answer something.
func TestHostilePayloads(t *testing.T) {
	sealed, err := envelope.Open(marshal(t, sample(t)))
	if err != nil {
		t.Fatal(err)
	}
	accepted, step := 0, 1
	if testing.Short() {
		step = 5
	}
	for i := 0; i < len(sealed.Payload)*8; i += step {
		words := sealed.Words()
		words[i/64] ^= 1 << (i % 64)
		data := envelope.Append(nil, sealed.Header, words)
		var f quotient.Filter
		if err := f.UnmarshalBinary(data); err != nil {
			refused(t, "flipped", data, false)
		} else {
			accepted++
			exercise(t, &f)
		}
		look(t, data)
	}
	if all := len(sealed.Payload) * 8; accepted == 0 || accepted > all/2 {
		t.Errorf("%d of %d flipped bits are accepted", accepted, all)
	}
}

// look reads from a view of data whose payload is what it may be.
func look(t *testing.T, data []byte) {
	t.Helper()
	v, err := quotient.Config{}.View(data)
	if err != nil {
		t.Fatalf("view: %v", err)
	}
	hs := hashes(150, 1)
	v.ContainsHashes(make([]bool, len(hs)), hs)
	for _, h := range hs[:20] {
		v.ContainsHash(h)
		v.(bloomery.Counter).CountHash(h)
	}
	n := 0
	for range v.(interface {
		All() iter.Seq2[uint64, uint64]
	}).All() {
		n++
	}
	if s := v.Stats(); s.Saturation > 1 || s.Predicted > 1 {
		t.Errorf("%+v", s)
	}
}

// exercise changes a filter that was decoded, in every way.
func exercise(t *testing.T, f *quotient.Filter) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		h := r.Uint64()
		if f.InsertHash(h) == nil && !f.ContainsHash(h) {
			t.Fatal("a key is forgotten")
		}
	}
	hs := []uint64{}
	for h := range f.All() {
		hs = append(hs, h)
	}
	for _, h := range hs {
		if !f.DeleteHash(h) {
			t.Fatalf("hash %#x is listed and cannot be deleted", h)
		}
	}
	if err := quotient.Check(f); err != nil {
		t.Fatal(err)
	}
	_ = f.Resize(int(f.Shape().Limit()) * 2) // an error if the remainder is used up
	if err := f.Merge(f.Clone()); err != nil && !errors.Is(err, bloomery.ErrFull) {
		t.Fatal(err)
	}
	if err := quotient.Check(f); err != nil {
		t.Fatal(err)
	}
}

// FuzzUnmarshal: whatever comes in, no panic, an error of a known cause, and
// what is accepted comes out as it went in.
func FuzzUnmarshal(f *testing.F) {
	data, _ := filledSmall().MarshalBinary()
	f.Add(data)
	f.Add(data[:64])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var x quotient.Filter
		err := x.UnmarshalBinary(data)
		_, err2 := quotient.Config{}.Read(bytes.NewReader(data))
		if err == nil {
			if !bytes.Equal(marshal(t, &x), data) || err2 != nil {
				t.Errorf("accepted bytes do not come out as they went in, Read says %v", err2)
			}
			exercise(t, &x)
		}
		for _, err := range []error{err, err2} {
			if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
				!errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Errorf("error without a known cause: %v", err)
			}
		}
	})
}

// FuzzPayload puts any bytes where the totals and the array are, under a sound
// header and sound checksums, so that the checks of the structure are reached.
func FuzzPayload(f *testing.F) {
	for _, x := range []*quotient.Filter{filledSmall(), quotient.New(50, 0.3), sampleGrown()} {
		sealed, _ := envelope.Open(marshal(panics{}, x))
		f.Add(uint8(x.Shape().Remainder), uint8(x.Shape().Slots), uint8(x.Shape().Spill), sealed.Payload)
	}
	f.Fuzz(func(t *testing.T, width, slots, spill uint8, payload []byte) {
		if width == 0 || width > 56 || slots < 32 || slots > 64 || len(payload) > 1<<14 {
			return
		}
		block := (72 + int(slots)*(int(width)+1) + 7) / 8
		blocks := (len(payload) - 24 - 16) / block
		if len(payload) < 24+16 || blocks <= int(spill) {
			return
		}
		words := make([]uint64, 3+(blocks*block+16+7)/8)
		for i := range words {
			if 8*i+8 <= len(payload) {
				words[i] = binary.LittleEndian.Uint64(payload[8*i:])
			}
		}
		data := envelope.Append(nil, envelope.Header{
			Kind: envelope.KindQuotient, K: width, Extra: uint32(slots) | uint32(spill)<<8, Capacity: 1, Rate: 0.5,
			Size: uint64(blocks*block) * 8, Payload: uint64(len(words)) * 8,
		}, words)
		var x quotient.Filter
		if err := x.UnmarshalBinary(data); err == nil {
			if !bytes.Equal(marshal(t, &x), data) {
				t.Error("accepted bytes do not come out as they went in")
			}
			exercise(t, &x)
		} else if !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("error without a known cause: %v", err)
		}
		if _, err := (quotient.Config{}).View(data); err == nil {
			look(t, data)
		}
	})
}

// panics is a testing.TB for what cannot fail.
type panics struct{}

func (panics) Fatal(args ...any) { panic(args) }

// filledSmall returns a filter of two blocks with counts.
func filledSmall() *quotient.Filter {
	f := quotient.New(70, 0.05)
	for i, h := range hashes(40, 1) {
		for range 1 + i%5 {
			_ = f.InsertHash(h) // there is room
		}
	}
	return f
}

// sampleGrown returns a filter that has narrow remainders.
func sampleGrown() *quotient.Filter {
	f := filledSmall()
	for range 3 {
		_ = f.Resize(2 * int(f.Shape().Limit())) // until it can grow no more
	}
	return f
}
