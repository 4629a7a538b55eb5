package door

import "time"

// Shared is a door whose order other machines take part in: a cluster. A record
// may meet a later state than the one it was prepared on, whatever is locked here,
// so nothing can be held still while several records are made. What belongs
// together goes as a group.
//
// Records are applied from their encoding, on every machine alike: what a Record
// has besides (Made, Base, Second, Built) counts nowhere. Ops are encoded by Do and
// DoGroup; from then on only their Result is the door's, until they are settled. An
// op that Wait has settled with an Err is detached: the door never writes into it
// again, even if its record is applied later.
type Shared interface {
	Door
	// DoGroup is Do for ops that take effect together, with no other record in
	// between, here and on every other machine, and at recovery: they are one
	// message. All are records of the catalogue, or all are of one part. Records of
	// store.OpCheck and store.OpCheckPart stand in front; if one of them does not
	// hold, it and all others have store.ErrCondition as Result.Err, and nothing has
	// changed. If there is no memory for the group, all have ErrMemory.
	DoGroup(ops []*Op)
	// MostBytes bounds the encoding of a record, and that of all records of a
	// group together.
	MostBytes() int
	// Barrier returns when everything that any machine has acknowledged before
	// the call is applied here, as far as these targets are concerned. The error
	// wraps ErrRefused or ErrUnknown.
	Barrier(targets []Target) error
	// Decides reports whether this machine is the one that removes what has
	// expired and lets time pass for windows. It is a hint: two machines may
	// believe it, or none for a while.
	Decides() bool
	// Cluster describes the cluster as this machine sees it. It does not wait.
	Cluster() Cluster
}

// Target is a part of a filter, or the catalogue: the zero value.
type Target struct {
	ID    uint64
	Index uint32
}

// Place is where a record stands in a Shared door: sequence Seq of stream Lane. The
// zero value means that it is not known.
type Place struct {
	Lane uint32
	Seq  uint64
}

// Cluster describes a cluster as one of its machines sees it.
type Cluster struct {
	Name   string
	ID     uint64
	Self   uint32 // the number of this machine
	Nodes  []Node // in the order of their numbers
	Lanes  []Lane // the catalogue is the first
	Quorum bool   // writes can be acknowledged at present
	// Decider is the number of the machine that decides, 0 if that is not known.
	Decider uint32
	// Problems are what an operator should look at, a sentence each.
	Problems []string

	Sent     int64 // messages that this machine has sent, repeats included
	Repeated int64 // of them, those that were sent again
	Applied  int64 // messages of all machines that were applied here
	Passed   int64 // messages that were not, because they had been applied before
}

// Node is a machine of a cluster.
type Node struct {
	Number  uint32
	Name    string
	Addr    string // HOST:PORT of clients
	Alive   bool   // it was heard of in the last seconds, or is this machine
	Log     bool   // it keeps the streams
	Version string
	Seen    time.Time // when it was last heard of
	Memory  int64     // bytes that its state takes
	Limit   int64     // bytes that it may take
}

// Lane is a stream of a cluster.
type Lane struct {
	Name   string
	Seq    uint64 // the last sequence that was applied here
	Head   uint64 // the last sequence of all, as far as is known; not less than Seq
	Leader string // the name of the machine that leads it, "" if that is not known
}

// Lag returns how many messages of all lanes are not applied here yet.
func (c *Cluster) Lag() uint64 {
	var n uint64
	for _, l := range c.Lanes {
		n += l.Head - min(l.Seq, l.Head)
	}
	return n
}

// Alive returns how many nodes are.
func (c *Cluster) Alive() (n int) {
	for _, v := range c.Nodes {
		if v.Alive {
			n++
		}
	}
	return n
}
