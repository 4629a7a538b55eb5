package roster

// Settings of shards, and moves from node to node.

import (
	"fmt"

	"github.com/bloomery/bloomery/server/internal/placement"
)

// What a change of shards names is as its sender knew it. So those that were decided at the
// same time, come late or come again do nothing, and are decided anew: see conditions.go.

// SetCopies says how many nodes are to hold each shard. The first time it spreads contents:
// up to there every node holds everything.
func (r *Roster) SetCopies(copies, settings uint64) Outcome {
	if !validCopies(copies) {
		return Outcome{Refused: fmt.Sprintf("there are %d to %d copies", placement.MinCopies, placement.MaxCopies)}
	}
	return r.set(&asked{named: settings}, func(table *Shards) {
		if table.Copies == 0 {
			table.begin(r.Members)
		}
		table.Copies = int(copies)
	}, sameSettings)
}

func validCopies(n uint64) bool { return n >= placement.MinCopies && n <= placement.MaxCopies }

// Pause lets no move begin; those that have begun go on. Or it lets them begin again.
func (r *Roster) Pause(paused bool, settings uint64) Outcome {
	return r.set(&asked{named: settings}, func(table *Shards) { table.Paused = paused }, sameSettings)
}

// Weigh says how much a node is to hold in relation to others.
func (r *Roster) Weigh(node uint64, weight placement.Weight, settings uint64) Outcome {
	m := r.member(node)
	switch {
	case m == nil:
		return Outcome{Missing: true}
	case weight > placement.MaxWeight:
		return Outcome{Refused: fmt.Sprintf("a weight is %d at most", placement.MaxWeight)}
	}
	return r.set(&asked{member: m, named: settings}, func(*Shards) { m.Weight = weight }, belongs, sameSettings)
}

// set changes settings if conditions are met.
func (r *Roster) set(a *asked, change func(table *Shards), needs ...condition) (o Outcome) {
	if o.Refused = r.refuse(a, needs...); o.Refused != "" {
		return o
	}
	table := r.reshard()
	table.Settings++
	change(table)
	return Outcome{N: int64(table.Settings), Changed: true}
}

// Learn has a node learn a shard of a version: it fetches the contents from a node that holds
// it.
func (r *Roster) Learn(node, shard, version uint64) Outcome {
	return r.move(node, shard, version, Learns, belongs, isCurrent, movesGoOn, sameVersion, hasNone, nobodyLearns)
}

// Hold notes that a node has a shard that it was to learn as a copy, and that a durable
// snapshot of it has it.
func (r *Roster) Hold(node, shard, since uint64) Outcome {
	return r.move(node, shard, since, Holds, isLearning, sameCopy)
}

// Cancel notes that a node need not learn a shard.
func (r *Roster) Cancel(node, shard, since uint64) Outcome {
	return r.move(node, shard, since, 0, isLearning, sameCopy)
}

// Retire has a node give up a shard of a version that enough others hold.
func (r *Roster) Retire(node, shard, version uint64) Outcome {
	return r.move(node, shard, version, Retires, movesGoOn, sameVersion, isHolding, copiesRemain)
}

// Free notes that a node has given up a shard: its own writes on their way have come back, and
// the memory is free.
func (r *Roster) Free(node, shard, since uint64) Outcome {
	return r.move(node, shard, since, 0, isRetiring, sameCopy)
}

// move takes the copy of a shard that a node has to the next phase, if conditions are met.
func (r *Roster) move(node, shard, named uint64, to Phase, needs ...condition) (o Outcome) {
	m := r.member(node)
	if m == nil || r.Shards == nil || shard >= uint64(len(r.Shards.Places)) {
		return Outcome{Missing: true}
	}
	a := asked{member: m, place: &r.Shards.Places[shard], named: named}
	if o.Refused = r.refuse(&a, needs...); o.Refused != "" {
		return o
	}
	c := a.place.Copy(m.Number)
	c.Phase = to
	table := r.reshard()
	table.put(int(shard), c)
	return Outcome{N: int64(table.Changes), Changed: true}
}
