package bundle

// Items that take long to hash.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// longBytes is from how many bytes on items are hashed outside the gate. How a filter
// hashes never changes, so nothing is lost but a moment.
const longBytes = 256 << 10

// isLong reports whether the items of calls take long to hash.
func isLong(calls []engine.Call) bool {
	sum := 0
	for i := range calls {
		sum += bytesOf(calls[i].Items)
	}
	return sum >= longBytes
}

func bytesOf(items [][]byte) (sum int) {
	for _, item := range items {
		sum += len(item)
	}
	return sum
}

// back enters the gate again behind hashes that were made outside it. It reports false
// if the filter of the call, or its shadow, is another one now: the call is run again.
func (f *OnFilter) back(t engine.Turn, c *engine.Call, entry *catalog.Entry) bool {
	if t.Context().Killed() {
		c.Fail(answer.TextStopped)
		return false
	}
	t.Enter()
	if f.Write != nil && t.Busy() || f.shadowOf(t, entry) != t.Memory().Shadow {
		return false
	}
	return t.Context().Names().Lookup(c.Args[1]) == entry
}
