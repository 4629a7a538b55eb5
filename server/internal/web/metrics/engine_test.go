package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/store"
)

// bench is an engine with one client and a clock that tests set.
type bench struct {
	engine  *engine.Engine
	session *engine.Session
	work    engine.Workspace
	now     time.Time
	handler http.Handler
}

func newBench(tb testing.TB, files folder.Files, filters int) *bench {
	tb.Helper()
	b := &bench{now: time.Unix(1_700_000_000, 0)}
	state := store.New()
	state.SetKeys(map[string]hashing.Hasher{"k1": hashing.Keyed([16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})})
	door, err := local.Open(local.Config{State: state, Files: files, Fsync: local.Always, SnapshotAfter: -1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = door.Close() })
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: state, Door: door, Keeper: door, Host: b, Clock: func() time.Time { return b.now },
		MaxMemory: 1 << 30, Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
	})
	b.session = engine.NewSession(1, "127.0.0.1:1", "127.0.0.1:2", b.now, func() {})
	b.handler = Handler(b.engine, filters)
	return b
}

// Sessions implements engine.Host.
func (b *bench) Sessions() []*engine.Session { return []*engine.Session{b.session} }

// Shutdown implements engine.Host.
func (b *bench) Shutdown() {}

// RewriteConfig implements engine.Host.
func (b *bench) RewriteConfig() error { return nil }

// Facts implements engine.Host.
func (b *bench) Facts() status.Server {
	return status.Server{Version: "1.2.3", Started: time.Unix(1_600_000_000, 0), Clients: 3, Accepted: 5, Rejected: 2, BytesIn: 77, BytesOut: 88}
}

// do runs a command and returns its reply.
func (b *bench) do(tb testing.TB, args ...string) answer.Reply {
	tb.Helper()
	var raw [][]byte
	for _, a := range args {
		raw = append(raw, []byte(a))
	}
	b.work.Reset()
	b.work.Add(raw)
	if n := b.engine.Exec(b.session, &b.work, 0); n != 1 {
		tb.Fatalf("%q was not run", args)
	}
	return b.work.Calls[0].Reply
}

// watch lets the filters be measured for so long on the clock of the bench.
func (b *bench) watch(d time.Duration) {
	runtime.LockOSThread() // work is the processor time of the thread
	defer runtime.UnlockOSThread()
	for end := b.now.Add(d); b.now.Before(end); {
		p := b.engine.Health().Step()
		if p.Idle {
			p.Spare = end.Sub(b.now)
		}
		b.now = b.now.Add(min(p.Owed+p.Spare, end.Sub(b.now)))
	}
}

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

// pipeline runs many calls of one command at once.
func (b *bench) pipeline(tb testing.TB, calls [][][]byte) {
	tb.Helper()
	for len(calls) > 0 {
		n := min(len(calls), 64)
		b.work.Reset()
		for _, args := range calls[:n] {
			b.work.Add(args)
		}
		for done := 0; done < n; {
			m := b.engine.Exec(b.session, &b.work, done)
			if m == 0 {
				tb.Fatal("a call was not run")
			}
			done += m
		}
		calls = calls[n:]
	}
}

// addAll adds items to a filter.
func (b *bench) addAll(tb testing.TB, key string, items [][]byte) {
	tb.Helper()
	calls := make([][][]byte, len(items))
	for i, item := range items {
		calls[i] = [][]byte{[]byte("FILTER.ADD"), []byte(key), item}
	}
	b.pipeline(tb, calls)
}

// makeFilters makes n filters with a few items each and has all of them seen.
func (b *bench) makeFilters(tb testing.TB, n int) {
	tb.Helper()
	calls := make([][][]byte, n)
	for i := range calls {
		calls[i] = [][]byte{[]byte("BF.ADD"), fmt.Appendf(nil, "tenant:%d:seen-urls", i), []byte("x")}
	}
	b.pipeline(tb, calls)
	for b.engine.Health().Totals().Walks < 2 {
		b.watch(10 * time.Second)
	}
}
