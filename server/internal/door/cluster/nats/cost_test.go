//go:build unix

package nats

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/ports"
	"github.com/bloomery/bloomery/server/internal/peers"
)

var (
	questionCosts = flag.Bool("question-costs", false, "measure what questions between nodes cost")
	answering     = flag.Bool("answering", false, "answer questions until the input ends: for -question-costs")
)

const costSecret = "0123456789abcdef0123456789abcdef"

// security returns the TLS of nodes that share a secret.
func security(t testing.TB) peers.Config {
	t.Helper()
	c := Config{Secret: costSecret}
	config, err := c.Security()
	if err != nil {
		t.Fatal(err)
	}
	return peers.Config{Addr: "127.0.0.1:0", Cluster: "c1", Secret: costSecret, TLS: config}
}

// TestQuestionCosts measures the processor time of a question, at both nodes together, over a
// connection of our own and through the log: two nodes in this process, TLS between them, eight
// questions at once. It alternates, and prints medians.
func TestQuestionCosts(t *testing.T) {
	if !*questionCosts {
		t.Skip("only with -question-costs")
	}
	a, logs := peerPair(t), logPair(t)
	for _, c := range []struct{ question, answer, own, log int }{{100, 100, 40000, 8000}, {8 << 10, 8 << 10, 20000, 4000}, {piece, 512 << 10, 400, 400}} {
		own := func(ctx context.Context, q, to []byte) ([]byte, error) {
			return a.Ask(ctx, 2, peers.Question{Body: q, Room: c.answer}, to)
		}
		log := func(ctx context.Context, q, _ []byte) ([]byte, error) { return logs[0].Ask(ctx, 2, q) }
		var costs [2][]time.Duration
		for range 9 {
			costs[0] = append(costs[0], cost(t, own, c.question, c.answer, c.own))
			costs[1] = append(costs[1], cost(t, log, c.question, c.answer, c.log))
		}
		for i := range costs {
			slices.Sort(costs[i])
		}
		fmt.Printf("question of %d bytes, answer of %d: own connection %v (%v to %v), log %v (%v to %v)\n",
			c.question, c.answer, costs[0][4], costs[0][0], costs[0][8], costs[1][4], costs[1][0], costs[1][8])
	}
}

// piece is how long a question is that is answered with a piece of a snapshot.
const piece = 20

var pieceAnswer = make([]byte, 512<<10)

// repeat answers questions.
func repeat(q []byte) []byte {
	if len(q) == piece {
		return pieceAnswer
	}
	return q
}

// cost returns the processor time of a question.
func cost(t *testing.T, ask func(ctx context.Context, q, to []byte) ([]byte, error), size, answer, n int) time.Duration {
	t.Helper()
	q := bytes.Repeat([]byte("q"), size)
	before := used(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			to := make([]byte, 0, min(answer, 16<<10))
			for range n / 8 {
				b, err := ask(t.Context(), q, to)
				if err != nil || len(b) != answer {
					t.Errorf("%d bytes, %v", len(b), err)
					return
				}
			}
		})
	}
	all.Wait()
	return (used(t) - before) / time.Duration(n)
}

// used returns the processor time that this process has taken.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peerPair returns node 1, which asks, and node 2, which repeats what it is asked.
func peerPair(t testing.TB) *peers.Node {
	t.Helper()
	c := security(t)
	open := func(number uint32) *peers.Node {
		n, err := peers.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		n.Serve(number, func(q *peers.Asked, to []byte) []byte {
			if len(q.Body) == piece {
				return pieceAnswer
			}
			return append(to, q.Body...)
		})
		return n
	}
	a, b := open(1), open(2)
	a.Know(2, b.Addr())
	reached(t, a, 2)
	return a
}

// reached waits until a node has a connection to another.
func reached(t testing.TB, n *peers.Node, node uint32) {
	t.Helper()
	for {
		if _, ok := n.Trip(node); ok {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no connection")
		case <-time.After(time.Millisecond):
		}
	}
}

