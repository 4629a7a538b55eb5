package peers

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// long is how long a test waits for what must happen.
const long = time.Minute

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(long); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", long, what)
		}
	}
}

// testTLS returns the TLS of nodes that trust one certificate.
func testTLS(t testing.TB) *tls.Config {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"peers.test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, ServerName: "peers.test",
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// testConfig is of a node with a secret.
func testConfig(t testing.TB) Config {
	return Config{Addr: "127.0.0.1:0", Cluster: "c1", Secret: "a secret of many characters", TLS: testTLS(t)}
}

// plain is of a node without a secret.
var plain = Config{Addr: "127.0.0.1:0", Cluster: "c1"}

func echo(q *Asked, to []byte) []byte { return append(to, q.Body...) }

func open(t testing.TB, c Config, number uint32, answer func(q *Asked, to []byte) []byte) *Node {
	t.Helper()
	n, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	if answer != nil {
		n.Serve(number, answer)
	}
	return n
}

func reach(t *testing.T, n *Node, node uint32) {
	t.Helper()
	eventually(t, "connected", func() bool { _, ok := n.Trip(node); return ok })
}

// TestStarts asks that a node which has no number yet is known to be starting, until it has one or is gone.
func TestStarts(t *testing.T) {
	c := testConfig(t)
	a, b := open(t, c, 1, echo), open(t, c, 0, nil)
	a.Know(2, b.Addr())
	eventually(t, "it starts", func() bool { return a.Starts(2) })
	b.Serve(2, echo)
	reach(t, a, 2)
	if a.Starts(2) || a.Starts(3) {
		t.Error("one that serves, or that nobody knows, is starting")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection ends", func() bool { _, ok := a.Trip(2); return !ok })
	eventually(t, "it is gone", func() bool { return !a.Starts(2) })
}

// TestNeededIsDialed asks for a node that is not dialed at present: it is at once, and may be starting until that is over.
// Whoever asks soon after that is told what it was.
func TestNeededIsDialed(t *testing.T) {
	a := open(t, plain, 1, echo)
	l := &link{node: 2, need: make(chan struct{}, 1)}
	l.dialed.Store(since(-time.Hour))
	a.links.Store(&map[uint32]*link{2: l})
	defer a.links.Store(&map[uint32]*link{})
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	for _, starts := range []bool{true, false} {
		l.dialed.Store(since(-time.Hour))
		for range 2 { // also while it is known that it is to be dialed
			if !a.Starts(2) {
				t.Error("it is not starting, though nobody knows")
			}
		}
		if l.rest(ctx, time.Hour); ctx.Err() != nil {
			t.Fatal("it is not dialed")
		}
		l.dials.Store(true)
		l.starts.Store(false)
		if l.dialed.Store(since(time.Hour)); !a.Starts(2) {
			t.Error("it is not starting, while it is dialed")
		}
		if l.dialed.Store(since(-time.Hour)); a.Starts(2) {
			t.Error("it is starting, and was dialed an hour ago without an answer")
		}
		l.dialed.Store(since(time.Hour))
		if l.learned(starts); a.Starts(2) != starts || len(l.need) > 0 {
			t.Errorf("starting: %v, and it is dialed again", !starts)
		}
	}
}

// couple returns node 1, which is connected to node 2, which answers.
func couple(t *testing.T, c Config, answer func(q *Asked, to []byte) []byte) (a, b *Node) {
	t.Helper()
	a, b = open(t, c, 1, echo), open(t, c, 2, answer)
	a.Know(2, b.Addr())
	reach(t, a, 2)
	return a, b
}

func TestAsk(t *testing.T) {
	for name, c := range map[string]Config{"TLS": testConfig(t), "plain": plain} {
		t.Run(name, func(t *testing.T) {
			a, b := couple(t, c, func(q *Asked, to []byte) []byte {
				if q.From != 1 {
					t.Errorf("from %d", q.From)
				}
				return append(append(to, "re: "...), q.Body...)
			})
			to := make([]byte, 0, 100)
			got, err := a.Ask(t.Context(), 2, Question{Body: []byte("hello"), Room: 100}, to)
			if err != nil || string(got) != "re: hello" || &got[0] != &to[:1][0] {
				t.Errorf("%q, %v", got, err)
			}
			for _, size := range []int{0, 1, readBytes - 4, readBytes, readBytes + 1, MaxBody - 4} {
				body := make([]byte, size)
				_, _ = rand.Read(body)
				got, err := a.Ask(t.Context(), 2, Question{Body: body, Room: size + 4, Waits: size%2 == 0}, nil)
				if err != nil || !bytes.Equal(got[4:], body) {
					t.Errorf("%d bytes: %d, %v", size, len(got), err)
				}
			}
			// The other way has a connection of its own.
			if _, err := b.Ask(t.Context(), 1, Question{}, nil); !errors.Is(err, ErrUnsent) {
				t.Errorf("without a connection: %v", err)
			}
			b.Know(1, a.Addr())
			reach(t, b, 1)
			if got, err := b.Ask(t.Context(), 1, Question{Body: []byte("back"), Room: 4}, nil); err != nil || string(got) != "back" {
				t.Errorf("%q, %v", got, err)
			}
			sa, sb := a.Stats(), b.Stats()
			if sa.Asked != 7 || sb.Answered != 7 || sb.Asked != 2 || sb.Unsent != 1 || sa.Answered != 1 || sa.Lines != 2 || sb.Received < MaxBody || sa.Sent < MaxBody {
				t.Errorf("%+v, %+v", sa, sb)
			}
			a.Know(2, "")
			if _, err := a.Ask(t.Context(), 2, Question{}, nil); !errors.Is(err, ErrUnsent) {
				t.Errorf("to a node that is nowhere: %v", err)
			}
			eventually(t, "the line ends", func() bool { return b.Stats().Lines == 1 })
		})
	}
}

// TestMetIsDialed has a node that waits before it dials another one hear of that: it waits no longer.
func TestMetIsDialed(t *testing.T) {
	a, b := open(t, plain, 1, echo), open(t, plain, 2, echo)
	l := &link{node: 2, met: make(chan struct{}, 1)}
	a.links.Store(&map[uint32]*link{2: l})
	b.Know(1, a.Addr())
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	if !l.rest(ctx, time.Hour) {
		t.Error("it still waits")
	}
	a.links.Store(&map[uint32]*link{})
}

func TestAnswersOutOfOrder(t *testing.T) {
	first := make(chan struct{})
	a, _ := couple(t, testConfig(t), func(q *Asked, to []byte) []byte {
		if string(q.Body) == "first" {
			q.Aside()
			<-first
		}
		return append(to, q.Body...)
	})
	done := make(chan error)
	go func() {
		got, err := a.Ask(t.Context(), 2, Question{Body: []byte("first"), Room: 10}, nil)
		if string(got) != "first" {
			err = errors.Join(err, fmt.Errorf("%q", got))
		}
		done <- err
	}()
	for range 300 { // more than there are slots
		if got, err := a.Ask(t.Context(), 2, Question{Body: []byte("second"), Room: 10}, nil); err != nil || string(got) != "second" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	close(first)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestManyAtOnce asks 10,000 questions at once, of all lengths and both classes, some of which are
// cancelled. Each answer is that of its question.
func TestManyAtOnce(t *testing.T) {
	a, _ := couple(t, testConfig(t), func(q *Asked, to []byte) []byte {
		return append(to, bytes.Repeat(q.Body[:4], repeats(binary.LittleEndian.Uint32(q.Body)))...)
	})
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range 3000 {
		all.Go(func() {
			body := binary.LittleEndian.AppendUint32(nil, uint32(i))
			q := Question{Body: append(body, make([]byte, i%7000)...), Room: 4 * repeats(uint32(i)), Waits: i%3 == 0}
			if i%1000 == 1 {
				q.Room = MaxBody
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%10 == 0 {
				go cancel()
			}
			got, err := a.Ask(ctx, 2, q, nil)
			switch {
			case err == nil:
				answered.Add(1)
				if !bytes.Equal(got, bytes.Repeat(body[:4], repeats(uint32(i)))) {
					t.Errorf("question %d has another answer", i)
				}
			case i%10 != 0 || !errors.Is(err, context.Canceled):
				t.Errorf("question %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if answered.Load() < 2700 {
		t.Errorf("%d answers", answered.Load())
	}
	allFree(t, a)
}

// repeats returns how often a question is repeated in its answer: some answers are long.
func repeats(i uint32) int {
	if i%50 == 7 {
		return 20000 + int(i)
	}
	return int(i % 100)
}

// allFree waits until no slot of the connection to node 2 is taken.
func allFree(t *testing.T, a *Node) {
	t.Helper()
	line := (*a.links.Load())[2].line.Load()
	eventually(t, "all slots are free", func() bool { return len(line.free[0]) == classSlots && len(line.free[1]) == classSlots })
}

func TestCancel(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	a, _ := couple(t, testConfig(t), func(q *Asked, to []byte) []byte {
		ctx, other := q.Context(), q.Context()
		began <- struct{}{}
		<-ctx.Done()
		<-other.Done()
		ended <- context.Cause(ctx)
		return to
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err := a.Ask(ctx, 2, Question{Body: []byte("q"), Room: 1}, nil)
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("at the other node: %v", err)
	}
	allFree(t, a)
	go func() { <-began }()
	for sent := false; !sent; sent = !errors.Is(err, ErrUnsent) { // on a busy machine the time may be over before
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = a.Ask(ctx, 2, Question{Body: []byte("q"), Room: 1}, nil)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("deadline: %v", err) // the other node may be the first to know of it
		}
	}
	<-ended
	allFree(t, a)
}

// TestWaitingQuestionsKeepNobody fills the slots of questions that wait.
func TestWaitingQuestionsKeepNobody(t *testing.T) {
	release := make(chan struct{})
	a, _ := couple(t, plain, func(q *Asked, to []byte) []byte {
		if string(q.Body) == "wait" {
			<-release
		}
		return to
	})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range classSlots + 10 {
		all.Go(func() { _, _ = a.Ask(ctx, 2, Question{Body: []byte("wait"), Waits: true}, nil) })
	}
	line := (*a.links.Load())[2].line.Load()
	eventually(t, "all slots are taken", func() bool { return len(line.free[1]) == 0 })
	if _, err := a.Ask(t.Context(), 2, Question{}, nil); err != nil {
		t.Errorf("beside them: %v", err)
	}
	// One that finds no slot was not sent.
	short, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	for _, room := range []int{0, MaxBody} {
		if _, err := a.Ask(short, 2, Question{Waits: true, Room: room}, nil); !errors.Is(err, ErrUnsent) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a slot: %v", err)
		}
	}
	cancel()
	close(release)
	all.Wait()
	allFree(t, a)
}

func TestLimits(t *testing.T) {
	a, _ := couple(t, plain, func(_ *Asked, to []byte) []byte { return append(to, make([]byte, 100)...) })
	for _, q := range []Question{{Body: make([]byte, MaxBody+1)}, {Room: MaxBody + 1}, {Room: -1}} {
		if _, err := a.Ask(t.Context(), 2, q, nil); !errors.Is(err, ErrUnsent) || !errors.Is(err, errTooLong) {
			t.Errorf("%v", err)
		}
	}
	if _, err := a.Ask(t.Context(), 2, Question{Room: 99}, nil); !errors.Is(err, ErrUnknown) || !errors.Is(err, errLong) {
		t.Errorf("an answer that does not fit: %v", err)
	}
	if b, err := a.Ask(t.Context(), 2, Question{Room: 100}, nil); err != nil || len(b) != 100 {
		t.Errorf("one that fits: %v", err)
	}
}

func TestReconnect(t *testing.T) {
	c := plain
	a, b := couple(t, c, echo)
	c.Addr = b.Addr()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the connection ends", func() bool { _, ok := a.Trip(2); return !ok })
	if _, err := a.Ask(t.Context(), 2, Question{}, nil); !errors.Is(err, ErrUnsent) {
		t.Errorf("to a node that is away: %v", err)
	}
	open(t, c, 2, echo)
	reach(t, a, 2)
	if _, err := a.Ask(t.Context(), 2, Question{}, nil); err != nil {
		t.Error(err)
	}
	// It moves.
	other := open(t, plain, 2, echo)
	a.Know(2, other.Addr())
	reach(t, a, 2)
	if _, err := a.Ask(t.Context(), 2, Question{}, nil); err != nil || other.Stats().Answered != 1 {
		t.Error(err)
	}
}

// TestClose closes nodes in the middle of questions. What is being answered is answered, what comes
// later is refused, and nothing stays.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	began, release := make(chan struct{}, slots), make(chan struct{})
	a, b := couple(t, testConfig(t), func(q *Asked, to []byte) []byte {
		began <- struct{}{}
		<-q.Context().Done()
		<-release
		return append(to, "late"...)
	})
	answers := make(chan error, 20)
	for range 20 {
		go func() {
			got, err := a.Ask(t.Context(), 2, Question{Room: 10}, nil)
			if err == nil && string(got) != "late" {
				err = fmt.Errorf("%q", got)
			}
			answers <- err
		}()
	}
	for range 20 {
		<-began
	}
	closed := make(chan error)
	go func() { closed <- b.Close() }()
	<-b.closed.Done()
	eventually(t, "new questions are refused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // it may come before
		defer cancel()
		_, err := a.Ask(ctx, 2, Question{Room: 10}, nil)
		return errors.Is(err, ErrUnsent) && errors.Is(err, errRefused)
	})
	close(release)
	for range 20 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	a.Know(3, "127.0.0.1:1")
	if _, err := a.Ask(t.Context(), 3, Question{}, nil); !errors.Is(err, ErrUnsent) {
		t.Errorf("after Close: %v", err)
	}
	eventually(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

// TestKilled ends the connection, at both ends, while many questions are on their way.
func TestKilled(t *testing.T) {
	for round := range 6 {
		a, b := couple(t, testConfig(t), echo)
		stop := make(chan struct{})
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					body := []byte(fmt.Sprint(i))
					got, err := a.Ask(t.Context(), 2, Question{Body: body, Room: 10}, nil)
					if err == nil && !bytes.Equal(got, body) || err != nil && !errors.Is(err, ErrUnsent) && !errors.Is(err, ErrUnknown) {
						t.Errorf("%q, %v", got, err)
					}
					if err != nil {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		eventually(t, "questions", func() bool { return b.Stats().Answered > 500 })
		if round%2 == 0 {
			_ = (*a.links.Load())[2].line.Load().raw.Close()
		} else {
			b.mu.Lock()
			for line := range b.lines {
				_ = line.raw.Close()
			}
			b.mu.Unlock()
		}
		eventually(t, "it goes on", func() bool { _, ok := a.Trip(2); return ok && b.Stats().Lines == 1 })
		n := b.Stats().Answered
		eventually(t, "more questions", func() bool { return b.Stats().Answered > n+500 })
		close(stop)
		all.Wait()
		allFree(t, a)
	}
}

func TestOpenErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n, err := Open(Config{Addr: l.Addr().String()}); err == nil {
		_ = n.Close()
		t.Error("two listeners have one address")
	}
	n := open(t, Config{}, 1, echo) // asks only
	if n.Addr() != "" {
		t.Errorf("it listens at %s", n.Addr())
	}
}

// TestAskAllocates nothing of its own: what is counted is of both nodes.
func TestAskAllocates(t *testing.T) {
	a, _ := couple(t, plain, echo)
	body, to := make([]byte, 100), make([]byte, 0, 100)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := a.Ask(t.Context(), 2, Question{Body: body, Room: 100}, to); err != nil {
			t.Fatal(err)
		}
	})
	if !underRace && got > 1 { // the goroutine that answers
		t.Errorf("%v allocations a question", got)
	}
}
