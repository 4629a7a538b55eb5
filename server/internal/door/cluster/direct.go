package cluster

// Questions to other nodes: over a connection of their own, or through the log.

import (
	"context"
	"errors"

	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/peers"
)

// shortAnswer is room for an answer of which nothing is known, and for why one is refused.
const shortAnswer = 4 << 10

// askNode asks another node, which is expected to answer with so many bytes. Nodes of releases that
// cannot be asked otherwise, and those to which there is no connection, are asked through the log.
// No question is asked twice.
func (d *Door) askNode(ctx context.Context, node uint32, q []byte, expect int) ([]byte, error) {
	if d.config.Direct != nil {
		room := min(expect+shortAnswer, peers.MaxBody)
		b, err := d.config.Direct.Ask(ctx, node, peers.Question{Body: q, Room: room, Waits: true}, nil)
		if err == nil || !errors.Is(err, peers.ErrUnsent) || ctx.Err() != nil {
			return b, err
		}
	}
	return d.config.Peers.Ask(ctx, node, q)
}

// errUnasked means that other nodes cannot ask this one over connections of their own: where
// contents are spread, every read and write may be such a question.
var errUnasked = errors.New("cluster: contents are spread over nodes, and the others cannot ask this one: its port for that is taken, or there is none: set cluster-peer-addr to a free address")

// canBeAsked reports whether other nodes can ask this one without the log.
func (d *Door) canBeAsked() bool { return d.config.Direct == nil || d.config.Direct.Addr() != "" }

// know notes where the node of a beat is asked.
func (d *Door) know(v *heartbeat.Beat) {
	if d.config.Direct != nil {
		d.config.Direct.Know(v.Node, v.Peer)
	}
}

// forgetLeft lets go of nodes that were removed.
func (d *Door) forgetLeft() {
	r := d.state.Roster()
	if d.config.Direct == nil || r == nil {
		return
	}
	for i := range r.Members {
		if m := &r.Members[i]; m.Left {
			d.config.Direct.Know(m.Number, "")
		}
	}
}
