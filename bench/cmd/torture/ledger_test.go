//go:build linux

package main

import (
	"math/rand/v2"
	"testing"
)

// TestLedger has the ledger accept every answer that can be, and no other.
func TestLedger(t *testing.T) {
	l := &ledger{}
	rng := rand.New(rand.NewPCG(1, 1))
	if got := l.questions(rng, 5); len(got) != 0 {
		t.Fatalf("questions of an empty ledger: %v", got)
	}
	sure, maybe := item{1, 1}, item{2, 7}
	l.acknowledge(sure)
	l.doubt(maybe)
	if l.answer(question{sure, true}, false) {
		t.Error("an item that was acknowledged may be missing")
	}
	if !l.answer(question{sure, true}, true) {
		t.Error("an item that was acknowledged may not be found")
	}
	early := question{maybe, false}
	if !l.answer(early, false) || !l.answer(early, true) {
		t.Error("an item that may be kept or not has only one answer")
	}
	seen := false
	for range 1000 {
		for _, q := range l.questions(rng, 4) {
			seen = seen || q.item == maybe && q.known
		}
	}
	if !seen {
		t.Error("an item that was found is not known")
	}
	if !l.answer(early, false) {
		t.Error("a read that began before an item was found has to find it")
	}
}
