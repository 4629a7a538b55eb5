package server

// The configuration of a server in a cluster.

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cluster is how a server takes part in a cluster: several servers with one set of
// keys, each of which takes any client. The zero value of a field means its default.
type Cluster struct {
	// Name is that of the cluster, the same on all of its servers: letters, digits,
	// - and _. It must be set.
	Name string
	// Join lists the log nodes, the servers that keep the streams: three or five, by
	// their Addr, in the same order everywhere. A server whose Addr is among them is
	// one. The first start of a cluster waits for all of them, a later one for most.
	Join []string
	// Addr is where other servers of the cluster connect, HOST:PORT. The default is
	// 127.0.0.1:6380. Beyond this machine it needs SecretFile.
	Addr string
	// PeerAddr is where other servers of the cluster ask this one, HOST:PORT, over
	// connections that do not belong to the streams. The default is the host of Addr, and its
	// port plus 10000, or minus 10000 if there is no such port; with NATS, none. Beyond this
	// machine it needs SecretFile. Servers that cannot be asked there are asked through the streams.
	PeerAddr string
	// Announce is the HOST:PORT that clients are told to reach this server at
	// (CLUSTER SLOTS). The default is the first address of Config.Addr, with the host
	// of Addr if that is for all of them.
	Announce string
	// SecretFile is a file with a secret that all servers of the cluster know, 32
	// random characters at least. Connections between them have TLS then.
	SecretFile string
	// TLSCert, TLSKey and TLSCA are the files of the certificate for connections
	// between servers, of its private key, and of the authority that has signed those
	// of all of them, in PEM form. Without them certificates are derived from the
	// secret.
	TLSCert, TLSKey, TLSCA string
	// Lanes is how many streams carry the contents of filters, 1 to 64. The server
	// that begins the cluster, the first of Join, decides it for good. The default
	// is 8.
	Lanes int
	// LaneSize bounds a stream, in bytes: one that is full refuses writes until
	// snapshots have made room. The default is 1 GiB.
	LaneSize int64
	// MoveRate is how many bytes of contents a second this server takes from others when
	// contents move between servers. The default is 64 MiB, the least is 64 KiB.
	MoveRate int64
	// NATS is the URL of a NATS cluster with JetStream that keeps the streams; ""
	// means that the servers keep them.
	NATS string
	// Timeout is how long a client waits for its write before it is told that nobody
	// knows whether it was kept. The default is 15 s.
	Timeout time.Duration
	// HideFromClients makes the server look like a single one to clients (CLUSTER
	// SLOTS, cluster_enabled). Either way every server answers every command.
	HideFromClients bool
}

// The defaults of a Cluster.
const (
	defaultLanes          = 8
	maxLanes              = 64
	defaultClusterAddr    = "127.0.0.1:6380"
	defaultClusterTimeout = 15 * time.Second
	defaultLaneSize       = 1 << 30
	minLaneSize           = 16 << 20
	defaultMoveRate       = 64 << 20
	minMoveRate           = 64 << 10
)

// completeCluster fills in the defaults of a cluster and checks the rest. Without a
// name there is none, and then nothing else may be set.
func (c *Config) completeCluster() error {
	if c.Cluster == nil {
		return nil
	}
	own := c.Cluster.completed()
	if own.Name == "" {
		if len(own.Join) > 0 || own.NATS != "" {
			return errors.New("server: join and nats need the name of a cluster (cluster)")
		}
		c.Cluster = nil
		return nil
	}
	c.Cluster = &own
	if c.Dir == "" {
		return errors.New("server: cluster: a node of a cluster keeps its data in a folder: set dir")
	}
	return own.check()
}

// completed returns c with the defaults of what is not set.
func (c Cluster) completed() Cluster {
	setDefault(&c.Addr, defaultClusterAddr)
	setDefault(&c.Lanes, defaultLanes)
	setDefault(&c.LaneSize, defaultLaneSize)
	setDefault(&c.MoveRate, defaultMoveRate)
	setDefault(&c.Timeout, defaultClusterTimeout)
	return c
}

