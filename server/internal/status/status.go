// Package status is what a server says of itself: what it can do, its process, its disk,
// and its cluster. Doors and servers fill it in; INFO, CLUSTER, metrics, help texts and
// refusals read it.
package status

import (
	"errors"
	"time"
)

// Abilities is what a server can do, which is not all that one can do.
type Abilities struct {
	Cluster bool // other machines write, too
	Hidden  bool // clients are not told of the cluster
	Disk    bool // data is kept on the disk of this machine
	// Keys are the secret keys that filters may hash with, as they are when it is asked;
	// nil means that there are none.
	Keys Keyring
	// Shadows says whether a cluster can rebuild filters at present; nil means that it cannot.
	Shadows Rebuilder
}

// Rebuilder is a cluster that may be able to rebuild filters.
type Rebuilder interface {
	CanRebuild() bool
}

// Keyring is the secret keys that a server has.
type Keyring interface {
	// KeyIDs returns the ids of all of them, in order.
	KeyIDs() []string
}

// KeyIDs returns the ids of the secret keys that a filter may be given, in order.
func (a Abilities) KeyIDs() []string {
	if a.Keys == nil {
		return nil
	}
	return a.Keys.KeyIDs()
}

// Told reports whether clients are told that this is a cluster.
func (a Abilities) Told() bool { return a.Cluster && !a.Hidden }

// Mode returns what HELLO and INFO call the server: standalone or cluster.
func (a Abilities) Mode() string {
	if a.Told() {
		return "cluster"
	}
	return "standalone"
}

// Rebuilds reports whether filters can be rebuilt.
func (a Abilities) Rebuilds() bool { return !a.Cluster || a.Shadows != nil && a.Shadows.CanRebuild() }

// Server is what is known of the process and its connections.
type Server struct {
	Version    string
	RunID      string // 40 digits that stand for this run
	Started    time.Time
	Port       int
	Clients    int
	MaxClients int
	Blocked    int64 // clients that are held back, or wait for news
	Accepted   int64 // connections ever
	Rejected   int64 // connections refused
	Unshaken   int64 // handshakes of TLS that failed
	// CertificateExpires is when the certificate of TLS does, zero if there is none.
	CertificateExpires time.Time

	BytesIn    int64
	BytesOut   int64
	ConfigFile string
	Executable string
}

// ErrSaving means that a snapshot is being taken already.
var ErrSaving = errors.New("a snapshot is being taken already")

// Disk is how data is kept on the disk of this machine.
type Disk struct {
	Kept      bool      // data is kept at all
	Mode      string    // when writes are durable: always, everysec or no
	Saving    bool      // a snapshot is being taken
	Began     time.Time // when it, or the last one, was begun
	Saved     time.Time // of the last snapshot; the start if there was none
	Took      time.Duration
	Err       error         // of the last snapshot
	Snapshots int64         // taken since the start
	LogBytes  int64         // what a start would replay
	LogEnd    uint64        // position
	Buffered  int64         // bytes not yet written
	Behind    time.Duration // age of the oldest record that is not durable
	Syncs     int64         // of the log, since the start
	Synced    time.Time     // when the log was last synced, zero if it was not
	Failures  int64         // of writes to the log and of its syncs, since the start
	Failed    int64         // snapshots, since the start
}
