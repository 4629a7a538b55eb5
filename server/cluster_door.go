package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/door/cluster/nats"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/store"
)

// keptDoor is a door that keeps data.
type keptDoor interface {
	door.Door
	door.Keeper
}

// clusterDoor is the door of a server in a cluster, and the streams behind it. It is
// opened before there is an engine, and started when there is one.
type clusterDoor struct {
	*cluster.Door
	direct *peers.Node
	log    *nats.Log
}

// Close closes the door, then what it stands on.
func (d clusterDoor) Close() error {
	return errors.Join(d.Door.Close(), d.direct.Close(), d.log.Close())
}

// openCluster opens the door of a server whose clients reach it at announce, and
// fills state with what its folder holds. It waits for the stream of the catalogue.
// headroom returns how many bytes this server may still take, capacity how many in all, digest
// a number that is equal on servers with equal defaults of filters; they are called once the
// door was started.
func openCluster(ctx context.Context, c *Config, state *store.State, announce string, headroom, capacity, digest func() uint64) (*clusterDoor, error) {
	own := c.Cluster
	nc, err := own.logConfig()
	if err != nil {
		return nil, err
	}
	files, err := folder.OpenDisk(c.Dir)
	if err != nil {
		return nil, err
	}
	nc.Dir, nc.Log, nc.Kept, nc.Claim = filepath.Join(c.Dir, cluster.LogFolder), c.Log, cluster.Kept(files), claims.Of(files)
	direct, err := own.openPeers(&nc)
	if err != nil {
		return nil, err
	}
	log, err := nats.Open(ctx, nc)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server: %w", err), direct.Close())
	}
	name := log.Server()
	if own.NATS != "" {
		name = announce
	}
	dc := cluster.Config{
		State: state, Files: files, Log: log, Peers: log, Direct: direct, Cluster: own.Name, Name: name, Addr: announce, Lanes: own.Lanes,
		LaneBytes: own.LaneSize, MaxMessage: log.MaxMessage(), Timeout: own.Timeout, Headroom: headroom, Capacity: capacity, MoveRate: own.MoveRate, Digest: digest, Clock: c.Now, Slog: c.Log,
	}
	if own.NATS == "" {
		dc.Leads, dc.Follows = log.Leads, own.Addr != own.Join[0]
	}
	d, err := cluster.Open(dc)
	if err != nil {
		return nil, errors.Join(err, direct.Close(), log.Close())
	}
	return &clusterDoor{d, direct, log}, nil
}

// openPeers listens for questions of other servers. A port that was not asked for by name and that
// somebody else has is no reason not to start: others ask through the streams.
func (c *Cluster) openPeers(nc *nats.Config) (*peers.Node, error) {
	security, err := nc.Security()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	pc := peers.Config{Addr: c.peerAddr(), Cluster: c.Name, Secret: nc.Secret, TLS: security, Slog: nc.Log}
	n, err := peers.Open(pc)
	if err != nil && c.PeerAddr == "" {
		nc.Log.Warn("other nodes cannot ask this one directly: set cluster-peer-addr to a free address", "error", err)
		pc.Addr = ""
		n, err = peers.Open(pc)
	}
	if err != nil {
		return nil, fmt.Errorf("server: cluster-peer-addr: %w", err)
	}
	return n, nil
}

// readSecret reads the secret of a cluster, "" if there is no file of it.
func readSecret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", fmt.Errorf("server: cluster-secret-file: %w", err)
	}
	if err := onlyOwner(name, info); err != nil {
		return "", fmt.Errorf("server: cluster-secret-file: %w", err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("server: cluster-secret-file: %w", err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", fmt.Errorf("server: cluster-secret-file: %s is empty", name)
	}
	return text, nil
}

// logConfig returns what is known of the streams before there is a folder. It reads the
// secret and the certificates.
func (c *Cluster) logConfig() (nc nats.Config, err error) {
	nc = nats.Config{Cluster: c.Name, Join: c.Join, URL: c.NATS, LaneBytes: c.LaneSize}
	if c.NATS == "" {
		nc.Addr = c.Addr
	}
	if nc.Secret, err = readSecret(c.SecretFile); err == nil {
		nc.TLS, err = c.loadTLS()
	}
	return nc, err
}

// loadTLS reads the certificates of a cluster, nil if there are none.
func (c *Cluster) loadTLS() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("server: cluster-tls-cert %s, cluster-tls-key %s: %w", c.TLSCert, c.TLSKey, err)
	}
	authority, err := os.ReadFile(c.TLSCA)
	if err != nil {
		return nil, fmt.Errorf("server: cluster-tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("server: cluster-tls-ca: %s: there is no certificate in PEM form", c.TLSCA)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
