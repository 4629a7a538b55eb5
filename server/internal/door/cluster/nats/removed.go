package nats

// Nodes that were removed: their servers must not vote again.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery/server/internal/door/cluster"
)

// The answers to the question whether a node was removed.
const (
	answerRemoved = "removed"
	answerMember  = "member"
	answerUnsure  = "unsure" // of a node that starts
)

// A log node that starts waits for an answer: alone it can do nothing. After
// removedIn it starts all the same, and a second after an answer that nobody knows:
// then all of the cluster starts, and the node may be needed.
const (
	removedIn = 30 * time.Second
	unsureFor = time.Second
)

// Judge implements cluster.Voters.
func (l *Log) Judge(removed func(server string) (left, known bool)) { l.judge.Store(&removed) }

// answerRemovals answers other nodes that ask whether they were removed.
func (l *Log) answerRemovals(conn *nats.Conn) error {
	return subscribe(conn, l.subject("removed"), func(m *nats.Msg) {
		answer, left, known := answerUnsure, false, false
		if judge := l.judge.Load(); judge != nil {
			left, known = (*judge)(string(m.Data))
		}
		switch {
		case left:
			answer = answerRemoved
		case known:
			answer = answerMember
		}
		_ = m.Respond([]byte(answer))
	})
}

// Retire implements cluster.Voters: the server of this node never starts again.
func (l *Log) Retire() error {
	n, err := remembered(l.config.Dir)
	if err != nil || n.Server == "" {
		return err
	}
	n.Removed = true
	return keep(l.config.Dir, n)
}

// wasRemoved asks the other nodes whether this one was removed, before its server
// starts to keep streams again.
func (l *Log) wasRemoved(ctx context.Context, server string) error {
	c := &l.config
	e, err := start(c, "asks-"+strings.ToLower(rand.Text()[:8]), false)
	if err != nil {
		return err
	}
	defer e.close()
	inbox := nats.NewInbox()
	answers, err := e.conn.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := l.answerRemovals(e.conn); err != nil {
		return err
	}
	unsure := false
	for end := time.Now().Add(removedIn); time.Now().Before(end); {
		if err := e.conn.PublishRequest(l.subject("removed"), inbox, []byte(server)); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
		for wait := time.Now().Add(100 * time.Millisecond); ; {
			m, err := answers.NextMsg(max(time.Until(wait), time.Millisecond))
			if err != nil {
				break
			}
			switch string(m.Data) {
			case answerRemoved:
				return errors.Join(cluster.ErrRemoved, l.Retire())
			case answerMember:
				return l.claim(ctx, e.conn)
			}
			if !unsure {
				unsure, end = true, time.Now().Add(unsureFor)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Vouch implements cluster.Vouching.
func (l *Log) Vouch(answer func(question []byte) []byte) { l.vouch.Store(&answer) }

// answerClaims answers processes that claim to be a node.
func (l *Log) answerClaims() error {
	return subscribe(l.conn, l.subject("claim"), func(m *nats.Msg) {
		if answer := l.vouch.Load(); answer != nil {
			_ = m.Respond((*answer)(m.Data))
		}
	})
}

// claimWait is how long answers to a claim may take.
const claimWait = 250 * time.Millisecond

// claim asks the other nodes whether this process may be the node that its folder says.
// Once its server keeps streams it is too late: it votes with what the folder has.
func (l *Log) claim(ctx context.Context, conn *nats.Conn) error {
	if l.config.Claim == nil {
		return nil
	}
	return l.config.Claim(ctx, func(ctx context.Context, question []byte) (answers [][]byte) {
		inbox := nats.NewInbox()
		sub, err := conn.SubscribeSync(inbox)
		if err != nil {
			return nil
		}
		defer func() { _ = sub.Unsubscribe() }()
		if err := conn.PublishRequest(l.subject("claim"), inbox, question); err != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, claimWait)
		defer cancel()
		for {
			m, err := sub.NextMsgWithContext(ctx)
			if err != nil {
				return answers
			}
			answers = append(answers, m.Data)
		}
	})
}
