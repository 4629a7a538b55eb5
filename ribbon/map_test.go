package ribbon_test

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/golden"
	"github.com/bloomery/bloomery/ribbon"
)

// valueOf is the value that tests give to a key.
func valueOf(h uint64, bits int) uint32 { return uint32(h*0x9e3779b97f4a7c15>>32) >> (32 - bits) }

// valuesOf returns the values of hs.
func valuesOf(hs []uint64, bits int) []uint32 {
	values := make([]uint32, len(hs))
	for i, h := range hs {
		values[i] = valueOf(h, bits)
	}
	return values
}

// mapped returns the map of c from hs to their values.
func mapped(tb testing.TB, c ribbon.Config, hs []uint64) *ribbon.Map {
	tb.Helper()
	c.Scratch, c.Memory = nil, 0
	m, err := c.BuildMap(tb.Context(), hs, valuesOf(hs, c.ValueBits))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// checkMap asks a map for the values of hs, one by one and in a batch.
func checkMap(t interface{ Errorf(string, ...any) }, m bloomery.Getter, hs []uint64, bits int) {
	values, ok := make([]uint32, len(hs)), make([]bool, len(hs))
	m.GetHashes(values, ok, hs)
	wrong := 0
	for i, h := range hs {
		got, found := m.GetHash(h)
		if want := valueOf(h, bits); !found || !ok[i] || got != want || values[i] != want {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d keys have another value or none", wrong, len(hs))
	}
}

// TestMapVariants builds random maps: in another order, with duplicates, from a
// stream, decoded, read, viewed. All have the values and the same bytes.
func TestMapVariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := ribbon.Config{
			ValueBits: rapid.IntRange(1, 12).Draw(t, "bits"),
			ErrorRate: rapid.SampledFrom([]float64{1, 0.7, 0.5, 0.01, 1. / 256, 1e-5}).Draw(t, "p"),
			Width:     rapid.SampledFrom([]int{0, 64, 128}).Draw(t, "width"),
			Shards:    1 << rapid.IntRange(0, 3).Draw(t, "shards"),
			Workers:   rapid.IntRange(1, 3).Draw(t, "workers"),
		}
		hs := hashes(rapid.IntRange(0, 3000).Draw(t, "n"), rapid.Uint64Range(0, 1000).Draw(t, "seed"))
		m, err := c.BuildMap(t.Context(), hs, valuesOf(hs, c.ValueBits))
		if err != nil {
			t.Fatal(err)
		}
		checkMap(t, m, hs, c.ValueBits)
		data, err := m.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		twice := append(slices.Clone(hs), hs...)
		slices.Reverse(twice)
		again, err := c.BuildMap(t.Context(), twice, valuesOf(twice, c.ValueBits))
		if err != nil {
			t.Fatal(err)
		}
		if other, _ := again.MarshalBinary(); !bytes.Equal(other, data) {
			t.Error("another order gives other bytes")
		}
		streamed := c
		streamed.Scratch, streamed.Memory = newDisk(), 64<<20
		var out bytes.Buffer
		if _, err := streamed.StreamMap(t.Context(), pairsOf(twice, c.ValueBits)).WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Error("a stream gives other bytes")
		}
		decoded, err := ribbon.Config{}.DecodeMap(data)
		if err != nil {
			t.Fatal(err)
		}
		checkMap(t, decoded, hs, c.ValueBits)
		if decoded.ValueBits() != c.ValueBits || decoded.Stats() != m.Stats() {
			t.Errorf("decoded: %d bits, %v; want %d, %v", decoded.ValueBits(), decoded.Stats(), c.ValueBits, m.Stats())
		}
		read, err := ribbon.Config{}.ReadMap(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		checkMap(t, read, hs, c.ValueBits)
		v, err := ribbon.Config{}.View(data)
		if err != nil {
			t.Fatal(err)
		}
		checkMap(t, v.(bloomery.Getter), hs, c.ValueBits)
		far, err := ribbon.Config{}.At(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		asked := slices.Concat(hs, hashes(300, 5000))
		answers, found := make([]bloomery.Answer, len(asked)), make([]bool, len(asked))
		if err := far.AskHashes(answers, asked); err != nil {
			t.Fatal(err)
		}
		m.ContainsHashes(found, asked)
		for i, a := range answers {
			if a.Found != found[i] {
				t.Fatalf("asked from afar, key %d is there: %v, want %v", i, a.Found, found[i])
			}
		}
	})
}

