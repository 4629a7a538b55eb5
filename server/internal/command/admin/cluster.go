package admin

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/control"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/status"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Clients that know Redis Cluster send each command to the node that has the slot of
// its key. While every node has all keys, the slots are split evenly over the nodes
// that take clients, and each of them is a replica of all other slots: such clients spread
// their commands, and go to another node with their reads when one is dead. Where contents are
// spread, the nodes that hold those of a slot are listed for it: that is right for filters of
// one part that have kept their name. No node ever sends a client to another one.
const (
	// mostReplicas bounds what is listed of a range. A client tries one or two of them,
	// and the list would grow with the square of the nodes.
	mostReplicas = 15
)

// cluster is CLUSTER. Without a cluster all subcommands answer that there is none.
var cluster = engine.Command{
	Name: "cluster", Arity: -2, Group: traits.GroupCluster, Since: "3.0.0", Syntax: "subcommand", Summary: "Describes the cluster.",
	Categories: []string{"slow"},
	Subcommands: slices.Concat([]engine.Command{
		aboutCluster("info", "", "Returns whether the cluster takes writes, and its size.", 2, runClusterInfo),
		aboutCluster("slots", "", "Returns which node clients are to use for which slots, and which others answer for it: those that hold the contents, or, while every node has all keys, all that are up.", 2, runClusterSlots),
		aboutCluster("shards", "", "Returns the nodes with their slots, and the other nodes that are up as replicas of them.", 2, runClusterShards),
		aboutCluster("nodes", "", "Returns the nodes as lines of text, each with the slots that it is listed first for. A line has room for one role only, so no node is shown as a replica.", 2, runClusterNodes),
		aboutCluster("myid", "", "Returns the id of this node.", 2, runClusterMyID),
		aboutCluster("keyslot", "key", "Returns the slot of a key.", 3, runKeySlot),
		aboutCluster("countkeysinslot", "slot", "Returns how many keys are in a slot.", 3, runCountKeys),
		clusterBackup,
		clusterWhy,
	}, clusterMembers),
}

// aboutCluster makes a subcommand of CLUSTER with so many arguments. They are counted
// only where there is a cluster.
func aboutCluster(name, syntax, summary string, arity int, run func(*engine.Context, *engine.Call, *status.Cluster)) engine.Command {
	return engine.Command{
		Name: name, Arity: -2, Flags: traits.Loading | traits.Stale | traits.Outside, Categories: []string{"slow"}, Syntax: syntax, Complexity: "O(n), n being the number of nodes",
		Summary: summary,
		Run: func(x *engine.Context, c *engine.Call) {
			switch {
			case !x.Can().Told():
				c.Fail(control.TextNoCluster)
			case len(c.Args) != arity:
				c.Answer(answer.WrongArity("cluster|" + name))
			default:
				s, _ := x.Server().Cluster().Status()
				run(x, c, &s)
			}
		},
	}
}

// readOnly is READONLY, readWrite READWRITE, asking ASKING: every node answers every
// command, so there is nothing to change.
var (
	readOnly  = inCluster("readonly", "Returns OK: every node of a cluster answers reads.")
	readWrite = inCluster("readwrite", "Returns OK: every node of a cluster takes writes.")
	asking    = inCluster("asking", "Returns OK: no node sends clients to another one.")
)

func inCluster(name, summary string) engine.Command {
	return engine.Command{
		Name: name, Arity: 1, Flags: traits.Fast | traits.Loading | traits.Stale, Categories: []string{"fast", "connection"}, Group: traits.GroupCluster,
		Since: "3.0.0", Complexity: "O(1)", Summary: summary,
		Run: func(x *engine.Context, c *engine.Call) {
			if !x.Can().Told() {
				c.Fail(control.TextNoCluster)
				return
			}
			c.Answer(answer.OK())
		},
	}
}

// shard is a node as clients see it.
type shard struct {
	*status.Node
	id   string
	host string
	port int
}

// slotRange is slots and the nodes that answer for them, the one that clients are to use first.
type slotRange struct {
	first, last int
	nodes       []shard
}

// shards returns the nodes of a cluster.
func shards(x *engine.Context, s *status.Cluster) (all []shard) {
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if node.Left {
			continue
		}
		v := shard{Node: node, id: nodeID(s.ID, node.Number)}
		if host, port, err := net.SplitHostPort(node.Addr); err == nil {
			v.host = host
			v.port, _ = strconv.Atoi(port)
		} else if node.Self {
			v.port = x.Server().Facts().Port // a client knows the host
		}
		all = append(all, v)
	}
	return all
}

