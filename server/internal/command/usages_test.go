package command_test

import (
	"slices"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/session"
)

// TestUsagesAreOfCallsAndRejections asks which commands have figures: those that were
// called, and those that were refused.
func TestUsagesAreOfCallsAndRejections(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.ADD k x")
	b.Line("BF.EXISTS k") // an item is missing
	var got []string
	b.Engine.Usages(func(name string, u *session.Usage) { got = append(got, name) })
	slices.Sort(got)
	if want := []string{"bf.add", "bf.exists"}; !slices.Equal(got, want) {
		t.Errorf("commands with figures: %q, want %q", got, want)
	}
}
