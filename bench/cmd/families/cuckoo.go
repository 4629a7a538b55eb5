package main

import (
	"context"
	"fmt"

	linvon "github.com/linvon/cuckoo-filter"
	panmari "github.com/panmari/cuckoofilter"
	seiflotfy "github.com/seiflotfy/cuckoofilter"
)

// The contestants of the cuckoo filters. linvon takes any width; the two that
// the others have are tried.
const (
	seiflotfy8 = "seiflotfy, 8 bits"
	panmari16  = "panmari, 16 bits"
	linvon8    = "linvon, 8 bits"
	linvon16   = "linvon, 16 bits"
)

// slotsFor returns the slots that the peers take for n keys: a power of two.
func slotsFor(n int) uint {
	slots := uint(1)
	for slots < uint(n) {
		slots *= 2
	}
	return slots
}

// cuckoo gives all contestants the same slots and the same keys.
func cuckoo(_ context.Context, b *bench) error {
	slots := slotsFor(b.n)
	b.note("all", "load in %", 100*float64(b.n)/float64(slots))
	return contest(b, []contestant{
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
		all = append(all, experiment{"cuckoo", n, fmt.Sprintf(`Every filter has %d slots, a power of two, which is
			what the peers can have. Keys of 8 bytes, hashing included.`, slotsFor(n)), cuckoo})
	}
	return all
}