func logPair(t *testing.T) []*Log {
	join := ports.Free(t, 3)
	logs := make([]*Log, 3)
	var all sync.WaitGroup
	for i := range logs {
		all.Go(func() {
			l, err := Open(t.Context(), Config{Cluster: "c1", Addr: join[i], Join: join, Secret: costSecret, Dir: t.TempDir(), LaneBytes: 16 << 20})
			if err != nil {
				t.Error(err)
				return
			}
			logs[i] = l
			t.Cleanup(func() { _ = l.Close() })
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	stop, err := logs[1].Serve(2, func([]byte) {}, repeat)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	// The interest in the subject has to reach the other server.
	for {
		if _, err := logs[0].Ask(t.Context(), 2, []byte("q")); err == nil {
			return logs
		}
		time.Sleep(time.Millisecond)
	}
}

// TestQuestionCostsApart is TestQuestionCosts for nodes in processes of their own, which sleep between
// questions, and some hundred questions a second or as many as there can be.
func TestQuestionCostsApart(t *testing.T) {
	if !*questionCosts {
		t.Skip("only with -question-costs")
	}
	node, theirs, bare := otherProcess(t)
	for _, c := range []struct {
		size, askers int
		pause        time.Duration
	}{{100, 1, 0}, {100, 1, time.Millisecond}, {100, 8, 0}, {3 << 10, 1, 0}, {30 << 10, 1, 0}} {
		const n = 4000
		q := bytes.Repeat([]byte("q"), c.size)
		before := used(t) + theirs()
		var all sync.WaitGroup
		for range c.askers {
			all.Go(func() {
				to := make([]byte, 0, c.size)
				for range n / c.askers {
					p, err := node.Begin(2, peers.Question{Body: q, Room: c.size, Soon: time.Minute, Patience: time.Minute}, to)
					if err == nil {
						_, err = p.Await()
					}
					if err != nil {
						t.Error(err)
						return
					}
					if c.pause > 0 {
						time.Sleep(c.pause)
					}
				}
			})
		}
		all.Wait()
		own := (used(t) + theirs() - before) / n
		if c.askers > 1 {
			fmt.Printf("two processes, %d bytes, %d at once: %v\n", c.size, c.askers, own)
			continue
		}
		before = used(t) + theirs()
		for range n {
			if _, err := bare.Write(q); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(bare, q); err != nil {
				t.Fatal(err)
			}
			if c.pause > 0 {
				time.Sleep(c.pause)
			}
		}
		fmt.Printf("two processes, %d bytes, one at a time, %v apart: %v, of bytes alone %v\n", c.size, c.pause, own, (used(t)+theirs()-before)/n)
	}
}

// otherProcess returns a node that is connected to node 2, in a process of its own, how to learn what
// processor time that has taken, and a TLS connection to it that repeats all bytes.
func otherProcess(t *testing.T) (*peers.Node, func() time.Duration, net.Conn) {
	t.Helper()
	other := exec.Command(os.Args[0], "-test.run=^TestAnswer$", "-answering")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = other.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr, bareAddr, _ := strings.Cut(strings.TrimSpace(line), " ")
	config := security(t).TLS.Clone()
	config.InsecureSkipVerify = true // it is this machine
	bare, err := tls.Dial("tcp", bareAddr, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bare.Close() })
	node, err := peers.Open(security(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	node.Know(2, addr)
	reached(t, node, 2)
	return node, func() time.Duration {
		b, err := node.Ask(t.Context(), 2, peers.Question{Room: 8}, nil)
		if err != nil || len(b) != 8 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		return time.Duration(binary.LittleEndian.Uint64(b))
	}, bare
}

// TestAnswer is the other process: it repeats what it is asked, and answers what it has used if that is
// nothing.
func TestAnswer(t *testing.T) {
	if !*answering {
		t.Skip("only for -question-costs")
	}
	node, err := peers.Open(security(t))
	if err != nil {
		t.Fatal(err)
	}
	node.Serve(2, func(q *peers.Asked, to []byte) []byte {
		if len(q.Body) == 0 {
			return binary.LittleEndian.AppendUint64(to, uint64(used(t)))
		}
		return append(to, q.Body...)
	})
	l, err := tls.Listen("tcp", "127.0.0.1:0", security(t).TLS)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.CopyBuffer(struct{ io.Writer }{conn}, struct{ io.Reader }{conn}, make([]byte, 64<<10))
		}
	}()
	fmt.Println(node.Addr(), l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = node.Close()
}
