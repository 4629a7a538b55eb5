package cluster

import (
	"sync"

	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/snapshot"
)

// setDisk replaces the disk of a node that is dead.
func (s *sim) setDisk(i int, f func(*powercut.Disk) *powercut.Disk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[i].disk = f(s.nodes[i].disk)
}

// restartAll kills all nodes, with the power of some, and starts them again.
func (s *sim) restartAll() {
	for i := range s.nodes {
		s.kill(i)
		if s.intn(2) == 0 {
			s.setDisk(i, (*powercut.Disk).Restart)
		}
	}
	var starts sync.WaitGroup
	for i := range s.nodes {
		starts.Go(func() { s.start(i) })
	}
	starts.Wait()
}

// simLog is the log of a node, which looks at what is purged.
type simLog struct {
	*memlog.Node
	s *sim
	d *Door // whose log it is
}

// Tail implements Log.
func (l *simLog) Tail(lane int, from uint64, took func(seq uint64, msg []byte)) (stop func(), err error) {
	return l.Node.Tail(lane, from, func(seq uint64, msg []byte) {
		if l.s.broken.noTable {
			lane := l.d.all()[lane]
			lane.apply.Lock()
			clear(lane.senders)
			lane.apply.Unlock()
		}
		took(seq, l.seen(msg))
	})
}

// Read implements Log.
func (l *simLog) Read(lane int, seq uint64) ([]byte, error) {
	msg, err := l.Node.Read(lane, seq)
	return l.seen(msg), err
}

// seen returns a message as the node sees it.
func (l *simLog) seen(msg []byte) []byte {
	var h messages.Header
	records, err := messages.Parse(&h, msg)
	if !l.s.broken.noWait || err != nil {
		return msg
	}
	h.After = nil
	return messages.AppendSum(append(messages.AppendHeader(nil, &h), records...))
}

// Purge asks that two folders have whatever is purged (I6).
func (l *simLog) Purge(lane int, below uint64) error {
	if l.s.broken.purgeAbove {
		below = l.d.all()[lane].seq.Load() + 1
	}
	if have := l.s.have(lane, below-1); have < 2 {
		l.s.errorf("lane %d is purged below %d, which %d folders have", lane, below, have)
	}
	if l.s.spread {
		l.s.laws(lane, below)
	}
	return l.Node.Purge(lane, below)
}

// have returns how many folders have a lane up to a sequence.
func (s *sim) have(lane int, seq uint64) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range s.nodes {
		m, err := snapshot.Read(node.disk)
		if err == nil && isSnapshot(m) && m.Lanes[lane].Seq >= seq {
			n++
		}
	}
	return n
}

var _ folder.Files = (*mortal)(nil)
