package nats

// What a node remembers of its embedded server.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// node is what a node remembers of its embedded server.
type node struct {
	// Cluster is the name of the cluster.
	Cluster string `json:"cluster"`
	// Server is the name of the server. A server that has lost its folder
	// gets another: a voter that forgot its log must not return.
	Server string `json:"server"`
	// Store means that it keeps streams.
	Store bool `json:"store"`
	// Formed means that the cluster has been there with all its log nodes.
	Formed bool `json:"formed"`
	// Removed means that the node was removed from the cluster: its server
	// never starts again.
	Removed bool `json:"removed,omitempty"`
}

const nodeFile = "cluster-log.json"

// settle finds out what this node is: what its file says or, if there is none,
// what the other log nodes say of the cluster.
func (l *Log) settle(ctx context.Context) (node, error) {
	c := &l.config
	n, err := remembered(c.Dir)
	if err != nil {
		return n, err
	}
	if n.Server != "" {
		if n.Cluster != c.Cluster {
			return n, fmt.Errorf("cluster: the folder %s belongs to the cluster %s, not to %s", c.Dir, n.Cluster, c.Cluster)
		}
		if n.Removed {
			return n, cluster.ErrRemoved
		}
		if n.Store {
			return n, l.wasRemoved(ctx, n.Server)
		}
		return n, nil
	}
	// Nodes have numbers of their own: the name has the place in join.
	n = node{Cluster: c.Cluster, Server: "node-" + strings.ToLower(rand.Text()[:8]), Store: c.position() > 0}
	if n.Store {
		n.Server = fmt.Sprintf("join%d-%s", c.position(), n.Server[len("node-"):])
	}
	if n.Store {
		formed, err := l.survey(ctx, n.Server)
		if err != nil {
			return n, err
		}
		if formed {
			c.Log.Warn("cluster: this log node has lost its folder: it joins as a node that keeps no log. The log has one copy less until bloomery cluster replace-log has replaced the old node", "addr", c.Addr)
			n.Store = false
		}
	}
	return n, keep(c.Dir, n)
}

// survey asks all other log nodes whether the cluster was there before, by means
// of a server that stores nothing. While no stream has been made nothing can be
// lost, and streams are made only when all log nodes are there: so the answers
// of all of them are needed, or one that has seen the streams.
func (l *Log) survey(ctx context.Context, name string) (formed bool, err error) {
	c := &l.config
	e, err := start(c, name, false)
	if err != nil {
		return false, err
	}
	defer e.close()
	inbox := nats.NewInbox()
	answers, err := e.conn.SubscribeSync(inbox)
	if err != nil {
		return false, fmt.Errorf("cluster: %w", err)
	}
	if err := subscribe(e.conn, l.subject("hello"), func(m *nats.Msg) { _ = m.Respond(greeting{Addr: c.Addr}.encode()) }); err != nil {
		return false, err
	}
	missing := slices.DeleteFunc(slices.Clone(c.Join), func(addr string) bool { return addr == c.Addr })
	told := time.Now()
	for len(missing) > 0 {
		if err := e.conn.PublishRequest(l.subject("hello"), inbox, nil); err != nil {
			return false, fmt.Errorf("cluster: %w", err)
		}
		for wait := time.Now().Add(250 * time.Millisecond); ; {
			m, err := answers.NextMsg(max(time.Until(wait), time.Millisecond))
			if err != nil {
				break
			}
			var g greeting
			if json.Unmarshal(m.Data, &g) != nil {
				continue
			}
			if g.Formed {
				return true, nil
			}
			missing = slices.DeleteFunc(missing, func(addr string) bool { return addr == g.Addr })
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("cluster: waiting for %s: %w", strings.Join(missing, ", "), err)
		}
		if len(missing) > 0 && time.Since(told) > 5*time.Second {
			told = time.Now()
			c.Log.Info("cluster: the first start needs all log nodes", "waiting-for", strings.Join(missing, ","))
			if err := l.probe(ctx); err != nil {
				return false, err
			}
		}
	}
	// The others may still need this answer: the server that follows gives it.
	return false, nil
}

// greeting is what a log node answers to the others.
type greeting struct {
	Addr   string `json:"addr"`
	Formed bool   `json:"formed"`
}

func (g greeting) encode() []byte {
	b, _ := json.Marshal(g)
	return b
}

// remembered reads the file of a node; a node without a name has none.
func remembered(dir string) (n node, err error) {
	b, err := os.ReadFile(filepath.Join(dir, nodeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("cluster: %w", err)
	}
	if err := json.Unmarshal(b, &n); err != nil || n.Server == "" {
		return node{}, fmt.Errorf("cluster: %s: %w (%s)", filepath.Join(dir, nodeFile), bloomery.ErrCorrupt, NewFolder(filepath.Dir(dir)))
	}
	return n, nil
}

// ownFolder is a folder whose new files nobody but their owner reads, as those of the
// streams beside them.
type ownFolder struct{ folder.Disk }

// Create implements folder.Files.
func (d ownFolder) Create(name string) (folder.File, error) {
	return os.OpenFile(filepath.Join(string(d.Disk), name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
}

// keep writes the file of a node so that it survives a power cut.
func keep(dir string, n node) error {
	b, err := json.Marshal(n)
	if err == nil {
		err = folder.Replace(ownFolder{folder.Disk(dir)}, nodeFile, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cluster: node file: %w", err)
	}
	return nil
}
