package codec_test

import (
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/filtertest"
	"github.com/bloomery/bloomery/fuse"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/ribbon"
)

// traits are what the suite has to know of a kind that its features do not say.
var traits = map[string]struct {
	rates            []float64 // nil for all
	distinct, coarse bool
	apart            bool // Union does not give what adding all keys to one filter would
	long             bool // left out with -short: another kind has the same code
	onHeap           bool // it does not use Alloc
	endless          bool // it has no capacity
}{
	"scalable": {apart: true, coarse: true}, // a layer has a part of the rate
	"counting": {rates: []float64{1e-2, 1e-3, 1e-4, 1e-6}},
	"spectral": {rates: []float64{1e-2, 1e-3}}, // lookups are those of counting
	"stable":   {rates: []float64{1e-2, 1e-3}},
	"cuckoo":   {rates: []float64{1e-2, 1e-3, 1e-4, 1e-5}, distinct: true},
	"quotient": {rates: []float64{1e-2, 1e-3, 1e-4, 1e-5}, apart: true},
	// Most of the rate is for later generations; segments come and go.
	"growing": {rates: []float64{1e-2, 1e-3, 1e-4, 1e-5}, coarse: true, onHeap: true, endless: true},
	// Each generation has a share of the rate, and blocks end at about 1e-6. It
	// is sized for bursts, so that keys that come evenly have a lower rate.
	"window": {rates: []float64{1e-2, 1e-3, 1e-5}, coarse: true},
	"quorum": {rates: []float64{1e-2, 1e-3}}, // its members are held to all
	"fuse8":  {rates: []float64{1e-2}, coarse: true},
	"fuse16": {rates: []float64{1e-2, 1e-4}, coarse: true, long: true},
	"fuse32": {rates: []float64{1e-2, 1e-5}, coarse: true, long: true},
}

// TestConformance runs the suite for every kind of the table.
func TestConformance(t *testing.T) {
	for _, k := range codec.Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			if testing.Short() && traits[k.Name].long {
				t.Skip("another kind of the same code is tested")
			}
			filtertest.Test(t, conformer(k))
		})
	}
}

// conformer returns what the suite needs of a kind.
func conformer(k codec.Kind) filtertest.Kind {
	trait := traits[k.Name]
	c := filtertest.Kind{
		Name:     k.Name,
		Rates:    trait.rates,
		Distinct: trait.distinct,
		Coarse:   trait.coarse,
		Endless:  trait.endless,
		Forgets:  k.Features.Forget,
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			return filledKind(k, hs, n, p, hashing.Hasher{})
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) { return filledKind(k, nil, 100, 0.01, h) },
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return codec.Config{Hasher: h}.Open(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) { return codec.Read(r) },
		View: codec.Config{}.View,
	}
	f, err := filledKind(k, nil, 1, 0.01, hashing.Hasher{})
	if err != nil {
		panic(err)
	}
	method := func(name string) (m reflect.Method, ok bool) { return reflect.TypeOf(f).MethodByName(name) }
	union, ok := method("Union")
	if !ok {
		union, ok = method("Merge")
	}
	if ok && !trait.apart {
		c.Union = func(a, b bloomery.Hashed) error {
			err, _ := reflect.TypeAssert[error](union.Func.Call([]reflect.Value{reflect.ValueOf(a), reflect.ValueOf(b)})[0])
			return err
		}
	}
	if clone, ok := method("Clone"); ok {
		c.Clone = func(a bloomery.Hashed) bloomery.Hashed {
			return clone.Func.Call([]reflect.Value{reflect.ValueOf(a)})[0].Interface().(bloomery.Hashed)
		}
		c.Clear = func(a bloomery.Hashed) { a.(interface{ Clear() }).Clear() }
	}
	return c
}

