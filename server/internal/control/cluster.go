package control

import (
	"errors"
	"math"
	"unsafe"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/status"
)

// Cluster is the cluster that a server belongs to.
type Cluster struct {
	shared door.Shared
	waits  func(what string)
}

// NewCluster returns the cluster of a door, nil if there is none. waits is called before
// something that takes long.
func NewCluster(shared door.Shared, waits func(what string)) Cluster { return Cluster{shared, waits} }

// Status describes the cluster. It reports false if there is none.
func (c Cluster) Status() (status.Cluster, bool) {
	if c.shared == nil {
		return status.Cluster{}, false
	}
	return c.shared.Cluster(), true
}

// TextNoCluster is the error of commands that are about a cluster, where there is none.
const TextNoCluster = "ERR This instance has cluster support disabled"

// Forget removes a node for ever. With wait it is no error that this has to wait: the reply is for what.
func (c Cluster) Forget(node uint32, wait bool) answer.Reply {
	members, ok := c.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	err := members.Remove(node)
	if wait && errors.Is(err, door.ErrNotYet) {
		return answer.Word("WAIT " + refusal.Cause(err))
	}
	return changed(err, answer.OK)
}

// ReplaceLog has a node keep the log in the place of another: the next step of that, or what it waits for.
func (c Cluster) ReplaceLog(old, with uint32) answer.Reply {
	members, ok := c.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	step, done, err := members.Replace(old, with)
	if errors.Is(err, door.ErrNotYet) {
		return answer.List(answer.Integer(-1), answer.Text(refusal.Cause(err)))
	}
	return changed(err, func() answer.Reply { return answer.List(answer.Flag(done), answer.Text(step)) })
}

// Upgrade allows what all nodes can do by now.
func (c Cluster) Upgrade() answer.Reply {
	members, ok := c.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	level, err := members.Upgrade()
	return changed(err, func() answer.Reply { return answer.Integer(int64(level)) })
}

// SetCopies says how many nodes are to hold the contents of each filter.
func (c Cluster) SetCopies(n int) answer.Reply {
	members, ok := c.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	return changed(members.SetCopies(n), answer.OK)
}

// PauseMoves lets no contents begin to move, or lets them again.
func (c Cluster) PauseMoves(paused bool) answer.Reply {
	members, ok := c.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	return changed(members.PauseMoves(paused), answer.OK)
}

// Rebalance answers what has to move, for each node that has not what it is to hold: its number,
// the shards that it learns, their bytes, the seconds that takes, and the shards that others hold in
// its place.
func (c Cluster) Rebalance(begin bool) answer.Reply {
	members, ok := c.shared.(door.Members)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	c.waits("sizes of shards")
	moves, err := members.Rebalance(begin)
	return changed(err, func() answer.Reply {
		rows := make([]answer.Reply, len(moves))
		for i, v := range moves {
			rows[i] = answer.List(answer.Integer(int64(v.Node)), answer.Integer(int64(v.Learns)), answer.Integer(int64(v.Bytes)),
				answer.Integer(int64(math.Ceil(v.Takes.Seconds()))), answer.Integer(int64(v.Retires)))
		}
		return answer.List(rows...)
	})
}

// changed answers a change of the cluster, which was not made if there is an error, or may
// not have been.
func changed(err error, made func() answer.Reply) answer.Reply {
	if err == nil {
		return made()
	}
	text := refusal.Cause(err)
	switch {
	case errors.Is(err, door.ErrNotYet):
		return answer.Fail("TRYAGAIN nothing was changed: " + text)
	case errors.Is(err, door.ErrUnknown):
		return answer.Fail("UNKNOWN the change may have been made or not: send the command again (" + text + ")")
	case errors.Is(err, door.ErrRefused):
		return answer.Fail("CLUSTERDOWN nothing was changed (" + text + ")")
	}
	return answer.Fail("ERR " + text)
}

// OpenCopy makes a copy of all data of a cluster and answers its number and its files.
// With stale it is what this node has, whatever others have acknowledged. It takes long. opened is told
// the number.
func (c Cluster) OpenCopy(stale bool, opened func(number uint64)) answer.Reply {
	copier, ok := c.shared.(door.Copier)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	c.waits("copy of all data")
	number, files, err := copier.OpenCopy(stale)
	switch {
	case errors.Is(err, door.ErrRefused) || errors.Is(err, door.ErrUnknown):
		return answer.Fail("CLUSTERDOWN This node cannot find out what other nodes have acknowledged (" + refusal.Cause(err) + ")")
	case err != nil:
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	opened(number)
	rows := make([]answer.Reply, len(files))
	for i, f := range files {
		rows[i] = answer.List(answer.Text(f.Name), answer.Integer(f.Size))
	}
	return answer.List(answer.Integer(int64(number)), answer.List(rows...))
}

// ReadCopy answers a piece of a file of a copy.
func (c Cluster) ReadCopy(number, file, offset, length uint64) answer.Reply {
	copier, ok := c.shared.(door.Copier)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	piece, err := copier.ReadCopy(number, file, offset, length)
	if err != nil {
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	return answer.Text(unsafe.String(unsafe.SliceData(piece), len(piece))) // nobody else has it
}

// CloseCopy gives a copy up.
func (c Cluster) CloseCopy(number uint64) answer.Reply {
	copier, ok := c.shared.(door.Copier)
	if !ok {
		return answer.Fail(TextNoCluster)
	}
	copier.CloseCopy(number)
	return answer.OK()
}
