package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestDocument merges two rounds and writes what is left of them: the shortest time to open, the
// most lookups, and a row for every kind.
func TestDocument(t *testing.T) {
	round := func(ms, present, absent float64) []speeds {
		s := speeds{Name: "Somewhere 1.0", Kinds: map[string][3]float64{}}
		for _, kind := range kinds {
			s.Kinds[kind] = [3]float64{ms, present, absent}
		}
		return []speeds{s}
	}
	best := fastest(fastest(nil, round(2, 700, 900)), round(3, 800, 600))
	doc, err := document(context.Background(), "../../..", map[string]int{"bloom": 4321}, best, 2, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Somewhere 1.0", "| bloom | 4321 | 2.0 | 800 | 900 |", "| ribbon | ", "| contrib/js/bloomery.js | "} {
		if !strings.Contains(doc.String(), want) {
			t.Errorf("no %q in\n%s", want, doc)
		}
	}
}