// ranges returns all slots, in their order, with the nodes that answer for them.
func ranges(x *engine.Context, all []shard) (list []slotRange) {
	var live []shard
	for _, v := range all {
		if v.Open() {
			live = append(live, v)
		}
	}
	r := x.Contents().Roster()
	if !r.Spread() {
		for n := range live {
			list = append(list, slotRange{placement.Slots * n / len(live), placement.Slots*(n+1)/len(live) - 1, answering(live, n)})
		}
		return list
	}
	for number := range r.Shards.Places {
		const each = placement.Slots / placement.Shards
		nodes := r.Shards.Places[number].Holders()
		held := slices.DeleteFunc(slices.Clone(live), func(v shard) bool { return !slices.Contains(nodes, v.Number) })
		if len(held) == 0 {
			held = live // names and strings are at every node
		}
		if len(held) == 0 {
			continue
		}
		held = answering(held, number%len(held))
		if k := len(list) - 1; k >= 0 && sameNodes(list[k].nodes, held) {
			list[k].last += each
			continue
		}
		list = append(list, slotRange{number * each, (number+1)*each - 1, held})
	}
	return list
}

func sameNodes(a, b []shard) bool {
	return slices.EqualFunc(a, b, func(a, b shard) bool { return a.Number == b.Number })
}

// nodeID returns the 40 digits that stand for a node.
func nodeID(cluster uint64, number uint32) string { return fmt.Sprintf("%016x%024x", cluster, number) }

// answering returns live nodes, beginning with one, then those behind it in a circle, so that
// clients that take the first replica spread too.
func answering(live []shard, of int) []shard {
	list := slices.Concat(live[of:], live[:of])
	return list[:min(len(list), 1+mostReplicas)]
}

func runClusterSlots(x *engine.Context, c *engine.Call, s *status.Cluster) {
	var rows []answer.Reply
	for _, v := range ranges(x, shards(x, s)) {
		row := []answer.Reply{answer.Integer(int64(v.first)), answer.Integer(int64(v.last))}
		for _, n := range v.nodes {
			row = append(row, answer.List(answer.Text(n.host), answer.Integer(int64(n.port)), answer.Text(n.id), answer.List()))
		}
		rows = append(rows, answer.List(row...))
	}
	c.Answer(answer.List(rows...))
}

func runClusterShards(x *engine.Context, c *engine.Call, s *status.Cluster) {
	all := shards(x, s)
	type group struct {
		nodes []shard
		slots []answer.Reply
	}
	var groups []group
	for _, v := range ranges(x, all) {
		at := slices.IndexFunc(groups, func(g group) bool { return sameNodes(g.nodes, v.nodes) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{nodes: v.nodes})
		}
		groups[at].slots = append(groups[at].slots, answer.Integer(int64(v.first)), answer.Integer(int64(v.last)))
	}
	for i := range all { // those that answer for nothing
		if !slices.ContainsFunc(groups, func(g group) bool { return g.nodes[0].Number == all[i].Number }) {
			groups = append(groups, group{nodes: all[i : i+1]})
		}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.nodes[0].Number, b.nodes[0].Number) })
	var rows []answer.Reply
	for _, g := range groups {
		var list []answer.Reply
		for k := range g.nodes {
			role := "replica"
			if k == 0 {
				role = "master"
			}
			list = append(list, g.nodes[k].describe(role))
		}
		rows = append(rows, answer.Pairs(answer.Text("slots"), answer.List(g.slots...), answer.Text("nodes"), answer.List(list...)))
	}
	c.Answer(answer.List(rows...))
}

// describe returns a node as CLUSTER SHARDS does.
func (v *shard) describe(role string) answer.Reply {
	health := "fail"
	if v.Open() {
		health = "online"
	}
	return answer.Pairs(
		answer.Text("id"), answer.Text(v.id),
		answer.Text("port"), answer.Integer(int64(v.port)),
		answer.Text("ip"), answer.Text(v.host),
		answer.Text("endpoint"), answer.Text(v.host),
		answer.Text("role"), answer.Text(role),
		answer.Text("replication-offset"), answer.Integer(0),
		answer.Text("health"), answer.Text(health),
	)
}

func runClusterNodes(x *engine.Context, c *engine.Call, s *status.Cluster) {
	var b strings.Builder
	all := shards(x, s)
	first := map[uint32]string{}
	for _, r := range ranges(x, all) {
		first[r.nodes[0].Number] += fmt.Sprintf(" %d-%d", r.first, r.last)
	}
	for _, v := range all {
		flags, link, slots := "master", "connected", first[v.Number]
		if v.Self {
			flags = "myself,master"
		}
		if !v.Open() {
			flags, link = flags+",fail", "disconnected"
		}
		seen := int64(0)
		if !v.Seen.IsZero() {
			seen = v.Seen.UnixMilli()
		}
		fmt.Fprintf(&b, "%s %s:%d@0 %s - 0 %d %d %s%s\n", v.id, v.host, v.port, flags, seen, v.Number, link, slots)
	}
	c.Answer(answer.Reply{Kind: answer.Verbatim, Text: b.String()})
}

