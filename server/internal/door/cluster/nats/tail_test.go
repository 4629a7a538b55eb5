package nats

// Tails: what they do when consumers lose messages.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// script speaks as a NATS server does, and delivers what a test says. A real one lets no
// client send what its streams deliver.
type script struct {
	end       net.Conn
	published chan string // subjects

	mu   sync.Mutex        // guards what follows, and writing
	subs map[string]string // ids of subscriptions by subject
}

func (s *script) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.end, text)
}

// run answers until the other side is gone.
func (s *script) run() {
	s.write("INFO {\"server_id\":\"s\",\"version\":\"2.10.0\",\"headers\":true,\"proto\":1,\"max_payload\":1048576}\r\n")
	for lines := bufio.NewReader(s.end); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		f := strings.Fields(line)
		switch f[0] {
		case "PING":
			s.write("PONG\r\n")
		case "SUB":
			s.mu.Lock()
			s.subs[f[1]] = f[len(f)-1]
			s.mu.Unlock()
		case "PUB":
			n, _ := strconv.Atoi(f[len(f)-1])
			if _, err := lines.Discard(n + 2); err != nil {
				return
			}
			s.published <- f[1]
		}
	}
}

// deliver sends a message to a subscription.
func (s *script) deliver(subject, reply, header, text string) {
	s.mu.Lock()
	id := s.subs[subject]
	s.mu.Unlock()
	head := "NATS/1.0\r\n" + header + "\r\n"
	s.write(fmt.Sprintf("HMSG %s %s %s %d %d\r\n%s%s\r\n", subject, id, reply, len(head), len(head)+len(text), head, text))
}

// dialed is a connection that is there already.
type dialed struct{ net.Conn }

// Dial implements nats.CustomDialer.
func (d dialed) Dial(string, string) (net.Conn, error) { return d.Conn, nil }

