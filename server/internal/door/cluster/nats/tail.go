package nats

// How the messages of a lane are read.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Times of a tail.
const (
	heartbeat   = 500 * time.Millisecond
	inactive    = 30 * time.Second // after which the servers drop one that nobody hears
	ownReplica  = 8                // tries to get a consumer on the own replica
	tailBackoff = time.Second      // asking is cheap while there is no leader, and clients wait

	// Without a heartbeat for so long a consumer counts as lost. One on the own
	// replica ends with this node only, so it is busy rather than gone. To make one
	// is dear: two records of the group that all servers are in, each on disk at a
	// majority. A machine under load that makes its consumers again and again loses
	// the leaders of its streams to that.
	silence    = 5 * time.Second
	silenceOwn = 20 * time.Second
	// busy is how long it takes a server to make a consumer if it should not be
	// asked for a better one.
	busy = 500 * time.Millisecond
)

// Tail calls took for every message of a lane from a sequence on, in order, until
// stop is called, which waits for a call under way. A consumer that is lost is
// made again; messages may then come again. What was purged is skipped.
func (l *Log) Tail(lane int, from uint64, took func(seq uint64, msg []byte)) (stop func(), err error) {
	t := &tail{log: l, lane: lane, stream: l.stream(lane), next: max(from, 1), took: took, stop: make(chan struct{})}
	done := make(chan struct{})
	if !l.spawn(func() { defer close(done); t.run() }) {
		return nil, errClosed
	}
	var once sync.Once
	return func() {
		once.Do(func() { close(t.stop) })
		<-done
	}, nil
}

// tail reads a stream.
type tail struct {
	log    *Log
	lane   int
	stream string
	next   uint64 // the sequence that is wanted
	took   func(seq uint64, msg []byte)
	stop   chan struct{}
}

// run makes consumers, one after the other, until the tail is to stop.
func (t *tail) run() {
	wait := 50 * time.Millisecond
	for {
		before := t.next
		err := t.follow()
		if t.stopped() {
			return
		}
		if t.next > before {
			wait = 50 * time.Millisecond
		}
		t.log.config.Log.Debug("cluster: the tail of a lane is made again", "lane", t.log.laneName(t.lane), "from", t.next, "error", err)
		select {
		case <-t.stop:
			return
		case <-t.log.ended:
			return
		case <-time.After(wait + rand.N(wait)): // not all lanes at once
		}
		wait = min(2*wait, tailBackoff)
	}
}

func (t *tail) stopped() bool {
	select {
	case <-t.stop:
		return true
	case <-t.log.ended:
		return true
	default:
		return false
	}
}

var errLost = errors.New("the consumer is lost")

// follow reads from one consumer until it is lost.
func (t *tail) follow() error {
	sub, info, err := t.consumer()
	if err != nil {
		return err
	}
	own := t.log.owns(info)
	defer func() {
		_ = sub.Unsubscribe()
		go func() { _ = t.log.js.DeleteConsumer(t.stream, info.Name, nats.MaxWait(askIn)) }()
	}()
	delivered := uint64(0) // by the count of the consumer
	missed := 0            // heartbeats, one after the other
	for !t.stopped() {
		m, err := sub.NextMsg(heartbeat)
		if errors.Is(err, nats.ErrTimeout) {
			// They are counted and not timed: a process that was stopped could not hear
			// them, and its consumers are still there.
			if missed++; time.Duration(missed)*heartbeat > t.log.patience(own) {
				return errLost
			}
			continue
		}
		if err != nil {
			return err
		}
		missed = 0
		if len(m.Data) == 0 && m.Header.Get("Status") == "100" && !strings.HasPrefix(m.Reply, "$JS.ACK.") { // messages of the stream have that
			if err := t.control(m, delivered); err != nil {
				return err
			}
			continue
		}
		at, err := m.Metadata()
		if err != nil {
			return err
		}
		if at.Sequence.Consumer != delivered+1 {
			return errLost // a message did not arrive
		}
		delivered++
		t.took(at.Sequence.Stream, m.Data)
		t.next = at.Sequence.Stream + 1
	}
	return nil
}

// control answers flow control and looks at heartbeats.
func (t *tail) control(m *nats.Msg, delivered uint64) error {
	if m.Reply != "" {
		return m.Respond(nil)
	}
	if stalled := m.Header.Get("Nats-Consumer-Stalled"); stalled != "" {
		return t.log.conn.Publish(stalled, nil)
	}
	if last, err := strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64); err == nil && last > delivered {
		return errLost // a message did not arrive
	}
	return nil
}

// patience returns without a heartbeat for how long a consumer counts as lost.
func (l *Log) patience(own bool) time.Duration {
	if own && l.keeps() {
		return silenceOwn
	}
	return silence
}

// owns reports whether a consumer is on the replica of this node.
func (l *Log) owns(info *nats.ConsumerInfo) bool {
	return l.store.Load() && info.Cluster != nil && info.Cluster.Leader == l.name
}

// consumer makes a consumer from the wanted sequence on. A log node tries for one
// on its own replica: such a tail ends with its node only, and its messages do
// not cross the network twice.
func (t *tail) consumer() (*nats.Subscription, *nats.ConsumerInfo, error) {
	l := t.log
	for try := 1; ; try++ {
		inbox := nats.NewInbox()
		sub, err := l.conn.SubscribeSync(inbox)
		if err != nil {
			return nil, nil, fmt.Errorf("cluster: %w", err)
		}
		_ = sub.SetPendingLimits(-1, -1) // flow control bounds them
		began := time.Now()
		info, err := l.js.AddConsumer(t.stream, &nats.ConsumerConfig{
			DeliverSubject: inbox, DeliverPolicy: nats.DeliverByStartSequencePolicy, OptStartSeq: t.next,
			AckPolicy: nats.AckNonePolicy, MaxDeliver: 1, Replicas: 1, MemoryStorage: true,
			FlowControl: true, Heartbeat: heartbeat, InactiveThreshold: inactive,
		})
		if err != nil {
			_ = sub.Unsubscribe()
			return nil, nil, fmt.Errorf("cluster: stream %s: consumer: %w", t.stream, err)
		}
		if !l.store.Load() || try == ownReplica || info.Cluster == nil || l.owns(info) || time.Since(began) > busy {
			return sub, info, nil
		}
		_ = sub.Unsubscribe()
		if err := l.js.DeleteConsumer(t.stream, info.Name); err != nil || t.stopped() {
			return nil, nil, fmt.Errorf("cluster: stream %s: consumer: %w", t.stream, errors.Join(err, errLost))
		}
	}
}
