package store

// The table of operations.

import "github.com/bloomery/bloomery/server/internal/contents"

// Op is the number of an operation. Numbers are part of the log format: none is ever
// given to something else.
type Op uint8

// The operations, by the files that have their types.
const (
	// In bloom.go.

	OpBloom      Op = 1  // make a BF from parameters
	OpAdd        Op = 32 // add digests to a BF
	OpBloomChunk Op = 37 // store bytes of a dump in a BF

	// In cuckoo.go.

	OpCuckoo         Op = 2  // make a CF from parameters
	OpInsert         Op = 33 // insert hashes into a CF
	OpInsertNew      Op = 34 // insert those that it does not have
	OpInsertEach     Op = 39
	OpInsertNewEach  Op = 40
	OpInsertFirst    Op = 42
	OpInsertNewFirst Op = 43
	OpDelete         Op = 35 // delete hashes from a CF
	OpDeleteLazily   Op = 44 // the same, and leave long compactions to others
	OpCompact        Op = 36 // compact a CF
	OpCompactPiece   Op = 41 // a piece of that
	OpCuckooChunk    Op = 38 // in a CF

	// In make.go.

	OpBloomDump  Op = 3  // make a BF from the header of a dump
	OpCuckooDump Op = 4  // make a CF from the header of a dump
	OpCountMin   Op = 67 // make a CMS
	OpTopK       Op = 68 // make a TOPK
	OpTDigest    Op = 69 // make a TDIGEST
	OpFilter     Op = 80 // make a filter of package codec
	OpLayers     Op = 82 // make layers over filters
	OpFilterLoad Op = 81 // make parts that OpFilterPiece fills; staged only
	OpStage      Op = 17 // make a filter without a name
	OpReveal     Op = 18 // give it one, replacing what has it

	OpStagePlaced Op = 145 // the same as OpStage, for a shard, with all that the catalogue has to know
	OpRevealWhole Op = 146 // the same as OpReveal, for contents that are whole, as the sender knows

	// In names.go.

	OpRemove  Op = 5  // remove names
	OpRename  Op = 6  // give a name to another entry
	OpExpire  Op = 7  // set a deadline
	OpPersist Op = 8  // take a deadline away
	OpEvict   Op = 9  // remove ids whose deadline has passed
	OpFlush   Op = 10 // remove everything
	OpSeed    Op = 16 // seed the order of names; the first record of all

	// In group.go.

	OpExpect     Op = 22 // a condition: what a name stands for
	OpExpectPart Op = 45 // a condition: the version of a part
	OpBegin      Op = 64 // begin a group
	OpCommit     Op = 65 // end it
	OpRollback   Op = 66 // recovery has dropped the group that is open

	// In strings.go.

	OpSet       Op = 11 // store a string
	OpAppend    Op = 12 // add to the end of a string
	OpSetRange  Op = 13 // overwrite a part of a string
	OpIncrement Op = 14 // add to a string that is a number
	OpPiece     Op = 15 // bytes before the value of the next record of a string
	OpSetMany   Op = 19 // store strings
	OpTake      Op = 20 // remove a string and answer it
	OpTouch     Op = 21 // answer a string and set its deadline

	// In countmin.go, topk.go, tdigest.go, merge.go.

	OpCountMinIncr  Op = 72 // add to the counts of items
	OpCountMinChunk Op = 73 // overwrite counters
	OpCountMinMerge Op = 70 // overwrite a CMS by the sum of others
	OpTopKIncr      Op = 74 // add to the counts of items
	OpTopKChunk     Op = 75 // in a TOPK
	OpTDigestAdd    Op = 76 // add values
	OpTDigestChunk  Op = 77 // add nodes
	OpTDigestBegin  Op = 79 // forget all values
	OpCompress      Op = 78 // compress a TDIGEST
	OpTDigestMerge  Op = 71 // replace a TDIGEST by the union of others

	// In filter.go, filter_load.go, filter_cure.go.

	OpFilterAdd     Op = 88  // add or insert hashes
	OpFilterDelete  Op = 89  // delete hashes
	OpFilterAdvance Op = 90  // begin a generation
	OpFilterClear   Op = 91  // replace the contents by those of an outline
	OpFilterPiece   Op = 92  // bytes of an encoding
	OpFilterUnion   Op = 93  // or bytes into the array
	OpFilterGrow    Op = 112 // turn a bloom filter into a scalable one of equal shares
	OpFilterFold    Op = 113 // halve the array
	OpFilterFoldOf  Op = 100 // the same, if it has so many bits
	OpFilterScale   Op = 121 // as OpFilterGrow, with the shares of sizing.LayerShare
	OpFilterSource  Op = 123 // bytes of a version of a source
	OpFilterGone    Op = 122 // count hashes of items that are deleted, which the filter keeps
	OpFilterSet     Op = 99  // change what is asked of the filter

	OpFilterAddKnown   Op = 94 // as OpFilterAdd, of a node that knew of a rebuild
	OpFilterUnionKnown Op = 95 // the same of OpFilterUnion

	// In shadow.go, shadow_add.go.

	OpShadow       Op = 114 // open a shadow
	OpShadowSeal   Op = 115 // fix its items
	OpShadowSwap   Op = 116 // give it the name of its filter
	OpShadowFeed   Op = 117 // add or insert hashes that were fed
	OpShadowAdd    Op = 118 // the same, for those that were added to the filter
	OpShadowBreak  Op = 119 // mark it as one that lacks items
	OpShadowMissed Op = 120 // count items that were deleted from the filter alone

	// In rebuild.go, for clusters.

	OpFilterMark  Op = 96  // have records prepared again that did not know of a rebuild
	OpRebuildFeed Op = 97  // as OpShadowFeed
	OpRebuildAdd  Op = 98  // as OpShadowAdd
	OpRebuildOpen Op = 124 // as OpShadow
	OpRebuildStep Op = 125 // say how far a rebuild is
	OpRebuildSwap Op = 126 // give the shadow the name of its filter
	OpRebuildSeal Op = 127 // fix the items of a part of it

	// In roster.go.

	OpBirth   Op = 128 // begin a cluster
	OpJoin    Op = 129 // give a number to a node
	OpLeave   Op = 130 // remove a node for ever
	OpSession Op = 131 // begin a session of a node
	OpLevel   Op = 132 // allow records of a level
	OpFound   Op = 133 // begin a cluster with data that no record has

	OpLeaveForced  Op = 143 // the same as OpLeave, though copies will be lacking
	OpSessionEmpty Op = 144 // the same as OpSession, for a node that has no contents

	// In moves.go.

	OpShardCopies Op = 134 // say how many nodes hold each shard
	OpShardPause  Op = 135 // let no move begin, or let them begin again
	OpWeight      Op = 136 // say how much a node is to hold
	OpShardLearn  Op = 137 // have a node learn a shard
	OpShardHold   Op = 138 // it has learned it
	OpShardCancel Op = 139 // it need not
	OpShardRetire Op = 140 // have a node give up a shard
	OpShardFree   Op = 141 // it has given it up
	OpBehind      Op = 142 // give up a node that is away
)

