package server

// The door of a server in a cluster.

import (
	"context"
	"errors"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// keptDoor is a door that keeps data.
type keptDoor interface {
	door.Door
	door.Keeper
}

// clusterDoor is the door of a server in a cluster. It is opened before there is an
// engine, and started when there is one.
type clusterDoor interface {
	door.Shared
	door.Keeper
	// Start joins the cluster and returns when this server has all that there was.
	// Nothing is served before. The door applies groups through alone, which keeps
	// all others from looking meanwhile.
	Start(ctx context.Context, alone func(func())) error
	// Failed is closed when the server cannot go on: it was removed from the
	// cluster, or its data is damaged. Serving returns why.
	Failed() <-chan struct{}
	Serving() error
}

// errNoCluster is what a server answers that was built without clusters.
var errNoCluster = errors.New("server: cluster: this build cannot take part in a cluster")

// openCluster opens the door of a server whose clients reach it at announce, and
// fills state with what its folder holds. It talks to nobody.
func openCluster(_ *Config, _ *store.State, _ string) (clusterDoor, error) {
	return nil, errNoCluster
}
