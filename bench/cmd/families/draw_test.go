package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The curve must be drawn as it is: each weight within 5 sigma.
func TestCurve(t *testing.T) {
	weights := []float64{1, 1000, 3, 0, 500, 20}
	const draws, sum = 1_000_000, 1524
	c, r := newCurve(weights), rand.New(rand.NewPCG(1, 2))
	got := make([]float64, len(weights))
	for range draws {
		got[c.draw(r)]++
	}
	for i, w := range weights {
		want := draws * w / sum
		if math.Abs(got[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("weight %g was drawn %g times, want %.0f", w, got[i], want)
		}
	}
}

func TestReadCounts(t *testing.T) {
	names, counts, err := readCounts(strings.NewReader(`{"a":3,"none":0,"b":5}`))
	if err != nil || !slices.Equal(names, []string{"a", "b"}) || !slices.Equal(counts, []float64{3, 5}) {
		t.Errorf("readCounts = %v, %v, %v", names, counts, err)
	}
	if _, _, err := readCounts(strings.NewReader(`{"a":"x"}`)); err == nil {
		t.Error("a text for a number gave no error")
	}
}
