package filter_test

import (
	"fmt"
	"strconv"
	"testing"
)

// TestSimilarity asks how alike filters are that have nothing, everything or half of
// their items in common.
func TestSimilarity(t *testing.T) {
	b := newBench(t, 1<<30)
	for _, key := range []string{"a", "b", "c"} {
		b.Line("FILTER.CREATE " + key + " bloom CAPACITY 1000")
	}
	b.Script(t, `
		FILTER.SIMILAR a b -> 1
		FILTER.ADD a x -> [true]
		FILTER.ADD b x -> [true]
		FILTER.SIMILAR a b -> 1
		FILTER.SIMILAR a c -> 0`)
}

// withItems returns a command with items of a range of numbers.
func withItems(command string, from, to int) string {
	for i := from; i < to; i++ {
		command += fmt.Sprintf(" i%d", i)
	}
	return command
}

// TestSimilarityOfHalves has two filters share 50 of 150 items: a third, within the
// error of estimates from 1,000 slots.
func TestSimilarityOfHalves(t *testing.T) {
	b := newBench(t, 1<<30)
	for key, from := range map[string]int{"a": 0, "b": 50} {
		b.Line("FILTER.CREATE " + key + " standard CAPACITY 1000")
		b.Line(withItems("FILTER.ADD "+key, from, from+100))
	}
	if got, err := strconv.ParseFloat(b.Line("FILTER.SIMILAR a b"), 64); err != nil || got < 0.28 || got > 0.39 {
		t.Errorf("FILTER.SIMILAR = %v, %v, want about a third", got, err)
	}
}