// filledKind returns a filter of a kind that holds the keys with these hashes.
func filledKind(k codec.Kind, hs []uint64, n int, p float64, h hashing.Hasher) (bloomery.Hashed, error) {
	if k.Build != nil {
		return k.Build(slices.Clone(hs), p, h)
	}
	f, err := k.New(n, p, h)
	if err != nil {
		return nil, err
	}
	switch f := f.(type) {
	case *compose.Window:
		fillWindow(f, hs)
	case bloomery.Adder:
		f.AddHashes(nil, hs)
	case bloomery.Inserter:
		for _, h := range hs {
			if err := f.InsertHash(h); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// fillWindow spreads keys over a span by their hashes: a window keeps its rate for
// keys that come at times, not all at once.
func fillWindow(w *compose.Window, hs []uint64) {
	generations := uint64(w.Shape().Generations)
	for g := range generations {
		w.Advance(g)
		for _, h := range hs {
			if bloomery.Salted(h, 1)%generations == g {
				w.AddHash(h)
			}
		}
	}
}

// zeros are all types, with what makes one.
var zeros = []struct {
	zero        any
	constructor string
}{
	{new(bloom.Filter), "Config.New"},
	{new(bloom.Standard), "NewStandard"},
	{new(bloom.Partitioned), "NewPartitioned"},
	{new(bloom.Split), "NewSplit"},
	{new(bloom.Scalable), "NewScalable"},
	{new(bloom.Sliced), "NewSliced"},
	{new(bloom.Concurrent), "NewConcurrent"},
	{new(counting.Filter), "Config.New"},
	{new(counting.Spectral), "NewSpectral"},
	{new(counting.Stable), "NewStable"},
	{new(cuckoo.Filter), "Config.New"},
	{new(quotient.Filter), "Config.New"},
	{new(quotient.Growing), "NewGrowing"},
	{new(fuse.Filter[uint8]), ""},
	{new(ribbon.Filter), ""},
	{new(ribbon.Map), ""},
	{new(exact.Filter), ""},
	{new(compose.Window), "NewWindow"},
	{new(compose.Quorum), "NewQuorum"},
	{new(compose.Striped), "StripedConfig.New"},
	{new(compose.Corrected), "NewCorrected"},
	{new(compose.Layers), "NewLayers"},
}

// TestZero holds every type of every family to the law of zero values.
func TestZero(t *testing.T) {
	for _, c := range zeros {
		filtertest.Zero(t, c.zero, c.constructor)
	}
}

// TestShortDst is the law of short slices for all kinds, and for those that no
// table has.
func TestShortDst(t *testing.T) {
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, hashes(10, 1), 10, 0.01, hashing.Hasher{})
		if err != nil {
			t.Fatal(err)
		}
		filtertest.ShortDst(t, f)
		v, err := codec.Config{}.View(encoded(t, f))
		if err != nil {
			t.Fatal(err)
		}
		filtertest.ShortDst(t, v)
	}
	f := bloom.NewConcurrent(1000, 0.01)
	f.AddString("alice")
	filtertest.ShortDst(t, f)
	for _, f := range []bloomery.Hashed{stripedFilter(t, hashing.Hasher{}), correctedFilter(t, hashing.Hasher{}), layersFilter(t, hashing.Hasher{}), rotatingWindow(t, windowKey)} {
		filtertest.ShortDst(t, f)
	}
}

// stripedFilter returns a Striped of four cuckoo filters that hold some keys.
func stripedFilter(t testing.TB, h hashing.Hasher) *compose.Striped {
	t.Helper()
	f, err := compose.StripedConfig{Capacity: 100, Stripes: 4, Make: func(n int) (bloomery.Hashed, error) {
		return cuckoo.Config{Capacity: n, ErrorRate: 0.01, Hasher: h}.New()
	}}.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.InsertHashes(hashes(50, 1)); err != nil {
		t.Fatal(err)
	}
	return f
}

// correctedFilter returns a Corrected over a bloom.Filter with some keys, and reports in
// both halves.
func correctedFilter(t testing.TB, h hashing.Hasher) *compose.Corrected {
	t.Helper()
	f, err := bloom.Config{Capacity: 50, ErrorRate: 0.3, Hasher: h}.New()
	if err != nil {
		t.Fatal(err)
	}
	f.AddHashes(nil, hashes(50, 1))
	return corrected(t, f)
}

// corrected returns a Corrected over f, with reports in both halves if it has false positives.
func corrected(t testing.TB, f bloomery.Hashed) *compose.Corrected {
	t.Helper()
	c, err := compose.NewCorrected(8, f)
	if err != nil {
		t.Fatal(err)
	}
	reportSome(c, 7)
	return c
}

// strangers are hashes that reportSome tries: at a rate of 1% five times as many as it reports.
var strangers = hashes(10_000, 1000)

// reportSome reports hashes that are not in c until so many are held, as far as there are some
// among strangers: of very small filters there may be none.
func reportSome(c *compose.Corrected, n uint64) {
	for _, h := range strangers {
		found, m := c.AskHash(h)
		if !found {
			continue
		}
		if c.Report(m); c.Counts().Held >= n {
			return
		}
	}
}

// TestConformanceCorrected runs the suite for a Corrected over kinds that can all that it can,
// with some reports.
func TestConformanceCorrected(t *testing.T) {
	for _, k := range codec.Kinds() {
		if !slices.Contains([]string{"counting", "cuckoo", "quotient"}, k.Name) {
			continue
		}
		correct := func(f bloomery.Hashed, err error) (bloomery.Hashed, error) {
			if err != nil {
				return nil, err
			}
			c, err := compose.NewCorrected(0, f)
			if err != nil {
				return nil, err
			}
			reportSome(c, 20)
			return c, nil
		}
		kind := conformer(k)
		kind.Name = "corrected"
		kind.Rates = []float64{1e-2}
		kind.Union, kind.Clone, kind.Clear = nil, nil, nil
		kind.Make = func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			return correct(filledKind(k, hs, n, p, hashing.Hasher{}))
		}
		kind.MakeKeyed = func(h hashing.Hasher) (bloomery.Hashed, error) { return correct(filledKind(k, nil, 100, 0.01, h)) }
		t.Run(k.Name, func(t *testing.T) { filtertest.Test(t, kind) })
	}
}

