package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door/cluster/balance"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/folder/powercut"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// Some runs of the simulation spread contents over nodes, two copies of each shard, while nodes
// are killed, join, lose their folders or parts of them, and are away for long. In the end every
// shard is at the nodes that are to hold it, they have the same, byte for byte, and it is what
// clients were told. On the way, whoever holds a shard can come back with it.

// newMoves is newSim with contents that are spread.
func newMoves(seed uint64, m mutation) *sim {
	s := newSim(seed, m)
	s.spread, s.flush = true, false
	for range 6 - len(s.nodes) {
		s.nodes = append(s.nodes, &simNode{disk: powercut.New(s.random.Uint64())})
	}
	if m.late { // what the table of senders is for is frequent
		s.log.SetFaults(memlog.Faults{Twice: 0.9, Delay: 50 * time.Millisecond, Late: 5 * time.Second})
	}
	s.joiners, s.lent = 1+s.intn(2), map[string][]byte{}
	return s
}

// slower is how much longer everything takes when there are moves.
func (s *sim) slower() time.Duration {
	if s.spread {
		return 8
	}
	return 1
}

// spreadOut has nodes hold different contents. Nodes say their weights meanwhile, and are killed.
func (s *sim) spreadOut() {
	err := errClosed
	for tries := 0; tries < 50 && err != nil; tries++ {
		if tries > 0 {
			time.Sleep(time.Second)
		}
		d, _ := s.door(tries % len(s.nodes))
		if d == nil {
			continue
		}
		err = d.change(store.Record{Body: &store.Level{Level: store.LevelShards}})
		if err == nil && !d.state.Roster().Spread() {
			err = d.change(store.Record{Body: &store.ShardCopies{Copies: 2, Settings: settingsOf(d.state.Roster())}})
		}
	}
	if err != nil {
		s.errorf("contents are not spread: %v", err)
	}
}

// operator begins moves at any node, while others come and go: nobody waits for calm, and several
// decide.
func (s *sim) operator(times int) {
	for range times {
		time.Sleep(time.Duration(s.intn(4000)) * time.Millisecond)
		if d, _ := s.door(s.intn(len(s.nodes))); d != nil {
			_, _ = d.Rebalance(true) // it may not be possible now
		}
	}
}

// moveTrouble does what moves in particular have to stand, now and then.
func (s *sim) moveTrouble(i int) bool {
	d, _ := s.door(i)
	switch s.intn(4) {
	case 0: // power is cut at two
		j := (i + 1 + s.intn(len(s.nodes)-1)) % len(s.nodes)
		s.kill(i)
		s.kill(j)
		s.setDisk(i, (*powercut.Disk).Restart)
		s.setDisk(j, (*powercut.Disk).Restart)
		time.Sleep(time.Duration(s.intn(20000)) * time.Millisecond)
		var starts sync.WaitGroup
		starts.Go(func() { s.start(i) })
		starts.Go(func() { s.start(j) })
		starts.Wait()
	case 1: // its contents are lost, and not its number
		if d == nil || !s.losable(d) {
			return false
		}
		s.save(i)
		s.kill(i)
		s.setDisk(i, func(disk *powercut.Disk) *powercut.Disk {
			names, _ := disk.List()
			for _, name := range names {
				if _, part := folder.ParsePartName(name); part {
					_ = disk.Remove(name)
				}
			}
			return disk
		})
		s.start(i)
	default:
		return false
	}
	return true
}

// newest returns the table of the live node that has read most of the catalogue, and up to where
// that is at most.
func (s *sim) newest() (r *roster.Roster, seq uint64) {
	for i := range s.nodes {
		if d, state := s.door(i); d != nil {
			if at := d.catalogue().seq.Load(); r == nil || at > seq {
				r, seq = state.Roster(), at
			}
		}
	}
	if r != nil {
		seq++ // it may have gone on between the two
	}
	return r, seq
}

// losable reports whether the contents of a node can be lost without taking the last copy of a
// shard along: all nodes are up, and others of them hold it.
func (s *sim) losable(d *Door) bool {
	if !s.spread {
		return true
	}
	h := balance.Holders{}
	for i := range s.nodes {
		other, _ := s.door(i)
		if m, err := snapshot.Read(s.nodes[i].disk); other == nil && (m != nil || err != nil) {
			return false
		}
		if other == nil {
			continue // it has not joined yet
		}
		if b, err := other.ownShards(); err == nil && other != d {
			h[other.number.Load()] = b[1:]
		}
	}
	r, _ := s.newest()
	return r.Spread() && h.HoldAll(r, d.number.Load()) && !slices.ContainsFunc(r.Members, func(m roster.Member) bool { return m.Behind })
}