// operation is a row of the table: what an operation is, besides what its
// type does. A number without a row is one of a later release.
type operation struct {
	name  string
	scope scope
	level uint64 // of a cluster, from which on it may be sent
	sent  sending
	takes need
	body  func() Body                  // how it is read and applied
	of    func(contents.Contents) bool // whether contents are what it changes; nil if it is not of a part
}

// LevelLayers is the level of a cluster from which on there can be layers: nodes of earlier
// levels do not know them. No release has that level yet.
const LevelLayers = LevelShards

func isWindow(c contents.Contents) bool { return contents.IsWindow(c) }

// scope is what an operation changes, which decides who orders it.
type scope uint8

const (
	ofNames   scope = iota + 1 // in one order, under the catalogue's lock
	ofPart                     // in one order per part, under its lock
	ofCluster                  // as ofNames, but about nodes and not about data
)

// sending is whether a cluster sends an operation.
type sending uint8

const (
	always sending = iota + 1
	// never is for those that read or change contents from the catalogue, whose lane is
	// not ordered with others: nodes would disagree about what they meet; and for those
	// that only a log has.
	never
	asMark // it stands around a group, which is one message
)

// need is what an operation takes.
type need uint8

const (
	nothing     need = iota + 1
	newContents      // what NewBytes says
	newText          // as long as the strings in it
	growth           // what the contents may need for so many items: see Growth
)

