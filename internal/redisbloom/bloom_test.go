package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// TestMain fixes the seed of the property tests; -rapid.seed changes it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
	flag.Parse()
	m.Run()
}

func TestStructSizes(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("accounted for 64-bit machines")
	}
	if redisbloom.Accounted != redisbloom.Real {
		t.Errorf("accounted for %d bytes, structs take %d", redisbloom.Accounted, redisbloom.Real)
	}
}

// TestBloomMemory holds the usual small filter to two allocations and to 272
// bytes of live heap: 120, rounded up to 128, and its 144 bytes of bits.
func TestBloomMemory(t *testing.T) {
	const n = 10000
	p := redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2}
	if got := testing.AllocsPerRun(100, func() { newBloom(t, p) }); got != 2 {
		t.Errorf("NewBloom makes %v allocations, want 2", got)
	}
	filters := make([]*redisbloom.Bloom, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range filters {
		filters[i] = newBloom(t, p)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := float64(after.HeapAlloc-before.HeapAlloc) / n; got > 280 {
		t.Errorf("%.0f bytes per filter, want 272", got)
	}
	runtime.KeepAlive(filters)
}

func TestBloomParameters(t *testing.T) {
	for _, c := range []struct {
		p    redisbloom.BloomParams
		want error
	}{
		{redisbloom.BloomParams{ErrorRate: 0, Capacity: 100, Expansion: 2}, bloomery.ErrParameter},
		{redisbloom.BloomParams{ErrorRate: 1, Capacity: 100, Expansion: 2}, bloomery.ErrParameter},
		{redisbloom.BloomParams{ErrorRate: math.NaN(), Capacity: 100, Expansion: 2}, bloomery.ErrParameter},
		{redisbloom.BloomParams{ErrorRate: 0.1, Capacity: 0, Expansion: 2}, bloomery.ErrParameter},
		{redisbloom.BloomParams{ErrorRate: 0.1, Capacity: 1<<30 + 1, Expansion: 2}, bloomery.ErrParameter},
		{redisbloom.BloomParams{ErrorRate: 0.1, Capacity: 100, Expansion: 32769}, bloomery.ErrParameter},
		{redisbloom.BloomParams{ErrorRate: math.SmallestNonzeroFloat64, Capacity: 1, Expansion: 2}, bloomery.ErrTooLarge},
	} {
		if _, err := redisbloom.NewBloom(c.p); !errors.Is(err, c.want) {
			t.Errorf("NewBloom(%+v): %v, want %v", c.p, err, c.want)
		}
		if _, err := c.p.Bytes(); !errors.Is(err, c.want) {
			t.Errorf("%+v.Bytes(): %v, want %v", c.p, err, c.want)
		}
	}
	if math.MaxInt == math.MaxInt32 {
		return
	}
	// RedisBloom accepts this one; here a caller can see what it would take.
	got, err := redisbloom.BloomParams{ErrorRate: 1e-300, Capacity: 1 << 30, Expansion: 2}.Bytes()
	if err != nil || got < 190e9 || got > 200e9 {
		t.Errorf("Bytes() = %d, %v, want about 193 GB", got, err)
	}
}

// TestBloomGrowth grows a chain until the error is too small for a number:
// every layer has the size of the law, and GrowBytes says so before.
func TestBloomGrowth(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1, Expansion: 1})
	var err error
	var key [8]byte
	for i := uint64(0); err == nil && i < 100000; i++ {
		binary.LittleEndian.PutUint64(key[:], i)
		layers, before, grow := b.Layers(), b.Bytes(), b.GrowBytes(1)
		if _, err = b.Add(key[:]); b.Layers() > layers && before+grow != b.Bytes() {
			t.Fatalf("layer %d: %d bytes, then %d: GrowBytes said %d", layers, before, b.Bytes(), grow)
		}
	}
	if !errors.Is(err, redisbloom.ErrGrowth) || !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("Add: %v, want ErrGrowth", err)
	}
	// 0.005·2^-i is 0 from i = 1067 on: 0.005 is a little above 2^-8, the
	// smallest number is 2^-1074, and half of it rounds to 0.
	if b.Layers() != 1067 && b.Layers() != 1068 {
		t.Errorf("%d layers, want 1067", b.Layers())
	}
	if l := b.Layer(b.Layers() - 1); l.Hashes > 1100 {
		t.Errorf("last layer: %+v", l)
	}
	if _, err := redisbloom.ParseBloomHeader(b.AppendHeader(nil)); err != nil {
		t.Errorf("header of the longest chain: %v", err)
	}
}

