package redisbloom_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/counting"
)

// TestFrequencies counts downloads with counting.Spectral and with CMS of the same
// bytes, and compares both with the truth: the table of docs/choosing.md is made of
// what it prints. Spectral must do better, since it adds to the smallest counters
// only.
func TestFrequencies(t *testing.T) {
	draws := 1_000_000
	if testing.Short() {
		draws = 200_000
	}
	draw := drawDownloads(rand.New(rand.NewPCG(3, 4)))
	truth := make([]uint32, 100_000)
	stream := make([]uint32, draws)
	for i := range stream {
		stream[i] = uint32(draw())
		truth[stream[i]]++
	}
	order := make([]int, 0, len(truth))
	for rank, n := range truth {
		if n > 0 {
			order = append(order, rank)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(truth[b], truth[a]) })
	keys := make([][]byte, len(truth))
	for i := range keys {
		keys[i] = item(i)
	}
	t.Logf("%d downloads of %d packages", draws, len(order))
	for _, share := range []int{1, 4} { // of the packages that Spectral has room for
		s := counting.NewSpectral(max(len(order)/share, 1), 0.1)
		size := s.Stats().Bytes
		for _, r := range stream {
			if err := s.Insert(keys[r]); err != nil {
				t.Fatal(err)
			}
		}
		spectral := measureCounts(order, truth, func(r int) uint64 { return s.Count(keys[r]) })
		t.Logf("%6d KB  Spectral      %s", size/1000, spectral)
		for _, depth := range []uint64{4, 7} {
			c := newCountMin(t, size/(4*depth), depth)
			for _, r := range stream {
				c.Incr(keys[r], 1)
			}
			cms := measureCounts(order, truth, func(r int) uint64 { return uint64(c.Count(keys[r])) })
			t.Logf("%6d KB  CMS, %d rows   %s", c.Bytes()/1000, depth, cms)
			if spectral.mean >= cms.mean || spectral.within[1] < cms.within[1] || cms.low+spectral.low > 0 {
				t.Errorf("share 1/%d, %d rows: Spectral %s, CMS %s", share, depth, spectral, cms)
			}
		}
	}
}

// accuracy is how good counts are.
type accuracy struct {
	within [3]float64 // % of the 100, 1,000 and 10,000 most frequent within 1%
	mean   float64    // how much too high a count is, on average over all
	low    int        // counts that are too low
}

func (a accuracy) String() string {
	return fmt.Sprintf("within 1%%: %5.1f%% of 100, %5.1f%% of 1,000, %5.1f%% of 10,000; too high by %.2f on average",
		a.within[0], a.within[1], a.within[2], a.mean)
}

func measureCounts(order []int, truth []uint32, count func(int) uint64) (a accuracy) {
	sum := 0.0
	for i, r := range order {
		got, want := count(r), uint64(truth[r])
		if got < want {
			a.low++
		}
		over := float64(got - want)
		sum += over
		for j, n := range []int{100, 1000, 10_000} {
			if i < n && over <= 0.01*float64(want) {
				a.within[j] += 100 / float64(n)
			}
		}
	}
	a.mean = sum / float64(len(order))
	return a
}
