package status

// A cluster as one of its machines sees it.

import "time"

// Cluster describes a cluster as one of its machines sees it.
type Cluster struct {
	Name    string
	ID      uint64
	Node    uint32 // the number of this machine
	Session uint64
	Level   uint64 // of the records that are allowed: see CLUSTER UPGRADE
	Serving bool   // clients are served: it has all that there was when it started
	Quorum  bool   // writes can be acknowledged at present
	// Decider is the number of the machine that decides, 0 if that is not known.
	Decider uint32
	Err     error  // why it does not serve, or takes no writes
	Lag     uint64 // messages that other machines have applied and this one has not
	Lanes   []Lane
	Nodes   []Node // in the order of their numbers
	// Problems are what an operator should look at.
	Problems []Problem
	// Differ is how many parts of filters differ from those of another machine that
	// has had the same records.
	Differ int

	Sent     int64 // messages that this machine has sent, repeats included
	Repeated int64 // of them, those that were sent again
	Applied  int64 // messages of all machines that were applied here
	Passed   int64 // messages that were not, because they had been applied before

	Questions Questions
	Shards    Shards
}

// Problem is something that an operator should look at.
type Problem struct {
	About   string // which one it is: it stays while the numbers of the text change
	Text    string // a sentence
	Refuses bool   // writes are refused because of it, or all commands on some keys
}

func (p Problem) String() string { return p.Text }

// Shards describes how contents are spread over the machines of a cluster.
type Shards struct {
	Copies   int    // that there are to be of each shard, 0 if every machine holds everything
	Paused   bool   // no move begins
	Below    int    // shards that are held by fewer machines that are live
	Learning int    // shards that machines are learning, and
	Retiring int    // those that they let go of
	Own      int    // of those that are learned, by this machine
	Learned  int64  // bytes that this machine has learned since its start
	Failed   string // why it could not go on, "" if it can
	Waits    string // why nothing moves though something is to, "" if there is no reason
}

// Moves is what has to move for a machine to hold what it is to hold.
type Moves struct {
	Node    uint32
	Learns  int           // shards
	Bytes   uint64        // of those
	Takes   time.Duration // at the rate of this machine
	Retires int           // shards that others hold in its place
}

// Questions describes what the machines of a cluster ask each other without the streams.
type Questions struct {
	Connections int   // to and from other machines
	Asked       int64 // by this machine
	Answered    int64 // by this machine
	Unsent      int64 // of those asked: nothing was sent
	Unknown     int64 // of those asked: sent, and not answered
	Sent        int64 // bytes
	Received    int64
}

// Lane describes a stream of a cluster.
type Lane struct {
	Number  int
	Name    string // CAT, D1, W
	Applied uint64 // the last sequence that was applied here
	Head    uint64 // the last sequence of all, as far as is known
	Leader  string // the name of the machine that leads it, "" if that is not known
	Lost    bool   // no machine leads it that is up
	Flight  int    // messages of this machine that are on their way
	Waiting int64  // bytes that wait to be sent
	Down    error  // why it takes no writes, nil if it does
}

// Node describes a machine of a cluster.
type Node struct {
	Number   uint32
	Name     string
	Addr     string // HOST:PORT of clients
	Self     bool
	Live     bool   // it was heard of in the last seconds, or is this machine
	Shut     bool   // it takes no clients: it starts or ends, or did when it was last heard of
	Awaited  bool   // it was not heard of yet: this machine has just begun to listen
	Left     bool   // it was removed
	Log      bool   // it keeps streams, or did when it was last heard of
	Server   string // the name of its server, in which lanes name their leaders
	Level    uint64
	Seen     time.Time
	Skew     time.Duration // of its clock
	Headroom uint64        // bytes that it may still take
	Data     uint64        // bytes of its data, as it said last; 0 if it does not say
	Trip     time.Duration // to it and back over a connection of its own, 0 if there is none
	Holds    int           // shards, where contents are spread
	Learns   int
}

// Open reports whether the machine takes clients.
func (n *Node) Open() bool { return n.Live && !n.Shut }

// Members returns how many machines were not removed.
func (c *Cluster) Members() (n int) {
	for i := range c.Nodes {
		if !c.Nodes[i].Left {
			n++
		}
	}
	return n
}

// Alive returns how many machines are live.
func (c *Cluster) Alive() (n int) {
	for i := range c.Nodes {
		if c.Nodes[i].Live && !c.Nodes[i].Left {
			n++
		}
	}
	return n
}
