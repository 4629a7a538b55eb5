package filter_test

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// bench is a commandtest.Bench that asks what filters are asked for.
type bench struct{ *commandtest.Bench }

func newBench(tb testing.TB, maxMemory int64) *bench {
	tb.Helper()
	return &bench{commandtest.New(tb, maxMemory)}
}

func openBench(tb testing.TB, files *folder.Memory, now time.Time, keys map[string]hashing.Hasher) *bench {
	tb.Helper()
	return &bench{commandtest.Open(tb, files, now, keys)}
}

func restarted(tb testing.TB, b *bench, keys map[string]hashing.Hasher) *bench {
	tb.Helper()
	return &bench{b.Restart(tb, keys)}
}
