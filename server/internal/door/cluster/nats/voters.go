package nats

// The servers that keep the streams, and how one of them is replaced.

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

var _ cluster.Voters = (*Log)(nil)

// Subjects of the system account: only it may change who votes.
const (
	subjectMeta   = "$SYS.REQ.SERVER.PING.JSZ"
	subjectRemove = "$JS.API.SERVER.REMOVE"
)

// errElsewhere is why servers that are not ours cannot be replaced.
var errElsewhere = errors.New("cluster: the streams are on a separate NATS cluster: replace its servers there")

// Server implements cluster.Voters.
func (l *Log) Server() string { return l.name }

// Known implements cluster.Voters.
func (l *Log) Known() []cluster.Voter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.voters
}

// Servers implements cluster.Voters. The one that leads answers.
func (l *Log) Servers(ctx context.Context) ([]cluster.Voter, error) {
	if l.server == nil {
		return nil, errElsewhere
	}
	ctx, cancel := context.WithTimeout(ctx, askIn)
	defer cancel()
	var answer struct {
		Data struct {
			Meta *natsd.MetaClusterInfo `json:"meta_cluster"`
		} `json:"data"`
	}
	if err := l.command(ctx, subjectMeta, natsd.JSzOptions{LeaderOnly: true}, &answer); err != nil {
		return nil, fmt.Errorf("cluster: the servers that keep the log have no leader: %w", err)
	}
	meta := answer.Data.Meta
	if meta == nil || meta.Leader == "" {
		return nil, errors.New("cluster: the servers that keep the log have no leader")
	}
	list := []cluster.Voter{{Server: meta.Leader, ID: meta.Peer, Current: true}}
	for _, p := range meta.Replicas {
		if p.Peer != meta.Peer {
			list = append(list, cluster.Voter{Server: nameOf(p.Name), ID: p.Peer, Current: p.Current, Offline: p.Offline})
		}
	}
	l.mu.Lock()
	l.voters = list
	l.mu.Unlock()
	return list, nil
}

// Votes implements cluster.Voters. A server that was away when the others started is
// known to them by its id only.
func (l *Log) Votes(v cluster.Voter, server string) bool {
	return server != "" && (v.Server == server || v.ID == peerID(server))
}

// peerID is how the servers call each other in votes: digits of the hash of a name.
func peerID(name string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := sha256.Sum256([]byte(name))
	for i := range 8 {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return string(b[:8])
}

// Healthy implements cluster.Voters.
func (l *Log) Healthy() error {
	switch {
	case !l.store.Load():
		return errors.New("it keeps no streams")
	case !l.server.Load().JetStreamEnabled():
		return errors.New("its server has stopped keeping streams")
	case !l.server.Load().JetStreamIsCurrent():
		return errors.New("it has not caught up with the others yet")
	}
	for lane := range l.laneCount() {
		name := l.stream(lane)
		if l.server.Load().JetStreamIsStreamAssigned(globalAccount, name) && !l.server.Load().JetStreamIsStreamCurrent(globalAccount, name) {
			return fmt.Errorf("its copy of %s is not complete", l.laneName(lane))
		}
	}
	return nil
}

func (l *Log) laneCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.leaders)
}

// Promote implements cluster.Voters. The server is started again, with streams:
// connections and subscriptions find the new one by themselves.
func (l *Log) Promote() error {
	if l.server == nil {
		return errElsewhere
	}
	if l.store.Load() || !l.promoting.TryLock() {
		return nil
	}
	l.mu.Lock()
	err := l.failure
	l.failure = nil
	l.mu.Unlock()
	begun := err == nil && l.spawn(func() {
		defer l.promoting.Unlock()
		err := l.promote()
		l.mu.Lock()
		l.failure = err
		l.mu.Unlock()
	})
	if !begun {
		l.promoting.Unlock()
	}
	return err
}

func (l *Log) promote() error {
	n := node{Cluster: l.config.Cluster, Server: l.name, Store: true, Formed: true}
	if err := keep(l.config.Dir, n); err != nil {
		return err
	}
	l.config.Log.Warn("cluster: this node keeps the log from now on", "server", l.name)
	l.server.stop()
	s, err := launch(&l.config, l.name, true)
	if err != nil { // it goes on as it was
		l.config.Log.Error("cluster: this node cannot keep the log", "error", err)
		n.Store, n.Formed = false, false
		before, again := launch(&l.config, l.name, false)
		if again == nil {
			l.server.Store(before)
		}
		return errors.Join(err, again, keep(l.config.Dir, n))
	}
	l.server.Store(s)
	l.mu.Lock()
	l.formed = true
	l.mu.Unlock()
	l.store.Store(true)
	return l.greet()
}

