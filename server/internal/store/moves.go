package store

// Records about shards: settings, moves, and nodes that are given up.

import (
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
)

// LevelShards is the level of a cluster from which on contents can be spread over nodes.
const LevelShards = 3

// What a record about shards names is as its sender knew it. So records that were decided
// at the same time, come late or come again do nothing, and are decided anew: package roster
// has the conditions.

// ShardCopies says how many nodes are to hold each shard. The first such record spreads
// contents: up to there every node holds everything.
type ShardCopies struct {
	Copies   uint64
	Settings uint64
}

func (*ShardCopies) op() Op { return OpShardCopies }
func (o *ShardCopies) fields(c coder, r *Record) coder {
	return c.at(r).uvarint(&o.Copies).uvarint(&o.Settings)
}

func (o *ShardCopies) apply(s *State, _ *Record, res *Result) {
	before := s.Roster()
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.SetCopies(o.Copies, o.Settings) })
	if s.Roster().Spread() && !before.Spread() {
		s.dropUnplaced()
	}
}

// dropUnplaced removes what was staged before contents were spread: nobody but those who
// have the contents knows how it hashes, or whether it is whole. Clients stage it again.
func (s *State) dropUnplaced() {
	for _, e := range s.Names.Unnamed() {
		s.drop(e)
	}
}

// ShardPause lets no move begin; those that have begun go on. Or it lets them begin again.
type ShardPause struct {
	Paused   bool
	Settings uint64
}

func (*ShardPause) op() Op { return OpShardPause }
func (o *ShardPause) fields(c coder, r *Record) coder {
	return c.at(r).bool(&o.Paused).uvarint(&o.Settings)
}

func (o *ShardPause) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Pause(o.Paused, o.Settings) })
}

// Weight says how much a node is to hold in relation to others.
type Weight struct {
	Node     uint64
	Weight   uint8
	Settings uint64
}

func (*Weight) op() Op { return OpWeight }
func (o *Weight) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).byte(&o.Weight).uvarint(&o.Settings)
}

func (o *Weight) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome {
		return next.Weigh(o.Node, placement.Weight(o.Weight), o.Settings)
	})
}

// ShardLearn has a node learn a shard: it fetches the contents from a node that holds it.
type ShardLearn struct {
	Node, Shard uint64
	Version     uint64 // of the shard
}

func (*ShardLearn) op() Op { return OpShardLearn }
func (o *ShardLearn) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).uvarint(&o.Shard).uvarint(&o.Version)
}

func (o *ShardLearn) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Learn(o.Node, o.Shard, o.Version) })
}

// ShardHold says that a node has a shard that it was to learn, and that a durable snapshot
// of it has it.
type ShardHold struct {
	Node, Shard uint64
	Since       uint64 // of the copy
}

func (*ShardHold) op() Op { return OpShardHold }
func (o *ShardHold) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).uvarint(&o.Shard).uvarint(&o.Since)
}

func (o *ShardHold) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Hold(o.Node, o.Shard, o.Since) })
}

// ShardCancel says that a node need not learn a shard.
type ShardCancel struct {
	Node, Shard uint64
	Since       uint64 // of the copy
}

func (*ShardCancel) op() Op { return OpShardCancel }
func (o *ShardCancel) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).uvarint(&o.Shard).uvarint(&o.Since)
}

func (o *ShardCancel) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Cancel(o.Node, o.Shard, o.Since) })
}

// ShardRetire has a node give up a shard that enough others hold.
type ShardRetire struct {
	Node, Shard uint64
	Version     uint64 // of the shard
}

func (*ShardRetire) op() Op { return OpShardRetire }
func (o *ShardRetire) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).uvarint(&o.Shard).uvarint(&o.Version)
}

func (o *ShardRetire) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Retire(o.Node, o.Shard, o.Version) })
}

// ShardFree says that a node has given up a shard: its own writes on their way have come
// back, and the memory is free.
type ShardFree struct {
	Node, Shard uint64
	Since       uint64 // of the copy
}

func (*ShardFree) op() Op { return OpShardFree }
func (o *ShardFree) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).uvarint(&o.Shard).uvarint(&o.Since)
}

func (o *ShardFree) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.Free(o.Node, o.Shard, o.Since) })
}

// Behind gives up a node that is away: what it has of shards is void, and the log need not
// be kept for it. Its next session ends that, and it learns what it is to hold. Whoever
// sends this has heard of others that hold the shards of the node.
type Behind struct {
	Node    uint64
	Session uint64 // of the node
	Changes uint64 // of all shards
}

func (*Behind) op() Op { return OpBehind }
func (o *Behind) fields(c coder, r *Record) coder {
	return c.id(&o.Node).at(r).uvarint(&o.Session).uvarint(&o.Changes)
}

func (o *Behind) apply(s *State, _ *Record, res *Result) {
	s.reroster(res, func(next *roster.Roster) roster.Outcome { return next.GiveUp(o.Node, o.Session, o.Changes) })
}
