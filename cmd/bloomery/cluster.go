// The command cluster: how the nodes of a cluster are doing, and their secret.

package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/internal/resp"
)

func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster COMMAND",
		Short: "Show the state of a cluster, add, remove and replace its nodes",
		Long: `cluster shows how a cluster is doing and changes it. The nodes of a cluster are
servers that hold the same keys; a client can connect to any of them. A write is
acknowledged when it is on disk at a majority of the log nodes and applied at
the node that answers.

bloomery serve --cluster starts a node; docs/cluster.md has the whole
procedure:

  (umask 077; bloomery cluster secret > secret)
  bloomery serve --cluster NAME --cluster-secret-file secret \
    --join A:6380,B:6380,C:6380 --cluster-addr A:6380

on the machines A, B and C, each with its own --cluster-addr. These are the log
nodes. A fourth node has the same --join and its own --cluster-addr, which is
not in it; cluster join checks that it would be let in and prints its command.

Each node has a number, which no other node ever gets. Commands name a node by
its number, or by its address for clients, as cluster status shows them.`,
		Example: `  bloomery cluster status
  bloomery cluster status --addr 10.0.0.2:6379
  (umask 077; bloomery cluster secret > secret)
  bloomery cluster backup backup-monday
  bloomery cluster join --addr 10.0.0.1:6379 --cluster-addr 10.0.0.4:6380
  bloomery cluster leave 4 --yes
  bloomery cluster replace-log 2 4 --yes`,
		SuggestionsMinimumDistance: 2,

		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClusterStatus(), newClusterSecret())
	cmd.AddCommand(newClusterBackup(), newClusterRestore())
	cmd.AddCommand(newClusterJoin(), newClusterLeave(), newClusterReplaceLog(), newClusterUpgrade())
	cmd.AddCommand(newClusterCopies(), newClusterRebalance(), newClusterPause(), newClusterResume())
	return cmd
}

func newClusterSecret() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Print a new secret for the nodes of a cluster",
		Long: `secret prints 52 random characters for --cluster-secret-file. All nodes of a
cluster have the same file, which nobody but its owner may read (mode 0600).
Anyone who knows it can join the cluster, read all data and change it. The
certificates for TLS between nodes are derived from it.`,
		Example: `  (umask 077; bloomery cluster secret > secret)`,
		Args:    noArguments,
	}
	newShell(cmd, func(_ context.Context, s *shell, _ []string) error {
		secret := rand.Text() + rand.Text()
		if s.asJSON {
			return s.print(map[string]string{"secret": secret})
		}
		_, err := fmt.Fprintln(s.out, secret)
		return err
	})
	return cmd
}

func newClusterStatus() *cobra.Command {
	var o connectFlags
	var key string
	cmd := &cobra.Command{
		Use:   "status [--why KEY] [--addr HOST:PORT]",
		Short: "Show the nodes and lanes of a cluster",
		Long: `status asks a node how its cluster is doing and prints the nodes and the
lanes, which are the streams that carry the writes: CAT has the names, D1 and
those after it the contents of filters, W those of filters with REPLICAS ALL.

lag is how many messages other nodes have applied and this one has not. HEAD is
the last message of a lane, as far as the node knows. LEADER is the node that
orders the messages of a lane; - means that none is known. When a node is
killed, writes to the lanes that it led wait until the others have elected a
leader: a problem names these lanes.
The node that leads CAT removes expired keys for all nodes.

Nodes are listed in the order of --join, then the others; they are numbered in
the order in which they joined. ROUND TRIP is how long a question takes from the
node that was asked to another one and back, over a connection of their own
(--cluster-peer-addr); - means that there is none, and such nodes ask each other
through the log. SERVER is the name of the NATS server inside a node; in a log
node it keeps the log. A machine whose folder was lost is a new node with a new
number and a new server. A node that has just started shows other nodes as "not
heard from yet"; it hears from those that are up within a second, and shows the
others as down after five.

Where contents are spread over nodes (cluster copies), SHARDS is how many of
1,024 shards of them a node holds, RECEIVING how many it is getting from others,
LEFT TO RECEIVE the size of what is still missing of these, and BYTES what its
data takes, as it said last. "moves wait" says why contents do not move yet.

With --why KEY it prints instead where a key lies, as this node sees it: the
nodes that hold its parts, get them or give them up; the lane of its writes, and
how far the node has applied it; how far a rebuild is. Lines that begin with
"waits" say who waits for what. It needs the right to run CLUSTER WHY (category
admin) and to read all keys.

Exit codes: 0 all is well, 1 something is not: the node or its cluster takes
no writes, a node is down or not heard from yet, or the node reports a problem,
or the key waits for something; 2 the node does not answer, is starting, or is
not in a cluster, or there is no such key.`,
		Example: `  bloomery cluster status
  bloomery cluster status --addr 10.0.0.2:6379 --json
  bloomery cluster status --why users`,
		Args: noArguments,
	}
	newShell(cmd, func(ctx context.Context, s *shell, _ []string) error {
		if cmd.Flags().Changed("why") {
			return runClusterWhy(ctx, s, &o, key)
		}
		return runClusterStatus(ctx, s, &o)
	})
	cmd.Flags().StringVar(&key, "why", "", "print where this `KEY` lies and what it waits for")
	o.bind(cmd.Flags(), "127.0.0.1:6379", "`ADDRESS` of a node: HOST:PORT, tls:HOST:PORT or unix:PATH")
	return cmd
}

