package redisbloom_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// sketch is what all sketches have.
type sketch interface {
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
	Freeze() (*redisbloom.Frozen, error)
	Arrays() iter.Seq[[]byte]
	Release()
	Bytes() uint64
}

// sampleSketches returns one sketch of each kind with some items, and what
// changes them.
func sampleSketches(tb testing.TB, m *memory.Arena) (all []sketch, change func(i int)) {
	tb.Helper()
	c, err1 := redisbloom.NewCountMin(redisbloom.CountMinParams{Width: 5, Depth: 3, Memory: m})
	k, err2 := redisbloom.NewTopK(redisbloom.TopKParams{K: 3, Width: 4, Depth: 3, Decay: 0.9, Memory: m})
	d, err3 := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 3, Memory: m})
	if err := errors.Join(err1, err2, err3); err != nil {
		tb.Fatal(err)
	}
	change = func(i int) {
		c.Incr(item(i), uint64(i))
		_, _, _ = k.Incr(item(i), int64(i%100))
		_ = d.Add(float64(i % 17))
	}
	for i := range 40 {
		change(i)
	}
	return []sketch{c, k, d}, change
}

// TestSketchDamage flips every byte, and cuts at every length: always an error,
// never a change of the receiver.
func TestSketchDamage(t *testing.T) {
	all, _ := sampleSketches(t, nil)
	targets, _ := sampleSketches(t, nil)
	for i, s := range all {
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := targets[i].MarshalBinary()
		damaged := func(d []byte) {
			t.Helper()
			if err := targets[i].UnmarshalBinary(d); !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
				t.Errorf("%T: %v", s, err)
			}
			if got, _ := targets[i].MarshalBinary(); !bytes.Equal(got, want) {
				t.Fatalf("%T: receiver changed", s)
			}
		}
		for j := range data {
			d := bytes.Clone(data)
			d[j] ^= 1 << (j % 8)
			damaged(d)
			damaged(data[:j])
		}
		damaged(append(bytes.Clone(data), 0))
		for _, other := range all {
			if other != s {
				d, _ := other.MarshalBinary()
				damaged(d)
			}
		}
	}
}

// TestSketchGolden pins the binary forms: files written today must open for
// ever.
func TestSketchGolden(t *testing.T) {
	c := newCountMin(t, 3, 2)
	c.Incr([]byte("hello"), 70000)
	k := newTopK(t, redisbloom.TopKParams{K: 2, Width: 2, Depth: 1, Decay: 0.5, Seed: 7})
	_, _, _ = k.Incr([]byte("hello"), 5)
	_, _, _ = k.Incr([]byte("foo"), 3)
	d := newTDigest(t, 1)
	_ = d.Add(1, 2, 3)
	d.Compress()
	_ = d.Add(-1)
	for i, s := range []sketch{c, k, d} {
		data, _ := s.MarshalBinary()
		if got := hex.EncodeToString(data); got != sketchGolden[i] {
			t.Errorf("%T:\n got %s\nwant %s", s, got, sketchGolden[i])
		}
		golden, _ := hex.DecodeString(sketchGolden[i])
		if err := s.UnmarshalBinary(golden); err != nil {
			t.Errorf("%T: %v", s, err)
		}
	}
}

// TestSketchMemory places all arrays by an Arena, and frees them once.
func TestSketchMemory(t *testing.T) {
	a, m := newArena(t, math.MaxInt)
	all, change := sampleSketches(t, m)
	plain, same := sampleSketches(t, nil)
	if len(a.out) != 3 {
		t.Errorf("%d arrays, want 3", len(a.out))
	}
	for i := range 100 {
		change(i)
		same(i)
	}
	for i, s := range all {
		equal(t, s.MarshalBinary, plain[i].MarshalBinary)
		for array := range s.Arrays() {
			if a.out[&array[0]] != len(array) {
				t.Errorf("%T: an array of another place", s)
			}
		}
		f, err := s.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := s.MarshalBinary()
		if err := s.UnmarshalBinary(want); err != nil {
			t.Fatal(err)
		}
		s.Release()
		s.Release()
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%T: the snapshot differs, %v", s, err)
		}
		_ = f.Close()
	}
	a.empty()
	// A digest takes more memory at the first Add after a decode.
	d := newTDigest(t, 3)
	_ = d.Add(1, 2, 3)
	data, _ := d.MarshalBinary()
	decoded, err := redisbloom.DecodeTDigest(data, m)
	if err != nil {
		t.Fatal(err)
	}
	before, grow := decoded.Bytes(), decoded.GrowBytes()
	if err := decoded.Add(4); err != nil || decoded.Bytes() != before+grow || grow == 0 || len(a.out) != 1 {
		t.Errorf("Add: %v, %d bytes, then %d, GrowBytes was %d, %d arrays", err, before, decoded.Bytes(), grow, len(a.out))
	}
	decoded, err = redisbloom.DecodeTDigest(data, m)
	if err != nil {
		t.Fatal(err)
	}
	a.left = 0
	if err := decoded.Add(4); !errors.Is(err, errArena) || decoded.Observations() != 3 {
		t.Errorf("Add without memory: %v, %d values", err, decoded.Observations())
	}
	for i, make := range []func() error{
		func() error {
			_, err := redisbloom.NewCountMin(redisbloom.CountMinParams{Width: 5, Depth: 3, Memory: m})
			return err
		},
		func() error {
			_, err := redisbloom.NewTopK(redisbloom.TopKParams{K: 3, Width: 4, Depth: 3, Decay: 0.9, Memory: m})
			return err
		},
		func() error {
			_, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: 3, Memory: m})
			return err
		},
	} {
		if err := make(); !errors.Is(err, errArena) {
			t.Errorf("sketch %d without memory: %v", i, err)
		}
	}
}

