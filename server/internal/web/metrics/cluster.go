package metrics

// The metrics of a cluster, which a single server does not have.

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
)

// clusterFigure is a metric of the cluster of a server.
type clusterFigure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*status.Cluster) float64
}

var clusterFigures = []clusterFigure{
	{desc("cluster_quorum", "1 while writes can be acknowledged."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return is(c.Quorum) }},
	{desc("cluster_serving", "1 while this node serves clients."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return is(c.Serving) }},
	{desc("cluster_lag_messages", "Messages that other nodes have applied and this one has not."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Lag) }},
	{desc("cluster_nodes", "Nodes of the cluster, those that are away included."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Members()) }},
	{desc("cluster_nodes_live", "Nodes that were heard of in the last seconds."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Alive()) }},
	{desc("cluster_decides", "1 on the node that removes what has expired."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return is(c.Decider == c.Node && c.Node != 0) }},
	{desc("cluster_problems", "What an operator should look at: INFO cluster has the words."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(len(c.Problems)) }},
	{desc("cluster_parts_differ", "Parts of filters that differ from those of another node that has had the same records."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Differ) }},
	{desc("cluster_messages_sent_total", "Messages that this node has sent, repeats included."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Sent) }},
	{desc("cluster_messages_repeated_total", "Messages that this node has sent again because no answer came."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Repeated) }},
	{desc("cluster_messages_applied_total", "Messages of all nodes that were applied here."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Applied) }},
	{desc("cluster_messages_passed_total", "Messages that were passed over because they had been applied before."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Passed) }},
	{desc("cluster_connections", "Connections to and from other nodes, beside those of the log."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Questions.Connections) }},
	{desc("cluster_questions_asked_total", "Questions to other nodes over these connections, those that failed included."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Questions.Asked) }},
	{desc("cluster_questions_answered_total", "Questions of other nodes that this one has answered."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Questions.Answered) }},
	{desc("cluster_questions_unsent_total", "Questions to other nodes of which nothing was sent, mostly for lack of a connection."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Questions.Unsent) }},
	{desc("cluster_questions_unknown_total", "Questions to other nodes that were sent and not answered."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Questions.Unknown) }},
	{desc("cluster_shards_below_copies", "Shards of contents that are held by fewer live nodes than they are to be; 0 if every node holds everything."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Shards.Below) }},
	{desc("cluster_shards_learning", "Shards that this node is getting from others."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Shards.Own) }},
	{desc("cluster_shards_moving", "Shards that any node is getting from others, or lets go of."), prometheus.GaugeValue, func(c *status.Cluster) float64 { return float64(c.Shards.Learning + c.Shards.Retiring) }},
	{desc("cluster_learned_bytes_total", "Bytes of contents that this node has got from others."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Shards.Learned) }},
	{desc("cluster_sent_bytes_total", "Bytes sent to other nodes over these connections."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Questions.Sent) }},
	{desc("cluster_received_bytes_total", "Bytes received from other nodes over these connections."), prometheus.CounterValue, func(c *status.Cluster) float64 { return float64(c.Questions.Received) }},
}

var (
	laneApplied = desc("cluster_lane_sequence", "The sequence of a stream up to which it was applied here.", "lane")
	laneLag     = desc("cluster_lane_lag_messages", "Messages of a stream that other nodes have applied and this one has not.", "lane")
	nodeUp      = desc("cluster_node_up", "1 for a node that was heard of in the last seconds.", "node", "name")
	nodeTrip    = desc("cluster_node_trip_seconds", "Round trip to a node, if there is a connection to it.", "node", "name")
)

// clusterCollector collects what a server shows of its cluster: nothing if it has none.
type clusterCollector struct{ e *engine.Engine }

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(to chan<- *prometheus.Desc) {
	for i := range clusterFigures {
		to <- clusterFigures[i].desc
	}
	to <- laneApplied
	to <- laneLag
	to <- nodeUp
	to <- nodeTrip
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(to chan<- prometheus.Metric) {
	s, ok := c.e.Cluster()
	if !ok {
		return
	}
	for i := range clusterFigures {
		f := &clusterFigures[i]
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(&s))
	}
	for _, l := range s.Lanes {
		to <- prometheus.MustNewConstMetric(laneApplied, prometheus.GaugeValue, float64(l.Applied), valid(l.Name))
		to <- prometheus.MustNewConstMetric(laneLag, prometheus.GaugeValue, float64(l.Head-min(l.Applied, l.Head)), valid(l.Name))
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		number, name := strconv.FormatUint(uint64(n.Number), 10), valid(n.Name)
		if !n.Left {
			to <- prometheus.MustNewConstMetric(nodeUp, prometheus.GaugeValue, is(n.Live), number, name)
		}
		if n.Trip > 0 {
			to <- prometheus.MustNewConstMetric(nodeTrip, prometheus.GaugeValue, n.Trip.Seconds(), number, name)
		}
	}
}
