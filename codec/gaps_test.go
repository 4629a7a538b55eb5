package codec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The lower bound of a code is reached where all gaps are as long as can be for their
// zero bits.
func TestLeastGapsIsReached(t *testing.T) {
	for r := uint(1); r <= 8; r++ {
		for q := range 3 {
			gap := q<<r + 1<<r - 1
			raw := make([]byte, 8*(gap+1)) // 64 gaps, each with the bit behind it, but for the last
			for i := range 63 {
				at := (i+1)*(gap+1) - 1
				raw[at/8] |= 1 << (at % 8)
			}
			code, ok := appendGaps(nil, raw, 0, r, 1<<20)
			if least := leastGaps(63, 8*len(raw), r); !ok || len(code) < least || len(code) > least+1 { // the last gap is one longer
				t.Errorf("r = %d, gaps of %d: a code of %d bytes, at least %d", r, gap, len(code), least)
			}
		}
	}
}

// A chunk has one code: bits behind the last gap must be zero, and there is no
// byte more. Else two files could hold the same filter.
func TestGapsEndToTheBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	open := 0 // codes that end inside of a byte
	for r := uint(1); r <= maxRice; r++ {
		for range 20 {
			raw := randomChunk(rng, 512, 0.4/float64(uint(1)<<r))
			code, ok := appendGaps(nil, raw, 0, r, 1<<20)
			if !ok {
				t.Fatal("no code")
			}
			decodes := func(code []byte) bool {
				got := make([]byte, len(raw))
				padded := append(slices.Clip(slices.Clone(code)), make([]byte, room)...)
				return gaps(got, padded[:len(code)], r) && slices.Equal(got, raw)
			}
			if !decodes(code) {
				t.Fatalf("r = %d: the code does not decode", r)
			}
			if decodes(append(slices.Clone(code), 0)) {
				t.Errorf("r = %d: a byte more is accepted", r)
			}
			if decodes(code[:len(code)-1]) {
				t.Errorf("r = %d: a byte less is accepted", r)
			}
			last := len(code) - 1
			for bit := range 8 {
				changed := slices.Clone(code)
				changed[last] ^= 1 << bit
				if decodes(changed) {
					t.Errorf("r = %d: bit %d of the last byte %08b is not looked at", r, bit, code[last])
				}
			}
			if code[last]>>7 == 0 {
				open++
			}
		}
	}
	if open < 100 {
		t.Errorf("%d codes end with a clear bit", open)
	}
}
