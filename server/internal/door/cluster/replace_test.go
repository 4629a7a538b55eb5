package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

// parliament is the servers of a test: who votes, and what each has of ten streams.
type parliament struct {
	log     *memlog.Log
	mu      sync.Mutex
	voters  []string
	copies  map[string]int
	ill     map[string]bool
	gone    map[string]bool
	retired map[string]bool
	deaf    bool
	moving  bool // a stream is
}

// speaker is the server of one node. It is a Log and Voters.
type speaker struct {
	*memlog.Node
	p    *parliament
	name string
}

const streams = 10

func (s *speaker) Server() string { return s.name }

func (s *speaker) Servers(context.Context) ([]Voter, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.deaf {
		return nil, errors.New("no server leads")
	}
	return s.p.list(), nil
}

// do changes what the nodes look at all the time.
func (p *parliament) do(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *parliament) list() (list []Voter) {
	for _, name := range p.voters {
		list = append(list, Voter{Server: name, Current: !p.gone[name]})
	}
	return list
}

func (s *speaker) Known() []Voter {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.p.list()
}

func (s *speaker) Votes(v Voter, server string) bool { return v.Server == server }

func (s *speaker) Healthy() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.ill[s.name] {
		return errors.New("its copy of D3 is not complete")
	}
	return nil
}

func (s *speaker) Promote() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.voters = append(s.p.voters, s.name)
	return nil
}

func (s *speaker) Copies(_ context.Context, server string) (Copies, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.moving {
		s.p.moving = false
		return Copies{Streams: streams, Of: s.p.copies[server], Moving: 1}, nil
	}
	all := 0
	for _, n := range s.p.copies {
		all += n
	}
	return Copies{Streams: streams, Of: s.p.copies[server], Whole: min(streams, all-2*streams)}, nil
}

func (s *speaker) Move(_ context.Context, server string, lives bool) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if lives == s.p.gone[server] {
		return errors.New("it is not as it was said to be")
	}
	s.p.copies[server]--
	s.p.copies[s.p.voters[len(s.p.voters)-1]]++
	s.p.moving = true
	return nil
}

func (s *speaker) Dismiss(_ context.Context, server string) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	for i, name := range s.p.voters {
		if name == server {
			s.p.voters = append(s.p.voters[:i:i], s.p.voters[i+1:]...)
			if s.p.copies[server] > 0 {
				return errors.New("it has copies")
			}
			return nil
		}
	}
	return errors.New("no such server")
}

func (s *speaker) Judge(func(string) (bool, bool)) {}

func (s *speaker) Retire() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.retired[s.name] = true
	return nil
}

// assembly starts n nodes of which the first three keep the log.
func assembly(t *testing.T, n int) (p *parliament, peers *memlog.Peers, nodes []*Door) {
	t.Helper()
	p = &parliament{copies: map[string]int{}, ill: map[string]bool{}, gone: map[string]bool{}, retired: map[string]bool{}}
	log := memlog.New(1, memlog.Faults{})
	p.log = log
	peers = new(memlog.Peers)
	for i := range n {
		name := fmt.Sprintf("s-%d", i+1)
		if i < 3 {
			p.do(func() { p.voters = append(p.voters, name) })
			p.do(func() { p.copies[name] = streams })
		}
		nodes = append(nodes, openAs(t, log, Config{Peers: peers, Name: name, Addr: fmt.Sprintf("10.0.0.%d:6379", i+1)}, func(node *memlog.Node) Log {
			return &speaker{node, p, name}
		}))
	}
	time.Sleep(2 * time.Second) // all have heard of each other
	return p, peers, nodes
}

// refuses asks that a change is refused, for a reason, and that nobody is gone.
func refuses(t *testing.T, nodes []*Door, err error, reason string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("error %v, want one that says %q", err, reason)
	}
	for _, d := range nodes {
		if err := d.Serving(); err != nil {
			t.Errorf("node %d: %v", d.number.Load(), err)
		}
	}
}

