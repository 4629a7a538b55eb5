// Package memlog is a log in memory for tests of a cluster. Like a real one it may
// lose an acknowledgement, keep a message twice, deliver one again, be slow, and lose
// its quorum; unlike a real one it does so as often as it is told to.
package memlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Faults is what a log does to its users. Probabilities are between 0 and 1.
type Faults struct {
	Lost    float64       // a publication is not kept, and answered with an error
	Unacked float64       // it is kept, and answered with an error
	Twice   float64       // it is kept twice
	Again   float64       // a tail delivers an old message once more
	Delay   time.Duration // of whatever is on its way, at most
	Late    time.Duration // by which it is kept the second time, beside that
	Answer  time.Duration // after which a publication that is not kept is answered
}

// errAnswer is the error of a publication of which nobody knows.
var errAnswer = errors.New("memlog: no answer")

// errDown is the error of a question while there is no quorum.
var errDown = errors.New("memlog: no leader")

// Log is a set of streams.
//
// Safe for concurrent use.
type Log struct {
	// mu guards what follows.
	mu      sync.Mutex
	moved   sync.Cond
	faults  Faults
	random  *rand.Rand
	streams []*stream
	down    bool
	full    bool
	lanes   int
}

type stream struct {
	first    uint64 // sequence of messages[0]
	messages [][]byte
}

func (s *stream) last() uint64 { return s.first + uint64(len(s.messages)) - 1 }

// New returns a log with one empty stream.
func New(seed uint64, f Faults) *Log {
	l := &Log{faults: f, random: rand.New(rand.NewPCG(seed, 1)), streams: []*stream{{first: 1}}}
	l.moved.L = &l.mu
	return l
}

// SetFaults replaces the faults.
func (l *Log) SetFaults(f Faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
}

// SetDown takes the quorum away, or gives it back. Without it nothing is kept and
// nothing answered in time; what was kept is still delivered.
func (l *Log) SetDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

// SetFull has streams refuse messages for lack of room.
func (l *Log) SetFull(full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = full
}

// Messages returns how many messages a lane has had.
func (l *Log) Messages(lane int) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[lane].last()
}

// Append puts a message into a lane as it is.
func (l *Log) Append(lane int, msg []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(lane, msg)
}

func (l *Log) keep(lane int, msg []byte) {
	s := l.streams[lane]
	s.messages = append(s.messages, msg)
	l.moved.Broadcast()
}

// chance reports true with a probability. The caller holds mu.
func (l *Log) chance(p float64) bool { return p > 0 && l.random.Float64() < p }

// delay returns a time that something is on its way. The caller holds mu.
func (l *Log) delay() time.Duration { return l.upTo(l.faults.Delay) }

// upTo returns a time, at most most. The caller holds mu.
func (l *Log) upTo(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	// In whole milliseconds: then many things happen at once where time is simulated.
	return time.Duration(l.random.Int64N(int64(most/time.Millisecond)+1)) * time.Millisecond
}

// Node is the log as one node sees it. It is a cluster.Log.
//
// Safe for concurrent use.
type Node struct {
	log *Log
	// full is wrapped by errors of a stream without room.
	full error

	dead  bool         // belongs to log.mu
	held  map[int]bool // lanes; belongs to log.mu
	tasks sync.WaitGroup
}

// Node returns the log for one node. Errors of streams without room wrap full.
func (l *Log) Node(full error) *Node { return &Node{log: l, full: full, held: map[int]bool{}} }

// Hold has the tail of a lane deliver nothing to this node, or go on.
func (n *Node) Hold(lane int, hold bool) {
	n.log.mu.Lock()
	defer n.log.mu.Unlock()
	n.held[lane] = hold
	n.log.moved.Broadcast()
}

// Kill ends the node as the death of its process does: when it has returned, no
// function of it is called any more. What it has published may be kept or not, and
// later too.
func (n *Node) Kill() {
	n.log.mu.Lock()
	n.dead = true
	n.log.moved.Broadcast()
	n.log.mu.Unlock()
}

// Wait returns when nothing of the node is on its way.
func (n *Node) Wait() { n.tasks.Wait() }