// Copies implements cluster.Voters.
func (l *Log) Copies(ctx context.Context, server string) (c cluster.Copies, err error) {
	for lane := range l.laneCount() {
		group, err := l.group(ctx, lane)
		if err != nil {
			return c, err
		}
		c.Streams++
		if group.Leader == "" || group.Desired != nil {
			c.Moving++
			continue
		}
		whole := 1
		for _, p := range group.Replicas {
			if p.Current && !p.Offline && !p.Pending {
				whole++
			}
		}
		if has(group, server) {
			c.Of++
		}
		if whole == 1+len(group.Replicas) && whole >= replicas {
			c.Whole++
		}
	}
	return c, nil
}

// group returns which servers have copies of a lane's stream, as its leader sees it.
func (l *Log) group(ctx context.Context, lane int) (*natsd.ClusterInfo, error) {
	var answer natsd.JSApiStreamInfoResponse
	name := l.stream(lane)
	err := request(ctx, l.conn, fmt.Sprintf(natsd.JSApiStreamInfoT, name), struct{}{}, &answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cluster: stream %s: %w", name, err)
	case answer.Error != nil:
		return nil, fmt.Errorf("cluster: stream %s: %w", name, answer.Error)
	case answer.StreamInfo == nil || answer.Cluster == nil:
		return nil, fmt.Errorf("cluster: stream %s has no group", name)
	}
	return answer.Cluster, nil
}

// has reports whether a server has a copy of a stream.
func has(group *natsd.ClusterInfo, server string) bool {
	return group.Leader == server || slices.ContainsFunc(group.Replicas, func(p *natsd.PeerInfo) bool {
		return p.Name == server || p.Peer == peerID(server)
	})
}

// Move implements cluster.Voters.
func (l *Log) Move(ctx context.Context, server string, lives bool) error {
	for lane := range l.laneCount() {
		group, err := l.group(ctx, lane)
		if err != nil {
			return err
		}
		if !has(group, server) {
			continue
		}
		// A server that is there gives its copy up when there is another one. One that
		// is not has none to give.
		subject := fmt.Sprintf(natsd.JSApiStreamEvacuatePeerT, l.stream(lane))
		if !lives {
			subject = fmt.Sprintf(natsd.JSApiStreamRemovePeerT, l.stream(lane))
		}
		var answer natsd.ApiResponse
		if err := request(ctx, l.conn, subject, natsd.JSApiStreamRemovePeerRequest{Peer: peerID(server)}, &answer); err != nil {
			return fmt.Errorf("cluster: stream %s: %w", l.stream(lane), err)
		}
		if answer.Error != nil {
			return fmt.Errorf("cluster: stream %s: %w", l.stream(lane), answer.Error)
		}
		return nil
	}
	return nil
}

// Dismiss implements cluster.Voters.
func (l *Log) Dismiss(ctx context.Context, server string) error {
	if l.server == nil {
		return errElsewhere
	}
	var answer natsd.ApiResponse
	if err := l.command(ctx, subjectRemove, natsd.JSApiMetaServerRemoveRequest{Peer: peerID(server)}, &answer); err != nil {
		return fmt.Errorf("cluster: server %s: %w", server, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("cluster: server %s: %w", server, answer.Error)
	}
	return nil
}

// command sends a request as the system account.
func (l *Log) command(ctx context.Context, subject string, body, answer any) error {
	l.mu.Lock()
	conn, closing := l.sys, l.closing
	l.mu.Unlock()
	if closing {
		return errClosed
	}
	if conn == nil {
		made, err := l.server.connect(&l.config, userSystem)
		if err != nil {
			return err
		}
		if conn = l.useSystem(made); conn == nil {
			return errClosed
		}
	}
	return request(ctx, conn, subject, body, answer)
}

// useSystem keeps a connection of the system account, unless there is one already. It
// returns the one to use, nil if the log is closed.
func (l *Log) useSystem(made *nats.Conn) *nats.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || l.sys != nil {
		made.Close()
		if l.closing {
			return nil
		}
		return l.sys
	}
	l.sys = made
	return made
}

func request(ctx context.Context, conn *nats.Conn, subject string, body, answer any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	m, err := conn.RequestWithContext(ctx, subject, b)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, answer)
}
