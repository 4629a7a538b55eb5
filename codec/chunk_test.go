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
func reopen(tb testing.TB, packed []byte, size int) []byte {
	tb.Helper()
	code := append(bytes.Clone(packed[chunkHeader:]), make([]byte, 8)...)
	code = code[:len(packed)-chunkHeader]
	raw := make([]byte, size)
	if packed[0] != codeRaw && int(binary.LittleEndian.Uint16(packed[2:])) != len(code) {
		tb.Fatalf("the length says %d, the code has %d bytes", binary.LittleEndian.Uint16(packed[2:]), len(code))
	}
	if !openChunk(raw, packed[0], uint(packed[1]), code) {
		tb.Fatalf("form %d, parameter %d: not opened", packed[0], packed[1])
	}
	return raw
}

// riceUpTo is the formula of its comment, and riceFor chooses by it.
func TestRiceParameters(t *testing.T) {
	golden := (math.Sqrt(5) - 1) / 2
	for i, got := range riceUpTo {
		share := 1 - math.Pow(golden, math.Ldexp(1, -i))
		if want := uint64(share * (1 << 20)); got != want {
			t.Errorf("riceUpTo[%d] = %d, want %d", i, got, want)
		}
	}
	const n = 8 * chunkSize
	for _, c := range []struct {
		set  int
		want uint
	}{{0, maxRice}, {n / 1000, 9}, {n / 100, 6}, {n / 10, 3}, {n / 5, 2}, {n / 3, 1}, {n / 2, 0}} {
		if got := riceFor(c.set, n); got != c.want {
			t.Errorf("riceFor(%d of %d) = %d, want %d", c.set, n, got, c.want)
		}
	}
}

// slowGaps decodes gaps bit by bit, as the format says it.
func slowGaps(size int, code []byte, r uint) ([]byte, bool) {
	raw := make([]byte, size)
	at := 0
	bit := func() (b int, ok bool) {
		if at >= 8*len(code) {
			return 0, false
		}
		b = int(code[at/8]>>(at%8)) & 1
		at++
		return b, true
	}
	for pos := 0; ; pos++ {
		for {
			b, ok := bit()
			if !ok {
				return nil, false
			}
			if b == 1 {
				break
			}
			pos += 1 << r
		}
		for i := range r {
			b, ok := bit()
			if !ok {
				return nil, false
			}
			pos += b << i
		}
		if pos >= 8*size {
			rest := 0
			for at%8 != 0 {
				b, _ := bit()
				rest |= b
			}
			return raw, pos == 8*size && at == 8*len(code) && rest == 0
		}
		raw[pos/8] |= 1 << (pos % 8)
	}
}

// FuzzGaps holds the decoder with its tables to the slow one, whatever the
// code, and codes again what both accept.
func FuzzGaps(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3))
	for r, fill := range []float64{0.5, 0.3, 0.15, 0.08, 0.04, 0.02, 0.0005} {
		raw := randomChunk(rng, 400, fill)
		code, ok := appendGaps(nil, raw, 0, max(1, uint(r)), 1<<20)
		if !ok {
			f.Fatal("not coded")
		}
		f.Add(code, byte(r), uint16(50))
	}
	f.Add([]byte{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}, byte(2), uint16(100))
	f.Fuzz(func(t *testing.T, data []byte, r byte, words uint16) {
		rice := uint(r)%maxRice + 1
		size := 8 * (int(words)%(chunkSize/8) + 1)
		code := append(bytes.Clone(data), make([]byte, room)...)[:len(data)]
		raw := make([]byte, size)
		ok := gaps(raw, code, rice)
		want, wantOK := slowGaps(size, data, rice)
		if ok != wantOK {
			t.Fatalf("accepted: %v, the slow decoder says %v", ok, wantOK)
		}
		if !ok {
			return
		}
		if !bytes.Equal(raw, want) {
			t.Fatal("other bits than the slow decoder's")
		}
		again, ok := appendGaps(nil, raw, 0, rice, len(code)+1)
		if !ok || !bytes.Equal(again, data) {
			t.Fatalf("the same bits are coded differently: %v", ok)
		}
	})
}

// Codes of every fill and parameter come back, also where the parameter does
// not fit the fill.
func TestGapsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, size := range []int{8, 64, 800, 4000} {
		for _, fill := range []float64{0, 0.00001, 0.001, 0.02, 0.1, 0.3, 0.6, 1} {
			raw := randomChunk(rng, size, fill)
			for r := uint(1); r <= maxRice; r++ {
				code, ok := appendGaps(nil, raw, 0, r, 20*size+100)
				if !ok {
					t.Fatalf("%d bytes, fill %v, parameter %d: longer than 20 times", size, fill, r)
				}
				if least := leastGaps(ones8(raw), 8*size, r); len(code) < least {
					t.Errorf("%d bytes, fill %v, parameter %d: %d bytes of code, at least %d were foretold", size, fill, r, len(code), least)
				}
				for limit := range 3 {
					_, ok := appendGaps(nil, raw, 0, r, len(code)-1+limit)
					if ok != (limit == 2) {
						t.Errorf("%d bytes, fill %v, parameter %d: %d bytes of code, limit %d: %v", size, fill, r, len(code), len(code)-1+limit, ok)
					}
				}
				got := make([]byte, size)
				if n := len(code); !gaps(got, append(code, make([]byte, room)...)[:n], r) || !bytes.Equal(got, raw) {
					t.Errorf("%d bytes, fill %v, parameter %d: comes back different", size, fill, r)
				}
			}
		}
	}
}

func ones8(raw []byte) int {
	n, _ := survey(raw)
	return n
}

// Coding and decoding in room that is there allocates nothing.
func TestChunksDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, fill := range []float64{0.01, 0.1, 0.3, 0.5} {
		raw := randomChunk(rng, chunkSize, fill)
		dst := make([]byte, 0, 3*chunkSize)
		packed := appendChunk(dst, raw)
		code := packed[chunkHeader : len(packed) : len(packed)+room]
		clear(packed[len(packed) : len(packed)+room])
		got := make([]byte, chunkSize)
		if n := testing.AllocsPerRun(10, func() {
			openChunk(got, packed[0], uint(packed[1]), code)
			appendChunk(dst, raw)
		}); n > 0 {
			t.Errorf("fill %v: %v allocations", fill, n)
		}
	}
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
