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
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
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
	// Lanes is how many data lanes a new cluster has. One that exists keeps
	// those it has.
	Lanes int
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

// Limits of a configuration.
const (
	DefaultLanes     = 8
	MaxLanes         = 64
	DefaultLaneBytes = 1 << 30
	minSecret        = 32
)

var clusterName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// complete fills in defaults and checks the rest.
func (c Config) complete() (Config, error) {
	if c.Lanes == 0 {
		c.Lanes = DefaultLanes
	}
	if c.LaneBytes == 0 {
		c.LaneBytes = DefaultLaneBytes
	}
	c.token = rand.Text()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case !clusterName.MatchString(c.Cluster):
		return c, fmt.Errorf("cluster: name %q: 1 to 64 letters, digits, - and _ are allowed", c.Cluster)
	case c.Lanes < 1 || c.Lanes > MaxLanes:
		return c, fmt.Errorf("cluster: %d lanes: 1 to %d are allowed", c.Lanes, MaxLanes)
	case c.LaneBytes < 1<<20:
		return c, fmt.Errorf("cluster: %d bytes for a lane: at least 1 MiB is needed", c.LaneBytes)
	case c.Dir == "":
		return c, errors.New("cluster: a node needs a folder for its data")
	}
	if c.URL != "" {
		if c.Addr != "" || len(c.Join) > 0 {
			return c, errors.New("cluster: nats takes the place of join and of the address of this node: give one or the other")
		}
		return c, nil
	}
	return c, c.checkEmbedded()
}

// checkEmbedded checks what embedded servers need: nothing listens beyond this
// machine without a secret and TLS.
func (c Config) checkEmbedded() error {
	if c.Addr == "" {
		return errors.New("cluster: the address of this node is missing: where do the other nodes reach it?")
	}
	if n := len(c.Join); n != 3 && n != 5 {
		return fmt.Errorf("cluster: join has %d addresses: the log is kept on 3 or 5 nodes", n)
	}
	if c.Secret != "" && len(c.Secret) < minSecret {
		return fmt.Errorf("cluster: the secret has %d characters: at least %d random ones are needed", len(c.Secret), minSecret)
	}
	for i, addr := range append([]string{c.Addr}, c.Join...) {
		local, err := loopback(addr)
		if err != nil {
			return err
		}
		if !local && c.Secret == "" {
			return fmt.Errorf("cluster: %s is reached from other machines: a secret that all nodes share is needed", addr)
		}
		if i > 0 && slices.Contains(c.Join[i:], addr) {
			return fmt.Errorf("cluster: join has %s twice", addr)
		}
	}
	return nil
}

// loopback reports whether an address is reached from this machine only.
func loopback(addr string) (bool, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, fmt.Errorf("cluster: address %q: %w", addr, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return false, fmt.Errorf("cluster: address %q: the port is not a number from 1 to 65535", addr)
	}
	if host == "" {
		return false, fmt.Errorf("cluster: address %q has no host: other nodes need one", addr)
	}
	ip := net.ParseIP(host)
	if ip != nil && ip.IsUnspecified() {
		return false, fmt.Errorf("cluster: address %q: other nodes need one that they can reach", addr)
	}
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// position returns which log node this one is, from 1; 0 if it is none.
func (c *Config) position() int { return 1 + slices.Index(c.Join, c.Addr) }
