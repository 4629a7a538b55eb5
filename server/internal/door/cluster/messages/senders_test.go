package messages

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestSendersTakeOnce sends counters in every order that a node may send them in,
// each several times, and asks that each is fresh once.
func TestSendersTakeOnce(t *testing.T) {
	const last = 5000
	r := rand.New(rand.NewPCG(1, 2))
	table, taken := Senders{}, map[uint64]int{}
	open := map[uint64]bool{} // sent, and not taken
	next, had := uint64(1), []uint64{}
	for len(taken) < last {
		lowest := next
		for c := range open {
			lowest = min(lowest, c)
		}
		if next <= last && len(open) < Window && next-lowest < Window && r.IntN(2) == 0 {
			open[next] = true
			next++
			continue
		}
		var counter uint64
		if len(open) > 0 && r.IntN(3) > 0 {
			for counter = range open {
				break
			}
		} else if len(had) > 0 {
			counter = had[r.IntN(len(had))]
		} else {
			continue
		}
		if v := table.Take(7, 3, counter); v == Fresh {
			taken[counter]++
			had = append(had, counter)
			delete(open, counter)
		} else if v != Repeat || open[counter] {
			t.Fatalf("counter %d: verdict %d", counter, v)
		}
	}
	for c, n := range taken {
		if n != 1 {
			t.Fatalf("counter %d was taken %d times", c, n)
		}
	}
}

// TestSendersFence asks that a later session ends the earlier ones, whatever its
// counters are.
func TestSendersFence(t *testing.T) {
	table := Senders{}
	for _, c := range []struct {
		session, counter uint64
		want             Verdict
	}{
		{2, 5, Fresh}, {2, 5, Repeat}, {2, 3, Fresh}, {1, 9, Fenced}, {4, 2, Fresh}, {2, 6, Fenced}, {4, 1, Fresh}, {4, 1, Repeat}, {4, 2, Repeat},
		{4, 1 << 40, Fresh}, {4, 3, Repeat}, {4, 1<<40 - 63, Fresh}, {4, 1<<40 - 64, Repeat},
	} {
		if got := table.Take(1, c.session, c.counter); got != c.want {
			t.Errorf("session %d, counter %d: %d, want %d", c.session, c.counter, got, c.want)
		}
	}
	if got := table.Take(2, 1, 1); got != Fresh {
		t.Errorf("another node: %d", got)
	}
}

// TestGoldenSenders reads a table of every release.
func TestGoldenSenders(t *testing.T) {
	want := Senders{1: {1, 2, 3}, 9: {1 << 63, 1 << 40, 1<<64 - 1}}
	path := filepath.Join("testdata", "two.senders")
	b, err := os.ReadFile(path)
	if *update && os.IsNotExist(err) {
		if err := os.WriteFile(path, want.Append(nil), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := WholeSenders(b); err != nil || !reflect.DeepEqual(got, want) || string(got.Append(nil)) != string(b) {
		t.Errorf("wholeSenders = %v, %v, want %v", got, err, want)
	}
	for n := range b {
		if _, err := WholeSenders(b[:n]); err == nil {
			t.Errorf("a table cut to %d bytes is read", n)
		}
	}
}