// pairsOf returns hs with their values.
func pairsOf(hs []uint64, bits int) iter.Seq2[uint64, uint32] {
	return func(yield func(uint64, uint32) bool) {
		for _, h := range hs {
			if !yield(h, valueOf(h, bits)) {
				return
			}
		}
	}
}

// TestMapRate counts the absent keys that get a value: within 5 standard
// deviations of what Stats predicts, which is what was asked for.
func TestMapRate(t *testing.T) {
	const asked = 200_000
	hs, absent := hashes(50_000, 1), hashes(asked, 2)
	for _, p := range []float64{0.5, 0.01, 1. / 256, 0.003} {
		for _, width := range []int{64, 128} {
			m := mapped(t, ribbon.Config{ErrorRate: p, ValueBits: 8, Width: width}, hs)
			found := make([]bool, asked)
			m.ContainsHashes(found, absent)
			n := 0
			for _, f := range found {
				if f {
					n++
				}
			}
			sigma := math.Sqrt(p * (1 - p) / asked)
			if rate := float64(n) / asked; math.Abs(rate-p) > 5*sigma || math.Abs(m.Stats().Predicted/p-1) > 0.01 {
				t.Errorf("width %d: %v of the absent keys have a value, %v predicted, want %v", width, rate, m.Stats().Predicted, p)
			}
		}
	}
}

// TestMapSize holds the size of maps to that of a filter with as many columns.
func TestMapSize(t *testing.T) {
	hs := hashes(200_000, 1)
	for _, width := range []int{64, 128} {
		m := mapped(t, ribbon.Config{ErrorRate: 1. / 256, ValueBits: 8, Width: width}, hs).Stats()
		f := built(t, ribbon.Config{ErrorRate: 1. / 65536, Width: width}, hs).Stats()
		if math.Abs(float64(m.Bits)/float64(f.Bits)-1) > 0.001 {
			t.Errorf("width %d: the map has %d bits, a filter of 16 columns %d", width, m.Bits, f.Bits)
		}
	}
}

func TestMapParameters(t *testing.T) {
	hs := []uint64{1, 2}
	for name, c := range map[string]ribbon.Config{
		"no bits":            {ErrorRate: 0.01},
		"negative bits":      {ErrorRate: 0.01, ValueBits: -1},
		"33 bits":            {ErrorRate: 1, ValueBits: 33},
		"no rate":            {ValueBits: 8},
		"rate above 1":       {ErrorRate: 1.5, ValueBits: 8},
		"rate that is none":  {ErrorRate: math.NaN(), ValueBits: 8},
		"too many columns":   {ErrorRate: 1. / 512, ValueBits: 24},
		"one column more":    {ErrorRate: 0.003, ValueBits: 24},
		"a width of 7":       {ErrorRate: 0.01, ValueBits: 8, Width: 7},
		"a scratch":          {ErrorRate: 0.01, ValueBits: 8, Scratch: newDisk()},
		"fewer bits than it": {ErrorRate: 0.01, ValueBits: 2},
	} {
		if _, err := c.BuildMap(t.Context(), hs, []uint32{3, 4}); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
	if _, err := ribbon.BuildMap(hs, []uint32{1}, 8, 0.01); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("two hashes and a value: %v, want ErrParameter", err)
	}
	if m, err := ribbon.BuildMap(hs, []uint32{math.MaxUint32, 0}, 32, 1); err != nil {
		t.Error(err)
	} else if v, ok := m.GetHash(1); !ok || v != math.MaxUint32 {
		t.Errorf("a value of 32 bits comes back as %d, %v", v, ok)
	}
	if _, err := (ribbon.Config{ErrorRate: 0.01, ValueBits: 8}).Build(t.Context(), hs); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a filter with values: %v, want ErrParameter", err)
	}
}

// TestMapConflict gives a key two values.
func TestMapConflict(t *testing.T) {
	for _, n := range []int{2, 5000} { // listed, and in a layer
		hs := hashes(n, 1)
		values := valuesOf(hs, 8)
		hs, values = append(hs, hs[1]), append(values, values[1]^1)
		low, high := min(values[1], values[1]^1), max(values[1], values[1]^1)
		_, err := ribbon.BuildMap(hs, values, 8, 0.01)
		var conflict *ribbon.ConflictError
		if !errors.As(err, &conflict) || conflict.Hash != hs[1] || conflict.Values != [2]uint32{low, high} || !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%d keys: %v, want a ConflictError", n, err)
		}
		m, err := ribbon.Config{ErrorRate: 0.01, ValueBits: 8, Largest: true}.BuildMap(t.Context(), hs, values)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := m.GetHash(hs[1]); !ok || v != high || m.Stats().Items != uint64(n) {
			t.Errorf("%d keys: with Largest the value is %d, %v, want %d", n, v, ok, high)
		}
	}
}

