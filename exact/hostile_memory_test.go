package exact_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/internal/envelope"
)

// TestHostileMemory puts numbers that claim much into every word of the front and of the stages,
// and into the header, under checksums that are right. Opening takes twice the input and some
// more, whatever they claim, and what is accepted answers.
func TestHostileMemory(t *testing.T) {
	f, err := exact.Config{Width: 64, Shards: 4}.BuildGroups(t.Context(), []exact.Group{{hashes(300, 1), hashes(9000, 2)}, {hashes(40, 3), hashes(40, 4)}, {hashes(5, 5), nil}, {nil, hashes(5, 6)}})
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := envelope.Open(encoded(t, f))
	if err != nil {
		t.Fatal(err)
	}
	words := sealed.Words()
	numbers := []uint64{0, 1, 2, 0xff, 1 << 16, 20 << 16, math.MaxUint32, 1 << 32, 12 << 32, 1 << 40, 1 << 63, math.MaxUint64}
	for i := range words {
		for _, n := range numbers {
			changed := slices.Clone(words)
			changed[i] = n
			opened(t, sealed.Header, changed)
			changed[i] = words[i] ^ n
			opened(t, sealed.Header, changed)
		}
		if i == 64 {
			break // behind the heads of the stages
		}
	}
	for _, n := range numbers {
		for _, change := range []func(h *envelope.Header){
			func(h *envelope.Header) { h.Extra = uint32(n) }, func(h *envelope.Header) { h.Extra ^= uint32(n) },
			func(h *envelope.Header) { h.Capacity = n }, func(h *envelope.Header) { h.K = uint8(n) },
		} {
			h := sealed.Header
			change(&h)
			opened(t, h, words)
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) // several words at once, anywhere
	for range 1000 {
		changed := slices.Clone(words)
		for range 1 + random.IntN(4) {
			changed[random.IntN(len(words))] = random.Uint64() >> random.IntN(64)
		}
		opened(t, sealed.Header, changed)
	}
}

// opened opens an encoding in all ways, within the bound of memory.
func opened(t *testing.T, h envelope.Header, words []uint64) {
	t.Helper()
	data := envelope.Append(nil, h, words)
	hs, dst := hashes(16, 1), make([]bool, 16)
	for way, open := range map[string]func() (bloomery.Hashed, error){
		"decode": func() (bloomery.Hashed, error) { return envelope.Hashed(exact.Config{}.Decode(data)) },
		"view":   func() (bloomery.Hashed, error) { return exact.Config{}.View(data) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x, err := open()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(2*len(data)+64<<10) {
			t.Errorf("%s of %d bytes took %d bytes of memory, %v", way, len(data), took, err)
		}
		if err != nil {
			continue
		}
		x.ContainsHashes(dst, hs)
		for i, h := range hs {
			if x.ContainsHash(h) != dst[i] {
				t.Errorf("%s: hash %x: %v alone, %v with others", way, h, !dst[i], dst[i])
			}
		}
		if s := x.Stats(); !(s.Predicted >= 0 && s.Predicted <= 1) {
			t.Errorf("%s: predicted rate %v", way, s.Predicted)
		}
	}
}