func TestBloomRoom(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 10, Expansion: 2})
	ds, dst := make([]redisbloom.Digest, 100), make([]bool, 100)
	for i := range ds {
		ds[i] = b.Digest(item(i))
	}
	if got := b.GrowBytes(10); got != 0 {
		t.Errorf("GrowBytes(10) = %d of an empty filter for 10", got)
	}
	n, err := b.AddDigests(dst, ds, b.GrowBytes(30))
	if !errors.Is(err, memory.ErrRoom) || !errors.Is(err, bloomery.ErrTooLarge) || errors.Is(err, redisbloom.ErrGrowth) || n < 30 || b.Layers() != 2 {
		t.Errorf("AddDigests = %d, %v with %d layers, want 2 layers and ErrBudget", n, err, b.Layers())
	}
	before, _ := b.MarshalBinary()
	if m, err := b.AddDigests(dst, ds[n:], 10); m != 0 || !errors.Is(err, memory.ErrRoom) {
		t.Errorf("AddDigests without room = %d, %v", m, err)
	}
	if after, _ := b.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("AddDigests without room changed the filter")
	}
	if m, err := b.AddDigests(dst, ds[n:], b.GrowBytes(100-n)); err != nil || m != 100-n {
		t.Errorf("AddDigests = %d, %v with the room that GrowBytes asks for", m, err)
	}
}

func bloomParams(t *rapid.T) redisbloom.BloomParams {
	return redisbloom.BloomParams{
		ErrorRate:  rapid.SampledFrom([]float64{0.5, 0.25, 0.1, 0.01, 0.001, 1e-9, 1e-100}).Draw(t, "error"),
		Capacity:   rapid.Uint64Range(1, 50).Draw(t, "capacity"),
		Expansion:  rapid.Uint32Range(1, 4).Draw(t, "expansion"),
		NonScaling: rapid.Bool().Draw(t, "nonscaling"),
	}
}

// TestBloomHistory runs a random history through four variants: one item at a
// time, batches, reloaded by dump, reloaded by binary form. All agree, and none
// forgets an item.
func TestBloomHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := bloomParams(t)
		single, _ := redisbloom.NewBloom(p)
		batch, _ := redisbloom.NewBloom(p)
		dumped, _ := redisbloom.NewBloom(p)
		stored, _ := redisbloom.NewBloom(p)
		keys := map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			var ds []redisbloom.Digest
			var want []bool
			var wantErr error
			for range rapid.IntRange(1, 10).Draw(t, "batch") {
				key := strconv.Itoa(rapid.IntRange(0, 300).Draw(t, "key"))
				d := redisbloom.BloomDigest([]byte(key))
				ds = append(ds, d)
				if wantErr != nil {
					continue
				}
				seen := single.ContainsDigest(d)
				added, err := single.AddDigest(d)
				if err == nil && added == seen {
					t.Fatalf("AddDigest(%q) = %v, ContainsDigest before it %v", key, added, seen)
				}
				if wantErr = err; err == nil {
					keys[key] = true
					want = append(want, added)
				}
			}
			for i, b := range []*redisbloom.Bloom{batch, dumped, stored} {
				dst := make([]bool, len(ds))
				n, err := b.AddDigests(dst, ds, math.MaxUint64)
				if !errors.Is(err, wantErr) || fmt.Sprint(dst[:n]) != fmt.Sprint(want) {
					t.Fatalf("variant %d: AddDigests = %v, %v, want %v, %v", i, dst[:n], err, want, wantErr)
				}
			}
			dumped = reloadBloom(t, dumped)
			data, _ := stored.MarshalBinary()
			if err := stored.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
		}
		want, _ := single.MarshalBinary()
		for i, b := range []*redisbloom.Bloom{batch, dumped, stored} {
			if got, _ := b.MarshalBinary(); !bytes.Equal(got, want) {
				t.Fatalf("variant %d differs", i)
			}
		}
		var ds []redisbloom.Digest
		for key := range keys {
			if !single.Contains([]byte(key)) {
				t.Fatalf("%q forgotten", key)
			}
			ds = append(ds, redisbloom.BloomDigest([]byte(key)))
		}
		dst := make([]bool, len(ds))
		single.ContainsDigests(dst, ds)
		for i := range dst {
			if !dst[i] {
				t.Fatal("ContainsDigests forgot an item")
			}
		}
	})
}

// fataler is what testing.T and rapid.T share.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// reloadBloom dumps a filter and loads it, chunk by chunk.
func reloadBloom(t fataler, b *redisbloom.Bloom) *redisbloom.Bloom {
	t.Helper()
	iter, header := b.ScanDump(0)
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	n := newFromHeader(t, h)
	for {
		next, data := b.ScanDump(iter)
		if next == 0 {
			return n
		}
		if err := n.LoadChunk(next, data); err != nil {
			t.Fatal(err)
		}
		iter = next
	}
}