// check reports what is wrong with a cluster that has a name.
func (c *Cluster) check() error {
	if len(c.Name) > 32 || strings.IndexFunc(c.Name, notInNames) >= 0 {
		return fmt.Errorf("server: cluster: %q is not a name: want 1 to 32 letters, digits, - and _", c.Name)
	}
	if c.Lanes < 1 || c.Lanes > maxLanes {
		return fmt.Errorf("server: lanes: %d is not in the range [1, %d]", c.Lanes, maxLanes)
	}
	if c.LaneSize < minLaneSize {
		return fmt.Errorf("server: lane-size: %s is too small: at least %s is needed", formatBytes(c.LaneSize), formatBytes(minLaneSize))
	}
	if c.MoveRate < minMoveRate {
		return fmt.Errorf("server: cluster-move-rate: %s is too small: at least %s is needed", formatBytes(c.MoveRate), formatBytes(minMoveRate))
	}
	if c.Timeout < 0 {
		return fmt.Errorf("server: cluster-timeout: %v is negative", c.Timeout)
	}
	if err := checkHostPort("cluster-addr", c.Addr); err != nil {
		return err
	}
	if c.Announce != "" {
		if err := checkHostPort("cluster-announce", c.Announce); err != nil {
			return err
		}
	}
	if c.PeerAddr != "" {
		if err := checkHostPort("cluster-peer-addr", c.PeerAddr); err != nil {
			return err
		}
		if !isLoopback(c.PeerAddr) && c.SecretFile == "" {
			return fmt.Errorf("server: cluster-peer-addr: %s can be reached by other machines: that needs cluster-secret-file", c.PeerAddr)
		}
	}
	for _, addr := range c.Join {
		if err := checkHostPort("join", addr); err != nil {
			return err
		}
	}
	secure := c.TLSCert != "" && c.TLSKey != "" && c.TLSCA != ""
	if !secure && (c.TLSCert != "" || c.TLSKey != "" || c.TLSCA != "") {
		return errors.New("server: cluster-tls-cert, cluster-tls-key and cluster-tls-ca belong together: set all of them")
	}
	if secure && c.SecretFile == "" {
		return errors.New("server: cluster-tls-cert needs cluster-secret-file")
	}
	return c.checkLog()
}

// checkLog reports what is wrong with where the streams are.
func (c *Cluster) checkLog() error {
	if c.NATS != "" {
		if len(c.Join) > 0 {
			return errors.New("server: nats and join: the streams are on that NATS cluster, or on the log nodes of join: give one of them")
		}
		return nil
	}
	if n := len(c.Join); n != 3 && n != 5 {
		return fmt.Errorf("server: join: %d addresses: the streams are kept on 3 or 5 nodes", n)
	}
	for i, addr := range append([]string{c.Addr}, c.Join...) {
		if !isLoopback(addr) && c.SecretFile == "" {
			return fmt.Errorf("server: %s can be reached by other machines: that needs cluster-secret-file", addr)
		}
		if i > 0 && slices.Contains(c.Join[i:], addr) {
			return fmt.Errorf("server: join: %s is there twice", addr)
		}
	}
	return nil
}

// peerOffset is how far the port of questions is from that of the streams.
const peerOffset = 10000

// peerAddr returns where this server is asked by others, "" for nowhere.
func (c *Cluster) peerAddr() string {
	if c.PeerAddr != "" || c.NATS != "" {
		return c.PeerAddr
	}
	host, text, _ := net.SplitHostPort(c.Addr)
	port, _ := strconv.Atoi(text)
	if port += peerOffset; port > math.MaxUint16 {
		port -= 2 * peerOffset
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

func checkHostPort(setting, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	if err != nil || notNumber != nil || n == 0 || host == "" {
		return fmt.Errorf("server: %s: %q is not HOST:PORT", setting, addr)
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		return fmt.Errorf("server: %s: %q is no address that others can reach", setting, addr)
	}
	return nil
}

// isLoopback reports whether only this machine reaches an address HOST:PORT.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// announced returns the HOST:PORT that clients are told for this server.
func (c *Config) announced(ls []listener) string {
	if c.Cluster.Announce != "" {
		return c.Cluster.Announce
	}
	for _, l := range ls {
		a, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			continue
		}
		host, port := a.IP.String(), strconv.Itoa(a.Port)
		if a.IP.IsUnspecified() {
			if own, _, err := net.SplitHostPort(c.Cluster.Addr); err == nil && own != "" {
				host = own
			}
		}
		return net.JoinHostPort(host, port)
	}
	return ""
}
