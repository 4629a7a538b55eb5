package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bench is an engine with one client, a clock that tests set, and what a scrape asks.
type bench struct {
	*commandtest.Bench
	handler http.Handler
}

func newBench(tb testing.TB, files folder.Files, filters int) *bench {
	tb.Helper()
	b := &bench{Bench: commandtest.New(tb, 1<<30)}
	b.State = store.New()
	b.State.SetKeys(map[string]hashing.Hasher{"k1": hashing.Keyed([16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})})
	b.About = status.Server{Version: "1.2.3", Started: time.Unix(1_600_000_000, 0), Clients: 3, Accepted: 5, Rejected: 2, BytesIn: 77, BytesOut: 88}
	b.OpenDoor(tb, local.Config{Files: files, Fsync: local.Always, SnapshotAfter: -1})
	tb.Cleanup(func() { _ = b.Door.Close() })
	b.handler = Handler(b.Engine, filters)
	return b
}

// do runs a command and returns its reply.
func (b *bench) do(args ...string) answer.Reply { return b.Exec(commandtest.Bytes(args))[0] }

// scrape returns the samples of a scrape, by name and labels.
func (b *bench) scrape(tb testing.TB) map[string]float64 {
	tb.Helper()
	return parse(tb, b.text(tb))
}

func (b *bench) text(tb testing.TB) string {
	tb.Helper()
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/plain") {
		tb.Fatalf("a scrape answers %d of type %q: %s", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
	}
	return rec.Body.String()
}

func parse(tb testing.TB, text string) map[string]float64 {
	tb.Helper()
	samples := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			tb.Fatalf("%q: %v", line, err)
		}
		if _, twice := samples[line[:at]]; twice {
			tb.Errorf("%s is there twice", line[:at])
		}
		samples[line[:at]] = v
	}
	return samples
}

// pipeline runs many calls of one command, 64 at once.
func (b *bench) pipeline(calls [][][]byte) {
	for some := range slices.Chunk(calls, 64) {
		b.Exec(some...)
	}
}

// addAll adds items to a filter.
func (b *bench) addAll(key string, items [][]byte) {
	calls := make([][][]byte, len(items))
	for i, item := range items {
		calls[i] = [][]byte{[]byte("FILTER.ADD"), []byte(key), item}
	}
	b.pipeline(calls)
}

// makeFilters makes n filters with a few items each and has all of them seen.
func (b *bench) makeFilters(n int) {
	calls := make([][][]byte, n)
	for i := range calls {
		calls[i] = [][]byte{[]byte("BF.ADD"), fmt.Appendf(nil, "tenant:%d:seen-urls", i), []byte("x")}
	}
	b.pipeline(calls)
	for b.Engine.Health().Totals().Walks < 2 {
		b.Watch(10 * time.Second)
	}
}
