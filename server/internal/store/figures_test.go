package store_test

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// ones returns the share of the bits of b that are set.
func ones(b []byte) float64 {
	n := 0
	for _, v := range b {
		n += bits.OnesCount8(v)
	}
	return float64(n) / float64(8*len(b))
}

// near reports whether a figure is within a share of what is expected.
func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

// TestLayersOfBloom holds what is shown of the layers of a BF to its arrays, small ones
// that are counted and a large one of which pieces are.
func TestLayersOfBloom(t *testing.T) {
	for _, capacity := range []uint64{100, 150_000} {
		s := store.New()
		e := apply(t, s, store.Record{Body: &store.MakeBloom{Name: []byte("k"), Params: redisbloom.BloomParams{ErrorRate: 0.01, Capacity: capacity, Expansion: 2}}}).Entry
		p := contents.PartOf(e)
		ds := make([]redisbloom.Digest, capacity*3/2)
		for i := range ds {
			ds[i] = redisbloom.BloomDigest([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
		}
		apply(t, s, store.Record{ID: e.ID, Body: &store.BloomAdd{Room: store.Unlimited, Digests: ds}})
		layers, ok := p.Layers(10)
		if !ok || len(layers) != 2 {
			t.Fatalf("capacity %d: %d layers, %v, want 2", capacity, len(layers), ok)
		}
		if few, _ := p.Layers(1); len(few) != 1 {
			t.Errorf("capacity %d: %d layers, asked for 1", capacity, len(few))
		}
		i := 0
		for array := range p.Bloom().Arrays() {
			l, fill := layers[i], ones(array)
			within := 1e-12
			if len(array) > 64<<10 {
				within = 0.02 // 4 KiB of each 16th: a sigma of 0.2%
			}
			hashes := float64(p.Bloom().Layer(i).Hashes)
			if !near(l.Saturation, fill, within) || !near(l.Predicted, math.Pow(fill, hashes), hashes*within) || l.Bytes < uint64(len(array)) {
				t.Errorf("capacity %d, layer %d: %+v, want a fill of %g", capacity, i, l, fill)
			}
			i++
		}
	}
}

// TestLayersOfCuckoo holds what is shown of the sub-filters of a CF to its arrays.
func TestLayersOfCuckoo(t *testing.T) {
	s := store.New()
	e := apply(t, s, filled[1].create).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: hashes(1500)}})
	p := contents.PartOf(e)
	layers, ok := p.Layers(10)
	arrays := slices.Collect(p.Cuckoo().Arrays())
	if !ok || len(layers) != len(arrays) || len(layers) < 2 {
		t.Fatalf("%d layers, %v, want %d", len(layers), ok, len(arrays))
	}
	for i, array := range arrays {
		used := 0.0
		for _, b := range array {
			if b != 0 {
				used++
			}
		}
		load := used / float64(len(array))
		rate := 1 - math.Pow(254.0/255, 4*load) // two buckets of two slots
		if l := layers[i]; l.Items != uint64(used) || !near(l.Saturation, load, 1e-12) || !near(l.Predicted, rate, 1e-9) || !near(l.Asked, 4.0/255, 1e-12) {
			t.Errorf("layer %d: %+v, want %g of %d slots and a rate of %g", i, l, used, len(array), rate)
		}
	}
}

// TestDensity holds the cells of a map to the array that they show, in pieces whose
// length is no multiple of a word.
func TestDensity(t *testing.T) {
	s := store.New()
	e := apply(t, s, filled[0].create).Entry
	apply(t, s, store.Record{ID: e.ID, Body: &store.BloomAdd{Room: store.Unlimited, Digests: digests(500)}})
	p := contents.PartOf(e)
	array := slices.Collect(p.Bloom().Arrays())[0]
	cells := make([]contents.Cell, 7)
	if ofBits, ok := p.Density(cells, 0, len(cells)); !ok || !ofBits {
		t.Fatalf("Density() = %v, %v, want bits", ofBits, ok)
	}
	for i, got := range cells {
		from, to := len(array)*i/len(cells), len(array)*(i+1)/len(cells)
		if want := ones(array[from:to]); !near(got.Used, want, 0.02) || got.Array != 0 { // an end may be a byte off
			t.Errorf("cell %d is %+v, want %g", i, got, want)
		}
	}
	small := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("small"), Header: creation(t, 100, 0).Body.(*store.Make).Header}}).Entry
	apply(t, s, store.Record{ID: small.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hashes(1)}})
	part := contents.PartOf(small)
	clear(cells)
	if ofBits, ok := part.Density(cells, 0, len(cells)); !ok || !ofBits || !slices.ContainsFunc(cells, func(c contents.Cell) bool { return c.Used > 0 }) {
		t.Errorf("a small filter with one key: %v, %v, %v", cells, ofBits, ok)
	}
}

