package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/bloomery/bloomery/bench/internal/timing"
	"github.com/bloomery/bloomery/counting"
	"github.com/bloomery/bloomery/hashing"
)

const (
	spectral1  = "counting.Spectral, 1%"
	spectral10 = "counting.Spectral, 10%"
	withinOne  = "% of the 10,000 heaviest within 1%"
)

// spectral draws packages by their popularity and compares the counts of the
// heaviest with the truth.
func spectral(ctx context.Context, b *bench) error {
	hs, weights, err := popular(ctx, b.corpora)
	if err != nil {
		return err
	}
	draws, truth := make([]uint32, b.n), make([]uint32, len(hs))
	c, r := newCurve(weights), rand.New(rand.NewPCG(1, 2))
	for i := range draws {
		draws[i] = c.draw(r)
		truth[draws[i]]++
	}
	order, different := byCount(truth)
	for _, s := range []struct {
		who string
		p   float64
	}{{spectral1, 0.01}, {spectral10, 0.1}} {
		f, err := counting.Config{Capacity: different, ErrorRate: s.p}.NewSpectral()
		if err != nil {
			return err
		}
		start := timing.CPU()
		for _, i := range draws {
			if err := f.InsertHash(hs[i]); err != nil {
				return err
			}
		}
		b.note(s.who, "different keys", float64(different))
		b.note(s.who, insert, float64((timing.CPU()-start).Nanoseconds())/float64(b.n))
		b.note(s.who, bits, 8*float64(f.Stats().Bytes)/float64(different))
		within, exact := 0, 0
		for _, i := range order[:min(heaviest, len(order))] {
			off := math.Abs(float64(f.CountHash(hs[i]))/float64(truth[i]) - 1)
			within += one(off <= 0.01)
			exact += one(off == 0)
		}
		b.note(s.who, withinOne, 100*float64(within)/heaviest)
		b.note(s.who, "% of them exact", 100*float64(exact)/heaviest)
	}
	return nil
}

const heaviest = 10_000

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// popular returns the hashes of npm packages and how often each was downloaded.
func popular(ctx context.Context, folder string) (hs []uint64, weights []float64, err error) {
	file, err := fetch(ctx, folder, popularity, "counts.json")
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	names, weights, err := readCounts(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	var hasher hashing.Hasher
	for _, name := range names {
		hs = append(hs, hasher.HashString(name))
	}
	return hs, weights, nil
}

// byCount returns the keys from the most frequent on, and how many there are
// at all.
func byCount(truth []uint32) (order []int, different int) {
	for i, n := range truth {
		if n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(truth[j]) - int(truth[i]) })
	return order, len(order)
}

func spectralExperiments() []experiment {
	return []experiment{{"spectral", 100_000_000, `Draws of npm packages by the number of their downloads (` + popularity + `,
		fetched when it is run), in filters made for the different keys that were drawn.`, spectral}}
}

func spectralAims() []aim {
	const name = "spectral/n=100000000"
	return []aim{
		atLeast(99, "Spectral at 1%, 100 M draws of a real curve, "+withinOne, figureAt(at(name, spectral1, withinOne))),
		atLeast(99, "Spectral at 10%, 100 M draws of a real curve, "+withinOne, figureAt(at(name, spectral10, withinOne))),
	}
}
