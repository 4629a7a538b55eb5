package cf_test

import (
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestRepliesOfCuckooInserts asks for the kinds of replies, which RESP3 shows:
// booleans of CF.INSERT, numbers of CF.INSERTNX.
func TestRepliesOfCuckooInserts(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for line, want := range map[string]answer.ReplyKind{"CF.INSERT f ITEMS a": answer.Codes, "CF.INSERTNX f ITEMS b": answer.CodeInts} {
		if got := b.Exec(commandtest.Fields(line))[0].Kind; got != want {
			t.Errorf("%s answers kind %d, want %d", line, got, want)
		}
	}
}
