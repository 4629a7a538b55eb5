package bf_test

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestInsertMakesWhatReserveMakes creates filters by BF.INSERT with options at their
// margins, and the same by BF.RESERVE.
func TestInsertMakesWhatReserveMakes(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		BF.INSERT none EXPANSION 0 ITEMS a -> [true]
		BF.INSERT most EXPANSION 32768 ITEMS a -> [true]
		BF.INSERT small ERROR 0.0001 CAPACITY 1000 ITEMS a -> [true]
		BF.RESERVE reserved 0.0001 1000 -> +OK
		BF.ADD reserved a -> :1`)
	if got, want := b.Line("BF.INFO small"), b.Line("BF.INFO reserved"); got != want {
		t.Errorf("made by BF.INSERT: %s\nby BF.RESERVE: %s", got, want)
	}
	if got := b.Line("BF.INSERT more EXPANSION 32769 ITEMS a"); got[0] != '-' {
		t.Errorf("an expansion of 32769: %s", got)
	}
}

// TestExpansionOfNothing checks that a filter with an expansion of 0 does not grow.
func TestExpansionOfNothing(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		BF.RESERVE f 0.01 1 EXPANSION 0 -> +OK
		BF.INFO f EXPANSION -> [+Expansion rate nil]
		BF.ADD f a -> :1
		BF.ADD f b -> -ERR non scaling filter is full`)
}