// TestRemove asks which nodes can be removed, and what becomes of one that was.
func TestRemove(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, _, nodes := assembly(t, 4)
		refuses(t, nodes, nodes[3].Remove(4), "another node")
		refuses(t, nodes, nodes[0].Remove(1), "is a log node") // another one would say so, too
		refuses(t, nodes, nodes[0].Remove(9), "no such node")
		refuses(t, nodes, nodes[3].Remove(2), "is a log node")
		p.do(func() { p.deaf = true })
		refuses(t, nodes, nodes[0].Remove(4), "no server leads")
		p.do(func() { p.deaf = false })
		if err := nodes[0].Remove(4); err != nil {
			t.Fatal(err)
		}
		<-nodes[3].Failed()
		time.Sleep(time.Second) // all nodes have heard of it
		if err := nodes[3].Serving(); !errors.Is(err, ErrRemoved) || !p.retired["s-4"] {
			t.Errorf("Serving = %v, retired %v", err, p.retired)
		}
		if err := nodes[0].Remove(4); err != nil {
			t.Errorf("a node that has left cannot be removed again: %v", err)
		}
		if left, known := nodes[1].removed("s-4"); !left || !known {
			t.Errorf("node 2 says %v, %v of a node that was removed", left, known)
		}
		if left, known := nodes[1].removed("s-3"); left || !known {
			t.Errorf("node 2 says %v, %v of a member", left, known)
		}
	})
}

// TestRemoveOldNumber asks that the number of a log node that has lost its data can be
// removed: the node has its log and another number.
func TestRemoveOldNumber(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, peers, nodes := assembly(t, 3)
		if err := nodes[1].Close(); err != nil {
			t.Fatal(err)
		}
		again := openAs(t, p.log, Config{Peers: peers, Name: "s-2", Addr: "10.0.0.2:6379"}, func(node *memlog.Node) Log { return &speaker{node, p, "s-2"} })
		if n := again.number.Load(); n != 4 {
			t.Fatalf("a node without data has the number %d", n)
		}
		time.Sleep(2 * time.Second)
		nodes[1] = again
		refuses(t, nodes, nodes[0].Remove(4), "is a log node")
		if err := nodes[0].Remove(2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := again.Serving(); err != nil {
			t.Errorf("a node whose old number was removed: %v", err)
		}
		c := nodes[0].Cluster()
		if len(c.Problems) > 0 || c.Nodes[1].Log || !c.Nodes[3].Log {
			t.Errorf("problems %q; node 2 keeps the log: %v, node 4: %v", c.Problems, c.Nodes[1].Log, c.Nodes[3].Log)
		}
		if left, known := nodes[2].removed("s-2"); left || !known {
			t.Errorf("node 3 says %v, %v of a server whose old number was removed", left, known)
		}
		refuses(t, nodes, nodes[0].Remove(4), "is a log node")
	})
}

// replaced calls Replace until it is done, and returns the steps.
func replaced(t *testing.T, d *Door, old, with uint32) (steps []string) {
	t.Helper()
	for range 50 {
		step, done, err := d.Replace(old, with)
		if err != nil {
			t.Fatal(err, steps)
		}
		if steps = append(steps, step); done {
			return steps
		}
	}
	t.Fatalf("a replacement does not end: %q", steps)
	return nil
}

// TestReplace asks that a log node is replaced step by step, from any node and from
// where it was left, whether it lives or not.
func TestReplace(t *testing.T) {
	for name, dead := range map[string]bool{"live": false, "dead": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, _, nodes := assembly(t, 4)
				if dead {
					p.do(func() { p.gone["s-2"] = true })
					if err := nodes[1].Close(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(liveFor + time.Second)
				}
				// Any node takes the next step.
				for i := range 2 {
					time.Sleep(time.Second)
					if _, done, err := nodes[2*i].Replace(2, 4); done || err != nil {
						t.Fatal(done, err)
					}
				}
				steps := replaced(t, nodes[3], 2, 4)
				time.Sleep(time.Second) // all nodes have heard of it
				if fmt.Sprint(p.voters) != "[s-1 s-3 s-4]" || p.copies["s-4"] != streams || !nodes[0].state.Roster().Member(2).Left {
					t.Errorf("voters %v, copies %v after %q", p.voters, p.copies, steps)
				}
				if !dead {
					<-nodes[1].Failed()
				}
				if _, done, err := nodes[0].Replace(2, 4); !done || err != nil {
					t.Errorf("once more: %v, %v", done, err)
				}
				// The old server comes back with a vote: that is a problem, which another call ends.
				p.do(func() { p.voters = append(p.voters, "s-2") })
				if problems := fmt.Sprint(nodes[0].Cluster().Problems); !strings.Contains(problems, "still has a vote") {
					t.Errorf("problems %s", problems)
				}
				replaced(t, nodes[0], 2, 4)
				if fmt.Sprint(p.voters) != "[s-1 s-3 s-4]" {
					t.Errorf("voters %v", p.voters)
				}
				for _, n := range nodes[0].Cluster().Nodes {
					if n.Log != (n.Number != 2) || n.Server != fmt.Sprint("s-", n.Number) {
						t.Errorf("node %d: log %v, server %s", n.Number, n.Log, n.Server)
					}
				}
			})
		})
	}
}

