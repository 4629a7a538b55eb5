package codec_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// TestConfigFields holds every field of every Config against every constructor:
// one that does not use a field refuses it by name, one that does never says
// that it is not used.
func TestConfigFields(t *testing.T) {
	const opens = "Hasher Alloc"
	const views = "Hasher"
	const bits = "Capacity Headroom ErrorRate Bits Hashes BitsPerKey Hasher Alloc"
	const builds = "Max Bits Headroom ErrorRate Hasher Alloc"
	const counters = "Capacity ErrorRate Bits Hashes BitsPerKey Hasher Alloc CounterBits"
	const static = "ErrorRate Shards Hasher Alloc Workers Progress"
	const stream = "ErrorRate Shards Hasher Workers Progress Scratch Memory"
	fieldsOf(t, map[string]string{
		"New": bits + " Foldable", "NewStandard": bits + " Foldable", "NewPartitioned": bits, "NewSplit": bits + " Foldable", "NewConcurrent": bits,
		"NewBuilder": builds, "NewStandardBuilder": builds, "NewSplitBuilder": builds,
		"NewSliced": bits + " Columns", "NewScalable": "Capacity Headroom ErrorRate Growth Hasher Alloc",
		"NewSplitFromBitset": "Capacity Hasher Alloc",
		"Decode":             opens, "DecodeStandard": opens, "DecodePartitioned": opens, "DecodeSplit": opens, "DecodeScalable": opens, "DecodeSliced": opens,
		"Read": opens, "ReadSliced": opens, "View": views, "ViewSliced": views, "At": views,
	}, bloom.Config{})
	fieldsOf(t, map[string]string{
		"New": counters + " Copies Overflow", "NewSpectral": counters, "NewStable": counters,
		"Decode": opens, "DecodeSpectral": opens, "DecodeStable": opens,
		"Read": opens, "View": views,
	}, counting.Config{})
	fieldsOf(t, map[string]string{
		"New": "Capacity ErrorRate Buckets Width BitsPerKey Hasher Alloc", "Decode": opens, "Read": opens, "View": views,
	}, cuckoo.Config{})
	fieldsOf(t, map[string]string{
		"New": "Capacity ErrorRate BitsPerKey Doublings Hasher Alloc", "Decode": opens, "Read": opens, "View": views,
		"NewGrowing": "Capacity ErrorRate Expected Hasher", "DecodeGrowing": "Hasher",
	}, quotient.Config{})
	fieldsOf(t, map[string]string{
		"New": "Capacity ErrorRate Generations Burst Rotate Hasher Alloc", "Decode": opens, "Read": opens, "View": views,
	}, compose.WindowConfig{})
	fieldsOf(t, map[string]string{
		"New": "Capacity ErrorRate Members Need Hasher Alloc", "Decode": "Open", "View": "Open",
	}, compose.QuorumConfig{})
	fieldsOf(t, map[string]string{"New": "Capacity Stripes Make", "Decode": "Open"}, compose.StripedConfig{})
	fieldsOf(t, map[string]string{"Decode": "Open", "View": "Open"}, compose.CorrectedConfig{})
	fieldsOf(t, map[string]string{"Decode": "Open Exact", "View": "Open Exact"}, compose.LayersConfig{})
	fieldsOf(t, map[string]string{
		"Build": static + " Arity", "Stream": stream + " Arity", "Decode": opens, "Read": opens, "View": views, "At": views,
	}, fuse.Config[uint8]{})
	fieldsOf(t, map[string]string{
		"Build": static + " Width", "Stream": stream + " Width", "Decode": opens, "Read": opens, "View": views, "At": views,
		"BuildMap": static + " Width ValueBits Largest", "StreamMap": stream + " Width ValueBits Largest", "DecodeMap": opens, "ReadMap": opens,
	}, ribbon.Config{})
	const universe = static + " Width Overlap"
	fieldsOf(t, map[string]string{
		"Build": universe, "BuildGroups": universe, "BuildFrom": stream + " Width Overlap Alloc", "Decode": opens, "Read": opens, "View": views,
	}, exact.Config{})
}

// fieldsOf tests the constructors of a Config, all of them, by the fields that
// each uses.
func fieldsOf(t *testing.T, used map[string]string, config any) {
	t.Helper()
	typ := reflect.TypeOf(config)
	for m := range typ.Methods() {
		names, known := used[m.Name]
		if !known {
			t.Errorf("%v.%s is in no line of the table", typ, m.Name)
			continue
		}
		for f := range typ.Fields() {
			if f.Name == "_" {
				continue
			}
			v := reflect.New(typ).Elem()
			v.FieldByIndex(f.Index).Set(some(f.Type))
			err := construct(v.MethodByName(m.Name))
			say := f.Name + " is set, which " + m.Name + " does not use"
			refused := err != nil && strings.Contains(err.Error(), say)
			if uses := slices.Contains(strings.Fields(names), f.Name); uses == refused {
				t.Errorf("%v.%s with %s: %v; it is used: %v", typ, m.Name, f.Name, err, uses)
			}
			if refused && !errors.Is(err, bloomery.ErrParameter) {
				t.Errorf("%v.%s with %s: %v, want ErrParameter", typ, m.Name, f.Name, err)
			}
		}
	}
}

