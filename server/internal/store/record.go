package store

// Record: one change of the state.

import (
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// Op says what a record does. The numbers are part of the log format.
type Op uint8

// Records of the catalogue: they are applied in one order, under the
// catalogue's lock, and carry the time at which they were prepared.
const (
	OpBloom      Op = 1  // make a BF from parameters
	OpCuckoo     Op = 2  // make a CF from parameters
	OpBloomDump  Op = 3  // make a BF from the header of a dump
	OpCuckooDump Op = 4  // make a CF from the header of a dump
	OpRemove     Op = 5  // remove names
	OpRename     Op = 6  // give a name to another entry
	OpExpire     Op = 7  // set a deadline
	OpPersist    Op = 8  // take a deadline away
	OpEvict      Op = 9  // remove ids whose deadline has passed
	OpFlush      Op = 10 // remove everything
	OpSet        Op = 11 // store a string
	OpAppend     Op = 12 // add to the end of a string
	OpSetRange   Op = 13 // overwrite a part of a string
	OpIncrement  Op = 14 // add to a string that is a number
	OpPiece      Op = 15 // bytes that come before the value of the next record of a string
	OpSeed       Op = 16 // seed the order of names; the first record of all
	OpStage      Op = 17 // make a filter without a name; Flags is the operation that would make it with one
	OpReveal     Op = 18 // give a name to a filter that has none, replacing what has it
	OpSetMany    Op = 19 // store strings: Names alternates names and values
	OpTake       Op = 20 // remove a string and answer it
	OpTouch      Op = 21 // answer a string and set its deadline; 0 takes it away

	OpExpect Op = 22 // a condition of a group: Name stands for ID, 0 for none, with Deadline
)

// Records of a part: they are applied in one order per part, under its lock.
const (
	OpAdd         Op = 32 // add digests to a BF
	OpInsert      Op = 33 // insert digests into a CF
	OpInsertNew   Op = 34 // insert digests that a CF does not have
	OpDelete      Op = 35 // delete a digest from a CF
	OpCompact     Op = 36 // compact a CF
	OpBloomChunk  Op = 37 // store bytes of a dump in a BF
	OpCuckooChunk Op = 38 // store bytes of a dump in a CF

	// As OpInsert and OpInsertNew, but every digest is a command of its own: the
	// limit of sub-filters is asked for each, and too little room stops at the
	// first that needs more.
	OpInsertEach    Op = 39
	OpInsertNewEach Op = 40

	// A piece of OpCompact: Room slots of sub-filter Limit, from slot Position on.
	OpCompactPiece Op = 41

	// As OpInsert and OpInsertNew, but too little room stops at the first digest
	// that needs more; those pass over it.
	OpInsertFirst    Op = 42
	OpInsertNewFirst Op = 43

	// As OpDelete, but a CF that takes more than Limit steps to compact is left to
	// be compacted in pieces: N of the result is 1 if that is due.
	OpDeleteLazily Op = 44

	OpExpectPart Op = 45 // a condition of a group: Limit is the version of the part
)

// Records around a group of which all or none take effect at recovery.
const (
	OpBegin    Op = 64
	OpCommit   Op = 65
	OpRollback Op = 66 // recovery has dropped the group that is open
)

// Records of sketches. The first ones are records of the catalogue: Value is a
// header, as the sketch appends it. A log never holds the merges: what they did is
// written as records of parts.
const (
	OpCountMin      Op = 67 // make a CMS
	OpTopK          Op = 68 // make a TOPK
	OpTDigest       Op = 69 // make a TDIGEST
	OpCountMinMerge Op = 70 // overwrite the CMS Name by the sum of Names; Value has their weights
	OpTDigestMerge  Op = 71 // replace the TDIGEST Name by the union of Names; Position is the compression

	OpCountMinIncr  Op = 72 // add to the counts of items: see AppendIncrement
	OpCountMinChunk Op = 73 // overwrite counters; Limit-1, if that is not negative, is the new sum
	OpTopKIncr      Op = 74 // add to the counts of items, which are in Value
	OpTopKChunk     Op = 75 // overwrite cells, or slots that are behind them
	OpTDigestAdd    Op = 76 // add values
	OpTDigestChunk  Op = 77 // add nodes; Flags is 1 for those that wait
	OpCompress      Op = 78 // compress a TDIGEST
	OpTDigestBegin  Op = 79 // forget all values; Value is the new header, or nothing
)

// Records of filters of package codec that are of the catalogue.
const (
	OpFilter     Op = 80 // make a filter from an outline: see AppendCreation
	OpFilterLoad Op = 81 // make parts that OpFilterPiece fills; staged only: Value is the plan
)

// Records of a part of such a filter.
const (
	OpFilterAdd     Op = 88 // add or insert hashes
	OpFilterDelete  Op = 89 // delete hashes
	OpFilterAdvance Op = 90 // make generation Position the present one; a smaller one changes nothing
	OpFilterClear   Op = 91 // replace the contents by those of an outline
	OpFilterPiece   Op = 92 // bytes at Position of an encoding of Limit bytes
	OpFilterUnion   Op = 93 // or bytes into the array at Position
)

// Records of a part of such a filter that cure it.
const (
	OpFilterGrow Op = 112 // turn a bloom filter into a scalable one of equal shares; Position is the new rate, as the bits of a float
	OpFilterFold Op = 113 // halve the array

	OpFilterScale Op = 121 // as OpFilterGrow, with the shares of sizing.LayerShare: from level LevelShares on
)

// Records of shadows. The first ones are of the catalogue; OpEvict gives a shadow up.
const (
	OpShadow     Op = 114 // open a shadow of ID, or one that will make Name: see AppendShadow
	OpShadowSeal Op = 115 // fix the items of a shadow
	OpShadowSwap Op = 116 // give a shadow the name of its filter: see State.swap

	OpShadowFeed   Op = 117 // add or insert hashes that were fed
	OpShadowAdd    Op = 118 // the same, for those that were added to the filter
	OpShadowBreak  Op = 119 // mark the shadow as one that lacks items
	OpShadowMissed Op = 120 // count Position items that were deleted from the filter alone
)

// Records of the catalogue that are about the cluster itself.
const (
	OpBirth   Op = 128 // begin a cluster: ID is its name for machines, Limit the number of lanes, Position a seed
	OpJoin    Op = 129 // give a number to a node that calls itself Name and is at Other; Limit is its level, Position a nonce
	OpLeave   Op = 130 // remove node ID for ever
	OpSession Op = 131 // begin a session of node ID, whose last one is Limit; Position is a nonce
	OpLevel   Op = 132 // allow records of level Limit
	OpFound   Op = 133 // begin cluster ID with data that no record has: it changes nothing, and stands first
)

// Part reports whether op is a record of a part, not of the catalogue.
func (op Op) Part() bool {
	return op >= OpAdd && op < OpBegin || op >= OpCountMinIncr && op <= OpTDigestBegin ||
		op >= OpFilterAdd && op <= OpFilterUnion || op >= OpFilterGrow && op <= OpFilterFold || op == OpFilterScale || op.draft()
}

// Moves reports whether op gives a name to contents that are there: others may change
// them under that name before the record is in the log.
func (op Op) Moves() bool { return op == OpRename || op == OpReveal || op == OpShadowSwap }

// Expects reports whether op is a condition of a group: if it does not hold, nothing of
// the group is applied.
func (op Op) Expects() bool { return op == OpExpect || op == OpExpectPart }

// draft reports whether op is a record of a part of a shadow.
func (op Op) draft() bool { return op >= OpShadowFeed && op <= OpShadowMissed }

// Conditions of a record. Apply decides them, since a record may meet a later
// state than the one it was prepared on.
const (
	IfAbsent  = 1 << iota // only if the name is free, or has no deadline
	IfPresent             // only if the name is taken, or has a deadline
	IfLater               // only if the deadline would be later
	IfEarlier             // only if the deadline would be earlier
	KeepTTL               // the deadline stays as it is
	IfString              // only if the name is free, or that of a string
	IfNewer               // only if the name is free, or that of a filter of a smaller version
	IfFilter              // only if the name is free, or that of a filter of package codec
)

// MaxRecord bounds one encoded record; Effect cuts longer ones into several. A
// message of 1 MiB holds one with its envelope.
const MaxRecord = 896 << 10

// MaxName bounds a name, so that two of them fit into a record.
const MaxName = 256 << 10

// Unlimited as Room lets a filter grow as its own rules say.
const Unlimited = ^uint64(0)

// Record is one write, with everything decided that does not depend on the
// state it meets: digests, absolute deadlines, integer sizes, limits. Items are
// not in it, but for those of a TOPK, which keeps them. Which fields count depends on Op; others are ignored.
type Record struct {
	Op    Op
	Flags uint8
	Index uint32 // which part of the filter; 0 for BF and CF
	ID    uint64 // the filter of a part's record

	Digests []redisbloom.Digest // OpAdd
	Hashes  []uint64            // OpInsert, OpInsertNew, OpDelete, OpFilterAdd, OpFilterDelete
	Room    uint64              // bytes that the filter may grow by
	Limit   uint64              // sub-filters from which on inserts are refused; 0 for none

	Value    []byte // a string, a chunk or a header
	Position int64  // where Value goes; how much to add; a seed

	At       int64 // when the record was prepared, milliseconds since 1970
	Deadline int64 // milliseconds since 1970, 0 for none
	Name     []byte
	Other    []byte
	Names    [][]byte
	IDs      []uint64
	Bloom    redisbloom.BloomParams
	Cuckoo   redisbloom.CuckooParams

	// Made, if it is not "", is the string that the record makes of Base, which is
	// nil for none. It was made before any lock was taken, see Make, and nobody
	// changes it; Value is a part of it. Neither of them is encoded.
	Made string
	Base *catalog.Entry

	// Second are the hashes for Shadow, the shadow that the filter had when OpFilterAdd
	// was prepared, which may grow by SecondRoom bytes. Built is what OpShadowSwap
	// puts into its place if it is of a static kind. The log gets what they did, so
	// they are not encoded.
	Second     []uint64
	Shadow     uint64
	SecondRoom uint64
	Built      *Built

	// Merging is what OpReveal depends on: sketches that must not have changed. It is
	// not encoded: a record that is in the log was applied.
	Merging *Merging
	// Ready is what OpCompress takes instead of compressing, if it is not nil. The error
	// is ErrCondition if the digest has changed. It is not encoded, either.
	Ready *ReadyDigest

	Origin Origin
}

// recordFields is what the fields of fixed length of any record take at most.
const recordFields = 64

// Bound returns how many bytes the encoding of r has at most.
func (r *Record) Bound() int {
	n := recordFields + len(r.Name) + len(r.Other) + len(r.Value) + 16*len(r.Digests) + 8*len(r.Hashes) + nameBytes*len(r.IDs)
	for _, name := range r.Names {
		n += len(name) + nameBytes
	}
	return n
}

// NewName returns the name that the record gives to something, nil if it gives
// none.
func (r *Record) NewName() []byte {
	switch r.Op {
	case OpRename:
		return r.Other
	case OpExpire, OpPersist, OpTake, OpTouch, OpExpect:
		return nil
	default:
		return r.Name
	}
}

// Origin says which node made a record, so that a cluster can recognise one
// that was sent twice. It is zero locally.
type Origin struct{ Session, Counter uint64 }