// TestReplaceSpread asks that others hold the shards of a log node before it is removed: if it lives
// they learn them first, and one that is dead is given up at once.
func TestReplaceSpread(t *testing.T) {
	if underRace {
		t.Skip("the simulation of moves shares the same memory")
	}
	for name, dead := range map[string]bool{"live": false, "dead": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, _, nodes := assembly(t, 4)
				names(t, nodes[0], &store.Level{Level: store.LevelShards})
				if err := nodes[0].SetCopies(2); err != nil {
					t.Fatal(err)
				}
				settles(t, nodes[0])
				if dead {
					p.do(func() { p.gone["s-2"] = true })
					if err := nodes[1].Close(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(liveFor + time.Second)
				}
				waits := 0
				for done := false; !done; {
					var err error
					if _, done, err = nodes[0].Replace(2, 4); errors.Is(err, door.ErrNotYet) {
						waits++
						settles(t, nodes[0])
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if dead == (waits > 0) {
					t.Errorf("it waited %d times", waits)
				}
				settles(t, nodes[0])
				if s := nodes[0].Cluster(); s.Shards.Below != 0 || !nodes[0].state.Roster().Member(2).Left {
					t.Errorf("%d shards have too few copies: %q", s.Shards.Below, s.Problems)
				}
			})
		})
	}
}

// TestReplaceRefused asks that no vote changes while another log node is not well.
func TestReplaceRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, peers, nodes := assembly(t, 5)
		notYet := false // what follows passes by itself
		try := func(at *Door, old, with uint32, reason string) {
			t.Helper()
			_, _, err := at.Replace(old, with)
			refuses(t, nodes, err, reason)
			if errors.Is(err, door.ErrNotYet) != notYet {
				t.Errorf("error %v: %v is to be tried again: %v", err, reason, !notYet)
			}
			if len(p.voters) != 3 {
				t.Fatalf("voters %v after a change that was refused", p.voters)
			}
		}
		try(nodes[0], 2, 2, "itself")
		try(nodes[0], 1, 4, "another node")
		try(nodes[0], 2, 9, "no such node")
		try(nodes[0], 9, 4, "no such node")
		try(nodes[0], 4, 5, "keeps no log")
		try(nodes[0], 4, 2, "there is nothing to replace")
		notYet = true
		p.do(func() { p.ill["s-3"] = true })
		try(nodes[0], 2, 4, "node 3: its copy of D3 is not complete")
		p.do(func() { p.ill["s-3"] = false })
		peers.SetDeaf(true)
		try(nodes[0], 2, 4, "not well")
		peers.SetDeaf(false)
		p.do(func() { p.moving = true })
		try(nodes[0], 2, 4, "have no leader")
		p.do(func() { p.deaf = true })
		try(nodes[0], 2, 4, "no server leads")
		p.do(func() { p.deaf = false })
		// One at a time.
		if step, _, err := nodes[0].Replace(2, 4); err != nil || len(p.voters) != 4 {
			t.Fatal(step, err)
		}
		_, _, err := nodes[0].Replace(3, 5)
		if refuses(t, nodes, err, "one too many"); errors.Is(err, door.ErrNotYet) {
			t.Errorf("error %v is to be tried again", err)
		}
		p.do(func() { p.voters = append(p.voters, "s-stranger") })
		_, _, err = nodes[0].Replace(2, 4)
		refuses(t, nodes, err, "belongs to no node")
		// A log of others is not ours to change.
		alone := open(t, memlog.New(2, memlog.Faults{}), Config{})
		if _, _, err := alone.Replace(1, 2); !errors.Is(err, errNoVoters) {
			t.Errorf("without servers: %v", err)
		}
	})
}

