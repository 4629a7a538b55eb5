// Package nats is the log of a cluster on NATS JetStream: one stream a lane, each
// on three servers, synced before it is acknowledged. The servers are embedded in
// the nodes that --join lists, the log nodes. Other nodes embed a server that
// stores nothing and passes messages on, or all of them use a NATS cluster that
// is there already.
//
// It is the only package that imports NATS.
package nats

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
)

// Config is what a log is opened with.
type Config struct {
	// Cluster is the name of the cluster: letters, digits, - and _.
	Cluster string
	// Addr is where this node listens for the others, HOST:PORT. It is empty
	// with URL.
	Addr string
	// Join lists the log nodes, HOST:PORT each: three or five, in the same
	// order everywhere. If Addr is among them this node is one.
	Join []string
	// URL is a NATS cluster to use instead of embedded servers.
	URL string
	// Secret is what all nodes of the cluster know and nobody else.
	Secret string
	// TLS is for connections between nodes; nil derives it from Secret.
	TLS *tls.Config
	// Dir is the folder of the streams and of the file that names this node.
	Dir string
	// LaneBytes bounds each stream. A full stream refuses writes.
	LaneBytes int64
	// Kept means that this node has data of the cluster: a stream that is
	// missing then is an error, and is not made again.
	Kept bool
	// Claim, if not nil, checks that this process may be the node whose folder it has,
	// before its server votes. ask sends a question to all other nodes, and returns what
	// they answer.
	Claim func(ctx context.Context, ask func(ctx context.Context, question []byte) [][]byte) error
	// Log receives what the servers report.
	Log *slog.Logger

	token string // password of the embedded servers, of this process only
}

// MaxLanes is how many data lanes there can be.
const MaxLanes = 64

// minSecret is how long a secret is at least.
const minSecret = 32

// complete fills in defaults. Whoever has made the configuration has checked it, but for
// the secret.
func (c Config) complete() (Config, error) {
	c.token = rand.Text()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, c.checkSecret()
}

func (c *Config) checkSecret() error {
	if c.Secret != "" && len(c.Secret) < minSecret {
		return fmt.Errorf("cluster: the secret has %d characters: at least %d random ones are needed", len(c.Secret), minSecret)
	}
	return nil
}

// position returns which log node this one is, from 1; 0 if it is none.
func (c *Config) position() int { return 1 + slices.Index(c.Join, c.Addr) }