func runClusterInfo(_ *engine.Context, c *engine.Call, s *status.Cluster) {
	state := "ok"
	if !s.Quorum {
		state = "fail"
	}
	var b strings.Builder
	line(&b, "cluster_state", state)
	line(&b, "cluster_slots_assigned", placement.Slots)
	line(&b, "cluster_slots_ok", placement.Slots)
	line(&b, "cluster_slots_pfail", 0)
	line(&b, "cluster_slots_fail", 0)
	line(&b, "cluster_known_nodes", s.Members())
	line(&b, "cluster_size", s.Alive())
	line(&b, "cluster_current_epoch", len(s.Nodes))
	line(&b, "cluster_my_epoch", s.Node)
	line(&b, "cluster_stats_messages_sent", s.Sent)
	line(&b, "cluster_stats_messages_received", s.Applied+s.Passed)
	c.Answer(answer.Reply{Kind: answer.Verbatim, Text: b.String()})
}

func runClusterMyID(_ *engine.Context, c *engine.Call, s *status.Cluster) {
	c.Answer(answer.Text(nodeID(s.ID, s.Node)))
}

func runKeySlot(_ *engine.Context, c *engine.Call, _ *status.Cluster) {
	c.Answer(answer.Integer(int64(placement.Slot(string(c.Args[2])))))
}

func runCountKeys(x *engine.Context, c *engine.Call, _ *status.Cluster) {
	slot, ok := answer.ParseInt(c.Args[2])
	switch {
	case !ok:
		c.Fail(answer.TextInteger)
		return
	case slot < 0 || slot >= placement.Slots:
		c.Fail("ERR Invalid slot")
		return
	}
	const some = 1000
	n, seen := int64(0), []catalog.View(nil)
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		if x.GaveUp(c) {
			return
		}
		cursor = x.Names().Scan(cursor, some, &seen)
		for _, v := range seen {
			if placement.Slot(v.Name) == int(slot) {
				n++
			}
		}
	}
	c.Answer(answer.Integer(n))
}

// infoCluster is the section of INFO.
func infoCluster(x *engine.Context, b *strings.Builder) {
	line(b, "cluster_enabled", number(x.Can().Told()))
	s, ok := x.Server().Cluster().Status()
	if !ok {
		return
	}
	line(b, "cluster_name", s.Name)
	line(b, "cluster_id", fmt.Sprintf("%016x", s.ID))
	line(b, "cluster_node", s.Node)
	line(b, "cluster_nodes", s.Members())
	line(b, "cluster_nodes_live", s.Alive())
	line(b, "cluster_serving", number(s.Serving))
	line(b, "cluster_quorum", number(s.Quorum))
	line(b, "cluster_lag", s.Lag)
	line(b, "cluster_decider", s.Decider)
	line(b, "cluster_parts_differ", s.Differ)
	line(b, "cluster_messages_sent", s.Sent)
	line(b, "cluster_messages_repeated", s.Repeated)
	line(b, "cluster_messages_applied", s.Applied)
	line(b, "cluster_messages_passed", s.Passed)
	line(b, "cluster_connections", s.Questions.Connections)
	line(b, "cluster_questions_asked", s.Questions.Asked)
	line(b, "cluster_questions_answered", s.Questions.Answered)
	line(b, "cluster_questions_unsent", s.Questions.Unsent)
	line(b, "cluster_questions_unknown", s.Questions.Unknown)
	if s.Shards.Copies > 0 {
		line(b, "cluster_copies", s.Shards.Copies)
		line(b, "cluster_moves_paused", number(s.Shards.Paused))
		if s.Shards.Waits != "" {
			line(b, "cluster_moves_wait", s.Shards.Waits)
		}
		line(b, "cluster_shards_below", s.Shards.Below)
		line(b, "cluster_shards_learning", s.Shards.Learning)
		line(b, "cluster_shards_retiring", s.Shards.Retiring)
		line(b, "cluster_learned_bytes", s.Shards.Learned)
	}
	for _, l := range s.Lanes {
		line(b, "cluster_lane_"+l.Name, fmt.Sprintf("applied=%d,head=%d,leader=%s,flight=%d,waiting=%d", l.Applied, l.Head, l.Leader, l.Flight, l.Waiting))
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; !n.Left {
			text := fmt.Sprintf("addr=%s,live=%d,log=%d,server=%s,level=%d,awaited=%d", n.Addr, number(n.Live), number(n.Log), n.Server, n.Level, number(n.Awaited))
			if n.Trip > 0 {
				text += fmt.Sprintf(",trip_us=%d", n.Trip.Microseconds())
			}
			if s.Shards.Copies > 0 {
				text += fmt.Sprintf(",shards=%d,learns=%d,bytes=%d", n.Holds, n.Learns, n.Data)
			}
			line(b, "cluster_node_"+strconv.Itoa(int(n.Number)), text)
		}
	}
	for i, p := range s.Problems {
		line(b, "cluster_problem_"+strconv.Itoa(i), strings.Join(strings.Fields(p.Text), " "))
	}
}
