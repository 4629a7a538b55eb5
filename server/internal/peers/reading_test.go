package peers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// begin asks a question that is to be awaited.
func begin(t *testing.T, a *Node, body []byte, room int, soon time.Duration) Pending {
	t.Helper()
	p, err := a.Begin(2, Question{Body: body, Room: room, Soon: soon, Patience: long}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReadersTakeTurns has many wait for answers of one line, some of which do not read: each gets its own.
func TestReadersTakeTurns(t *testing.T) {
	for name, c := range map[string]Config{"TLS": testConfig(t), "plain": plain} {
		t.Run(name, func(t *testing.T) {
			a, _ := couple(t, c, echo)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					for k := range 200 {
						body := bytes.Repeat(binary.LittleEndian.AppendUint32(nil, uint32(i<<16|k)), 1+k%7)
						if k%50 == 0 {
							body = bytes.Repeat(body, readBytes/len(body)+1)
						}
						q := Question{Body: body, Room: len(body), Soon: long, Patience: long}
						ask := func() ([]byte, error) { return a.Ask(t.Context(), 2, q, nil) }
						if i > 0 {
							switch p, err := a.Begin(2, q, nil); {
							case err == nil:
								ask = p.Await
							case slotsOf(len(body), len(body)) == 1 || !errors.Is(err, errBusy): // others take several slots: it waits for them
								t.Error(err)
								return
							}
						}
						got, err := ask()
						if err != nil || !bytes.Equal(got, body) {
							t.Errorf("%d bytes for %d, %v", len(got), len(body), err)
						}
					}
				})
			}
			all.Wait()
			allFree(t, a)
		})
	}
}

// TestReadersAreTold has whoever reads be told that it takes long, also when a part of the answer has come, and go on later.
func TestReadersAreTold(t *testing.T) {
	for _, size := range []int{1, 100, 2 * readBytes} {
		for _, first := range []int{0, 5, headerBytes, headerBytes + size/2} {
			more := make(chan struct{})
			a := open(t, plain, 1, echo)
			a.Know(2, impostor(t, plain, 2, func(conn net.Conn) {
				for b := make([]byte, headerBytes); ; {
					if _, err := io.ReadFull(conn, b); err != nil {
						return
					}
					h, _ := parseHeader(b)
					_, _ = io.CopyN(io.Discard, conn, int64(h.length))
					answer := appendFrame(nil, header{kind: kindAnswer, number: h.number}, bytes.Repeat([]byte{7}, h.room))
					switch {
					case h.kind == kindPing:
						answer = appendFrame(nil, header{kind: kindPong, number: h.number}, nil)
					case h.length == 1: // the question that takes long
						_, _ = conn.Write(answer[:first])
						<-more
						answer = answer[first:]
					}
					_, _ = conn.Write(answer)
				}
			}))
			reach(t, a, 2)
			for range 3 { // those who ask read from the second one on
				if _, err := begin(t, a, nil, 10, long).Await(); err != nil {
					t.Fatal(err)
				}
			}
			p := begin(t, a, []byte{1}, size, time.Millisecond)
			if _, err := p.Await(); !errors.Is(err, ErrSlow) {
				t.Fatalf("%d of %d bytes: %v", first, size, err)
			}
			close(more)
			if got, err := p.AwaitAll(t.Context()); err != nil || !bytes.Equal(got, bytes.Repeat([]byte{7}, size)) {
				t.Errorf("%d of %d bytes: %d, %v", first, size, len(got), err)
			}
			allFree(t, a)
		}
	}
}

// TestNobodyReads ends a line, and measures one, soon after somebody has asked who has read the answer.
func TestNobodyReads(t *testing.T) {
	a, b := couple(t, testConfig(t), echo)
	ask := func() {
		for range 3 {
			if _, err := begin(t, a, nil, 0, long).Await(); err != nil {
				t.Fatal(err)
			}
		}
	}
	line := (*a.links.Load())[2].line.Load()
	ask()
	line.ping()
	eventually(t, "the ping is answered", func() bool { line.mu.Lock(); defer line.mu.Unlock(); return line.pinged.IsZero() })
	ask()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "it is known that the line has ended", func() bool { return a.Stats().Lines == 0 })
}
