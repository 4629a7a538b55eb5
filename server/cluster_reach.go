package server

// Whether a server could join a cluster.

import (
	"context"
	"fmt"

	"github.com/bloomery/bloomery/server/internal/door/cluster/nats"
)

// Reach tries to reach the servers of c.Join as a server of the cluster would: secret,
// certificates and the name of the cluster have to fit. It returns an error for each of
// them, nil for one that would accept this server. The second result is what is wrong
// with c itself. Nothing is started.
func (c Cluster) Reach(ctx context.Context) ([]error, error) {
	c = c.completed()
	if err := c.check(); err != nil {
		return nil, err
	}
	nc, err := c.logConfig()
	if err != nil {
		return nil, err
	}
	reached, err := nats.Reach(ctx, nc)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return reached, nil
}