// laws asks that whoever holds a shard has it in his folder, and that the log goes on where that
// ends, once a lane is purged below a sequence.
func (s *sim) laws(lane int, below uint64) {
	r, seq := s.newest()
	if !r.Spread() {
		return
	}
	s.mu.Lock()
	nodes := make([]simNode, 0, len(s.nodes))
	for _, n := range s.nodes {
		nodes = append(nodes, *n)
	}
	s.mu.Unlock()
	for i := range nodes {
		m, err := snapshot.Read(nodes[i].disk)
		if err != nil || m == nil || r.Member(m.Node) == nil {
			continue
		}
		if m.Fetched && nodes[i].door == nil {
			continue // it has yet to say that it has nothing
		}
		has := !isSnapshot(m)
		if isSnapshot(m) {
			known, _, _, err := laneStates(m)
			has = err != nil || m.Lanes[0].High >= seq || !known.Spread() // a node that is dead may have known more than those that live
		}
		for shard := range placement.Shards {
			c := r.Shards.Places[shard].Copy(m.Node)
			if c.Phase != roster.Holds {
				continue
			}
			if !has && !slices.Contains(m.Held, roster.Held{Shard: shard, Since: c.Since}) {
				s.errorf("node %d holds shard %d, says the table, and its snapshot does not have it", m.Node, shard)
				return
			}
			if isSnapshot(m) && m.Lanes[lane].Seq+1 < below {
				s.errorf("lane %d is purged below %d, and node %d, which holds shard %d, has all up to %d", lane, below, m.Node, shard, m.Lanes[lane].Seq)
				return
			}
		}
	}
}

// compareShards asks that all nodes have the same catalogue, that each part is at two nodes which
// have the same, and that it is what clients were told.
func (s *sim) compareShards() {
	s.laws(0, 0)
	held, catalogues := map[string][]string{}, map[string]bool{}
	for i := range s.nodes {
		d, state := s.door(i)
		if d == nil {
			return
		}
		if err := d.Serving(); err != nil {
			s.errorf("node %d: %v", i, err)
		}
		var text strings.Builder
		for _, l := range d.all() {
			l.still(func(seq uint64) { fmt.Fprintf(&text, "lane %s at %d: %x\n", l.name(), seq, l.senders.Append(nil)) })
		}
		state.Names.Lock()
		for _, e := range state.Names.All() {
			fmt.Fprintf(&text, "id %d %q kind %d deadline %d: %q", e.ID, e.Name(), e.Kind, e.When(), store.Text(e))
			for j, p := range contents.Parts(e) {
				part := fmt.Sprintf("part %d of id %d, in shard %d", j, e.ID, p.Shard())
				fmt.Fprintln(&text, part)
				if p.RLock(); state.Answers(p) {
					_, chunk := p.Contents().ScanDump(1)
					held[part] = append(held[part], fmt.Sprintf("version %d %x %x", p.Changes(), p.Contents().AppendHeader(nil), chunk))
				} else if held[part] == nil {
					held[part] = []string{}
				}
				p.RUnlock()
			}
		}
		state.Names.Unlock()
		catalogues[text.String()] = true
		for _, err := range s.model.check(state) {
			s.errorf("node %d: %v", i, err)
		}
	}
	if len(catalogues) != 1 {
		s.errorf("nodes have %d different catalogues", len(catalogues))
	}
	for part, list := range held {
		if len(list) < 2 {
			s.errorf("%s: %d nodes hold it", part, len(list))
		}
		if len(slices.Compact(slices.Clone(list))) > 1 {
			s.errorf("%s: nodes differ: %.200q", part, list)
		}
	}
	for _, err := range s.model.written() {
		s.errorf("%v", err)
	}
}

