package ribbon_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/ribbon"
)

// Whatever comes in: no panic, an error of a known cause, and what is accepted
// comes out as it went in. The checksums are made right, so that the fuzzer
// gets to what they protect.
func FuzzUnmarshal(f *testing.F) {
	for _, c := range []ribbon.Config{{ErrorRate: 0.1}, {ErrorRate: 0.01, Width: 128, Shards: 2}} {
		for _, n := range []int{0, 10, 300} {
			data := encoded(f, built(f, c, hashes(n, 1)))
			f.Add(data)
			f.Add(data[:64])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealed(data)
		var x ribbon.Filter
		err := x.UnmarshalBinary(data)
		_, readErr := ribbon.Config{}.Read(bytes.NewReader(data))
		if v, err := (ribbon.Config{}).View(data); err == nil {
			v.ContainsString("b")
			v.Stats()
		}
		if err != nil {
			checkCauses(t, err, readErr)
			return
		}
		hs := []uint64{0, 42, 1 << 63, 1<<64 - 1}
		x.ContainsHashes(make([]bool, len(hs)), hs)
		for _, h := range hs {
			x.ContainsHash(h)
		}
		x.Stats()
		if again := encoded(t, &x); !bytes.Equal(again, data) {
			t.Error("accepted bytes do not come out as they went in")
		}
		if readErr != nil {
			t.Errorf("UnmarshalBinary accepts, Read says %v", readErr)
		}
	})
}

// sealed returns data with the length of the payload and all checksums as they
// must be, if that can be had by changing them.
func sealed(data []byte) []byte {
	const head, tail = envelope.HeaderSize, 8
	if len(data) < head+tail || len(data) > 1<<20 {
		return data
	}
	h, err := envelope.ParseHeader(slices.Concat(data[:60], binary.LittleEndian.AppendUint32(nil, 0)))
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

func checkCauses(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) &&
			!errors.Is(err, bloomery.ErrKey) && !errors.Is(err, bloomery.ErrIncompatible) && !errors.Is(err, bloomery.ErrTooLarge) {
			t.Errorf("error without a known cause: %v", err)
		}
	}
}

// Any numbers make a filter that holds them.
func FuzzBuild(f *testing.F) {
	f.Add([]byte{}, 0.01, uint8(0))
	f.Add(binary.LittleEndian.AppendUint64(nil, 7), 0.3, uint8(1))
	f.Add(bytes.Repeat([]byte("ribbon filter..."), 60), 1e-9, uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, p float64, form uint8) {
		var hs []uint64
		for ; len(data) >= 2; data = data[2:] { // each two bytes are a few numbers
			x := uint64(binary.LittleEndian.Uint16(data))
			hs = append(hs, x, x<<48, x*0x9e3779b97f4a7c15)
		}
		c := ribbon.Config{ErrorRate: p, Width: 64 + 64*int(form&1), Shards: 1 << (form >> 1 & 3)}
		x, err := c.Build(t.Context(), hs)
		if err != nil {
			if !errors.Is(err, bloomery.ErrParameter) {
				t.Errorf("error without a known cause: %v", err)
			}
			return
		}
		if got := forgotten(x, hs); got > 0 {
			t.Errorf("%d keys forgotten", got)
		}
	})
}