// TestDensityOfGrowing asks a filter that grows, whose keys have hashes of the lower half
// only: the upper half is empty. In pieces the cells are those of one call.
func TestDensityOfGrowing(t *testing.T) {
	outline, err := codec.AppendOutline(nil, quotient.NewGrowing(40_000, 0.01))
	if err != nil {
		t.Fatal(err)
	}
	s := store.New()
	e := apply(t, s, store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("g"), Header: contents.AppendCreation(nil, &contents.Plan{}, outline)}}).Entry
	hs := hashes(20_000)
	for i := range hs {
		hs[i] >>= 1
	}
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs}})
	p, cells := contents.PartOf(e), make([]contents.Cell, 64)
	if ofBits, ok := p.Density(cells, 0, len(cells)); !ok || ofBits {
		t.Fatalf("Density() = %v, %v, want bytes", ofBits, ok)
	}
	for i, got := range cells {
		if full := i < len(cells)/2; full != (got.Used > 0.5) || !full && got.Used > 0 {
			t.Errorf("cell %d is %+v", i, got)
		}
	}
	pieces := make([]contents.Cell, len(cells))
	for i := 0; i < len(pieces); i += 24 {
		p.Density(pieces[i:min(i+24, len(pieces))], i, len(pieces))
	}
	if !slices.Equal(pieces, cells) {
		t.Errorf("in pieces: %v, want %v", pieces, cells)
	}
}

// TestProbeCounts asks a filter for hashes that it has and for others.
func TestProbeCounts(t *testing.T) {
	s := store.New()
	e := apply(t, s, creation(t, 1000, 0)).Entry
	hs := hashes(64)
	apply(t, s, store.Record{ID: e.ID, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: hs[:40]}})
	dst := make([]bool, 64)
	if yes, ok := contents.PartOf(e).Probe(dst, hs, true); !ok || yes < 40 || yes > 43 {
		t.Errorf("Probe() = %d, %v, want the 40 that were added", yes, ok)
	}
}

// TestIncrementOverflows counts up and down to both ends of what fits.
func TestIncrementOverflows(t *testing.T) {
	s := store.New()
	name := []byte("n")
	for _, c := range []struct {
		old  string
		by   int64
		want int64
		err  error
	}{
		{"9223372036854775806", 1, math.MaxInt64, nil},
		{"9223372036854775807", 1, 0, store.ErrOverflow},
		{"1", math.MaxInt64, 0, store.ErrOverflow},
		{"0", math.MaxInt64, math.MaxInt64, nil},
		{"-9223372036854775807", -1, math.MinInt64, nil},
		{"-9223372036854775808", -1, 0, store.ErrOverflow},
		{"-1", math.MinInt64, 0, store.ErrOverflow},
		{"0", math.MinInt64, math.MinInt64, nil},
		{"-9223372036854775808", math.MaxInt64, -1, nil},
		{"9223372036854775807", math.MinInt64, -1, nil},
	} {
		apply(t, s, store.Record{Body: &store.Set{String: store.String{Name: name, Value: []byte(c.old)}}})
		res := apply(t, s, store.Record{Body: &store.Increment{Name: name, By: c.by}})
		if !errors.Is(res.Err, c.err) || c.err == nil && res.N != c.want {
			t.Errorf("%s by %d = %d, %v, want %d, %v", c.old, c.by, res.N, res.Err, c.want, c.err)
		}
		if got := store.Text(s.Names.Get(name)); c.err != nil && got != c.old {
			t.Errorf("%s by %d: an error left %s", c.old, c.by, got)
		}
	}
}

// TestFails asks for which items of a batch an error is.
func TestFails(t *testing.T) {
	some := store.Result{Outcome: contents.Outcome{Done: 3, Failed: []bool{false, true, false}}}
	stopped := store.Result{Outcome: contents.Outcome{Done: 2}}
	for i, want := range []bool{false, true, false, true} {
		if got := some.Fails(i); got != want {
			t.Errorf("Fails(%d) = %v, want %v", i, got, want)
		}
		if got, want := stopped.Fails(i), i >= 2; got != want {
			t.Errorf("of a batch that stopped at 2, Fails(%d) = %v, want %v", i, got, want)
		}
	}
}

// TestMergeOverrides asks that OVERRIDE replaces a TDIGEST, and that without it what
// was there counts.
func TestMergeOverrides(t *testing.T) {
	for _, override := range []bool{false, true} {
		s := store.New()
		for i, name := range []string{"to", "from"} {
			e := apply(t, s, store.Record{Body: &store.Make{As: store.OpTDigest, Name: []byte(name), Header: redisbloom.AppendTDigestHeader(nil, redisbloom.TDigestParams{Compression: 100})}}).Entry
			apply(t, s, store.Record{ID: e.ID, Body: &store.TDigestAdd{Values: values(10 * (i + 1))}})
		}
		r := store.Record{Body: &store.TDigestMerge{Name: []byte("to"), Sources: [][]byte{[]byte("from")}, Override: override}}
		want := uint64(30)
		if override {
			want = 20
		}
		if res := apply(t, s, r); res.Err != nil {
			t.Fatal(res.Err)
		}
		if got := contents.PartOf(s.Names.Get([]byte("to"))).Contents().Stats().Items; got != want {
			t.Errorf("override %v: %d values, want %d", override, got, want)
		}
	}
}