// breakMoves does what the rules of moves forbid, if a run does without them.
func (s *sim) breakMoves(stop <-chan struct{}) {
	if !s.broken.holdsEarly && !s.broken.byLiveness {
		return
	}
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			var kept []uint64
			for i := range s.nodes {
				d, _ := s.door(i)
				if d == nil || d.Current() != nil || !d.state.Roster().Spread() {
					continue
				}
				if s.broken.holdsEarly {
					d.keep.mu.Lock()
					d.keep.held = d.learnedCopies()
					d.keep.mu.Unlock()
					d.sayHeld()
				}
				for lane, l := range d.all() {
					if k := l.kept.Load(); lane >= len(kept) {
						kept = append(kept, k)
					} else {
						kept[lane] = min(kept[lane], k)
					}
				}
			}
			if d, _ := s.door(0); d != nil && s.broken.byLiveness {
				for lane, k := range kept {
					if k == 0 {
						break
					}
					_ = d.config.Log.Purge(lane, k+1)
				}
			}
		}
	}()
}

// simPeers is how nodes ask each other.
type simPeers struct {
	*memlog.Peers
	s *sim
}

// Ask implements Peers.
func (p simPeers) Ask(ctx context.Context, node uint32, question []byte) ([]byte, error) {
	b, err := p.Peers.Ask(ctx, node, question)
	broken := &p.s.broken
	if err != nil || question[0] != askLend || !broken.noSenders && !broken.withoutLog {
		return b, err
	}
	z, rest, err := parseLoan(b[1:])
	if b[0] != answerGiven || err != nil {
		return b, nil
	}
	if broken.noSenders {
		z.senders = messages.Senders{}.Append(nil)
	}
	if broken.withoutLog { // it has the contents that were lent before
		part := string(question[2:])
		p.s.mu.Lock()
		if old := p.s.lent[part]; len(old) == len(rest) {
			rest = old
		}
		p.s.lent[part] = bytes.Clone(rest)
		p.s.mu.Unlock()
	}
	out := []byte{answerGiven}
	for _, v := range []uint64{z.number, z.version, z.seq, z.size, uint64(len(z.senders))} {
		out = binary.AppendUvarint(out, v)
	}
	return append(append(out, z.senders...), rest...), nil
}

// Publish has a node that had to fetch say nothing of it, if a run does without that.
func (l *simLog) Publish(lane int, msg []byte, done func(error)) {
	var h messages.Header
	if records, err := messages.Parse(&h, msg); err == nil && l.s.broken.plainSession && h.Node == 0 {
		list, err := messages.Records(nil, records)
		if err == nil && len(list) == 1 {
			if o, ok := list[0].Body.(*store.Session); ok && o.Empty {
				o.Empty = false
				msg = messages.AppendSum(store.AppendRecord(messages.AppendHeader(nil, &h), &list[0]))
			}
		}
	}
	l.Node.Publish(lane, msg, done)
}

// simulateMoves is simulate with contents that are spread.
func simulateMoves(t *testing.T, seed uint64, m mutation) error {
	t.Helper()
	var err error
	synctest.Test(t, func(*testing.T) { err = newMoves(seed, m).run() })
	return err
}

func TestSimulationOfMoves(t *testing.T) {
	n := 1 + (*simulations-fewSimulations)/4
	if underRace {
		n = 1
	}
	for _, seed := range seeds(t, n) {
		if err := simulateMoves(t, seed, mutation{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSimulationOfMovesFindsMutations breaks the rules of moves, one at a time, and asks that the
// simulation finds each. That takes minutes: the simulation of package store, which is smaller, does
// so at every test.
func TestSimulationOfMovesFindsMutations(t *testing.T) {
	if underRace || *simulations <= fewSimulations {
		t.Skip("mutations are found by make soak")
	}
	for name, m := range map[string]mutation{
		"a shard is held before a snapshot has it":                    {holdsEarly: true},
		"the log is not kept for holders that are away":               {byLiveness: true},
		"a node that had to fetch does not say so":                    {plainSession: true},
		"a part is learned without the table of senders":              {noSenders: true, late: true},
		"a part is learned without what was written in the meanwhile": {withoutLog: true},
	} {
		t.Run(name, func(t *testing.T) {
			if m.late {
				if err := simulateMoves(t, 1, mutation{late: true}); err != nil {
					t.Fatalf("nothing is broken, and that is found: %v", err)
				}
			}
			for seed := uint64(1); ; seed++ {
				if err := simulateMoves(t, seed, m); err != nil {
					t.Logf("found with seed %d: %v", seed, err)
					return
				}
				if seed == 50 {
					t.Fatal("50 runs have not found it")
				}
			}
		})
	}
}
