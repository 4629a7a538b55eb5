package teach

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// open returns the machine of a kind in its default size.
func open(t *testing.T, k Kind) machine {
	t.Helper()
	m, err := k.open(k.Bits, k.Hashes)
	if err != nil {
		t.Fatalf("%s: %v", k.Name, err)
	}
	return m
}

// allSet reports whether all cells of a key are set, or all in one layer or
// generation: what a Bloom filter of any kind asks for.
func allSet(m machine, p place) bool {
	values := m.values()
	return slices.ContainsFunc(chains(m, p.cells), func(chain []int) bool {
		return !slices.ContainsFunc(chain, func(c int) bool { return values[c] == 0 })
	})
}

// holdsMark reports whether a slot of a key has its fingerprint.
func holdsMark(m machine, p place) bool {
	values := m.values()
	return slices.ContainsFunc(p.cells, func(c int) bool { return values[c] == p.mark })
}

// TestPlacesAreThoseOfTheFilter holds what is shown to what the filters answer: a
// key is in the filter exactly if the cells that are shown for it say so.
func TestPlacesAreThoseOfTheFilter(t *testing.T) {
	for _, k := range Kinds() {
		m := open(t, k)
		for i := range 40 {
			if err := m.add(fmt.Sprint("in ", i)); err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
		}
		found := 0
		for i := range 800 {
			key := fmt.Sprint("in ", i)
			p := m.place(key)
			want := m.has(key)
			got := allSet(m, p)
			if p.mark != 0 {
				got = holdsMark(m, p)
			}
			if got != want {
				t.Fatalf("%s: the cells of %q say %v, the filter %v", k.Name, key, got, want)
			}
			if want {
				found++
			}
		}
		if found < 40 || found > 600 {
			t.Errorf("%s: %d of 800 keys found: the test shows nothing", k.Name, found)
		}
	}
}

// TestValuesAreWhatKeysHaveSet adds up what keys have set.
func TestValuesAreWhatKeysHaveSet(t *testing.T) {
	for _, k := range Kinds() {
		if k.Name == "cuckoo" || k.Name == "scalable" || k.Name == "window" {
			continue // keys move, or are in one of several panels
		}
		m := open(t, k)
		want := make([]int, len(m.values()))
		for i := range 60 {
			key := fmt.Sprint("key ", i)
			if err := m.add(key); err != nil {
				t.Fatal(err)
			}
			for _, c := range m.place(key).cells {
				want[c]++
			}
		}
		got := m.values()
		for c, n := range want {
			if k.Cell != "counter" {
				n = min(n, 1)
			}
			if got[c] != n {
				t.Fatalf("%s: cell %d is %d, want %d", k.Name, c, got[c], n)
			}
		}
	}
}

// TestCountersGoDown deletes all keys again.
func TestCountersGoDown(t *testing.T) {
	for _, name := range []string{"counting", "cuckoo"} {
		k, err := kindNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		m := open(t, *k)
		for i := range 30 {
			if err := m.add(strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 30 {
			if !m.(remover).remove(strconv.Itoa(i)) {
				t.Fatalf("%s: key %d is not there", name, i)
			}
		}
		if i := slices.IndexFunc(m.values(), func(v int) bool { return v != 0 }); i >= 0 {
			t.Errorf("%s: cell %d is not 0 after all keys are deleted", name, i)
		}
	}
}

// TestGenerationsAreApart finds a key of each generation in its own panel only.
func TestGenerationsAreApart(t *testing.T) {
	k, err := kindNamed("window")
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, *k).(*generations)
	for n := range 2 * m.ways() {
		if err := m.add(fmt.Sprint("generation ", n)); err != nil {
			t.Fatal(err)
		}
		for i, p := range m.panels() {
			set := slices.ContainsFunc(m.values()[p.First:p.First+p.Cells], func(v int) bool { return v != 0 })
			if want := i <= n; set != want {
				t.Errorf("generation %d: panel %d has bits: %v, want %v", n, i, set, want)
			}
		}
		if got, want := m.labels()[m.present()], fmt.Sprintf("generation %d, present: keys are added here", n); got != want {
			t.Errorf("the present panel is %q, want %q", got, want)
		}
		m.advance()
		p := m.panels()[m.present()]
		if slices.ContainsFunc(m.values()[p.First:p.First+p.Cells], func(v int) bool { return v != 0 }) {
			t.Errorf("the new generation after %d is not empty", n)
		}
	}
}

// TestWithin keeps cells from the first of a panel to its last.
func TestWithin(t *testing.T) {
	p := Panel{First: 8, Cells: 4}
	if got := p.within([]int{0, 7, 8, 9, 11, 12, 20}); !slices.Equal(got, []int{8, 9, 11}) {
		t.Errorf("within = %v", got)
	}
}