// TestSketchSnapshots takes snapshots of sketches of several pages while they
// change, in pieces and as a stream: they are what the sketches were at Freeze.
func TestSketchSnapshots(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	c := newCountMin(t, 5000, 4)
	k := newTopK(t, redisbloom.TopKParams{K: 500, Width: 3000, Depth: 2, Decay: 0.9})
	d := newTDigest(t, 1000)
	step := func() {
		for range rng.IntN(300) {
			i := rng.IntN(3000)
			c.Incr(item(i), 1)
			k.Add(item(i))
			_ = d.Add(float64(i))
		}
		if rng.IntN(10) == 0 {
			d.Compress()
		}
	}
	for range 5 {
		step()
		for _, s := range []sketch{c, k, d} {
			want, _ := s.MarshalBinary()
			f, err := s.Freeze()
			if err != nil {
				t.Fatal(err)
			}
			var got sketch
			switch s.(type) {
			case *redisbloom.CountMin:
				got = pieces(t, f, redisbloom.NewCountMinLoader, step)
			case *redisbloom.TopK:
				got = pieces(t, f, redisbloom.NewTopKLoader, step)
			default:
				got = pieces(t, f, redisbloom.NewTDigestLoader, step)
			}
			if data, _ := got.MarshalBinary(); !bytes.Equal(data, want) {
				t.Errorf("%T: pieces give another sketch", s)
			}
			want, _ = s.MarshalBinary()
			if f, err = s.Freeze(); err != nil {
				t.Fatal(err)
			}
			step()
			if err := c.Merge([]*redisbloom.CountMin{c, c}, []int64{3, -1}); err != nil { // doubles all
				t.Fatal(err)
			}
			if data, err := io.ReadAll(f); err != nil || !bytes.Equal(data, want) {
				t.Errorf("%T: the stream differs, %v", s, err)
			}
			_ = f.Close()
		}
	}
}

// TestZeroSketches: a sketch that was never made has nothing, refuses to be
// written and panics when it is changed.
func TestZeroSketches(t *testing.T) {
	var c redisbloom.CountMin
	var k redisbloom.TopK
	var d redisbloom.TDigest
	for _, s := range []sketch{&c, &k, &d} {
		if _, err := s.MarshalBinary(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%T: MarshalBinary: %v", s, err)
		}
		if _, err := s.Freeze(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%T: Freeze: %v", s, err)
		}
		s.Release()
	}
	if c.Count(nil) != 0 || k.Contains(nil) || k.Count(nil) != 0 || d.Observations() != 0 || !math.IsNaN(d.Quantile(0.5)) {
		t.Error("a zero sketch has something")
	}
	c.Stats()
	k.Stats()
	d.Stats()
	for name, change := range map[string]func(){
		"Incr":  func() { c.Incr(nil, 1) },
		"Merge": func() { _ = c.Merge(nil, nil) },
		"TopK":  func() { k.Add(nil) },
		"Add":   func() { _ = d.Add(1) },
	} {
		func() {
			defer func() {
				if s, _ := recover().(string); !strings.Contains(s, "redisbloom: ") || !strings.Contains(s, "New") {
					t.Errorf("%s of a zero sketch: %q", name, s)
				}
			}()
			change()
		}()
	}
}

