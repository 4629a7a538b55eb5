package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// dial returns a connection to a node after the handshake, for a test to misuse.
func dial(t *testing.T, as, to *Node, number uint32) net.Conn {
	t.Helper()
	raw, err := net.Dial("tcp", to.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	conn, err := as.greet(t.Context(), raw, "127.0.0.1", number)
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.SetDeadline(time.Now().Add(long))
	return conn
}

// impostor listens as a node of the cluster, and gives connections after the handshake to a test.
func impostor(t *testing.T, c Config, number uint32, use func(conn net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c.Addr = ""
	n := open(t, c, number, echo)
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer raw.Close()
				if conn, _, err := n.meet(t.Context(), raw); err == nil {
					use(conn)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestStrangers asks that nobody gets in who is not to, and that who does not know the secret is
// not sent a byte.
func TestStrangers(t *testing.T) {
	good := testConfig(t)
	b := open(t, good, 2, echo)
	greet := func(c Config, number uint32) error {
		raw, err := net.Dial("tcp", b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		_ = raw.SetDeadline(time.Now().Add(long))
		c.Addr = ""
		heard := &recorder{Conn: raw}
		_, err = open(t, c, 1, echo).greet(t.Context(), heard, "127.0.0.1", number)
		if (c.Secret != good.Secret || c.Cluster != good.Cluster) && heard.read > 0 {
			t.Errorf("a stranger hears %d bytes", heard.read)
		}
		return err
	}
	if err := greet(good, 2); err != nil {
		t.Errorf("a node of the cluster: %v", err)
	}
	for name, wrong := range map[string]struct {
		change func(c *Config)
		number uint32
		want   error
	}{
		"secret":  {func(c *Config) { c.Secret += "?" }, 2, errStranger},
		"cluster": {func(c *Config) { c.Cluster = "c2" }, 2, errStranger},
		"number":  {func(*Config) {}, 3, errNode},
		"nobody":  {func(*Config) {}, 0, errNode},
		"no TLS":  {func(c *Config) { c.TLS = nil }, 2, errStranger},
	} {
		c := good
		wrong.change(&c)
		if err := greet(c, wrong.number); !errors.Is(err, wrong.want) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	other := good
	other.TLS = testTLS(t)
	if err := greet(other, 2); err == nil {
		t.Error("another authority")
	}
	for name, said := range map[string][]byte{
		"nothing": nil, "TLS": {22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3}, "HTTP": []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n                  "),
		"a knock": append([]byte(magic), make([]byte, 32)...),
	} {
		raw, err := net.Dial("tcp", b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = raw.Write(said)
		_ = raw.(*net.TCPConn).CloseWrite()
		_ = raw.SetDeadline(time.Now().Add(long))
		got, err := io.ReadAll(raw)
		if len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: it is answered %q, %v", name, got, err)
		}
		_ = raw.Close()
	}
	if s := b.Stats(); s.Answered != 0 {
		t.Errorf("%+v", s)
	}
	eventually(t, "no line is left", func() bool { return b.Stats().Lines == 0 })
}

// TestVersions has nodes of other releases meet this one.
func TestVersions(t *testing.T) {
	n := open(t, plain, 2, echo)
	for _, c := range []struct{ low, high, verdict, version byte }{
		{1, 1, accepted, 1}, {1, 9, accepted, 1}, {2, 9, otherVersion, 1}, {0, 0, otherVersion, 0}, {0, 1, accepted, 1},
	} {
		verdict, version, number := n.judge(c.low, c.high, 2)
		if verdict != c.verdict || version != c.version || number != 2 {
			t.Errorf("%+v: %d, %d, %d", c, verdict, version, number)
		}
	}
	if verdict, _, _ := n.judge(1, 1, 3); verdict != otherNode {
		t.Errorf("another node is wanted: %d", verdict)
	}
	if verdict, _, _ := open(t, plain, 0, nil).judge(1, 1, 0); verdict != otherNode {
		t.Errorf("a node that has no number yet: %d", verdict)
	}
}

// recorder keeps what is written, and counts what is read.
type recorder struct {
	net.Conn
	mu   sync.Mutex
	said []byte
	read int
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.mu.Lock()
	r.read += n
	r.mu.Unlock()
	return n, err
}

func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	r.said = append(r.said, b...)
	r.mu.Unlock()
	return r.Conn.Write(b)
}

// TestReplay says again all that a node has said, byte for byte.
func TestReplay(t *testing.T) {
	c := testConfig(t)
	a, b := open(t, c, 1, echo), open(t, c, 2, echo)
	raw, err := net.Dial("tcp", b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	r := &recorder{Conn: raw}
	conn, err := a.greet(t.Context(), r, "127.0.0.1", 2)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write(appendFrame(nil, header{kind: kindQuestion, room: 10}, []byte("q")))
	eventually(t, "the question is answered", func() bool { return b.Stats().Answered == 1 })
	again, err := net.Dial("tcp", b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	_ = again.SetDeadline(time.Now().Add(long))
	_, _ = again.Write(r.said)
	if _, err := io.Copy(io.Discard, again); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is not refused")
	}
	if s := b.Stats(); s.Answered != 1 || s.Lines != 1 {
		t.Errorf("after a replay: %+v", s)
	}
}

// TestRelay has somebody between two nodes who has a certificate of their authority, and not their
// secret. What one node proves is of no use to the other.
func TestRelay(t *testing.T) {
	c := testConfig(t)
	a, b := open(t, c, 1, echo), open(t, c, 2, echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	relayed := make(chan error, 1)
	go func() {
		in, err := l.Accept()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("tcp", b.Addr())
		if err != nil {
			return
		}
		defer out.Close()
		_, _ = io.CopyN(out, in, int64(knockBytes))
		from, to := tls.Server(in, c.TLS), tls.Client(out, c.TLS)
		_, err = io.CopyN(to, from, int64(helloBytes))
		if err == nil {
			_, err = io.CopyN(from, to, int64(welcomeBytes))
		}
		relayed <- err
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := a.greet(t.Context(), raw, "127.0.0.1", 2); !errors.Is(err, errStranger) {
		t.Errorf("the node that dials: %v", err)
	}
	if err := <-relayed; !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("the node that was dialled has answered: %v", err)
	}
	if s := b.Stats(); s.Lines != 0 {
		t.Errorf("%+v", s)
	}
}

// TestFalseWelcome meets listeners that do not prove what they say.
func TestFalseWelcome(t *testing.T) {
	a := open(t, plain, 1, echo)
	for name, change := range map[string]func(welcome []byte, n *Node, nonce, hello []byte) []byte{
		"no proof": func(w []byte, _ *Node, _, _ []byte) []byte { w[len(w)-1]++; return w },
		"number": func(w []byte, n *Node, nonce, hello []byte) []byte {
			return n.appendProof([]byte{accepted, 1, 3, 0, 0, 0}, "welcome", nonce, hello, []byte{accepted, 1, 3, 0, 0, 0})
		},
		"version": func(w []byte, n *Node, nonce, hello []byte) []byte {
			return n.appendProof([]byte{accepted, 2, 2, 0, 0, 0}, "welcome", nonce, hello, []byte{accepted, 2, 2, 0, 0, 0})
		},
		"verdict": func(w []byte, n *Node, nonce, hello []byte) []byte {
			return n.appendProof([]byte{77, 1, 2, 0, 0, 0}, "welcome", nonce, hello, []byte{77, 1, 2, 0, 0, 0})
		},
		"short": func(w []byte, _ *Node, _, _ []byte) []byte { return w[:20] },
	} {
		ours, theirs := net.Pipe()
		go func() {
			knock, hello := make([]byte, knockBytes), make([]byte, helloBytes)
			_, _ = io.ReadFull(theirs, knock)
			_, _ = io.ReadFull(theirs, hello)
			nonce := knock[len(magic) : len(magic)+16]
			said := []byte{accepted, 1, 2, 0, 0, 0}
			_, _ = theirs.Write(change(a.appendProof(bytes.Clone(said), "welcome", nonce, hello, said), a, nonce, hello))
			_ = theirs.Close()
		}()
		if _, err := a.greet(t.Context(), ours, "", 2); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if helloBytes != 10+sha256.Size {
		t.Error("the hello has another length")
	}
}

// TestIdleStrangers has strangers connect and say nothing: they keep nobody out.
func TestIdleStrangers(t *testing.T) {
	c := testConfig(t)
	b := open(t, c, 2, echo)
	before := runtime.NumGoroutine()
	for range 3 * mostGreeting {
		raw, err := net.Dial("tcp", b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
	}
	a := open(t, c, 1, echo)
	a.Know(2, b.Addr())
	reach(t, a, 2)
	eventually(t, "handshakes are bounded", func() bool { return runtime.NumGoroutine() < before+mostGreeting+20 })
}

// TestOldestHandshakeEnds has one handshake more than there may be.
func TestOldestHandshakeEnds(t *testing.T) {
	n := open(t, Config{}, 1, echo)
	var ours []net.Conn
	for range mostGreeting + 1 {
		mine, theirs := net.Pipe()
		_ = mine.SetDeadline(time.Now()) // what is open is not read
		ours = append(ours, mine)
		if _, ok := n.begin(theirs); !ok {
			t.Fatal("refused")
		}
	}
	for i, c := range ours {
		if _, err := c.Write([]byte{0}); errors.Is(err, io.ErrClosedPipe) != (i == 0) {
			t.Errorf("handshake %d: %v", i, err)
		}
	}
}

// TestPingsUnread bounds the answers to pings of a node that does not read.
func TestPingsUnread(t *testing.T) {
	a := newAnswerer(1, echo)
	a.some.L = &a.mu
	for err := error(nil); err == nil; err = a.pong(header{kind: kindPing}) {
		if len(a.out) > 3*slots*slotBytes {
			t.Fatal("there is no bound")
		}
	}
}

// TestHostileAskers misuses the connection of a node that knows the secret. It is closed.
func TestHostileAskers(t *testing.T) {
	block := make(chan struct{})
	b := open(t, plain, 2, func(q *Asked, to []byte) []byte {
		if string(q.Body) == "block" {
			q.Aside()
			<-block
		}
		return to
	})
	defer close(block)
	a := open(t, plain, 1, echo)
	blocked := func(slot uint32, room int) []byte {
		return appendFrame(nil, header{kind: kindQuestion, number: slot, room: room}, []byte("block"))
	}
	many := func() (out []byte) {
		for slot := range uint32(4) {
			out = append(out, blocked(slot, MaxBody)...)
		}
		return out
	}
	for name, said := range map[string][]byte{
		"nonsense":        bytes.Repeat([]byte("nonsense"), 10),
		"length":          {255, 255, 255, 255, kindQuestion, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"slot":            blocked(slots, 0),
		"slot twice":      append(blocked(1, 0), blocked(1, 0)...),
		"slots of others": many(),
		"answer":          appendFrame(nil, header{kind: kindAnswer}, nil),
		"pong":            appendFrame(nil, header{kind: kindPong}, nil),
	} {
		conn := dial(t, a, b, 2)
		if _, err := conn.Write(said); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(conn); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// Cancelling what there is not, and pings, are no harm.
	conn := dial(t, a, b, 2)
	_, _ = conn.Write(appendFrame(appendFrame(appendFrame(nil, header{kind: kindCancel, number: 1<<32 - 1}, nil), header{kind: kindCancel}, nil), header{kind: kindPing, number: 7}, nil))
	got := make([]byte, headerBytes)
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, appendFrame(nil, header{kind: kindPong, number: 7}, nil)) {
		t.Errorf("%x, %v", got, err)
	}
	// Half of a question is no question.
	n := b.Stats().Answered
	whole := appendFrame(nil, header{kind: kindQuestion, room: 10}, []byte("question"))
	for _, cut := range []int{1, headerBytes, len(whole) - 1} {
		conn := dial(t, a, b, 2)
		_, _ = conn.Write(whole[:cut])
		_ = conn.Close()
	}
	eventually(t, "their lines end", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.lines) <= 3 }) // those that block, and the one above
	if b.Stats().Answered != n {
		t.Error("half of a question was answered")
	}
}

// TestHostileAnswers asks nodes that answer what they should not.
func TestHostileAnswers(t *testing.T) {
	answer := func(number uint32, length int) []byte {
		return appendFrame(nil, header{kind: kindAnswer, number: number}, make([]byte, length))
	}
	for name, reply := range map[string]func(number uint32) []byte{
		"another number":  func(n uint32) []byte { return answer(n+1, 1) },
		"another turn":    func(n uint32) []byte { return answer(n+1<<16, 1) },
		"a slot too high": func(uint32) []byte { return answer(slots, 1) },
		"too long":        func(n uint32) []byte { return answer(n, 11) },
		"a question":      func(n uint32) []byte { return appendFrame(nil, header{kind: kindQuestion, number: n}, nil) },
		"half a frame":    func(n uint32) []byte { return answer(n, 10)[:20] },
		"half a header":   func(n uint32) []byte { return answer(n, 10)[:3] },
		"nothing":         func(uint32) []byte { return nil },
	} {
		a := open(t, plain, 1, echo)
		a.Know(2, impostor(t, plain, 2, func(conn net.Conn) {
			for b := make([]byte, headerBytes+1); ; {
				if _, err := io.ReadFull(conn, b[:headerBytes]); err != nil {
					return
				}
				if b[kindAt] == kindPing {
					_, _ = conn.Write(appendFrame(nil, header{kind: kindPong, number: binary.LittleEndian.Uint32(b[5:])}, nil))
					continue
				}
				_, _ = conn.Write(reply(binary.LittleEndian.Uint32(b[5:])))
				return
			}
		}))
		reach(t, a, 2)
		if _, err := a.Ask(t.Context(), 2, Question{Room: 10}, nil); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswerTwice has a node answer a question twice: the second one is for nobody, even if the
// slot is used again.
func TestAnswerTwice(t *testing.T) {
	a := open(t, plain, 1, echo)
	a.Know(2, impostor(t, plain, 2, func(conn net.Conn) {
		for b := make([]byte, headerBytes); ; {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			if h, _ := parseHeader(b); h.kind == kindPing {
				_, _ = conn.Write(appendFrame(nil, header{kind: kindPong, number: h.number}, nil))
			} else {
				one := appendFrame(nil, header{kind: kindAnswer, number: h.number}, nil)
				_, _ = conn.Write(append(one, one...))
			}
		}
	}))
	reach(t, a, 2)
	if _, err := a.Ask(t.Context(), 2, Question{}, nil); err != nil {
		t.Errorf("the first: %v", err)
	}
	line := (*a.links.Load())[2].line.Load()
	if line != nil {
		<-line.gone
	}
}

// TestPeerDoesNotRead asks a node that reads nothing, for as long as it takes to fill all buffers:
// what waits is bounded, those who go away get their slots back or leave them, and in the end the
// line is given up.
func TestPeerDoesNotRead(t *testing.T) {
	stop := make(chan struct{})
	a := open(t, plain, 1, echo)
	a.Know(2, impostor(t, plain, 2, func(conn net.Conn) {
		b := make([]byte, headerBytes)
		_, _ = io.ReadFull(conn, b) // the first ping
		h, _ := parseHeader(b)
		_, _ = conn.Write(appendFrame(nil, header{kind: kindPong, number: h.number}, nil))
		<-stop
	}))
	defer close(stop)
	reach(t, a, 2)
	line := (*a.links.Load())[2].line.Load()
	body := make([]byte, MaxBody)
	unsent, unknown := 0, 0
	for unsent < 20 && unknown <= classSlots { // long before the silence is noticed
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := a.Ask(ctx, 2, Question{Body: body}, nil)
		cancel()
		switch {
		case errors.Is(err, ErrUnsent):
			unsent++
		case errors.Is(err, ErrUnknown):
			unknown++
		default:
			t.Fatal(err)
		}
	}
	line.mu.Lock()
	waits := len(line.out)
	line.mu.Unlock()
	if most := classSlots * slotBytes; waits > most || unknown > classSlots {
		t.Errorf("%d bytes wait, of %d; %d unsent, %d unknown", waits, most, unsent, unknown)
	}
	waiting := make(chan error)
	go func() { _, err := a.Ask(t.Context(), 2, Question{Waits: true}, nil); waiting <- err }()
	eventually(t, "the line is given up", func() bool { line.tick(); return line.dead() })
	if err := <-waiting; !errors.Is(err, ErrUnsent) && !errors.Is(err, ErrUnknown) {
		t.Errorf("who waits: %v", err)
	}
}

// dead reports whether a line has ended.
func (l *line) dead() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

// TestAskerDoesNotRead is the other end: a node that asks, and does not read the answers.
func TestAskerDoesNotRead(t *testing.T) {
	b := open(t, plain, 2, func(_ *Asked, to []byte) []byte { return append(to, make([]byte, 30<<10)...) })
	a := open(t, plain, 1, echo)
	conn := dial(t, a, b, 2)
	var out []byte
	for slot := range uint32(slots) {
		out = appendFrame(out, header{kind: kindQuestion, number: slot, room: 30 << 10}, nil)
	}
	if _, err := conn.Write(out); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is answered", func() bool { return b.Stats().Answered == slots })
	b.mu.Lock()
	line := slices.Collect(maps.Keys(b.lines))[0]
	b.mu.Unlock()
	line.running.Wait() // nobody who answers waits for the one who does not read
	eventually(t, "the line is given up", func() bool { line.tick(); return line.dead() })
	eventually(t, "it is forgotten", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.lines) == 0 })
}

// TestTakenBack has the writer stand still: a question that is cancelled meanwhile was not sent,
// and is not sent later.
func TestTakenBack(t *testing.T) {
	ours, theirs := net.Pipe()
	a := newAsker(2)
	a.init(ours, ours, new(counters))
	written := make(chan struct{})
	go func() { a.write(); close(written) }()
	ask := func(ctx context.Context, body string) chan error {
		done := make(chan error, 1)
		go func() { _, err := a.ask(ctx, Question{Body: []byte(body)}, nil); done <- err }()
		return done
	}
	pending := func(n int) func() bool {
		return func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.out) == n }
	}
	first := ask(t.Context(), "first") // a pipe has no buffer: it is being written until it is read
	eventually(t, "the first is being written", func() bool { return a.writes.Load() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	second := ask(ctx, "second")
	eventually(t, "the second waits", pending(headerBytes+6))
	cancel()
	if err := <-second; !errors.Is(err, ErrUnsent) || !errors.Is(err, context.Canceled) {
		t.Errorf("taken back: %v", err)
	}
	if free := len(a.free[0]); free != classSlots-2 {
		t.Errorf("%d slots are free while the frame waits", free)
	}
	third := ask(t.Context(), "third")
	eventually(t, "the third waits", pending(2*headerBytes+11))
	b := make([]byte, 3*headerBytes+5+6+5)
	if _, err := io.ReadFull(theirs, b[:headerBytes+8]); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(theirs, b[headerBytes+8:]); err != nil {
		t.Fatal(err)
	}
	var kinds []byte
	for rest := b; len(rest) > 0; {
		h, err := parseHeader(rest)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, h.kind)
		rest = rest[headerBytes+h.length:]
	}
	if !bytes.Equal(kinds, []byte{kindQuestion, kindVoid, kindQuestion}) {
		t.Errorf("frames of the kinds %d", kinds)
	}
	eventually(t, "its slot is free", func() bool { return len(a.free[0]) == classSlots-2 })
	// What was written is unknown when the line ends, what waits was not sent.
	fourth := ask(t.Context(), "fourth")
	eventually(t, "the fourth is being written", func() bool { return a.writes.Load() == 5 })
	fifth := ask(t.Context(), "fifth")
	eventually(t, "the fifth waits", pending(headerBytes+5))
	a.end(io.ErrClosedPipe)
	for i, done := range []chan error{first, third, fourth} {
		if err := <-done; !errors.Is(err, ErrUnknown) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := <-fifth; !errors.Is(err, ErrUnsent) {
		t.Errorf("the fifth: %v", err)
	}
	<-written
}

// TestSilence gives up a line on which nothing comes, and none on which something does.
func TestSilence(t *testing.T) {
	a, b := couple(t, plain, echo)
	line := (*a.links.Load())[2].line.Load()
	for range 5 * patientTicks {
		a.tick()
		eventually(t, "the ping is answered", func() bool { line.mu.Lock(); defer line.mu.Unlock(); return line.pinged.IsZero() })
		b.tick()
	}
	if line.dead() {
		t.Error("a line that answers pings was given up")
	}
	line.heard.Store(false)
	for range patientTicks + 1 {
		line.tick()
	}
	if !line.dead() {
		t.Error("a silent line is kept")
	}
}

// TestStuckWrite gives up a line whose other end sends, and does not read.
func TestStuckWrite(t *testing.T) {
	ours, _ := net.Pipe()
	a := newAsker(2)
	a.init(ours, ours, new(counters))
	go a.write()
	a.ping()
	eventually(t, "the ping is being written", func() bool { return a.writes.Load() == 1 })
	for range patientTicks + 2 {
		a.heard.Store(true)
		a.tick()
	}
	if !a.dead() {
		t.Error("a line that nobody reads is kept")
	}
}