// clusterJSON is what cluster status prints with --json.
type clusterJSON struct {
	Name     string            `json:"name"`
	ID       string            `json:"id"`
	Node     int               `json:"node"`
	Serving  bool              `json:"serving"`
	Quorum   bool              `json:"quorum"`
	Lag      int               `json:"lag"`
	Decider  int               `json:"decider"`
	Size     int               `json:"size"`
	Live     int               `json:"live"`
	Nodes    []clusterNodeJSON `json:"nodes,omitempty"`
	Lanes    []clusterLaneJSON `json:"lanes"`
	Problems []string          `json:"problems,omitempty"`
	// Where contents are spread over nodes: how many are to hold each shard, and how far they are.
	Copies   int  `json:"copies,omitempty"`
	Paused   bool `json:"moves_paused,omitempty"`
	Below    int  `json:"shards_below,omitempty"`
	Learning int  `json:"shards_learning,omitempty"`
	Retiring int  `json:"shards_retiring,omitempty"`
	// Waits is why nothing moves though something is to.
	Waits string `json:"moves_wait,omitempty"`
}

type clusterNodeJSON struct {
	Number int    `json:"number"`
	Addr   string `json:"addr"`
	Live   bool   `json:"live"`
	// Awaited means that it was not heard from yet: the node that was asked has just
	// started.
	Awaited bool   `json:"awaited,omitempty"`
	Self    bool   `json:"self"`
	Log     bool   `json:"log"`
	Server  string `json:"server,omitempty"`
	Level   int    `json:"level"`
	// TripMicros is the round trip to it from the node that was asked, 0 if it is not known.
	TripMicros int `json:"trip_us,omitempty"`
	// Shards are those that it holds, Learns those that it learns, Bytes what all its data takes, and
	// ToCome what it has still to learn, where contents are spread.
	Shards int    `json:"shards,omitempty"`
	Learns int    `json:"learns,omitempty"`
	Bytes  uint64 `json:"bytes,omitempty"`
	ToCome int64  `json:"to_come,omitempty"`
}

type clusterLaneJSON struct {
	Name    string `json:"name"`
	Applied int    `json:"applied"`
	Head    int    `json:"head"`
	Leader  string `json:"leader"`
	// LeaderNode is the number of the node whose server leads, 0 if that is not known.
	LeaderNode int `json:"leader_node"`
}

func runClusterStatus(ctx context.Context, s *shell, o *connectFlags) error {
	limit, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	nc, err := o.dial(limit)
	if err != nil {
		return err
	}
	defer nc.Close() //nolint:errcheck // the answer is there, or an error
	defer context.AfterFunc(limit, func() { _ = nc.Close() })()
	r := bufio.NewReader(nc)
	if auth := o.auth(s.lookup); auth != nil {
		if _, err := askText(nc, r, auth...); err != nil {
			return ofNode(o.addr, err)
		}
	}
	info, err := askText(nc, r, "INFO", "cluster")
	if errors.Is(limit.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %v", o.addr, dialTimeout)
	}
	if err != nil {
		return ofNode(o.addr, err)
	}
	c := parseClusterInfo(info)
	if c.Name == "" {
		return notInCluster(o.addr)
	}
	if c.Learning > 0 || c.Waits != "" {
		c.weigh(nc, r)
	}
	if s.asJSON {
		err = s.print(c)
	} else {
		err = c.write(s)
	}
	if err == nil && (!c.Serving || !c.Quorum || c.Live < c.Size || len(c.Problems) > 0) {
		err = errNo
	}
	return err
}

