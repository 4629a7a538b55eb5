package nats

// Heartbeats and questions between nodes.

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Announce sends a heartbeat to all other nodes. It does not wait, and the message
// may be lost.
func (l *Log) Announce(beat []byte) { _ = l.conn.Publish(l.subject("beat"), beat) }

// Ask sends a question to a node and returns its answer.
func (l *Log) Ask(ctx context.Context, node uint32, question []byte) ([]byte, error) {
	m, err := l.conn.RequestWithContext(ctx, l.subject("ask", strconv.FormatUint(uint64(node), 10)), question)
	if err != nil {
		return nil, fmt.Errorf("cluster: node %d does not answer: %w", node, err)
	}
	return m.Data, nil
}

// Serve calls beat for the heartbeats of other nodes and answers questions to a
// node, which is this one; a node without a number, 0, is not asked.
func (l *Log) Serve(node uint32, beat func(b []byte), answer func(question []byte) []byte) (stop func(), err error) {
	beats, err := l.conn.Subscribe(l.subject("beat"), func(m *nats.Msg) { beat(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	subs := []*nats.Subscription{beats}
	// A long answer does not keep other questions waiting.
	working, stopped := make(chan struct{}, 16), make(chan struct{})
	if node != 0 {
		asked, err := l.conn.Subscribe(l.subject("ask", strconv.FormatUint(uint64(node), 10)), func(m *nats.Msg) {
			select {
			case <-stopped:
			case working <- struct{}{}:
				go func() {
					defer func() { <-working }()
					_ = m.Respond(answer(m.Data))
				}()
			}
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cluster: %w", err), beats.Unsubscribe())
		}
		subs = append(subs, asked)
	}
	if err := l.conn.Flush(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return func() {
		close(stopped)
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
		for range cap(working) {
			working <- struct{}{} // waits for answers under way
		}
	}, nil
}
