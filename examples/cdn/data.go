package main

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/bloomery/bloomery/examples/internal/demo"
)

// downloads returns the names of all npm packages, and a function that draws one as often as it
// was downloaded.
func downloads(ctx context.Context) ([]string, func(*rand.Rand) int, error) {
	file, err := demo.NPM(ctx, "download-counts@2.20260301.0", "counts.json")
	if err != nil {
		return nil, nil, err
	}
	var counts map[string]uint64
	if err := demo.JSON(file, &counts); err != nil {
		return nil, nil, err
	}
	names := slices.Collect(maps.Keys(counts))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	until := make([]uint64, len(names)) // downloads of this and all before
	sum := uint64(0)
	for i, name := range names {
		sum += counts[name]
		until[i] = sum
	}
	return names, func(rng *rand.Rand) int {
		at := rng.Uint64N(sum)
		return sort.Search(len(until), func(i int) bool { return until[i] > at })
	}, nil
}