// weigh adds how many bytes nodes have still to learn. A node whom not all others answer, or a user who may not ask for
// that, goes without: the rest is worth to be seen.
func (c *clusterJSON) weigh(nc net.Conn, r *bufio.Reader) {
	var reply resp.Reply
	if ask(nc, r, &reply, "CLUSTER", "REBALANCE", "DRYRUN") != nil || reply.Type == '-' {
		return
	}
	moves, err := parseMoves(&reply)
	if err != nil {
		return
	}
	for _, m := range moves {
		for i := range c.Nodes {
			if c.Nodes[i].Number == m.Node {
				c.Nodes[i].ToCome = m.Bytes
			}
		}
	}
}

// ofNode adds the address to an error of a node, and where to look if it catches up.
func ofNode(addr string, err error) error {
	if strings.Contains(err.Error(), "the server replied: LOADING ") {
		return hinted{about(addr, err), "the log of the node, on its standard error, shows what it waits for"}
	}
	return about(addr, err)
}

func notInCluster(addr string) error {
	return hinted{fmt.Errorf("%s: this server is not in a cluster", addr), "give the address of a node with --addr; bloomery serve --cluster NAME starts one"}
}

// askText sends a command and returns its reply, which is a text. An error that the
// server replies is an error.
func askText(nc net.Conn, r *bufio.Reader, command ...string) (string, error) {
	var reply resp.Reply
	if err := ask(nc, r, &reply, command...); err != nil {
		return "", networkCause(err)
	}
	if reply.Type == '-' {
		return "", fmt.Errorf("%s: the server replied: %s", command[0], reply.Text)
	}
	return string(reply.Text), nil
}

// parseClusterInfo reads the section cluster of INFO.
func parseClusterInfo(text string) (c clusterJSON) {
	numbers := map[string]*int{
		"cluster_node": &c.Node, "cluster_nodes": &c.Size, "cluster_nodes_live": &c.Live, "cluster_lag": &c.Lag, "cluster_decider": &c.Decider,
		"cluster_copies": &c.Copies, "cluster_shards_below": &c.Below, "cluster_shards_learning": &c.Learning, "cluster_shards_retiring": &c.Retiring,
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		lane, isLane := strings.CutPrefix(name, "cluster_lane_")
		node, isNode := strings.CutPrefix(name, "cluster_node_")
		switch {
		case isNode:
			c.Nodes = append(c.Nodes, parseClusterNode(node, value))
		case isLane:
			c.Lanes = append(c.Lanes, parseClusterLane(lane, value))
		case strings.HasPrefix(name, "cluster_problem_"):
			c.Problems = append(c.Problems, value)
		case name == "cluster_name":
			c.Name = value
		case name == "cluster_id":
			c.ID = value
		case name == "cluster_serving":
			c.Serving = value == "1"
		case name == "cluster_quorum":
			c.Quorum = value == "1"
		case name == "cluster_moves_wait":
			c.Waits = value
		case name == "cluster_moves_paused":
			c.Paused = value == "1"
		case numbers[name] != nil:
			*numbers[name], _ = strconv.Atoi(value)
		}
	}
	slices.SortStableFunc(c.Nodes, func(a, b clusterNodeJSON) int {
		return cmp.Or(cmp.Compare(a.place(), b.place()), cmp.Compare(a.Number, b.Number))
	})
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Self = n.Number == c.Node
		for k := range c.Lanes {
			if l := &c.Lanes[k]; n.Server != "" && l.Leader == n.Server {
				l.LeaderNode = n.Number
			}
		}
	}
	return c
}

func parseClusterLane(name, value string) clusterLaneJSON {
	l := clusterLaneJSON{Name: name}
	for field := range strings.SplitSeq(value, ",") {
		key, v, _ := strings.Cut(field, "=")
		switch key {
		case "applied":
			l.Applied, _ = strconv.Atoi(v)
		case "head":
			l.Head, _ = strconv.Atoi(v)
		case "leader":
			l.Leader = v
		}
	}
	return l
}

func parseClusterNode(number, value string) (n clusterNodeJSON) {
	n.Number, _ = strconv.Atoi(number)
	for field := range strings.SplitSeq(value, ",") {
		key, v, _ := strings.Cut(field, "=")
		switch key {
		case "addr":
			n.Addr = v
		case "live":
			n.Live = v == "1"
		case "awaited":
			n.Awaited = v == "1"
		case "log":
			n.Log = v == "1"
		case "server":
			n.Server = v
		case "level":
			n.Level, _ = strconv.Atoi(v)
		case "trip_us":
			n.TripMicros, _ = strconv.Atoi(v)
		case "shards":
			n.Shards, _ = strconv.Atoi(v)
		case "learns":
			n.Learns, _ = strconv.Atoi(v)
		case "bytes":
			n.Bytes, _ = strconv.ParseUint(v, 10, 64)
		}
	}
	return n
}

