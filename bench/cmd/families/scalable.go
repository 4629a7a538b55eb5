package main

import (
	"context"
	"fmt"

	boom "github.com/tylertreat/BoomFilters"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/internal/redisbloom"
)

// The contestants of the growing filters.
const (
	oursGrown  = "bloom.Scalable"
	redisGrown = "RedisBloom's rule"
	boomGrown  = "BoomFilters"
	rightSize  = "bloom.Filter of the right size"
)

const (
	growFrom = 1000
	growRate = 0.01
	// boomMost is the most keys that the layers of BoomFilters, which are all
	// of the first size and ask for a lower rate each, are tried with: at ten
	// million there would be ten thousand of them, and their rates too small
	// for a float64.
	boomMost = 100_000
)

// scalable grows filters from 1,000 keys. The rule of RedisBloom is that of
// foreign/redisbloom: layers double, their rates are halved.
func scalable(_ context.Context, b *bench) error {
	keys, others := keysOf(present, b.n), keysOf(absent, min(2_000_000, 10*b.n))
	there := pack(spread(keys))
	one := bloom.New(b.n, growRate)
	one.AddKeys(nil, keys)
	right := float64(one.Shape().Bits)
	b.note(rightSize, bits, right/float64(b.n))
	b.note(rightSize, rate, errorOf(others, one.ContainsKeys))

	ours := bloom.NewScalable(growFrom, growRate)
	ours.AddKeys(nil, keys)
	b.grown(oursGrown, float64(ours.Stats().Bits), right, ours.Layers())
	b.note(oursGrown, rate, errorOf(others, ours.ContainsKeys))
	lookups(b, oursGrown, single, b.pass()/4, there, others, each(ours.Contains))
	lookups(b, oursGrown, batch, b.pass()/4, there, others, ours.ContainsKeys)
	lookups(b, rightSize, single, b.pass()/4, there, others, each(one.Contains))

	redis, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: growRate, Capacity: growFrom, Expansion: 2})
	if err != nil {
		return err
	}
	for _, key := range keys {
		if _, err := redis.Add(key); err != nil {
			return err
		}
	}
	b.grown(redisGrown, float64(redis.Bytes())*8, right, redis.Layers())
	b.note(redisGrown, rate, errorOf(others, each(redis.Contains)))
	lookups(b, redisGrown, single, b.pass()/4, there, others, each(redis.Contains))
	if b.n <= boomMost {
		b.boomScalable(keys, there, others, right)
	}
	b.turns(b.rounds)
	return nil
}

func (b *bench) boomScalable(keys, there, others [][]byte, right float64) {
	f := boom.NewScalableBloomFilter(growFrom, growRate, 0.8)
	for _, key := range keys {
		f.Add(key)
	}
	// A layer of its own for every thousand keys, more or less.
	b.grown(boomGrown, float64(f.Capacity()), right, 0)
	some := others[:min(len(others), 100_000)]
	b.note(boomGrown, rate, errorOf(some, each(f.Test)))
	lookups(b, boomGrown, single, b.pass()/64, there, some, each(f.Test))
}

func (b *bench) grown(who string, size, right float64, layers int) {
	b.note(who, bits, size/float64(b.n))
	b.note(who, overRight, size/right)
	if layers > 0 {
		b.note(who, "layers", float64(layers))
	}
}

const overRight = "bits over one filter of the right size"

// growTimes is how many times the first capacity is outgrown.
var growTimes = []int{10, 100, 1000}

const highest = "highest rate predicted, over that asked"

// outgrown notes the bytes of a Scalable that has outgrown its first capacity and those
// of RedisBloom's rule, and the highest rate on the way.
func outgrown(_ context.Context, b *bench) error {
	ours := bloom.NewScalable(growFrom, growRate)
	redis, err := redisbloom.NewBloom(redisbloom.BloomParams{ErrorRate: growRate, Capacity: growFrom, Expansion: 2})
	if err != nil {
		return err
	}
	most := 0.0
	for i, key := range keysOf(present, b.n) {
		ours.Add(key)
		if _, err := redis.Add(key); err != nil {
			return err
		}
		if i%growFrom == growFrom-1 {
			most = max(most, ours.Stats().Predicted/growRate)
		}
	}
	b.note(oursGrown, bits, float64(ours.Stats().Bytes)*8/float64(b.n))
	b.note(oursGrown, highest, most)
	b.note(redisGrown, bits, float64(redis.Bytes())*8/float64(b.n))
	return nil
}

func scalableExperiments() []experiment {
	var all []experiment
	for _, times := range growTimes {
		all = append(all, experiment{"grown", growFrom * times, fmt.Sprintf(`Filters that were made for 1,000 keys at 1%% and got
			%d times as many.`, times), outgrown})
	}
	for _, n := range []int{boomMost, 10_000_000} {
		all = append(all, experiment{"scalable", n, `Filters that were made for 1,000 keys at 1% and got
			more. The layers of BoomFilters are all of the first size: with 100,000 keys it has a hundred.`, scalable})
	}
	return all
}

func scalableAims() []aim {
	const large, small = "scalable/n=10000000", "scalable/n=100000"
	all := []aim{
		atMost(1, "Scalable from 1,000 to 10 M keys at 1%, error in %", figureAt(at(large, oursGrown, rate))),
		atMost(36, "the same, bits per key", figureAt(at(large, oursGrown, bits))),
	}
	for _, times := range growTimes {
		what := fmt.Sprintf("grown/n=%d", growFrom*times)
		all = append(all,
			atMost(1.05, fmt.Sprintf("Scalable at 1%% grown %d times, bytes over RedisBloom's rule", times),
				over(at(what, oursGrown, bits), at(what, redisGrown, bits))),
			atMost(1, "the same, highest rate over the one asked", figureAt(at(what, oursGrown, highest))))
	}
	for _, keys := range []string{", hits", ", misses"} {
		all = append(all,
			atMost(0.7, "Scalable with 10 M keys, time of a lookup over RedisBloom's rule"+keys,
				over(at(large, oursGrown, single+keys), at(large, redisGrown, single+keys))),
			atMost(0.7, "Scalable with 100,000 keys, time of a lookup over BoomFilters"+keys,
				over(at(small, oursGrown, single+keys), at(small, boomGrown, single+keys))))
	}
	return all
}