// scripted returns a log whose server is a script.
func scripted(t *testing.T) (*Log, *script) {
	t.Helper()
	s := &script{published: make(chan string, 8), subs: map[string]string{}}
	near, far := connected(t)
	s.end = near
	go s.run()
	l := external(nil)
	conn, err := nats.Connect("nats://127.0.0.1:1", append(connectOptions(&l.config), nats.NoReconnect(), nats.SetCustomDialer(dialed{far}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		_ = near.Close()
	})
	l.conn = conn
	return l, s
}

// TestTailGoesOn loses messages of a tail in every way that it can notice: it begins again
// where it was.
func TestTailGoesOn(t *testing.T) {
	t.Parallel()
	l, s := scripted(t)
	number, consumers, deleted := 0, make(chan *nats.ConsumerConfig, 8), make(chan string, 8)
	l.js = &jetStream{
		consume: func(stream string, c *nats.ConsumerConfig) (*nats.ConsumerInfo, error) {
			if number++; number == 1 {
				return nil, errors.New("no leader")
			}
			if stream != l.stream(0) {
				t.Errorf("a consumer of %s", stream)
			}
			err := l.conn.Flush() // the script knows the subscription
			consumers <- c
			return &nats.ConsumerInfo{Name: fmt.Sprint("c", number)}, err
		},
		forget: func(_, consumer string) error {
			deleted <- consumer
			return nil
		},
	}
	got := make(chan string, 8)
	stop, err := l.Tail(0, 0, func(seq uint64, msg []byte) { got <- fmt.Sprintf("%d %s", seq, msg) })
	if err != nil {
		t.Fatal(err)
	}
	next := func(want uint64) (message func(seq, count int, header, text string), control func(reply, header string)) {
		t.Helper()
		c := soon(t, consumers)
		if c.OptStartSeq != want || c.Heartbeat == 0 || !c.FlowControl || c.DeliverPolicy != nats.DeliverByStartSequencePolicy {
			t.Errorf("a consumer from %d: %+v, want from %d", c.OptStartSeq, c, want)
		}
		message = func(seq, count int, header, text string) {
			s.deliver(c.DeliverSubject, fmt.Sprintf("$JS.ACK.s.c.1.%d.%d.1700000000000000000.0", seq, count), header, text)
		}
		return message, func(reply, header string) { s.deliver(c.DeliverSubject, reply, "Status: 100\r\n"+header, "") }
	}
	took := func(want string) {
		t.Helper()
		if text := soon(t, got); text != want {
			t.Errorf("the tail took %q, want %q", text, want)
		}
	}
	message, control := next(1)
	message(1, 1, "", "one")
	took("1 one")
	// Flow control is answered, and a heartbeat of a consumer without loss is nothing.
	control("flow.reply", "")
	control("", "Nats-Consumer-Stalled: flow.stalled\r\n")
	for _, want := range []string{"flow.reply", "flow.stalled"} {
		if subject := soon(t, s.published); subject != want {
			t.Errorf("%s was answered, want %s", subject, want)
		}
	}
	control("", "Nats-Last-Consumer: 1\r\n")
	// Messages of the lane may look like those of the servers.
	message(4, 2, "Status: 100\r\n", "")
	took("4 ")
	message(5, 3, "", "")
	took("5 ")
	message(7, 5, "", "the one before it did not arrive")
	message, control = next(6)
	message(6, 1, "", "six")
	took("6 six")
	control("", "Nats-Last-Consumer: 2\r\n") // the second did not arrive
	message, _ = next(7)
	message(7, 1, "", "seven")
	took("7 seven")
	stop()
	stop() // twice does no harm
	for range 3 {
		soon(t, deleted)
	}
	if len(got) > 0 || len(consumers) > 0 || number != 4 {
		t.Errorf("%d messages more; %d consumers", len(got), number)
	}
}

// TestOwnConsumer asks for how long a log node tries for a consumer on its own replica.
func TestOwnConsumer(t *testing.T) {
	t.Parallel()
	l, _ := scripted(t)
	l.name = "own"
	for name, c := range map[string]struct {
		stores  bool
		leaders []string // of consumers one after the other; the last stays
		forget  error
		want    int // consumers, 0 for an error
	}{
		"no log node":        {false, []string{"a"}, nil, 1},
		"at once":            {true, []string{"own"}, nil, 1},
		"the third":          {true, []string{"a", "b", "own"}, nil, 3},
		"never":              {true, []string{"a"}, nil, ownReplica},
		"cannot be deleted":  {true, []string{"a"}, nats.ErrTimeout, 0},
		"of a single server": {true, nil, nil, 1},
	} {
		l.store.Store(c.stores)
		made, gone := 0, 0
		l.js = &jetStream{
			consume: func(string, *nats.ConsumerConfig) (*nats.ConsumerInfo, error) {
				made++
				info := &nats.ConsumerInfo{Name: fmt.Sprint(made)}
				if n := len(c.leaders); n > 0 {
					info.Cluster = &nats.ClusterInfo{Leader: c.leaders[min(made, n)-1]}
				}
				return info, nil
			},
			forget: func(_, consumer string) error {
				if gone++; consumer != fmt.Sprint(made) {
					t.Errorf("%s: consumer %s is deleted, %d were made", name, consumer, made)
				}
				return c.forget
			},
		}
		subs := l.conn.NumSubscriptions()
		began := time.Now()
		sub, info, err := (&tail{log: l, stream: "s", next: 1, stop: make(chan struct{})}).consumer()
		slow := time.Since(began) > busy // a busy machine is asked once
		if !slow && ((err != nil) != (c.want == 0) || c.want > 0 && (made != c.want || gone != c.want-1 || info.Name != fmt.Sprint(made) || !sub.IsValid())) {
			t.Errorf("%s: %d consumers were made, %d deleted, %v", name, made, gone, err)
		}
		if err == nil {
			err = sub.Unsubscribe()
		} else {
			err = nil
		}
		if n := l.conn.NumSubscriptions(); n != subs || err != nil {
			t.Errorf("%s: %d subscriptions are left, %v", name, n-subs, err)
		}
	}
}