// TestMapStreamFails has a scratch that is full, and one that gives back other
// bytes, and too little memory.
func TestMapStreamFails(t *testing.T) {
	hs := hashes(50_000, 1)
	c := ribbon.Config{ErrorRate: 0.01, ValueBits: 8}
	for name, x := range map[string]struct {
		disk   *disk
		memory int
		want   error
	}{
		"full":    {&disk{room: 1 << 16}, 0, errFull},
		"damaged": {&disk{room: 1 << 40, damaged: true}, 0, bloomery.ErrCorrupt},
		"memory":  {newDisk(), 1 << 10, bloomery.ErrParameter},
	} {
		c.Scratch, c.Memory = x.disk, x.memory
		if _, err := c.StreamMap(t.Context(), pairsOf(hs, 8)).WriteTo(new(bytes.Buffer)); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
	}
}

// TestMapStreamInLittleMemory has 1 MiB for keys of 16 bytes each that take more.
func TestMapStreamInLittleMemory(t *testing.T) {
	hs := hashes(200_000, 1)
	scratch, err := file.NewScratch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	var read, done uint64
	c := ribbon.Config{ErrorRate: 1, ValueBits: 3, Scratch: scratch, Memory: 1 << 20, Progress: func(r, b uint64) { read, done = r, b }}
	var out bytes.Buffer
	if _, err := c.StreamMap(t.Context(), pairsOf(hs, 3)).WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	m, err := ribbon.Config{}.ReadMap(&out)
	if err != nil {
		t.Fatal(err)
	}
	checkMap(t, m, hs, 3)
	if m.Shards() < 2 || read != 200_000 || done != read {
		t.Errorf("%d shards, progress ends with %d, %d", m.Shards(), read, done)
	}
}

// TestMapHostile has sound checksums and headers that claim what is not so.
func TestMapHostile(t *testing.T) {
	data, err := mapped(t, ribbon.Config{ErrorRate: 0.01, ValueBits: 8, Shards: 2}, hashes(5000, 1)).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := envelope.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(h *envelope.Header, w []uint64){
		"no value bits":   func(h *envelope.Header, _ []uint64) { h.Extra &= 0xffff },
		"33 value bits":   func(h *envelope.Header, _ []uint64) { h.Extra = h.Extra&0xffff | 33<<16 },
		"15 of 14":        func(h *envelope.Header, _ []uint64) { h.Extra = h.Extra&0xffff | 15<<16 },
		"256 value bits":  func(h *envelope.Header, _ []uint64) { h.Extra = h.Extra&0xffff | 256<<16 },
		"2^21 shards":     func(h *envelope.Header, _ []uint64) { h.Extra = h.Extra&^0xff00 | 21<<8 },
		"no columns":      func(h *envelope.Header, _ []uint64) { h.K = 0 },
		"a longer list":   func(_ *envelope.Header, w []uint64) { w[1] += 4 },
		"a wide value":    func(_ *envelope.Header, w []uint64) { w[len(w)-1-int(w[1])] = 1 << 40 },
		"a list that big": func(_ *envelope.Header, w []uint64) { w[1] = math.MaxUint64 / 2 },
		"a filter":        func(h *envelope.Header, _ []uint64) { h.Kind = envelope.KindRibbon },
	} {
		h, words := sealed.Header, sealed.Words()
		change(&h, words)
		if name == "a wide value" { // somewhere among the values of a list, wherever that ends
			small, err := mapped(t, ribbon.Config{ErrorRate: 0.01, ValueBits: 8}, hashes(3, 1)).MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			few, err := envelope.Open(small)
			if err != nil {
				t.Fatal(err)
			}
			h, words = few.Header, few.Words()
			words[8+3] = 256
		}
		bad := envelope.Append(nil, h, words)
		var m ribbon.Map
		_, readErr := ribbon.Config{}.ReadMap(bytes.NewReader(bad))
		for way, err := range map[string]error{"unmarshal": m.UnmarshalBinary(bad), "read": readErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrIncompatible) {
				t.Errorf("%s: %s: %v, want ErrCorrupt", name, way, err)
			}
		}
	}
	var f ribbon.Filter
	if err := f.UnmarshalBinary(data); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a map as a filter: %v, want ErrIncompatible", err)
	}
	if _, err := mapped(t, ribbon.Config{ErrorRate: 0.01, ValueBits: 8}, nil).AppendBare(nil); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("the bare form of a map: %v, want ErrParameter", err)
	}
}

