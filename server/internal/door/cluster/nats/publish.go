package nats

// How a message is published, with repeats.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

// Times of a message on its way.
const (
	ackIn  = 5 * time.Second        // after which it counts as not known to be stored
	failIn = 100 * time.Millisecond // before which no failure is reported: it will be sent again
)

// Publish sends a message to a lane and calls done once: with nil when it is
// stored at a majority, else with an error, after which it may be stored or not.
// It does not wait.
func (l *Log) Publish(lane int, msg []byte, done func(error)) {
	token, ok := l.acks.expect(lane, done)
	if !ok {
		done(errClosed)
		return
	}
	if err := l.conn.PublishRequest(l.laneSubject(lane), l.acks.inbox+strconv.FormatUint(token, 36), msg); err != nil {
		l.acks.settle(token, fmt.Errorf("cluster: %w", err))
	}
}

// acks are the messages on their way.
type acks struct {
	inbox string // of all answers, with a dot at its end
	// mu guards what follows.
	mu    sync.Mutex
	last  uint64
	open  map[uint64]sent
	ended bool
}

type sent struct {
	lane int
	at   time.Time
	done func(error)
}

func (a *acks) begin(l *Log) error {
	a.inbox, a.open = nats.NewInbox()+".", map[uint64]sent{}
	err := subscribe(l.conn, a.inbox+"*", func(m *nats.Msg) {
		if token, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, a.inbox), 36, 64); err == nil {
			a.settle(token, verdict(m))
		}
	})
	if err != nil {
		return err
	}
	l.spawn(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-l.ended:
				return
			case now := <-tick.C:
				a.expire(now)
			}
		}
	})
	return nil
}

// expect notes that an answer is to come. It reports false if none can come any
// more.
func (a *acks) expect(lane int, done func(error)) (token uint64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return 0, false
	}
	a.last++
	a.open[a.last] = sent{lane, time.Now(), done}
	return a.last, true
}

// settle passes an answer on, the first for each message. Failures wait a little:
// whoever sends again at once would do so many thousand times while there is no
// leader.
func (a *acks) settle(token uint64, err error) {
	a.mu.Lock()
	s, ok := a.open[token]
	early := failIn - time.Since(s.at)
	if ok && err != nil && early > 0 && !a.ended {
		a.mu.Unlock()
		time.AfterFunc(early, func() { a.settle(token, err) })
		return
	}
	delete(a.open, token)
	a.mu.Unlock()
	if ok {
		s.done(err)
	}
}

// expire fails the messages that have waited for too long.
func (a *acks) expire(now time.Time) {
	a.fail(errNoAck, func(s sent) bool { return now.Sub(s.at) > ackIn })
}

// elected fails the messages of a lane that has a new leader: the one before may have
// had them, and answers nobody any more.
func (a *acks) elected(lane int) {
	a.fail(errElected, func(s sent) bool { return s.lane == lane })
}

// fail answers the messages that match with an error.
func (a *acks) fail(err error, match func(sent) bool) {
	a.mu.Lock()
	var tokens []uint64
	for token, s := range a.open {
		if match(s) {
			tokens = append(tokens, token)
		}
	}
	a.mu.Unlock()
	for _, token := range tokens {
		a.settle(token, err)
	}
}

func (a *acks) failAll(err error) {
	a.mu.Lock()
	a.ended = true
	all := a.open
	a.open = map[uint64]sent{}
	a.mu.Unlock()
	for _, s := range all {
		s.done(err)
	}
}

var (
	errNoAck    = errors.New("cluster: no acknowledgement in time")
	errNoLeader = errors.New("cluster: the lane has no leader")
	errElected  = errors.New("cluster: the lane has a new leader")
)

// JetStream's codes for a stream that is full.
var full = map[int]bool{10077: true, 10047: true, 10023: true}

// verdict returns what an answer says: nil if the message is stored.
func verdict(m *nats.Msg) error {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return errNoLeader
	}
	var ack struct {
		Stream string `json:"stream"`
		Error  *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return fmt.Errorf("cluster: the acknowledgement cannot be read: %w", err)
	}
	switch {
	case ack.Error == nil && ack.Stream != "":
		return nil
	case ack.Error == nil:
		return errors.New("cluster: an acknowledgement without a stream")
	case full[ack.Error.Code]:
		return fmt.Errorf("cluster: %s: %w", ack.Error.Description, cluster.ErrFull)
	}
	return fmt.Errorf("cluster: %s (%d)", ack.Error.Description, ack.Error.Code)
}