// TestBloomLargeDump crosses the chunk limit of 16 MiB, which is not a multiple
// of anything in a layer of 20 MiB.
func TestBloomLargeDump(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 15_000_000, Expansion: 2})
	var key [8]byte
	for i := range uint64(1000) {
		binary.LittleEndian.PutUint64(key[:], i)
		if _, err := b.Add(key[:]); err != nil {
			t.Fatal(err)
		}
	}
	next, data := b.ScanDump(1)
	if len(data) != 16<<20 || next != 1+16<<20 {
		t.Errorf("first chunk: %d bytes, next %d", len(data), next)
	}
	size := int64(b.Layer(0).Bytes)
	last, data := b.ScanDump(next)
	if int64(len(data)) != size-16<<20 || last != 1+size {
		t.Errorf("second chunk: %d bytes, next %d", len(data), last)
	}
	if end, data := b.ScanDump(last); end != 0 || len(data) != 0 {
		t.Errorf("after the end: %d, %d bytes", end, len(data))
	}
	for _, iter := range []int64{-1, math.MinInt64, math.MaxInt64, last + 1} {
		if next, data := b.ScanDump(iter); next != 0 || len(data) != 0 {
			t.Errorf("ScanDump(%d) = %d, %d bytes", iter, next, len(data))
		}
	}
	want, _ := b.MarshalBinary()
	if got, _ := reloadBloom(t, b).MarshalBinary(); !bytes.Equal(got, want) {
		t.Error("reloaded filter differs")
	}
}

func TestBloomBadHeaders(t *testing.T) {
	good := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2}).AppendHeader(nil)
	le := binary.LittleEndian
	for name, c := range map[string]struct {
		change func(h []byte) []byte
		want   error
	}{
		"good":             {func(h []byte) []byte { return h }, nil},
		"empty":            {func(h []byte) []byte { return nil }, redisbloom.ErrHeaderLength},
		"short":            {func(h []byte) []byte { return h[:72] }, redisbloom.ErrHeaderLength},
		"long":             {func(h []byte) []byte { return append(h, 0) }, redisbloom.ErrHeaderLength},
		"layers 2^32-1":    {func(h []byte) []byte { le.PutUint32(h[8:], math.MaxUint32); return h }, redisbloom.ErrHeaderLength},
		"no layers":        {func(h []byte) []byte { le.PutUint32(h[8:], 0); return h[:20] }, redisbloom.ErrHeader},
		"options":          {func(h []byte) []byte { h[12] |= 16; return h }, redisbloom.ErrHeader},
		"old options":      {func(h []byte) []byte { h[12] = 2; return h }, nil},
		"items":            {func(h []byte) []byte { h[0]++; return h }, redisbloom.ErrHeader},
		"items and size":   {func(h []byte) []byte { h[0]++; h[36]++; return h }, nil},
		"error 0":          {func(h []byte) []byte { le.PutUint64(h[44:], 0); return h }, redisbloom.ErrHeader},
		"error 1":          {func(h []byte) []byte { le.PutUint64(h[44:], math.Float64bits(1)); return h }, redisbloom.ErrHeader},
		"error NaN":        {func(h []byte) []byte { le.PutUint64(h[44:], math.Float64bits(math.NaN())); return h }, redisbloom.ErrHeader},
		"bits":             {func(h []byte) []byte { h[28] += 8; return h }, redisbloom.ErrHeader},
		"bits and bytes 0": {func(h []byte) []byte { clear(h[20:36]); return h }, redisbloom.ErrHeader},
		"bits wrap": {func(h []byte) []byte {
			le.PutUint64(h[20:], 1<<61+144)
			return h
		}, redisbloom.ErrHeader},
		"hashes":     {func(h []byte) []byte { h[60]++; return h }, redisbloom.ErrHeader},
		"bpe NaN":    {func(h []byte) []byte { le.PutUint64(h[52:], math.Float64bits(math.NaN())); return h }, redisbloom.ErrHeader},
		"bpe by one": {func(h []byte) []byte { h[52]++; return h }, nil},
		"n2 64":      {func(h []byte) []byte { h[72] = 64; return h }, redisbloom.ErrHeader},
		"n2 11":      {func(h []byte) []byte { h[72] = 11; return h }, redisbloom.ErrHeader}, // 2048 of 1152 bits
		"n2 10":      {func(h []byte) []byte { h[72] = 10; return h }, nil},
		"terabytes": {func(h []byte) []byte {
			le.PutUint64(h[20:], 1<<45)
			le.PutUint64(h[28:], 1<<48)
			return h
		}, redisbloom.ErrTooLarge},
	} {
		data := c.change(bytes.Clone(good))
		h, err := redisbloom.ParseBloomHeader(data)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err != nil {
			continue
		}
		b := newFromHeader(t, h)
		if got := b.AppendHeader(nil); !bytes.Equal(got, data) {
			t.Errorf("%s: header comes back as %x, was %x", name, got, data)
		}
		if _, err := b.Add([]byte("x")); err != nil || !b.Contains([]byte("x")) {
			t.Errorf("%s: Add: %v, Contains: %v", name, err, b.Contains([]byte("x")))
		}
		if h.Bytes() != b.Bytes() {
			t.Errorf("%s: Bytes() = %d before and %d after", name, h.Bytes(), b.Bytes())
		}
	}
}