// FuzzMap opens whatever comes: no panic, an error of a known cause, and what is
// accepted comes out as it went in.
func FuzzMap(f *testing.F) {
	for _, c := range []ribbon.Config{{ErrorRate: 0.1, ValueBits: 3}, {ErrorRate: 1, ValueBits: 1, Width: 128, Shards: 2}} {
		for _, n := range []int{0, 10, 300} {
			hs := hashes(n, 1)
			m, err := c.BuildMap(f.Context(), hs, valuesOf(hs, c.ValueBits))
			if err != nil {
				f.Fatal(err)
			}
			data, err := m.MarshalBinary()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
			f.Add(data[:64])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = sealed(data)
		var m ribbon.Map
		err := m.UnmarshalBinary(data)
		_, readErr := ribbon.Config{}.ReadMap(bytes.NewReader(data))
		hs := []uint64{0, 42, 1 << 63, 1<<64 - 1, 7}
		values, ok := make([]uint32, len(hs)), make([]bool, len(hs))
		if v, err := (ribbon.Config{}).View(data); err == nil {
			if g, is := v.(bloomery.Getter); is {
				g.GetHashes(values, ok, hs)
			}
			v.Stats()
		}
		if err != nil {
			checkCauses(t, err, readErr)
			return
		}
		m.GetHashes(values, ok, hs)
		for i, h := range hs {
			if v, found := m.GetHash(h); v != values[i] || found != ok[i] {
				t.Errorf("hash %x: %d, %v alone, and %d, %v with others", h, v, found, values[i], ok[i])
			}
		}
		if again, err := m.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("accepted bytes do not come out as they went in: %v", err)
		}
		if readErr != nil {
			t.Errorf("UnmarshalBinary accepts, Read says %v", readErr)
		}
	})
}

func TestMapGolden(t *testing.T) {
	for name, x := range map[string]struct {
		config ribbon.Config
		keys   int
	}{
		"v1-map-empty":     {ribbon.Config{ErrorRate: 0.01, ValueBits: 8}, 0},
		"v1-map-list":      {ribbon.Config{ErrorRate: 0.01, ValueBits: 8}, 5},
		"v1-map-64-8-1e-2": {ribbon.Config{ErrorRate: 1e-2, ValueBits: 8}, 2000},
		"v1-map-128-1":     {ribbon.Config{ErrorRate: 1, ValueBits: 1, Width: 128, Shards: 2}, 5000},
	} {
		t.Run(name, func(t *testing.T) {
			var hs []uint64
			for i := range x.keys {
				hs = append(hs, x.config.Hasher.HashUint64(uint64(i)))
			}
			m := mapped(t, x.config, hs)
			golden.Filter(t, name, m, mapped(t, x.config, nil), hs)
			checkMap(t, m, hs, x.config.ValueBits)
		})
	}
}

// TestMapAllocates asks for lookups that allocate nothing.
func TestMapAllocates(t *testing.T) {
	hs := hashes(5000, 1)
	m := mapped(t, ribbon.Config{ErrorRate: 0.01, ValueBits: 8}, hs)
	values, ok := make([]uint32, len(hs)), make([]bool, len(hs))
	key := []byte("alice")
	for name, f := range map[string]func(){
		"Get": func() { m.Get(key) }, "GetString": func() { m.GetString("alice") }, "GetHash": func() { m.GetHash(hs[7]) },
		"GetHashes": func() { m.GetHashes(values, ok, hs) }, "ContainsHashes": func() { m.ContainsHashes(ok, hs) },
	} {
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// A zero Map is empty.
func TestZeroMap(t *testing.T) {
	var m ribbon.Map
	if _, ok := m.GetString("a"); ok || m.ContainsString("a") {
		t.Error("a zero Map has a key")
	}
	m.GetHashes(make([]uint32, 9), make([]bool, 9), hashes(9, 1))
	if _, err := m.MarshalBinary(); !errors.Is(err, bloomery.ErrParameter) {
		t.Errorf("a zero Map is encoded: %v", err)
	}
}
