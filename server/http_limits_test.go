package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server"
)

// endless is a body that never ends.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.read += len(b)
	return len(b), nil
}

// TestHTTPBodies asks that bodies that are too large, too deep or no JSON are refused,
// and that no memory is taken for what has not arrived.
func TestHTTPBodies(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	inside(t, s).expect("+OK\r\n", "FILTER.CREATE", "f", "bloom")
	const path = "/api/v1/filters/f/add"
	b.expect(413, "too_large", "POST", path, `{"items": ["`+strings.Repeat("x", 5<<20)+`"]}`)
	b.expect(400, "invalid", "POST", path, strings.Repeat("[", 1<<20))
	b.expect(400, "invalid", "POST", path, `{"items": `+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`)
	b.expect(400, "invalid", "POST", path, `{"items": [`+strings.Repeat(`"",`, 200_000)+`""]}`)
	b.expect(400, "invalid", "POST", path, strings.Repeat("{", 17))
	b.expect(400, "invalid", "POST", path, "\xff\xfe")
	b.expect(400, "invalid", "POST", path, `{"items": ["a"`)
	b.expect(400, "invalid", "POST", path, `{"items": ["a"]}}`)
	v := b.post(path, "{\"items\": [\"caf\xe9\"]}") // what is not UTF-8 is U+FFFD
	if got := b.post("/api/v1/filters/f/has", `{"items": ["caf\ufffd"]}`); fmt.Sprint(v["results"], got["results"]) != "[true] [true]" {
		t.Errorf("bad UTF-8: %v, %v", v, got)
	}

	unread := &endless{}
	claim := httptest.NewRequestWithContext(t.Context(), "POST", path, unread)
	claim.Header.Set("Content-Type", "application/json")
	claim.Host, claim.ContentLength = "localhost", math.MaxInt64
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, claim)
	if w.Code != 413 || unread.read > 0 {
		t.Errorf("a length of 2^63-1 = %d, %d bytes read", w.Code, unread.read)
	}
	chunked := &endless{}
	claim = httptest.NewRequestWithContext(t.Context(), "POST", path, chunked)
	claim.Header.Set("Content-Type", "application/json")
	claim.Host, claim.ContentLength = "localhost", -1
	w = httptest.NewRecorder()
	b.h.ServeHTTP(w, claim)
	if w.Code != 413 || chunked.read > 9<<20 {
		t.Errorf("a body without end = %d, %d bytes read", w.Code, chunked.read)
	}
}

// TestHTTPBudget asks that bodies count in the budget of memory, and that what they
// counted is free again.
func TestHTTPBudget(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true, MaxMemory: 2 << 20})
	c := inside(t, s)
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom", "CAPACITY", "1000000") // 1.2 MiB
	body := `{"items": ["` + strings.Repeat("x", 3<<20) + `"]}`
	b.expect(507, "out_of_memory", "POST", "/api/v1/filters/f/has", body)
	many := `{"items": [` + strings.Repeat(`"",`, 7000) + `""]}` // a short body of many values
	b.expect(507, "out_of_memory", "POST", "/api/v1/filters/f/has", many)
	if got := c.do("INFO", "memory"); !strings.Contains(got, "used_memory_clients:0\r\n") {
		t.Errorf("after a refused body: %s", got)
	}
	b.post("/api/v1/filters/f/has", `{"items": ["a"]}`)
	if got := c.do("INFO", "memory"); !strings.Contains(got, "used_memory_clients:0\r\n") {
		t.Errorf("after a request: %s", got)
	}
}

// serveHTTP serves HTTP on a free port until the test ends.
func serveHTTP(t *testing.T, c server.Config) (s *server.Server, addr string, stop func() error) {
	t.Helper()
	c.HTTP = []string{"127.0.0.1:0"}
	s = open0(t, c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return s, s.HTTPAddr().String(), stop
}

func dialHTTP(t *testing.T, addr string) net.Conn {
	t.Helper()
	nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	return nc
}

// TestHTTPSlowClients asks that clients that do not finish what they began are closed.
func TestHTTPSlowClients(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second
	_, addr, _ := serveHTTP(t, server.Config{WriteTimeout: limit, HTTPAdmin: true})
	sent := []string{ // nothing, a part of a head, and of a body
		"", "GET /api/v1/filters HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST /api/v1/filters HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"name\"",
	}
	began, clients := time.Now(), make([]net.Conn, len(sent))
	for i, b := range sent {
		clients[i] = dialHTTP(t, addr)
		if _, err := io.WriteString(clients[i], b); err != nil {
			t.Fatal(err)
		}
	}
	for i, nc := range clients {
		answer, err := io.ReadAll(nc)
		if err != nil {
			t.Errorf("%q: %v", sent[i], err)
		}
		if took := time.Since(began); took < limit/2 || took > 20*time.Second {
			t.Errorf("%q: closed after %v: %q", sent[i], took, answer)
		}
		if i == 2 && !bytes.Contains(answer, []byte(" 408 ")) {
			t.Errorf("%q: %q", sent[i], answer)
		}
	}
}

// TestHTTPManyClients asks that clients beyond the limit are refused at once while all
// others are in the middle of a request, and that a place is free when one leaves.
func TestHTTPManyClients(t *testing.T) {
	const busy = "POST /api/v1/filters/x/has HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	_, addr, _ := serveHTTP(t, server.Config{})
	var all []net.Conn
	for range 1024 {
		nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Skip(err) // too few file descriptors
		}
		defer func() { _ = nc.Close() }()
		_, _ = io.WriteString(nc, busy)
		all = append(all, nc)
	}
	// Until the server has read all heads, one more takes the place of a client that
	// seems to send nothing, and gets no answer: then it is as busy as the others.
	var answer []byte
	waitFor(t, func() bool {
		more := dialHTTP(t, addr)
		_ = more.SetReadDeadline(time.Now().Add(time.Second))
		answer, _ = io.ReadAll(more)
		_, _ = io.WriteString(more, busy)
		return len(answer) > 0
	}, "one more than the limit is not refused")
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 503 ")) {
		t.Errorf("one more: %q", answer)
	}
	_ = all[0].Close()
	waitFor(t, func() bool {
		nc := dialHTTP(t, addr)
		_, _ = io.WriteString(nc, "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		answer, _ := io.ReadAll(nc)
		return bytes.HasPrefix(answer, []byte("HTTP/1.1 200 "))
	}, "there is no room after one has left")
}

// TestHTTPIdleClientsMakeRoom has clients take all places and then ask for nothing,
// stop in the middle of a head, or stay after their answer: they make room for one that
// asks something.
func TestHTTPIdleClientsMakeRoom(t *testing.T) {
	_, addr, _ := serveHTTP(t, server.Config{})
	habits := []string{"", "GET /livez HTTP/1.1\r\nHost: loc", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"}
	for i := range 1024 {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Skip(err) // too few file descriptors
		}
		defer func() { _ = nc.Close() }()
		_, _ = io.WriteString(nc, habits[i%len(habits)])
	}
	for i := range 2 * len(habits) {
		waitFor(t, func() bool { // nobody has to go in the first second
			nc := dialHTTP(t, addr)
			_, _ = io.WriteString(nc, "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
			answer, err := io.ReadAll(nc)
			return err == nil && bytes.HasPrefix(answer, []byte("HTTP/1.1 200 "))
		}, fmt.Sprintf("client %d beyond the limit is not served", i))
	}
}

// httpEvent is a server-sent event.
type httpEvent struct {
	name string
	data map[string]any
}

// listenEvents returns the events of a URL, until the stream ends.
func listenEvents(t *testing.T, url string) <-chan httpEvent {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s = %s, %v", url, res.Status, res.Header)
	}
	events := make(chan httpEvent, 100)
	go func() {
		defer close(events)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		e := httpEvent{}
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				e = httpEvent{name: name}
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				_ = json.Unmarshal([]byte(data), &e.data)
			}
			if lines.Text() == "" {
				events <- e
			}
		}
	}()
	return events
}

// waitEvent returns the next event of a name.
func waitEvent(t *testing.T, events <-chan httpEvent, name string) map[string]any {
	t.Helper()
	for timeout := time.After(time.Minute); ; {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before %s", name)
			}
			if e.name == name {
				return e.data
			}
		case <-timeout:
			t.Fatalf("no event %s", name)
		}
	}
}

// TestHTTPEvents asks that a change over the Redis protocol is seen by who listens,
// and that the stream ends with the server.
func TestHTTPEvents(t *testing.T) {
	t.Parallel()
	// A stream outlives the time that other requests may take.
	const limit = 3 * time.Second
	s, addr, stop := serveHTTP(t, server.Config{WriteTimeout: limit, ShutdownTimeout: time.Minute})
	c := inside(t, s)
	c.expect("+OK\r\n", "FILTER.CREATE", "first", "bloom", "CAPACITY", "1000")
	opened := time.Now()
	events := listenEvents(t, "http://"+addr+"/api/v1/events?sort=name&limit=10")
	if v := waitEvent(t, events, "overview"); v["keys"] != 1.0 {
		t.Errorf("overview: %v", v)
	}
	if v := waitEvent(t, events, "filters"); v["total"] != 1.0 || fmt.Sprint(filterNames(v)) != "[first]" {
		t.Errorf("filters: %v", v)
	}
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "first", "alice")
	v := waitEvent(t, events, "filters")
	for v["filters"].([]any)[0].(map[string]any)["items"] != 1.0 { // probes change rows too
		v = waitEvent(t, events, "filters")
	}
	c.expect("+OK\r\n", "FILTER.CREATE", "another", "bloom")
	v = waitEvent(t, events, "filters")
	for v["total"] != 2.0 {
		v = waitEvent(t, events, "filters")
	}
	if fmt.Sprint(v["refs"]) != "[another first]" || !strings.Contains(fmt.Sprint(filterNames(v)), "another") {
		t.Errorf("filters: %v", v)
	}
	for time.Since(opened) < limit+100*time.Millisecond {
		waitEvent(t, events, "overview")
	}
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	for range events {
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the server took %v to end", took)
	}
}

// TestHTTPEventsBounded asks that only so many clients have events, and that a client
// that leaves makes room.
func TestHTTPEventsBounded(t *testing.T) {
	b, _ := surf(t, server.Config{})
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			for ctx.Err() == nil { // one more may have been in the way
				b.h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/api/v1/events", nil))
			}
		})
	}
	full := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/events", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		b.h.ServeHTTP(w, r)
		return w.Code == 503 && strings.Contains(w.Body.String(), "too_many_streams")
	}
	waitFor(t, full, "one more than 64 streams is served")
	b.get("/api/v1/filters")
	cancel()
	running.Wait()
	if full() {
		t.Error("no room after all have left")
	}
	if after := runtime.NumGoroutine(); after > before+10 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// TestHTTPShutdown asks that a request that waits is answered when the server ends,
// and that the server does not wait for clients that send nothing.
func TestHTTPShutdown(t *testing.T) {
	t.Parallel()
	s, addr, stop := serveHTTP(t, server.Config{HTTPAdmin: true, ShutdownTimeout: time.Minute})
	c := inside(t, s)
	c.expect("+OK\r\n", "CLIENT", "PAUSE", "60000", "WRITE")
	dialHTTP(t, addr) // it never sends anything
	nc := dialHTTP(t, addr)
	fmt.Fprintf(nc, "POST /api/v1/filters HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(createUsers), createUsers)
	waitFor(t, func() bool { return strings.Contains(c.do("INFO", "clients"), "blocked_clients:1\r\n") }, "the request does not wait")
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the server took %v to end", took)
	}
	answer, err := io.ReadAll(nc)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 201 ")) {
		t.Errorf("the request that waited: %q, %v", answer, err)
	}
}

// TestHTTPShutdownTimeout asks that a client that does not finish its request holds a
// shutdown up for its timeout, and no longer.
func TestHTTPShutdownTimeout(t *testing.T) {
	t.Parallel()
	_, addr, stop := serveHTTP(t, server.Config{HTTPAdmin: true, ShutdownTimeout: time.Second})
	nc := dialHTTP(t, addr)
	_, _ = io.WriteString(nc, "POST /api/v1/filters HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if line, err := bufio.NewReader(nc).ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" { // the body is wanted
		t.Fatalf("%q, %v", line, err)
	}
	began := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 900*time.Millisecond || took > 20*time.Second {
		t.Errorf("the server took %v to end", took)
	}
}

// TestHTTPPausedClientLeaves asks that a request whose client leaves does not wait for
// the end of a pause.
func TestHTTPPausedClientLeaves(t *testing.T) {
	b, s := surf(t, server.Config{})
	c := inside(t, s)
	c.expect("+OK\r\n", "CLIENT", "PAUSE", "60000")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/filters", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	if w.Code != 503 {
		t.Errorf("a paused request = %d", w.Code)
	}
	c.expect("+OK\r\n", "CLIENT", "UNPAUSE")
	b.get("/api/v1/filters")
}

// FuzzHTTP sends any method, path and body. Nothing may panic, nothing may be the
// server's mistake, and what says that it is JSON is.
func FuzzHTTP(f *testing.F) {
	b, s := surf(f, server.Config{HTTPAdmin: true, MaxMemory: 16 << 20})
	for _, seed := range [][3]string{
		{"GET", "/livez", ""}, {"GET", "/api/v1/filters?sort=fill&order=desc&limit=3&search=%ff", ""}, {"POST", "/api/v1/filters", createUsers},
		{"POST", "/api/v1/filters", `{"name": {"base64": "/w=="}, "kind": "window", "span": "1s", "generations": 2, "burst": 1.5, "capacity": 10}`},
		{"GET", "/api/v1/filters/users", ""}, {"GET", "/api/v1/filters/%2e%2e", ""}, {"GET", "/api/v1/filters/~_w", ""}, {"DELETE", "/api/v1/filters/users", ""},
		{"POST", "/api/v1/filters/users/add", `{"items": ["a", {"base64": "AP8="}]}`}, {"POST", "/api/v1/filters/users/rebuild", `{"step": "begin", "kind": "cuckoo", "capacity": 5}`},
		{"POST", "/api/v1/filters/users/has", "{\"items\": [\"\xff\"]}"}, {"POST", "/api/v1/filters/users/grow", `{"error_rate": 1e-300}`},
		{"GET", "/api/v1/plan?keys=18446744073709551615&error_rate=1e-320&needs=growth,,counts", ""}, {"GET", "/api/v1/events?limit=1", ""},
		{"OPTIONS", "*", ""}, {"CONNECT", "localhost:1", ""}, {"GET", "//api//v1/../v1/filters", ""}, {"POST", "/api/v1/filters/users/fold", "[[[[[[[[[[[[[[[[[["},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	n := 0
	f.Fuzz(func(t *testing.T, method, path, body string) {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", method, path, len(body))
		r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(head), strings.NewReader(body))))
		if err != nil || r.Host != "localhost" {
			return
		}
		r.RemoteAddr = "127.0.0.1:1"
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if strings.Contains(r.URL.Path, "events") {
			ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
		}
		w := httptest.NewRecorder()
		b.h.ServeHTTP(w, r.WithContext(ctx))
		if w.Code == 500 || w.Code < 200 || w.Code > 599 {
			t.Fatalf("%q %q %q = %d %s", method, path, body, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%q %q %q: no JSON: %q", method, path, body, w.Body)
		}
		if n++; n%100 == 0 {
			inside(t, s).do("FLUSHALL")
		}
	})
}