func FuzzSketchBinary(f *testing.F) {
	all, _ := sampleSketches(f, nil)
	for _, s := range all {
		data, _ := s.MarshalBinary()
		f.Add(data[:len(data)-4])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// The checksum is made here, so that the fuzzer gets past it.
		data = binary.LittleEndian.AppendUint32(bytes.Clone(data), redisbloom.Checksum(data))
		c, k, d := new(redisbloom.CountMin), new(redisbloom.TopK), new(redisbloom.TDigest)
		for _, s := range []sketch{c, k, d} {
			var err error
			if n := allocated(func() { err = s.UnmarshalBinary(data) }); n > 1<<16+8*uint64(len(data)) {
				t.Fatalf("%T: %d bytes allocated for %d", s, n, len(data))
			}
			if err != nil {
				if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) {
					t.Fatalf("error of another kind: %v", err)
				}
				continue
			}
			if got, _ := s.MarshalBinary(); !bytes.Equal(got, data) {
				t.Fatalf("%T comes back as %x, was %x", s, got, data)
			}
		}
		useSketches(c, k, d)
	})
}

// useSketches asks and changes sketches that may hold anything.
func useSketches(c *redisbloom.CountMin, k *redisbloom.TopK, d *redisbloom.TDigest) {
	if c.Depth() > 0 {
		c.Incr([]byte("item"), 3)
		c.Count([]byte("other"))
		_ = c.Merge([]*redisbloom.CountMin{c}, nil)
	}
	if k.K() > 0 {
		for i := range 5 {
			_, _, _ = k.Incr(item(i), 100)
		}
		for range k.All() {
			continue
		}
		k.Stats()
		_, _ = k.Dump().New(nil)
	}
	if s := d.Stats(); s.Compression > 0 && s.Compression < 1000 {
		for i := range 2 * s.Capacity {
			_ = d.Add(float64(i))
		}
		d.CDF(3)
		d.Quantile(0.7)
		d.ByRank(7)
		d.TrimmedMean(0.1, 0.6)
		_, _ = d.Dump().New(nil)
	}
}

// FuzzSketchDumps makes sketches of dumps with any contents: all or nothing,
// without more memory than Bytes says, and without a panic later.
func FuzzSketchDumps(f *testing.F) {
	f.Add(uint64(3), uint64(2), uint64(1), 0.9, make([]byte, 48), make([]byte, 24))
	f.Add(uint64(10), uint64(70), uint64(2), 10.0, make([]byte, 16), make([]byte, 16))
	f.Add(uint64(math.MaxUint64), uint64(1), uint64(0), math.NaN(), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, x, y, z uint64, v float64, a, b []byte) {
		c, errC := redisbloom.CountMinDump{Width: x, Depth: y, Count: z, Cells: a}.New(nil)
		items := make([][]byte, len(b)/24)
		for i := range items {
			items[i] = append(bytes.Clone(b[:min(i, 8)]), 0)
		}
		k, errK := redisbloom.TopKDump{K: z, Width: x, Depth: y, Decay: v, Cells: a, Slots: b, Items: items}.New(nil)
		var d *redisbloom.TDigest
		dump := redisbloom.TDigestDump{
			Compression: v, Min: math.Float64frombits(x), Max: math.Float64frombits(y), Capacity: uint64(min(max(6*v+10, 0), 1e9)),
			Merged: uint64(len(a) / 8), Unmerged: z, UnmergedWeight: float64(z), Compressions: y,
		}
		for ; len(a) >= 8; a = a[8:] {
			dump.Means = append(dump.Means, math.Float64frombits(binary.LittleEndian.Uint64(a)))
			w := float64(1 + x%1000)
			dump.Weights = append(dump.Weights, w)
			dump.MergedWeight += w
		}
		errD := bloomery.ErrCorrupt
		if n, err := dump.Bytes(); err != nil || n < 1<<20 {
			d, errD = dump.New(nil)
		}
		for i, err := range []error{errC, errK, errD} {
			if err != nil && !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrTooLarge) {
				t.Fatalf("sketch %d: error of another kind: %v", i, err)
			}
		}
		if c == nil {
			c = new(redisbloom.CountMin)
		}
		if k == nil {
			k = new(redisbloom.TopK)
		}
		if d == nil {
			d = new(redisbloom.TDigest)
		}
		useSketches(c, k, d)
	})
}

var sketchGolden = [3]string{
	"626c6d72434d0100180000000300000000000000020000000000000070110100000000007011010000000000000000000000000070110100000000006b5b3a97",
	"626c6d72544b01002800000002000000020000000100000000000000000000000000e03f4674df7d2c6da6da280000000000000000c46440000000000400000000000000666f6f03ad4d2305000000060000000000000068656c6c6f000000000000000003ad4d23040000002fff9399",
	"626c6d7254440100300000000100000000000000000000000000f0bf0000000000000840030000000000000001000000000000000100000000000000000000000000f03f01000000000000000000000000000040010000000000000000000000000008400100000000000000000000000000f0bf01000000000000006b098867",
}
