package text_test

import (
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestLongMSet sends the longest MSET there is, and one that is a byte longer.
func TestLongMSet(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	const beside = 64 + 2*10 + 1 // of the record, and of a name of one byte and its value
	for n, want := range map[int]string{store.MaxRecord - beside: "+OK", store.MaxRecord - beside + 1: "-ERR MSET takes"} {
		if got := b.Do("MSET", "k", strings.Repeat("v", n)); !strings.HasPrefix(got, want) {
			t.Errorf("MSET of a value of %d bytes = %s", n, got)
		}
	}
}