// TestUpgrade asks that the level is raised when all nodes can do it, and who keeps it
// down.
func TestUpgrade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, peers := memlog.New(1, memlog.Faults{}), new(memlog.Peers)
		later := func(addr string) *Door {
			node := log.Node(ErrFull)
			d, err := Open(Config{State: store.New(), Log: node, Files: &folder.Memory{}, Peers: peers, Addr: addr})
			if err != nil {
				t.Fatal(err)
			}
			d.level++
			if err := begin(t, d, node); err != nil {
				t.Fatal(err)
			}
			return d
		}
		a, b := later("a:1"), later("b:1")
		c := open(t, log, Config{Peers: peers, Addr: "c:1"})
		time.Sleep(2 * time.Second)
		if level, err := a.Upgrade(); level != Level || err != nil { // as far as all nodes can
			t.Errorf("level %d, %v at first", level, err)
		}
		time.Sleep(time.Second)
		if c.Cluster().Level != Level {
			t.Errorf("the cluster is at level %d, want %d", c.Cluster().Level, Level)
		}
		earlier := fmt.Sprintf("node 3 (c:1) supports %d", Level)
		if level, err := a.Upgrade(); level != Level || err == nil || !strings.Contains(err.Error(), earlier) {
			t.Errorf("level %d, %v with a node of an earlier release", level, err)
		}
		if level, err := c.Upgrade(); level != Level || err == nil || !strings.Contains(err.Error(), earlier) {
			t.Errorf("level %d, %v at that node", level, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(liveFor + time.Second)
		if _, err := a.Upgrade(); err == nil || !strings.Contains(err.Error(), "node 3 (c:1) is down") {
			t.Errorf("error %v with a node that is away", err)
		}
		if err := a.Remove(3); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for range 2 {
			if level, err := b.Upgrade(); level != Level+1 || err != nil {
				t.Errorf("level %d, %v", level, err)
			}
		}
		time.Sleep(time.Second) // all nodes have heard of it
		if got := a.state.Roster().Level; got != Level+1 {
			t.Errorf("node 1 is at level %d", got)
		}
		if _, err := tryOpen(t, log, Config{Peers: peers}); err == nil || !strings.Contains(err.Error(), "a later release is needed") {
			t.Errorf("an earlier release joins: %v", err)
		}
	})
}

// TestNewClusterIsRaised asks that a cluster begins with all that its nodes can read: the node that has begun it lets it, unless
// one of an earlier release was there first, and none that comes later does.
func TestNewClusterIsRaised(t *testing.T) {
	for name, c := range map[string]struct {
		level uint64 // of the second node
		want  uint64
	}{
		"alike":                     {Level, Level},
		"one of an earlier release": {Level - 1, 1},
		"one that can read more":    {Level + 1, Level},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log, peers := memlog.New(1, memlog.Faults{}), new(memlog.Peers)
				first := open(t, log, Config{Peers: peers, Addr: "a:1"})
				node := log.Node(ErrFull)
				second, err := Open(Config{State: store.New(), Log: node, Files: &folder.Memory{}, Peers: peers, Addr: "b:1"})
				if err != nil {
					t.Fatal(err)
				}
				second.level = c.level
				if err := begin(t, second, node); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // the first node has heard of it
				second.RaiseNew()
				if got := first.state.Roster().Level; got != 1 {
					t.Errorf("a node that has not begun the cluster has raised it to %d", got)
				}
				first.RaiseNew()
				if got := first.state.Roster().Level; got != c.want {
					t.Errorf("level %d, want %d", got, c.want)
				}
			})
		})
	}
}