// construct calls a constructor and returns its error; a Stream is written.
func construct(method reflect.Value) error {
	in := make([]reflect.Value, method.Type().NumIn())
	for i := range in {
		switch t := method.Type().In(i); {
		case t == reflect.TypeFor[context.Context]():
			in[i] = reflect.ValueOf(context.Background())
		case t == reflect.TypeFor[io.Reader]():
			in[i] = reflect.ValueOf(strings.NewReader(""))
		case t == reflect.TypeFor[io.ReaderAt]():
			in[i] = reflect.ValueOf(strings.NewReader(""))
		case t == reflect.TypeFor[[]byte]():
			in[i] = reflect.ValueOf(make([]byte, 32))
		case t == reflect.TypeFor[iter.Seq[uint64]]():
			in[i] = reflect.ValueOf(iter.Seq[uint64](func(func(uint64) bool) {}))
		default:
			in[i] = reflect.Zero(t)
		}
	}
	out := method.Call(in)
	if s, ok := reflect.TypeAssert[io.WriterTo](out[0]); ok && len(out) == 1 {
		_, err := s.WriteTo(io.Discard)
		return err
	}
	err, _ := reflect.TypeAssert[error](out[len(out)-1])
	return err
}

// noScratch is a scratch that keeps nothing.
type noScratch struct{}

func (noScratch) ReadAt([]byte, int64) (int, error)  { return 0, io.ErrUnexpectedEOF }
func (noScratch) WriteAt([]byte, int64) (int, error) { return 0, io.ErrShortWrite }

// some returns a value that is not zero.
func some(t reflect.Type) reflect.Value {
	if t == reflect.TypeFor[hashing.Hasher]() {
		return reflect.ValueOf(hashing.Seeded(1))
	}
	switch t.Kind() {
	case reflect.Interface:
		return reflect.ValueOf(noScratch{})
	case reflect.Bool:
		return reflect.ValueOf(true)
	case reflect.Func:
		return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value {
			out := make([]reflect.Value, t.NumOut())
			for i := range out {
				out[i] = reflect.Zero(t.Out(i))
			}
			return out
		})
	case reflect.Float64:
		return reflect.ValueOf(0.25)
	}
	return reflect.ValueOf(1).Convert(t)
}

// TestBitsPerKey makes filters for a budget of memory: they stay within it, and
// their rate is at most that of the same kind at a rate that takes as much.
func TestBitsPerKey(t *testing.T) {
	const n = 10_000
	for name, c := range map[string]struct {
		bits float64
		make func(bits, p float64) (bloomery.Hashed, error)
	}{
		"bloom": {10, func(b, p float64) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.New()
		}},
		"standard": {20, func(b, p float64) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.NewStandard()
		}},
		"partitioned": {9.6, func(b, p float64) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.NewPartitioned()
		}},
		"split": {12, func(b, p float64) (bloomery.Hashed, error) {
			return bloom.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.NewSplit()
		}},
		"counting": {50, func(b, p float64) (bloomery.Hashed, error) {
			return counting.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.New()
		}},
		"spectral": {330, func(b, p float64) (bloomery.Hashed, error) {
			return counting.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.NewSpectral()
		}},
		"stable": {36, func(b, p float64) (bloomery.Hashed, error) {
			return counting.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.NewStable()
		}},
		"cuckoo": {12, func(b, p float64) (bloomery.Hashed, error) {
			return cuckoo.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.New()
		}},
		"quotient": {12, func(b, p float64) (bloomery.Hashed, error) {
			return quotient.Config{Capacity: n, BitsPerKey: b, ErrorRate: p}.New()
		}},
	} {
		f, err := c.make(c.bits, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := f.Stats()
		if got := float64(s.Bits) / n; got > c.bits*1.02 || got < c.bits*0.8 {
			t.Errorf("%s: %.2f bits per key, want %v at most", name, got, c.bits)
		}
		// At twice the rate it would be smaller, at half of it larger.
		for factor, larger := range map[float64]bool{2.5: false, 0.4: true} {
			g, err := c.make(0, s.Asked*factor)
			if err != nil {
				t.Errorf("%s: rate %v: %v", name, s.Asked*factor, err)
				continue
			}
			if got := g.Stats().Bits; larger && got <= s.Bits || !larger && got >= s.Bits+s.Bits/100 {
				t.Errorf("%s: rate %g has %d bits, rate %g has %d", name, s.Asked, s.Bits, s.Asked*factor, got)
			}
		}
		if _, err := c.make(c.bits, 0.01); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: BitsPerKey and ErrorRate: %v, want ErrParameter", name, err)
		}
		for _, bad := range []float64{-1, math.NaN(), 1e300} {
			if g, err := c.make(bad, 0); err == nil && bad != 1e300 || bad == 1e300 && err == nil && g.Stats().Bits > 1<<40 {
				t.Errorf("%s: %v bits per key: %+v, want an error", name, bad, g.Stats())
			}
		}
	}
}

// TestViewRefusesAlloc: a view has no array to place.
func TestViewRefusesAlloc(t *testing.T) {
	f := bloom.New(100, 0.01)
	called := false
	c := codec.Config{Alloc: func(n int) ([]byte, error) { called = true; return make([]byte, n), nil }}
	if v, err := c.View(encoded(t, f)); !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), "Alloc") || called {
		t.Errorf("View with Alloc = %v, %v, want ErrParameter that names Alloc", v, err)
	}
	if _, err := c.Open(encoded(t, f)); err != nil || !called {
		t.Errorf("Open with Alloc: %v, it was called: %v", err, called)
	}
}
