package cluster

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
)

// journalOf is what a node logs of problems.
type journalOf struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journalOf) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if bytes.Contains(p, []byte("cluster problem")) {
		j.b.Write(p)
	}
	return len(p), nil
}

// take returns the lines since it was called last.
func (j *journalOf) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.b.Reset()
	return j.b.String()
}

// TestProblemsAreLogged asks that a node logs each problem once when it begins and once when it is
// over, and nothing while it comes and goes.
func TestProblemsAreLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, m, said := memlog.New(1, memlog.Faults{Answer: time.Second}), &hall{}, new(journalOf)
		first := open(t, log, Config{Peers: m.peer(), Slog: slog.New(slog.NewTextHandler(said, nil))})
		other := m.peer()
		open(t, log, Config{Peers: other, Addr: "b:6379"})
		deaf := func(is bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			other.deaf = is
		}
		const away, refused = `"cluster problem: node 2 (b:6379) is down`, `"cluster problem: writes are refused: lane CAT: its stream has not answered`
		for _, step := range []struct {
			name  string
			do    func()
			lasts time.Duration
			line  string // that the node logs meanwhile, "" for none
		}{
			{"at first", func() {}, time.Minute, ""},
			{"node 2 is killed", func() { deaf(true) }, liveFor + 3*lookEvery, "level=WARN msg=" + away},
			{"it stays down", func() {}, 2 * time.Minute, ""},
			{"it comes", func() { deaf(false) }, 3 * time.Second, ""},
			{"and goes", func() { deaf(true) }, time.Minute, ""},
			{"it is started", func() { deaf(false) }, 15 * time.Second, "level=INFO msg=" + strings.Replace(away, "problem:", "problem is over:", 1)},
			{"no majority, and a write", func() { log.SetDown(true); first.Do([]*door.Op{set("x")}) }, 15 * time.Second, "level=ERROR msg=" + refused},
			{"no majority for long", func() {}, 2 * time.Minute, ""},
			{"a majority", func() { log.SetDown(false) }, 30 * time.Second, "level=INFO msg=" + strings.Replace(refused, "problem:", "problem is over:", 1)},
			{"at last", func() {}, 2 * time.Minute, ""},
		} {
			step.do()
			time.Sleep(step.lasts)
			got := said.take()
			if !strings.Contains(got, step.line) || strings.Count(got, "\n") != min(1, len(step.line)) {
				t.Errorf("%s: %s, want %s", step.name, got, step.line)
			}
		}
	})
}
