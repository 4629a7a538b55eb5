package cluster

// Changes of the cluster itself: removing a node, raising the version.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/store"
)

var _ door.Members = (*Door)(nil)

// changeIn bounds a step of a change that others have to answer.
const changeIn = 10 * time.Second

// Errors of changes of the cluster.
var (
	errSelf   = errors.New("cluster: a node does not remove itself: send the command to another node")
	errNobody = errors.New("cluster: there is no such node")
)

// Remove implements door.Members.
func (d *Door) Remove(node uint32) error {
	m := d.state.Roster().Member(node)
	switch {
	case m == nil:
		return errNobody
	case m.Left:
		return nil
	}
	if v := d.voters(); v != nil && newest(d.state.Roster(), m.Name).Number == node {
		ctx, cancel := context.WithTimeout(context.Background(), changeIn)
		defer cancel()
		servers, err := v.Servers(ctx)
		if err != nil {
			return err
		}
		if votes(v, servers, m.Name) != nil {
			return fmt.Errorf("cluster: node %d (%s) is a log node, and the log would have one copy less: replace it by another node with replace-log", node, m.Addr)
		}
	}
	if node == d.number.Load() {
		return errSelf
	}
	if err := d.drain(m); err != nil {
		return err
	}
	return d.change(store.Record{Body: &store.Leave{Node: uint64(node)}})
}

// voters returns the log if its servers vote, nil if they do not or are not ours.
func (d *Door) voters() Voters {
	if v, ok := d.config.Log.(Voters); ok && v.Server() != "" {
		return v
	}
	return nil
}

// votes returns the voter with a name, nil if there is none.
func votes(v Voters, servers []Voter, name string) *Voter {
	for i := range servers {
		if v.Votes(servers[i], name) {
			return &servers[i]
		}
	}
	return nil
}

// Upgrade implements door.Members.
func (d *Door) Upgrade() (level uint64, err error) {
	r := d.state.Roster()
	heard := map[uint32]uint64{d.number.Load(): d.level}
	for _, v := range d.live() {
		heard[v.Node] = v.Level
	}
	most := uint64(0)
	for _, n := range heard {
		most = max(most, n)
	}
	level = most
	var behind []string
	for i := range r.Members {
		m := &r.Members[i]
		if m.Left {
			continue
		}
		n, live := heard[m.Number]
		switch {
		case !live && d.awaits(m.Number):
			return 0, fmt.Errorf("cluster: upgrade: node %d (%s) has not been heard from yet: this node has just started. Try again in some seconds", m.Number, m.Addr)
		case !live:
			return 0, fmt.Errorf("cluster: upgrade: node %[1]d (%[2]s) is down: start it, or remove it with bloomery cluster leave %[1]d --yes", m.Number, m.Addr)
		case n < most:
			behind = append(behind, fmt.Sprintf("node %d (%s) supports %d", m.Number, m.Addr, n))
		}
		level = min(level, n)
	}
	switch {
	case level > r.Level:
		return level, d.change(store.Record{Body: &store.Level{Level: level}})
	case len(behind) > 0:
		return r.Level, fmt.Errorf("cluster: upgrade: the level stays %d: other nodes support %d, and %s: update them to the later release", r.Level, most, strings.Join(behind, ", "))
	}
	return r.Level, nil
}

// RaiseNew is Upgrade for a cluster that this process has begun: unless a node of an earlier release has joined it
// already, none has to go back to that. It is for the beginning, when others have not been heard of.
func (d *Door) RaiseNew() {
	r := d.state.Roster()
	if !d.begun.Load() || r.Level >= d.level || slices.ContainsFunc(r.Members, func(m roster.Member) bool { return m.Level < d.level }) {
		return
	}
	if err := d.change(store.Record{Body: &store.Level{Level: d.level}}); err != nil {
		d.config.Slog.Warn("this new cluster does not use all that its release can: bloomery cluster upgrade lets it", "error", err)
	}
}

// removed reports whether the node of a server was removed, and whether this node
// knows it at all.
func (d *Door) removed(server string) (left, known bool) {
	r := d.state.Roster()
	if d.Current() != nil || r == nil {
		return false, false
	}
	if m := newest(r, server); m != nil {
		return m.Left, true
	}
	return false, false
}

// newest returns the member that has a server now, nil if none has: a node that has lost its
// data, and not its log, has the same server under a new number.
func newest(r *roster.Roster, server string) (m *roster.Member) {
	for i := range r.Members {
		if r.Members[i].Name == server {
			m = &r.Members[i]
		}
	}
	return m
}

// retire has the server of this node, which was removed, never vote again.
func (d *Door) retire() {
	if v := d.voters(); v != nil {
		if err := v.Retire(); err != nil {
			d.config.Slog.Error("the folder of a node that was removed must not be used again", "error", err)
		}
	}
}

// change puts a record of the cluster itself in order and waits.
func (d *Door) change(r store.Record) error {
	r.At = d.config.Clock().UnixMilli()
	op := &door.Op{Record: r}
	ops := []*door.Op{op}
	d.Do(ops)
	d.Wait(ops)
	if op.Err != nil {
		return op.Err
	}
	return op.Result.Err
}