// operations is the table.
var operations = [256]operation{
	OpBloom:      {"bloom", ofNames, firstLevel, always, newContents, func() Body { return new(MakeBloom) }, nil},
	OpAdd:        {"add", ofPart, firstLevel, always, growth, func() Body { return new(BloomAdd) }, contents.IsBloom},
	OpBloomChunk: {"bloom chunk", ofPart, firstLevel, always, nothing, func() Body { return new(BloomChunk) }, contents.IsBloom},

	OpCuckoo:         {"cuckoo", ofNames, firstLevel, always, newContents, func() Body { return new(MakeCuckoo) }, nil},
	OpInsert:         {"insert", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{} }, contents.IsCuckoo},
	OpInsertNew:      {"insert new", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{New: true} }, contents.IsCuckoo},
	OpInsertEach:     {"insert each", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: Each} }, contents.IsCuckoo},
	OpInsertNewEach:  {"insert new each", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: Each, New: true} }, contents.IsCuckoo},
	OpInsertFirst:    {"insert first", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: First} }, contents.IsCuckoo},
	OpInsertNewFirst: {"insert new first", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: First, New: true} }, contents.IsCuckoo},
	OpDelete:         {"delete", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooDelete) }, contents.IsCuckoo},
	OpDeleteLazily:   {"delete lazily", ofPart, firstLevel, always, nothing, func() Body { return &CuckooDelete{Lazily: true} }, contents.IsCuckoo},
	OpCompact:        {"compact", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooCompact) }, contents.IsCuckoo},
	OpCompactPiece:   {"compact piece", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooCompactPiece) }, contents.IsCuckoo},
	OpCuckooChunk:    {"cuckoo chunk", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooChunk) }, contents.IsCuckoo},

	OpBloomDump:  {"bloom dump", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpBloomDump} }, nil},
	OpCuckooDump: {"cuckoo dump", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpCuckooDump} }, nil},
	OpCountMin:   {"count min", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpCountMin} }, nil},
	OpTopK:       {"topk", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpTopK} }, nil},
	OpTDigest:    {"tdigest", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpTDigest} }, nil},
	OpFilter:     {"filter", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpFilter} }, nil},
	OpFilterLoad: {"filter load", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpFilterLoad} }, nil},
	OpLayers:     {"layers", ofNames, LevelLayers, always, newContents, func() Body { return &Make{As: OpLayers} }, nil},
	OpStage:      {"stage", ofNames, firstLevel, always, newContents, func() Body { return new(Stage) }, nil},
	OpReveal:     {"reveal", ofNames, firstLevel, always, nothing, func() Body { return new(Reveal) }, nil},

	OpStagePlaced: {"stage placed", ofNames, LevelShards, always, newContents, func() Body { return &Stage{Placed: true} }, nil},
	OpRevealWhole: {"reveal whole", ofNames, LevelShards, always, nothing, func() Body { return &Reveal{Whole: true} }, nil},

	OpRemove:  {"remove", ofNames, firstLevel, always, nothing, func() Body { return new(Remove) }, nil},
	OpRename:  {"rename", ofNames, firstLevel, always, nothing, func() Body { return new(Rename) }, nil},
	OpExpire:  {"expire", ofNames, firstLevel, always, nothing, func() Body { return new(Expire) }, nil},
	OpPersist: {"persist", ofNames, firstLevel, always, nothing, func() Body { return new(Persist) }, nil},
	OpEvict:   {"evict", ofNames, firstLevel, always, nothing, func() Body { return new(Evict) }, nil},
	OpFlush:   {"flush", ofNames, firstLevel, always, nothing, func() Body { return new(Flush) }, nil},
	OpSeed:    {"seed", ofNames, firstLevel, never, nothing, func() Body { return new(Seed) }, nil},

	OpExpect:     {"expect", ofNames, firstLevel, always, nothing, func() Body { return new(Expect) }, nil},
	OpExpectPart: {"expect part", ofPart, firstLevel, always, nothing, func() Body { return new(ExpectPart) }, contents.IsHere},
	OpBegin:      {"begin", ofNames, firstLevel, asMark, nothing, func() Body { return new(Begin) }, nil},
	OpCommit:     {"commit", ofNames, firstLevel, asMark, nothing, func() Body { return new(Commit) }, nil},
	OpRollback:   {"rollback", ofNames, firstLevel, asMark, nothing, func() Body { return new(Rollback) }, nil},

	OpSet:       {"set", ofNames, firstLevel, always, newText, func() Body { return new(Set) }, nil},
	OpAppend:    {"append", ofNames, firstLevel, always, newText, func() Body { return new(Append) }, nil},
	OpSetRange:  {"set range", ofNames, firstLevel, always, newText, func() Body { return new(SetRange) }, nil},
	OpIncrement: {"increment", ofNames, firstLevel, always, nothing, func() Body { return new(Increment) }, nil},
	OpPiece:     {"piece", ofNames, firstLevel, never, nothing, func() Body { return new(Piece) }, nil},
	OpSetMany:   {"set many", ofNames, firstLevel, always, newText, func() Body { return new(SetMany) }, nil},
	OpTake:      {"take", ofNames, firstLevel, always, nothing, func() Body { return new(Take) }, nil},
	OpTouch:     {"touch", ofNames, firstLevel, always, nothing, func() Body { return new(Touch) }, nil},

	OpCountMinIncr:  {"count min incr", ofPart, firstLevel, always, nothing, func() Body { return new(CountMinIncr) }, contents.IsCountMin},
	OpCountMinChunk: {"count min chunk", ofPart, firstLevel, always, nothing, func() Body { return new(CountMinChunk) }, contents.IsCountMin},
	OpCountMinMerge: {"count min merge", ofNames, firstLevel, never, nothing, func() Body { return new(CountMinMerge) }, nil},
	OpTopKIncr:      {"topk incr", ofPart, firstLevel, always, growth, func() Body { return new(TopKIncr) }, contents.IsTopK},
	OpTopKChunk:     {"topk chunk", ofPart, firstLevel, always, nothing, func() Body { return new(TopKChunk) }, contents.IsTopK},
	OpTDigestAdd:    {"tdigest add", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestAdd) }, contents.IsTDigest},
	OpTDigestChunk:  {"tdigest chunk", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestChunk) }, contents.IsTDigest},
	OpTDigestBegin:  {"tdigest begin", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestBegin) }, contents.IsTDigest},
	OpCompress:      {"compress", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestCompress) }, contents.IsTDigest},
	OpTDigestMerge:  {"tdigest merge", ofNames, firstLevel, never, nothing, func() Body { return new(TDigestMerge) }, nil},

	OpFilterAdd:     {"filter add", ofPart, firstLevel, always, growth, func() Body { return new(FilterAdd) }, contents.Is[*contents.Filter]},
	OpFilterDelete:  {"filter delete", ofPart, firstLevel, always, nothing, func() Body { return new(FilterDelete) }, contents.Is[*contents.Filter]},
	OpFilterAdvance: {"filter advance", ofPart, firstLevel, always, nothing, func() Body { return new(FilterAdvance) }, isWindow},
	OpFilterClear:   {"filter clear", ofPart, firstLevel, always, nothing, func() Body { return new(FilterClear) }, contents.Is[*contents.Filter]},
	OpFilterPiece:   {"filter piece", ofPart, firstLevel, always, nothing, func() Body { return new(FilterPiece) }, contents.IsLoading},
	OpFilterUnion:   {"filter union", ofPart, firstLevel, always, nothing, func() Body { return new(FilterUnion) }, contents.Is[*contents.Filter]},
	OpFilterGrow:    {"filter grow", ofPart, firstLevel, always, nothing, func() Body { return &FilterGrow{Equal: true} }, contents.Is[*contents.Filter]},
	OpFilterFold:    {"filter fold", ofPart, firstLevel, always, nothing, func() Body { return new(FilterFold) }, contents.Is[*contents.Filter]},
	OpFilterFoldOf:  {"filter fold of", ofPart, LevelFoldOf, always, nothing, func() Body { return &FilterFold{Bits: unread} }, contents.Is[*contents.Filter]},
	OpFilterScale:   {"filter scale", ofPart, LevelShares, always, nothing, func() Body { return new(FilterGrow) }, contents.Is[*contents.Filter]},
	OpFilterSource:  {"filter source", ofPart, LevelSources, always, nothing, func() Body { return new(FilterSource) }, contents.Is[*contents.Filter]},
	OpFilterGone:    {"filter gone", ofPart, LevelGone, always, nothing, func() Body { return new(FilterGone) }, contents.Is[*contents.Filter]},
	OpFilterSet:     {"filter set", ofPart, LevelNews, always, nothing, func() Body { return new(FilterSet) }, contents.Is[*contents.Filter]},

	OpShadow:       {"shadow", ofNames, firstLevel, never, newContents, func() Body { return new(ShadowOpen) }, nil},
	OpShadowSeal:   {"shadow seal", ofNames, firstLevel, never, nothing, func() Body { return new(ShadowSeal) }, nil},
	OpShadowSwap:   {"shadow swap", ofNames, firstLevel, never, nothing, func() Body { return new(ShadowSwap) }, nil},
	OpShadowFeed:   {"shadow feed", ofPart, firstLevel, never, growth, func() Body { return &ShadowAdd{Fed: true} }, contents.Is[*contents.Draft]},
	OpShadowAdd:    {"shadow add", ofPart, firstLevel, never, growth, func() Body { return new(ShadowAdd) }, contents.Is[*contents.Draft]},
	OpShadowBreak:  {"shadow break", ofPart, firstLevel, never, nothing, func() Body { return new(ShadowBreak) }, contents.Is[*contents.Draft]},
	OpShadowMissed: {"shadow missed", ofPart, LevelRebuilds, always, nothing, func() Body { return new(ShadowMissed) }, isShadow},

	OpFilterAddKnown:   {"filter add known", ofPart, LevelRebuilds, always, growth, func() Body { return &FilterAdd{Known: unread} }, contents.Is[*contents.Filter]},
	OpFilterUnionKnown: {"filter union known", ofPart, LevelRebuilds, always, nothing, func() Body { return &FilterUnion{Known: unread} }, contents.Is[*contents.Filter]},
	OpFilterMark:       {"filter mark", ofPart, LevelRebuilds, always, nothing, func() Body { return new(FilterMark) }, contents.Is[*contents.Filter]},
	OpRebuildFeed:      {"rebuild feed", ofPart, LevelRebuilds, always, growth, func() Body { return &ShadowAdd{Fed: true, Shared: true} }, isShadow},
	OpRebuildAdd:       {"rebuild add", ofPart, LevelRebuilds, always, growth, func() Body { return &ShadowAdd{Shared: true} }, isShadow},
	OpRebuildOpen:      {"rebuild open", ofNames, LevelRebuilds, always, newContents, func() Body { return &ShadowOpen{Shared: true} }, nil},
	OpRebuildStep:      {"rebuild step", ofNames, LevelRebuilds, always, nothing, func() Body { return new(RebuildStep) }, nil},
	OpRebuildSwap:      {"rebuild swap", ofNames, LevelRebuilds, always, nothing, func() Body { return new(RebuildSwap) }, nil},
	OpRebuildSeal:      {"rebuild seal", ofPart, LevelRebuilds, always, nothing, func() Body { return new(RebuildSeal) }, isShadow},

	OpBirth:   {"birth", ofCluster, firstLevel, always, nothing, func() Body { return new(Birth) }, nil},
	OpJoin:    {"join", ofCluster, firstLevel, always, nothing, func() Body { return new(Join) }, nil},
	OpLeave:   {"leave", ofCluster, firstLevel, always, nothing, func() Body { return new(Leave) }, nil},
	OpSession: {"session", ofCluster, firstLevel, always, nothing, func() Body { return new(Session) }, nil},
	OpLevel:   {"level", ofCluster, firstLevel, always, nothing, func() Body { return new(Level) }, nil},
	OpFound:   {"found", ofCluster, firstLevel, always, nothing, func() Body { return new(Found) }, nil},

	OpLeaveForced:  {"leave forced", ofCluster, LevelShards, always, nothing, func() Body { return &Leave{Forced: true} }, nil},
	OpSessionEmpty: {"session empty", ofCluster, LevelShards, always, nothing, func() Body { return &Session{Empty: true} }, nil},

	OpShardCopies: {"shard copies", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardCopies) }, nil},
	OpShardPause:  {"shard pause", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardPause) }, nil},
	OpWeight:      {"weight", ofCluster, LevelShards, always, nothing, func() Body { return new(Weight) }, nil},
	OpShardLearn:  {"shard learn", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardLearn) }, nil},
	OpShardHold:   {"shard hold", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardHold) }, nil},
	OpShardCancel: {"shard cancel", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardCancel) }, nil},
	OpShardRetire: {"shard retire", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardRetire) }, nil},
	OpShardFree:   {"shard free", ofCluster, LevelShards, always, nothing, func() Body { return new(ShardFree) }, nil},
	OpBehind:      {"behind", ofCluster, LevelShards, always, nothing, func() Body { return new(Behind) }, nil},
}

// String returns the name of an operation.
func (op Op) String() string { return operations[op].name }
