package main

import (
	"context"
	"errors"
	"fmt"

	linvon "github.com/linvon/cuckoo-filter"
	panmari "github.com/panmari/cuckoofilter"
	seiflotfy "github.com/seiflotfy/cuckoofilter"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cuckoo"
)

// The contestants of the cuckoo filters. linvon takes any width; the two that
// the others have are tried.
const (
	oursCuckoo8  = "cuckoo.Filter, 8 bits"
	oursCuckoo12 = "cuckoo.Filter, 12 bits"
	oursCuckoo16 = "cuckoo.Filter, 16 bits"
	seiflotfy8   = "seiflotfy, 8 bits"
	panmari16    = "panmari, 16 bits"
	linvon8      = "linvon, 8 bits"
	linvon16     = "linvon, 16 bits"
)

var cuckooPeers = []string{seiflotfy8, panmari16, linvon8, linvon16}

// slotsFor returns the slots that the peers take for n keys: a power of two.
func slotsFor(n int) uint {
	slots := uint(1)
	for slots < uint(n) {
		slots *= 2
	}
	return slots
}

// cuckoo gives all contestants the same slots and the same keys.
func cuckooFilters(_ context.Context, b *bench) error {
	slots := slotsFor(b.n)
	b.note("all", "load in %", 100*float64(b.n)/float64(slots))
	return contest(b, []contestant{
		cuckooWith(oursCuckoo8, 8, slots),
		cuckooWith(oursCuckoo12, 12, slots),
		cuckooWith(oursCuckoo16, 16, slots),
		{seiflotfy8, func() (keyed, error) {
			f := seiflotfy.NewFilter(slots)
			return keyed{
				insert: inserts(f.Insert),
				has: func(dst []bool, keys [][]byte) {
					for i, key := range keys {
						dst[i] = f.Lookup(key)
					}
				},
				bits: func() uint64 { return 8 * uint64(len(f.Encode())) },
			}, nil
		}},
		{panmari16, func() (keyed, error) {
			f := panmari.NewFilter(uint(b.n))
			return keyed{
				insert: inserts(f.Insert),
				has: func(dst []bool, keys [][]byte) {
					for i, key := range keys {
						dst[i] = f.Lookup(key)
					}
				},
				bits: func() uint64 { return 8 * uint64(len(f.Encode())) },
			}, nil
		}},
		linvonWith(linvon8, 8, b.n),
		linvonWith(linvon16, 16, b.n),
	})
}

func cuckooWith(who string, width int, slots uint) contestant {
	return contestant{who, func() (keyed, error) {
		f, err := cuckoo.Config{Buckets: uint64(slots / 4), Width: width}.New()
		if err != nil {
			return keyed{}, err
		}
		return keyedCuckoo(f), nil
	}}
}

func keyedCuckoo(f *cuckoo.Filter) keyed {
	return keyed{
		insert: func(keys [][]byte) error {
			for _, key := range keys {
				if err := f.Insert(key); err != nil {
					return err
				}
			}
			return nil
		},
		has: func(dst []bool, keys [][]byte) {
			for i, key := range keys {
				dst[i] = f.Contains(key)
			}
		},
		batch: f.ContainsKeys,
		bits:  func() uint64 { return 8 * f.Stats().Bytes },
	}
}

func linvonWith(who string, width uint, n int) contestant {
	return contestant{who, func() (keyed, error) {
		f := linvon.NewFilter(4, width, uint(n), linvon.TableTypeSingle)
		return keyed{
			insert: inserts(f.Add),
			has: func(dst []bool, keys [][]byte) {
				for i, key := range keys {
					dst[i] = f.Contain(key)
				}
			},
			bits: func() uint64 { return 8 * uint64(f.SizeInBytes()) },
		}, nil
	}}
}

func cuckooExperiments() []experiment {
	var all []experiment
	for _, n := range []int{1_000_000, 10_000_000} {
		all = append(all, experiment{"cuckoo", n, `Every filter has a power of two of slots, as the peers need.`, cuckooFilters})
	}
	return append(all, experiment{"cuckoo-load", 1_000_000, `Filters that these keys fill to 95%,
		and how full they are when the first key is refused.`, cuckooLoad})
}

// cuckooLoad fills filters to 95%, and then until a key is refused.
func cuckooLoad(_ context.Context, b *bench) error {
	for _, c := range []struct {
		who   string
		width int
	}{{oursCuckoo8, 8}, {oursCuckoo12, 12}, {oursCuckoo16, 16}} {
		f, err := cuckoo.Config{Buckets: uint64(float64(b.n)/0.95/4) + 1, Width: c.width}.New()
		if err != nil {
			return err
		}
		hs := hashesOf(present, 2*b.n)
		for _, h := range hs[:b.n] {
			if err := f.InsertHash(h); err != nil {
				return fmt.Errorf("%s at 95%%: %w", c.who, err)
			}
		}
		data, err := f.MarshalBinary()
		if err != nil {
			return err
		}
		b.note(c.who, bits, 8*float64(len(data))/float64(b.n))
		n := b.n
		for ; n < len(hs); n++ {
			if err := f.InsertHash(hs[n]); errors.Is(err, bloomery.ErrFull) {
				break
			} else if err != nil {
				return err
			}
		}
		b.note(c.who, "load when full, in %", 95*float64(n)/float64(b.n))
		b.note(c.who, keysLost, float64(lost(hs[:n], f.ContainsHashes)))
	}
	return nil
}

func cuckooAims() []aim {
	var all []aim
	for _, n := range []string{"1000000", "10000000"} {
		name := "cuckoo/n=" + n
		for _, keys := range []string{", hits", ", misses"} {
			all = append(all,
				atLeast(1.5, "cuckoo.Filter with "+n+" keys, lookups, times as fast as the best peer"+keys,
					faster(name, oursCuckoo8, single+keys, cuckooPeers, single+keys)),
				atLeast(2.5, "cuckoo.Filter with "+n+" keys, batches of lookups, times as fast as the best peer"+keys,
					faster(name, oursCuckoo8, batch+keys, cuckooPeers, single+keys)))
		}
		all = append(all, atLeast(1, "cuckoo.Filter with "+n+" keys, inserts, times as fast as the best peer",
			faster(name, oursCuckoo8, insert, cuckooPeers, insert)))
	}
	const load = "cuckoo-load/n=1000000"
	return append(all,
		atMost(8.5, oursCuckoo8+", bits per key at 95% load", figureAt(at(load, oursCuckoo8, bits))),
		atMost(12.8, oursCuckoo12+", bits per key at 95% load", figureAt(at(load, oursCuckoo12, bits))),
		atMost(17, oursCuckoo16+", bits per key at 95% load", figureAt(at(load, oursCuckoo16, bits))),
	)
}