// layersFilter returns Layers of a bloom.Filter and a cuckoo filter that hold some keys.
func layersFilter(t testing.TB, h hashing.Hasher) *compose.Layers {
	t.Helper()
	first, err := bloom.Config{Capacity: 60, ErrorRate: 0.1, Hasher: h}.New()
	if err != nil {
		t.Fatal(err)
	}
	second, err := cuckoo.Config{Capacity: 60, ErrorRate: 0.1, Hasher: h}.New()
	if err != nil {
		t.Fatal(err)
	}
	l, err := compose.NewLayers(nil, first, second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.InsertHashes(hashes(50, 1)); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestConformanceLayers runs the suite for Layers of two quotient filters without an exact function.
func TestConformanceLayers(t *testing.T) {
	empty := func(n int, p float64, h hashing.Hasher) (*compose.Layers, error) {
		each := quotient.Config{Capacity: n, ErrorRate: math.Sqrt(p), Hasher: h}
		first, err := each.New()
		if err != nil {
			return nil, err
		}
		second, err := each.New()
		if err != nil {
			return nil, err
		}
		return compose.NewLayers(nil, first, second)
	}
	filtertest.Test(t, filtertest.Kind{
		Name: "layers", Rates: []float64{1e-2, 1e-4}, Coarse: true,
		Make: func(hs []uint64, n int, p float64) (bloomery.Hashed, error) {
			l, err := empty(n, p, hashing.Hasher{})
			if err == nil {
				_, err = l.InsertHashes(hs)
			}
			return l, err
		},
		MakeKeyed: func(h hashing.Hasher) (bloomery.Hashed, error) { return empty(100, 0.01, h) },
		Decode: func(data []byte, h hashing.Hasher) (bloomery.Hashed, error) {
			return codec.Config{Hasher: h}.Open(data)
		},
		Read: func(r io.Reader) (bloomery.Hashed, error) { return codec.Read(r) },
		View: codec.Config{}.View,
	})
}

// windowKey is the secret of rotatingWindow.
var windowKey = hashing.Keyed([16]byte([]byte("sixteen byte key")))

// rotatingWindow returns a Window with a secret for each generation and some keys.
func rotatingWindow(t testing.TB, h hashing.Hasher) *compose.Window {
	t.Helper()
	w, err := compose.WindowConfig{Capacity: 100, ErrorRate: 0.01, Generations: 3, Rotate: true, Hasher: h}.New()
	if err != nil {
		t.Fatal(err)
	}
	fillWindow(w, hashes(50, 1))
	return w
}

// TestViewClone clones the view of every kind, sound and corrupt: all return
// the filter, in memory of its own, or an error.
func TestViewClone(t *testing.T) {
	for _, k := range codec.Kinds() {
		f, err := filledKind(k, hashes(100, 3), 100, 0.01, hashing.Keyed([16]byte{1}))
		if err != nil {
			t.Fatal(err)
		}
		data := encoded(t, f)
		for _, bad := range []bool{false, true} {
			if bad {
				data[len(data)-20] ^= 1 // the end of the payload, or the table
			}
			v, err := codec.Config{Hasher: hashing.Keyed([16]byte{1})}.View(data)
			if bad && errors.Is(err, bloomery.ErrCorrupt) {
				continue // it is what a view looks at
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := v.Clone()
			if bad {
				if !errors.Is(err, bloomery.ErrCorrupt) || c != nil {
					t.Errorf("%s: clone of a corrupt view: %v, %v, want ErrCorrupt", k.Name, c, err)
				}
				continue
			}
			if err != nil || reflect.TypeOf(c) != reflect.TypeOf(f) || string(encoded(t, c)) != string(data) {
				t.Errorf("%s: the clone of the view is another filter (%v)", k.Name, err)
			}
			before := string(data)
			change(t, c)
			if string(data) != before {
				t.Errorf("%s: what is added to the clone is in the data of the view", k.Name)
			}
		}
	}
}