// Lanes implements cluster.Log.
func (n *Node) Lanes(count int, create bool) error {
	l := n.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lanes == 0 && !create {
		return errors.New("memlog: streams are missing")
	}
	if l.lanes != 0 && l.lanes != count {
		return fmt.Errorf("memlog: there are %d lanes, not %d", l.lanes, count)
	}
	l.lanes = count
	for len(l.streams) < count+2 {
		l.streams = append(l.streams, &stream{first: 1})
	}
	return nil
}

// Publish implements cluster.Log.
func (n *Node) Publish(lane int, msg []byte, done func(error)) {
	l := n.log
	l.mu.Lock()
	before, behind, again, late := l.delay(), l.delay(), l.delay(), l.upTo(l.faults.Late)
	lost, unacked, twice := l.chance(l.faults.Lost), l.chance(l.faults.Unacked), l.chance(l.faults.Twice)
	dies := l.chance(0.5)
	l.mu.Unlock()
	n.tasks.Go(func() {
		time.Sleep(before)
		l.mu.Lock()
		down, full, answer := l.down, l.full, l.faults.Answer
		kept := !down && !full && !lost && !(n.dead && dies)
		if kept {
			l.keep(lane, msg)
		}
		l.mu.Unlock()
		switch {
		case full && !down:
			n.answer(done, fmt.Errorf("memlog: publish: %w", n.full))
			return
		case !kept:
			time.Sleep(answer)
			n.answer(done, errAnswer)
			return
		}
		time.Sleep(behind)
		if unacked {
			time.Sleep(answer)
			n.answer(done, errAnswer)
		} else {
			n.answer(done, nil)
		}
		if twice {
			time.Sleep(again + late)
			l.Append(lane, msg)
		}
	})
}

func (n *Node) answer(done func(error), err error) {
	n.log.mu.Lock()
	dead := n.dead
	n.log.mu.Unlock()
	if !dead {
		done(err)
	}
}

// Tail implements cluster.Log.
func (n *Node) Tail(lane int, from uint64, took func(seq uint64, msg []byte)) (stop func(), err error) {
	l := n.log
	stopped, ended := false, make(chan struct{})
	go func() {
		defer close(ended)
		for next := from; ; {
			l.mu.Lock()
			s := l.streams[lane]
			next = max(next, s.first)
			for !stopped && !n.dead && (s.last() < next || n.held[lane]) {
				l.moved.Wait()
				next = max(next, s.first)
			}
			if stopped || n.dead {
				l.mu.Unlock()
				return
			}
			seq := next
			if old := max(s.first, min(next-1, next-5)); l.chance(l.faults.Again) && old < next {
				seq = old
			} else {
				next++
			}
			msg := s.messages[seq-s.first]
			wait := (l.delay() / 4).Truncate(time.Millisecond)
			l.mu.Unlock()
			if wait > 0 {
				time.Sleep(wait)
			}
			own := append([]byte(nil), msg...)
			took(seq, own)
			for i := range own { // it is the log's again
				own[i] = 0xff
			}
		}
	}()
	return func() {
		l.mu.Lock()
		stopped = true
		l.moved.Broadcast()
		l.mu.Unlock()
		<-ended
	}, nil
}

// Head implements cluster.Log.
func (n *Node) Head(lane int) (first, last uint64, err error) {
	l := n.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return 0, 0, errDown
	}
	s := l.streams[lane]
	return s.first, s.last(), nil
}

// Read implements cluster.Log.
func (n *Node) Read(lane int, seq uint64) ([]byte, error) {
	l := n.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errDown
	}
	s := l.streams[lane]
	if seq < s.first || seq > s.last() {
		return nil, nil
	}
	return append([]byte{}, s.messages[seq-s.first]...), nil
}

// Truncate drops the messages of a lane behind a sequence, as a log does whose disks
// have lost their end.
func (l *Log) Truncate(lane int, last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[lane]
	s.messages = s.messages[:last+1-s.first]
}

// Purge implements cluster.Log.
func (n *Node) Purge(lane int, below uint64) error {
	l := n.log
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streams[lane]
	for s.first < below && len(s.messages) > 0 {
		s.messages = s.messages[1:]
		s.first++
	}
	return nil
}