func TestBloomNarrow(t *testing.T) {
	header := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100, Expansion: 2}).AppendHeader(nil)
	header[12] = 1
	h, err := redisbloom.ParseBloomHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	b := newFromHeader(t, h)
	if !b.Narrow() || b.Layer(0).HashWidth != 32 {
		t.Errorf("Narrow() = %v, width %d", b.Narrow(), b.Layer(0).HashWidth)
	}
	if d := b.Digest([]byte("hello")); d != redisbloom.BloomDigest32([]byte("hello")) || d.A>>32 != 0 || d.B>>32 != 0 {
		t.Errorf("Digest = %x", d)
	}
}

// TestBloomRate adds as many items as asked for and counts wrong answers: the
// rate that Stats predicts is met within 4 standard deviations.
func TestBloomRate(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 1000, Expansion: 2})
	for i := range 10000 {
		if _, err := b.Add(item(i)); err != nil {
			t.Fatal(err)
		}
	}
	const asked = 100000
	wrong := 0
	for i := range asked {
		if b.Contains(fmt.Appendf(nil, "absent%d", i)) {
			wrong++
		}
	}
	s := b.Stats()
	mean := s.Predicted * asked
	if sigma := math.Sqrt(mean); math.Abs(float64(wrong)-mean) > 4*sigma {
		t.Errorf("%d of %d wrong, predicted %.0f", wrong, asked, mean)
	}
	if s.Asked != 0.01 || s.Predicted > s.Asked || s.Kind != "bf" || s.Items != b.Items() {
		t.Errorf("Stats() = %+v", s)
	}
}

func TestBloomAllocs(t *testing.T) {
	b := newBloom(t, redisbloom.BloomParams{ErrorRate: 0.01, Capacity: 100000, Expansion: 2})
	key := []byte("0123456789abcdef")
	ds, dst := make([]redisbloom.Digest, 100), make([]bool, 100)
	n := uint64(0)
	got := testing.AllocsPerRun(100, func() {
		n++
		binary.LittleEndian.PutUint64(key, n)
		for i := range ds {
			ds[i] = redisbloom.BloomDigest(key)
			ds[i].A += uint64(i)
		}
		_, _ = b.AddDigests(dst, ds, 0)
		b.ContainsDigests(dst, ds)
		_, _ = b.Add(key)
		b.Contains(key)
		_ = b.LoadChunk(9, key[:8])
		b.ScanDump(1)
		b.GrowBytes(100)
		b.Stats()
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// A copy that sets the bits which Mark found clear stays equal, whatever the number of hashes.
func TestMarkedBits(t *testing.T) {
	for _, rate := range []float64{0.2, 0.01, 1e-6} {
		b, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: rate, Capacity: 2000, NonScaling: true})
		if err != nil {
			t.Fatal(err)
		}
		v, err := redisbloom.OpenPayload(b.Payload())
		if err != nil {
			t.Fatal(err)
		}
		copied := v.(*redisbloom.Bloom)
		marks, fresh := make([]uint8, 50), make([]bool, 50)
		for round := range 40 {
			ds := make([]redisbloom.Digest, 50)
			for i := range ds {
				ds[i] = redisbloom.BloomDigest(fmt.Appendf(nil, "%d", (round*37+i*i)%1500)) // some are there, or come twice
			}
			b.Mark(marks, ds)
			if _, err := b.AddDigests(fresh, ds, 0); err != nil {
				t.Fatal(err)
			}
			for i, d := range ds {
				if !fresh[i] {
					continue
				}
				for _, at := range b.MarkedBits(nil, d, marks[i]) {
					if at >= copied.NewestBits() {
						t.Fatalf("bit %d of %d", at, copied.NewestBits())
					}
					copied.SetBit(at)
				}
				copied.CountAdded(1)
			}
			if !bytes.Equal(b.Payload(), copied.Payload()) {
				t.Fatalf("rate %v: the copy differs in round %d", rate, round)
			}
		}
		if _, err := redisbloom.OpenPayloadWithin(b.Payload(), b.Bytes()); err != nil {
			t.Error(err)
		}
	}
}
