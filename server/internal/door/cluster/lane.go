package cluster

// A lane: a stream of the log, its sender and its tail.

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/journal"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/store"
)

// lane is a stream of the log, its sender and its tail on this node.
//
//	Do ─► waiting ─► message ─► log ─► took ─► apply ─► Wait
//
// Locks: apply before send; neither is held while anything waits for a network.
type lane struct {
	d      *Door
	number int

	// apply guards what is applied: it is held for one whole message, so
	// whoever holds it sees the state between two messages (I1).
	apply   sync.Mutex
	senders messages.Senders
	ahead   map[uint64]uint64 // see skipTo
	records []store.Record    // memory of the tail
	scratch store.Result      // of records that nobody here waits for
	sum     uint32            // of the last message applied, 0 if it is not known
	journal *journal.Journal  // takes what the message does that is being applied; nil for none

	recent atomic.Pointer[recent] // of the part that is being learned, nil if there is none

	seq   atomic.Uint64 // the last message applied; written under apply
	begun atomic.Uint64 // the last message of which something is applied, or all; written under apply
	moved progress      // of seq

	seen atomic.Uint64 // how far other nodes were whose answers were passed on to clients

	// send guards what was not applied yet.
	send    sync.Mutex
	waiting []*ride
	counter uint64               // of the last message
	flight  map[uint64]*outgoing // by counter: sent, and not come back
	pending int                  // of flight, those that no answer says are kept

	full         atomic.Bool // the stream has refused the last publication for lack of room
	waitingBytes atomic.Int64
	oldest       atomic.Int64  // when the oldest of flight was sent first, as Door.tick counts; 0 for none
	wake         chan struct{} // of the sender
	later        *time.Timer   // wakes it for what nobody waits for

	taken  atomic.Int64  // messages since the start
	bytes  atomic.Int64  // of those
	kept   atomic.Uint64 // all up to here is in a durable snapshot of this node
	purged uint64        // all up to here was purged by this node; belongs to keepUp
}

func newLane(d *Door, number int) *lane {
	l := &lane{d: d, number: number, senders: messages.Senders{}, flight: map[uint64]*outgoing{}, wake: make(chan struct{}, 1)}
	l.moved.init()
	l.later = time.AfterFunc(time.Hour, l.signal)
	l.later.Stop()
	return l
}

// name is how people know the lane.
func (l *lane) name() string {
	switch {
	case l.number == 0:
		return "CAT"
	case l == l.d.wide():
		return "W"
	}
	return fmt.Sprintf("D%d", l.number)
}

// progress wakes those who wait for a number to grow.
type progress struct {
	// mu guards nothing of its own: it is the lock of cond.
	mu   sync.Mutex
	cond sync.Cond
}

func (p *progress) init() { p.cond.L = &p.mu }

func (p *progress) wake() {
	p.mu.Lock()
	p.mu.Unlock() //nolint:staticcheck // whoever has looked is waiting now
	p.cond.Broadcast()
}

// reach returns when the lane has applied a sequence. It reports false if the door
// was closed, or has failed, before that.
func (l *lane) reach(seq uint64) bool {
	if l.seq.Load() >= seq {
		return true
	}
	l.moved.mu.Lock()
	defer l.moved.mu.Unlock()
	for l.seq.Load() < seq {
		if l.d.over.Load() {
			return false
		}
		l.moved.cond.Wait()
	}
	return true
}

// still runs f while nothing of the lane is applied; seq is the last message that
// was. A part that is frozen by f has every record up to seq and none behind it.
func (l *lane) still(f func(seq uint64)) {
	l.apply.Lock()
	defer l.apply.Unlock()
	f(l.seq.Load())
}

// resume sets the last message that was applied, before Start.
func (l *lane) resume(seq uint64, sum uint32) {
	l.apply.Lock()
	l.passed(seq, sum)
	l.apply.Unlock()
}

// place returns how far the lane is, as whoever sees anything of a message has to say
// it: a message that is being applied counts.
func (l *lane) place() messages.Place { return messages.Place{Lane: l.number, Seq: l.begun.Load()} }

// skipTo says that the contents of a part, which stands for the sum of its filter's
// id and its index, have all records up to seq: a snapshot froze it after the lane.
// It is called before Start.
func (l *lane) skipTo(part, seq uint64) {
	if l.ahead == nil {
		l.ahead = map[uint64]uint64{}
	}
	l.ahead[part] = seq
}

// behind returns how many bytes of the lane are behind a sequence, about.
func (l *lane) behind(seq uint64) int64 {
	own, taken := l.seq.Load(), l.taken.Load()
	if own <= seq || taken == 0 {
		return 0
	}
	return int64(float64(own-seq) * float64(l.bytes.Load()) / float64(taken))
}

// downAfter is after how long without an answer a lane takes no more writes.
const downAfter = 10 * time.Second

var (
	errNoAnswer = errors.New("its stream has not answered for 10 s")
	errNoRoom   = errors.New("its stream is full")
)

// down returns why the lane takes no writes at present, nil if it does.
func (l *lane) down() error {
	if at := l.oldest.Load(); at != 0 && l.d.tick()-time.Duration(at) > downAfter {
		return fmt.Errorf("lane %s: %w", l.name(), errNoAnswer)
	}
	if l.full.Load() {
		return fmt.Errorf("lane %s: %w", l.name(), errNoRoom)
	}
	return nil
}