// place returns where a log node stands in --join, which the name of its server begins with.
// Other nodes come after all of them.
func (n *clusterNodeJSON) place() int {
	place := math.MaxInt
	if _, err := fmt.Sscanf(n.Server, "join%d-", &place); err != nil {
		return math.MaxInt
	}
	return place
}

// awaited returns how many nodes were not heard from yet.
func (c *clusterJSON) awaited() (n int) {
	for i := range c.Nodes {
		if c.Nodes[i].Awaited {
			n++
		}
	}
	return n
}

// writeMoves prints how contents are spread.
func (c *clusterJSON) writeMoves(w io.Writer) error {
	why := ""
	switch {
	case c.Waits != "":
		why = "\nmoves wait: " + c.Waits
	case c.Paused:
		why = "; moves are paused"
	}
	_, err := fmt.Fprintf(w, "%d copies of contents; shards: %d below that, %d being received, %d being released%s\n", c.Copies, c.Below, c.Learning, c.Retiring, why)
	return err
}

// tripText writes a round trip: 326 µs, 45 ms.
func tripText(micros int) string {
	if micros >= 10_000 {
		return grouped(uint64(micros+500)/1000) + " ms"
	}
	return grouped(uint64(micros)) + " µs"
}

// write prints the state for people.
func (c *clusterJSON) write(s *shell) error {
	state := "takes writes"
	switch {
	case !c.Serving:
		state = "does not serve: it lacks some of what the cluster had when it started"
	case !c.Quorum:
		state = "takes no writes: most of the log nodes do not answer"
	}
	unheard := ""
	if n := c.awaited(); n > 0 {
		unheard = fmt.Sprintf(", %d not heard from yet: node %d has just started", n, c.Node)
	}
	decides := ""
	if c.Decider != 0 { // it may not be known
		decides = fmt.Sprintf(", node %d leads lane CAT", c.Decider)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(w, "cluster %s (%s): %d of %d nodes are up%s\nnode %d %s, lag %d%s\n", c.Name, c.ID, c.Live, c.Size, unheard, c.Node, state, c.Lag, decides)
	errs := []error{err}
	shards := ""
	if c.Copies > 0 {
		shards = "SHARDS\tRECEIVING\tLEFT TO RECEIVE\tBYTES\t"
		errs = append(errs, c.writeMoves(w))
	}
	if len(c.Nodes) > 0 {
		_, err = fmt.Fprintf(w, "\nNODE\tADDRESS\tSTATE\tROUND TRIP\tKEEPS LOG\t%sSERVER\n", shards)
		errs = append(errs, err)
	}
	for _, n := range c.Nodes {
		state := "up"
		switch {
		case n.Awaited:
			state = "not heard from yet"
		case n.Addr == "": // it has a folder of a restore, and nothing else is known of it
			state = "not started"
		case !n.Live:
			state = "down"
		}
		if n.Self {
			state += ", asked"
		}
		keeps := "no"
		if n.Log {
			keeps = "yes"
		}
		trip := "-"
		if n.TripMicros > 0 {
			trip = tripText(n.TripMicros)
		}
		if c.Copies > 0 {
			shards = fmt.Sprintf("%d\t%d\t%s\t%s\t", n.Shards, n.Learns, bytesText(uint64(n.ToCome)), bytesText(n.Bytes))
		}
		_, err = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s%s\n", n.Number, cmp.Or(n.Addr, "-"), state, trip, keeps, shards, n.Server)
		errs = append(errs, err)
	}
	_, err = fmt.Fprint(w, "\nLANE\tAPPLIED\tHEAD\tLEADER\n")
	errs = append(errs, err)
	for _, l := range c.Lanes {
		leader := cmp.Or(l.Leader, "-")
		if l.LeaderNode != 0 {
			leader = fmt.Sprintf("node %d", l.LeaderNode)
		}
		_, err = fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", l.Name, l.Applied, l.Head, leader)
		errs = append(errs, err)
	}
	errs = append(errs, w.Flush())
	for _, p := range c.Problems {
		_, err = fmt.Fprintf(s.out, "\nproblem: %s\n", p)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
