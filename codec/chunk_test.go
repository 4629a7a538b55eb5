package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// randomChunk returns a chunk whose bits are set with chance fill.
func randomChunk(rng *rand.Rand, size int, fill float64) []byte {
	raw := make([]byte, size)
	for i := range size * 8 {
		if rng.Float64() < fill {
			raw[i/8] |= 1 << (i % 8)
		}
	}
	return raw
}

// reopen decodes what appendChunk made.
func reopen(t testing.TB, packed []byte, size int) []byte {
	t.Helper()
	code := append(bytes.Clone(packed[chunkHeader:]), make([]byte, 8)...)
	code = code[:len(packed)-chunkHeader]
	raw := make([]byte, size)
	if packed[0] != codeRaw && int(binary.LittleEndian.Uint16(packed[2:])) != len(code) {
		t.Fatalf("the length says %d, the code has %d bytes", binary.LittleEndian.Uint16(packed[2:]), len(code))
	}
	if !openChunk(raw, packed[0], uint(packed[1]), code) {
		t.Fatalf("form %d, parameter %d: not opened", packed[0], packed[1])
	}
	return raw
}

func BenchmarkChunk(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, fill := range []float64{0.001, 0.01, 0.1, 0.3, 0.5, 0.9} {
		raw := randomChunk(rng, chunkSize, fill)
		packed := appendChunk(nil, raw)
		code := append(bytes.Clone(packed[chunkHeader:]), make([]byte, 8)...)[:len(packed)-chunkHeader]
		b.Run(fmt.Sprintf("op=encode/fill=%v", fill), func(b *testing.B) {
			b.SetBytes(chunkSize)
			b.ReportAllocs()
			dst := make([]byte, 0, 3*chunkSize)
			for b.Loop() {
				appendChunk(dst, raw)
			}
			b.ReportMetric(float64(len(packed))/chunkSize, "ratio")
		})
		b.Run(fmt.Sprintf("op=decode/fill=%v", fill), func(b *testing.B) {
			b.SetBytes(chunkSize)
			b.ReportAllocs()
			dst := make([]byte, chunkSize)
			for b.Loop() {
				openChunk(dst, packed[0], uint(packed[1]), code)
			}
			b.ReportMetric(float64(len(packed))/chunkSize, "ratio")
		})
	}
}

func TestChunkForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	half := randomChunk(rng, chunkSize, 0.5)
	clear(half[100*8 : chunkSize-100*8])
	repeated := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, chunkSize/8)
	for _, c := range []struct {
		name string
		raw  []byte
		form byte
		most float64 // share of the bytes of raw
	}{
		{"empty", nil, codeRaw, 0},
		{"all clear", make([]byte, chunkSize), codeSet, 0.0001},
		{"all set", bytes.Repeat([]byte{0xff}, chunkSize), codeClear, 0.0001},
		{"one word clear", make([]byte, 8), codeRuns, 0.2},
		{"one bit", append(make([]byte, chunkSize-1), 0x80), codeSet, 0.0001},
		{"half full", randomChunk(rng, chunkSize, 0.5), codeRaw, 1},
		{"random in a small part", half, codeRuns, 0.026},
		{"one word again and again", repeated, codeRuns, 0.001},
		{"0.1% full", randomChunk(rng, chunkSize, 0.001), codeSet, 1.03 * entropy(0.001)},
		{"1% full", randomChunk(rng, chunkSize, 0.01), codeSet, 1.03 * entropy(0.01)},
		{"10% full", randomChunk(rng, chunkSize, 0.1), codeSet, 1.03 * entropy(0.1)},
		{"30% full", randomChunk(rng, chunkSize, 0.3), codeSet, 1.03 * entropy(0.3)},
		{"37% full", randomChunk(rng, chunkSize, 0.37), codeSet, 1.04 * entropy(0.37)},
		{"90% full", randomChunk(rng, chunkSize, 0.9), codeClear, 1.03 * entropy(0.1)},
	} {
		packed := appendChunk([]byte("xy"), c.raw)
		if string(packed[:2]) != "xy" {
			t.Fatalf("%s: what was before is gone", c.name)
		}
		packed = packed[2:]
		if got := reopen(t, packed, len(c.raw)); !bytes.Equal(got, c.raw) {
			t.Errorf("%s: comes back different", c.name)
		}
		got := float64(len(packed)-chunkHeader) / float64(max(1, len(c.raw)))
		if packed[0] != c.form || got > c.most {
			t.Errorf("%s: form %d, %.5f of the bytes, want form %d, at most %.5f", c.name, packed[0], got, c.form, c.most)
		}
	}
}

func entropy(f float64) float64 { return -f*math.Log2(f) - (1-f)*math.Log2(1-f) }
