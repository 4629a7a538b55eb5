package cluster

// Nodes that tests kill and start again, what they are filled with, and how they are
// compared.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/door/cluster/memlog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/store"
)

// machine is a node that can be killed and started again: its folder stays.
type machine struct {
	*Door
	t     *testing.T
	log   *memlog.Log
	peers *memlog.Peers
	files folder.Files
	node  *memlog.Node
	away  *atomic.Int64 // nanoseconds for which the process was stopped

	unclaimed bool // nobody asks how old the folder is
	follows   bool

	laneBytes, saveAfter int64 // of Config; no snapshots are due without the latter
}

// machines returns n nodes of a new cluster that have not been started.
func machines(t *testing.T, n int) []*machine {
	t.Helper()
	log, peers := memlog.New(1, memlog.Faults{}), &memlog.Peers{}
	var list []*machine
	for range n {
		list = append(list, &machine{t: t, log: log, peers: peers, files: &folder.Memory{}, away: new(atomic.Int64)})
	}
	t.Cleanup(func() {
		for _, m := range list {
			m.kill()
		}
	})
	return list
}

// started returns n nodes of a new cluster that are up.
func started(t *testing.T, n int) []*machine {
	t.Helper()
	list := machines(t, n)
	for _, m := range list {
		m.start()
	}
	return list
}

// tryStart starts the process of a node.
func (m *machine) tryStart() error {
	m.t.Helper()
	m.node = m.log.Node(ErrFull)
	began, peers, files := time.Now(), Peers(m.peers), m.files
	if m.unclaimed {
		peers, files = unasked{m.peers}, forgetful{m.files}
	}
	d, err := Open(Config{
		State: store.New(), Log: m.node, Peers: peers, Files: files, SnapshotAfter: cmp.Or(m.saveAfter, -1), LaneBytes: m.laneBytes, Lanes: 3,
		Name: "n", Follows: m.follows, Tick: func() time.Duration { return time.Since(began) + time.Duration(m.away.Load()) },
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	if err = d.Start(ctx, nil); err != nil {
		m.node.Kill()
		m.node.Wait()
		return err
	}
	m.Door = d
	return nil
}

// unasked is peers that answer no claim.
type unasked struct{ *memlog.Peers }

func (p unasked) Ask(ctx context.Context, node uint32, question []byte) ([]byte, error) {
	if question[0] == claims.Ask {
		return nil, errors.New("it does not answer")
	}
	return p.Peers.Ask(ctx, node, question)
}

// forgetful is a folder that does not know its sessions.
type forgetful struct{ folder.Files }

func (f forgetful) Open(name string) (folder.Reader, error) {
	if name == claims.SessionsName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f.Files.Open(name)
}

func (m *machine) start() {
	m.t.Helper()
	if err := m.tryStart(); err != nil {
		m.t.Fatal(err)
	}
}

// kill ends the process, as kill -9 does: nothing is saved.
func (m *machine) kill() {
	if m.Door == nil {
		return
	}
	m.node.Kill()
	if err := m.Close(); err != nil {
		m.t.Error(err)
	}
	m.node.Wait()
	m.state.Discard()
	m.Door = nil
}

// meddling is a source that lets others get in between.
type meddling struct {
	source
	freezing   func() // called before a part is frozen, and within a cut
	namesFirst bool   // the catalogue is cut before the lanes of parts
	outside    bool   // parts are frozen whatever their lanes do
}

// Cut implements snapshot.Source.
func (s meddling) Cut(m *snapshot.Manifest, copy func()) error {
	err := s.cutParts(m)
	if err != nil {
		return err
	}
	if !s.namesFirst {
		s.freezing()
		s.cutNames(m, copy)
		return nil
	}
	s.cutNames(m, copy)
	first := m.Lanes[0]
	s.freezing()
	if err = s.cutParts(m); err == nil {
		m.Lanes[0] = first
	}
	return err
}

// Freeze implements snapshot.Source.
func (s meddling) Freeze(e *catalog.Entry, index int, p *contents.Part, fn func(lane int, position uint64)) {
	s.freezing()
	if !s.outside {
		s.source.Freeze(e, index, p, fn)
		return
	}
	l := s.laneAt(e.ID, uint32(index), contents.Everywhere(e))
	p.Lock()
	defer p.Unlock()
	fn(l.number, l.seq.Load())
}

// save takes a snapshot when the node has all that others have sent.
func (m *machine) save() {
	m.t.Helper()
	synctest.Wait()
	if err := m.Snapshot(); err != nil {
		m.t.Fatal(err)
	}
}

// fill changes something in every lane.
func (m *machine) fill(round int) {
	m.t.Helper()
	if err := m.FreshNames(); err != nil { // another node may have made them
		m.t.Fatal(err)
	}
	for i := range 6 {
		name := fmt.Sprint("cuckoo", i)
		if !has(m.Door, name) {
			if err := do(m.Door, &door.Op{Record: store.Record{Body: &store.MakeCuckoo{Name: []byte(name), Params: redisbloom.CuckooParams{Capacity: 1024, BucketSize: 2, MaxIterations: 20}}}}); err != nil {
				m.t.Fatal(err)
			}
		}
		id := m.state.Names.Lookup([]byte(name), 0).ID
		insert := &door.Op{Record: store.Record{ID: id, Body: &store.CuckooInsert{Room: store.Unlimited, Hashes: []uint64{uint64(round*100 + i), uint64(round*100 + i + 50)}}}}
		if err := do(m.Door, insert, set(fmt.Sprint("text", round, i))); err != nil {
			m.t.Fatal(err)
		}
	}
	if !has(m.Door, "parts") {
		outline, err := codec.AppendOutline(nil, bloom.New(1000, 0.01))
		if err != nil {
			m.t.Fatal(err)
		}
		if err := do(m.Door, &door.Op{Record: store.Record{Body: &store.Make{As: store.OpFilter, Name: []byte("parts"), Header: contents.AppendCreation(nil, &contents.Plan{Parts: 2}, outline)}}}); err != nil {
			m.t.Fatal(err)
		}
	}
	id := m.state.Names.Lookup([]byte("parts"), 0).ID
	for i := range uint32(4) {
		if err := do(m.Door, &door.Op{Record: store.Record{ID: id, Index: i, Body: &store.FilterAdd{Room: store.Unlimited, Hashes: []uint64{uint64(round)}}}}); err != nil {
			m.t.Fatal(err)
		}
	}
}

// numberOf returns the number that the folder keeps.
func (m *machine) numberOf() uint32 {
	found, err := snapshot.Read(m.files)
	if err != nil {
		m.t.Fatal(err)
	}
	return found.Node
}

// equal asks that nodes that have all messages are equal.
func equal(t *testing.T, list []*machine) {
	t.Helper()
	synctest.Wait()
	want := all(list[0].Door)
	for i, m := range list {
		if got := all(m.Door); !bytes.Equal(got, want) {
			t.Errorf("node %d differs from the first", i)
		}
	}
}

// all returns whatever has to be equal on all nodes, with versions of parts.
func all(d *Door) (b []byte) {
	for _, l := range d.all() {
		l.still(func(seq uint64) {
			b = fmt.Appendf(b, "%d %d ", l.number, seq)
			b = l.senders.Append(b)
		})
	}
	d.state.Names.Lock()
	defer d.state.Names.Unlock()
	for _, e := range d.state.Names.All() {
		for _, p := range contents.Parts(e) {
			b = fmt.Appendf(b, "%d:%d ", e.ID, p.Version())
		}
	}
	b = roster.Append(b, d.state.Roster())
	return d.state.AppendSnapshot(b)
}
