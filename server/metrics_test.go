package server_test

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server"
)

// metric returns the value of a metric of a server, "" if there is none.
func metric(t *testing.T, s *server.Server, name string) string {
	t.Helper()
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("/metrics answers %d: %s", rec.Code, rec.Body)
	}
	for line := range strings.Lines(rec.Body.String()) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// TestMetricsOfTwoServers runs two servers in one process: each has metrics of its own.
func TestMetricsOfTwoServers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	var servers []*server.Server
	for i := range 2 {
		s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- s.Serve(ctx) }()
		c, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		for range i + 1 {
			sendLine(t, c, "PING\r\n")
		}
		servers = append(servers, s)
	}
	for i, s := range servers {
		if got, want := metric(t, s, `bloomery_commands_total{cmd="ping",result="ok"}`), strconv.Itoa(i+1); got != want {
			t.Errorf("server %d has %s calls of PING, want %s", i, got, want)
		}
		if got := metric(t, s, "bloomery_clients"); got != "1" {
			t.Errorf("server %d has %s clients, want 1", i, got)
		}
	}
	cancel()
	for range servers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestPoisoningThroughTheWire sends items that all fall into one block of a filter with
// the public hash to that filter, and to one with a secret key: the first gets an
// anomaly, the second does not.
func TestPoisoningThroughTheWire(t *testing.T) {
	const capacity = 10_000
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("k = 000102030405060708090a0b0c0d0e0f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ahead atomic.Int64 // of the clock
	s, err := server.New(t.Context(), server.Config{
		Addr: []string{"127.0.0.1:0"}, KeysFile: keys,
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	c := inside(t, s)
	send := func(commands ...string) {
		t.Helper()
		if _, err := io.WriteString(c.nc, strings.Join(commands, "\r\n")+"\r\n"); err != nil {
			t.Fatal(err)
		}
		for _, command := range commands {
			if got := c.reply(); got[0] == '-' {
				t.Fatalf("%s: %q", command, got)
			}
		}
	}
	send(fmt.Sprintf("FILTER.CREATE open bloom CAPACITY %d ERROR 0.01", capacity), fmt.Sprintf("FILTER.CREATE keyed bloom CAPACITY %d ERROR 0.01 KEYED k", capacity))
	var attack []string
	blocks := bloom.New(capacity, 0.01).Shape().Bits / 512
	for i := range 1000 {
		attack = append(attack, fmt.Sprint("FILTER.ADD open honest-", i), fmt.Sprint("FILTER.ADD keyed honest-", i))
	}
	for i := 0; len(attack) < 3000; i++ {
		item := fmt.Sprint("aimed-", i)
		if block, _ := bits.Mul64(hashing.Hasher{}.Hash([]byte(item)), blocks); block == 11 {
			attack = append(attack, "FILTER.ADD open "+item, "FILTER.ADD keyed "+item)
		}
	}
	for len(attack) > 0 {
		n := min(len(attack), 200)
		send(attack[:n]...)
		attack = attack[n:]
	}
	// Filters are looked at every 10 seconds; a new one wakes whoever does that.
	ahead.Store(int64(11 * time.Second))
	send("FILTER.CREATE another bloom CAPACITY 100 ERROR 0.01")
	waitFor(t, func() bool { return metric(t, s, `bloomery_filter_anomaly{filter="open"}`) == "1" }, "no anomaly")
	if got := metric(t, s, `bloomery_filter_anomaly{filter="keyed"}`); got != "0" {
		t.Errorf("the anomaly of the filter with a secret key is %q, want 0; skew %s", got, metric(t, s, `bloomery_filter_skew{filter="keyed"}`))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
