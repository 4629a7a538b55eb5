// Command literature measures what widespread texts get wrong about the uses of filters.
// docs/applications.md has the claims beside these figures.
//
//	go run ./examples/literature
package main

import (
	"context"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/hashing"
)

func main() { demo.Main(run) }

const rate = 0.01 // asked for, of all filters

// figures are rates of false positives, but for the fills.
type figures struct {
	overfilled, doubled       float64 // ten times and twice the capacity
	layers                    float64 // four layers at rates that grow fourfold
	standardFill, splitFill   float64 // at capacity
	standard, split           float64
	ranges                    float64 // empty ranges of 100 keys that seem to hold one
	plainEarly, plainLate     float64 // new packets that are dropped, of an endless stream
	stableLate                float64
	stableMissed              int // repeated packets within the horizon that are passed on
	modulo, routed, byTopBits float64
}

// keys is how many a filter has, full how many in a real case.
const keys, full = 20_000, 2_000_000

func run(ctx context.Context, o demo.Options) (figures, error) {
	n := demo.Pick(o, keys, full)
	var f figures
	for _, measure := range []func(n int){f.overfill, f.grow, f.saturate, f.stream, f.shard} {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		measure(n)
	}
	return f, nil
}

// key is the hash of the i-th key, and absent that of a key that no filter has.
func key(i int) uint64 { return hashing.Hasher{}.HashUint64(uint64(i)) }

func absent(i int) uint64 { return hashing.Hasher{}.HashUint64(1<<40 + uint64(i)) }

// falsePositives asks for as many absent keys as there are keys, ten times.
func falsePositives(n int, contains func(h uint64) bool) float64 {
	yes := 0
	for i := range 10 * n {
		if contains(absent(i)) {
			yes++
		}
	}
	return float64(yes) / float64(10*n)
}

// overfill puts ten times as many keys into a filter as it was made for.
func (f *figures) overfill(n int) {
	b := bloom.NewStandard(n, rate)
	for i := range 10 * n {
		b.AddHash(key(i))
		if i == 2*n-1 {
			f.doubled = falsePositives(n, b.ContainsHash)
		}
	}
	f.overfilled = falsePositives(n, b.ContainsHash)
}

// grow makes layers with the rates p·r^(2i) for r = 2: 1%, 4%, 16%, 64%. Each is full.
func (f *figures) grow(n int) {
	var layers []bloomery.Hashed
	p, from := rate, 0
	for i := range 4 {
		size := n << i / 8
		layer := bloom.NewStandard(size, p)
		for j := range size {
			layer.AddHash(bloomery.Salted(key(from+j), uint64(i)))
		}
		layers = append(layers, layer)
		p, from = 4*p, from+size
	}
	f.layers = falsePositives(n, func(h uint64) bool {
		for i, layer := range layers {
			if layer.ContainsHash(bloomery.Salted(h, uint64(i))) {
				return true
			}
		}
		return false
	})
}

// saturate fills filters of two layouts to their capacity: more than half of the bits are set, and
// the rate is kept.
func (f *figures) saturate(n int) {
	standard, split := bloom.NewStandard(n, rate), bloom.NewSplit(n, rate)
	for i := range n {
		standard.AddHash(key(i))
		split.AddHash(key(i))
	}
	f.standardFill, f.splitFill = standard.Stats().Saturation, split.Stats().Saturation
	f.standard, f.split = falsePositives(n, standard.ContainsHash), falsePositives(n, split.ContainsHash)
	f.ranges = emptyRanges(n, standard)
}

// emptyRanges asks for all keys of ranges of 100 that hold none, and returns in how many one seems
// to be.
func emptyRanges(n int, b *bloom.Standard) float64 {
	const width = 100
	yes := 0
	for from := 0; from < 10*n; from += width {
		for i := range width {
			if b.ContainsHash(absent(from + i)) {
				yes++
				break
			}
		}
	}
	return float64(yes) * width / float64(10*n)
}

// stream sends packets without end, all of them new, through a plain filter and one that forgets;
// each is sent again a little later.
func (f *figures) stream(n int) {
	plain, stable := bloom.New(n, rate), counting.NewStable(n, rate)
	const rounds = 30
	for round := range rounds {
		dropped, refused := 0, 0
		for i := range n {
			h := key(round*n + i)
			if !plain.AddHash(h) {
				dropped++
			}
			if stable.ContainsHash(h) {
				refused++
			}
			_ = stable.InsertHash(h) // whatever it was taken for; a Stable is never full
			if again := i - n/10; again >= 0 && !stable.ContainsHash(key(round*n+again)) {
				f.stableMissed++
			}
		}
		if round == 0 {
			f.plainEarly = float64(dropped) / float64(n)
		}
		f.plainLate, f.stableLate = float64(dropped)/float64(n), float64(refused)/float64(n)
	}
}

// shard spreads keys over 16 filters: by the hash modulo 16, by Route, and by the four top bits,
// which also say where a key lies in its filter.
func (f *figures) shard(n int) {
	for _, rule := range []struct {
		share *float64
		shard func(h uint64) int
	}{
		{&f.modulo, func(h uint64) int { return int(h % 16) }},
		{&f.routed, func(h uint64) int { return bloomery.Route(h, 4) }},
		{&f.byTopBits, func(h uint64) int { return int(h >> 60) }},
	} {
		var shards [16]*bloom.Filter
		for i := range shards {
			shards[i] = bloom.New(n/16, rate)
		}
		for i := range n {
			h := key(i)
			shards[rule.shard(h)].AddHash(h)
		}
		*rule.share = falsePositives(n, func(h uint64) bool { return shards[rule.shard(h)].ContainsHash(h) })
	}
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Percent("asked for everywhere", rate)
	t.Percent("rate of a filter with twice its keys", f.doubled)
	t.Percent("rate of a filter with ten times its keys", f.overfilled)
	t.Percent("rate of four layers at p·r^(2i), r = 2", f.layers)
	t.Percent("bits set at capacity, standard", f.standardFill)
	t.Percent("its rate", f.standard)
	t.Percent("bits set at capacity, split", f.splitFill)
	t.Percent("its rate, split", f.split)
	t.Percent("empty ranges of 100 keys that seem to hold one", f.ranges)
	t.Percent("packets dropped at first, plain filter", f.plainEarly)
	t.Percent("packets dropped after 30 times its capacity", f.plainLate)
	t.Percent("packets dropped then, Stable", f.stableLate)
	t.Count("repeated packets that Stable passes on", f.stableMissed)
	t.Percent("rate of 16 shards by hash modulo 16", f.modulo)
	t.Percent("rate of 16 shards by Route", f.routed)
	t.Percent("rate of 16 shards by top bits", f.byTopBits)
	return t
}
