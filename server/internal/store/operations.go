package store

// The table of operations.

// Op is the number of an operation. Numbers are part of the log format: none is ever
// given to something else.
type Op uint8

// The operations, by the file that has their types.
const (
	// bloom.go

	OpBloom      Op = 1  // make a BF from parameters
	OpAdd        Op = 32 // add digests to a BF
	OpBloomChunk Op = 37 // store bytes of a dump in a BF

	// cuckoo.go

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

	// make.go

	OpBloomDump  Op = 3  // make a BF from the header of a dump
	OpCuckooDump Op = 4  // make a CF from the header of a dump
	OpCountMin   Op = 67 // make a CMS
	OpTopK       Op = 68 // make a TOPK
	OpTDigest    Op = 69 // make a TDIGEST
	OpFilter     Op = 80 // make a filter of package codec
	OpFilterLoad Op = 81 // make parts that OpFilterPiece fills; staged only
	OpStage      Op = 17 // make a filter without a name
	OpReveal     Op = 18 // give it one, replacing what has it

	// names.go

	OpRemove  Op = 5  // remove names
	OpRename  Op = 6  // give a name to another entry
	OpExpire  Op = 7  // set a deadline
	OpPersist Op = 8  // take a deadline away
	OpEvict   Op = 9  // remove ids whose deadline has passed
	OpFlush   Op = 10 // remove everything
	OpSeed    Op = 16 // seed the order of names; the first record of all

	// group.go

	OpExpect     Op = 22 // a condition: what a name stands for
	OpExpectPart Op = 45 // a condition: the version of a part
	OpBegin      Op = 64 // begin a group
	OpCommit     Op = 65 // end it
	OpRollback   Op = 66 // recovery has dropped the group that is open

	// strings.go

	OpSet       Op = 11 // store a string
	OpAppend    Op = 12 // add to the end of a string
	OpSetRange  Op = 13 // overwrite a part of a string
	OpIncrement Op = 14 // add to a string that is a number
	OpPiece     Op = 15 // bytes before the value of the next record of a string
	OpSetMany   Op = 19 // store strings
	OpTake      Op = 20 // remove a string and answer it
	OpTouch     Op = 21 // answer a string and set its deadline

	// countmin.go, topk.go, tdigest.go, merge.go

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

	// filter.go, filter_copy.go, filter_union.go, filter_cure.go

	OpFilterAdd     Op = 88  // add or insert hashes
	OpFilterDelete  Op = 89  // delete hashes
	OpFilterAdvance Op = 90  // begin a generation
	OpFilterClear   Op = 91  // replace the contents by those of an outline
	OpFilterPiece   Op = 92  // bytes of an encoding
	OpFilterUnion   Op = 93  // or bytes into the array
	OpFilterGrow    Op = 112 // turn a bloom filter into a scalable one of equal shares
	OpFilterFold    Op = 113 // halve the array
	OpFilterScale   Op = 121 // as OpFilterGrow, with the shares of sizing.LayerShare

	// shadow.go, shadow_add.go

	OpShadow       Op = 114 // open a shadow
	OpShadowSeal   Op = 115 // fix its items
	OpShadowSwap   Op = 116 // give it the name of its filter
	OpShadowFeed   Op = 117 // add or insert hashes that were fed
	OpShadowAdd    Op = 118 // the same, for those that were added to the filter
	OpShadowBreak  Op = 119 // mark it as one that lacks items
	OpShadowMissed Op = 120 // count items that were deleted from the filter alone

	// roster.go

	OpBirth   Op = 128 // begin a cluster
	OpJoin    Op = 129 // give a number to a node
	OpLeave   Op = 130 // remove a node for ever
	OpSession Op = 131 // begin a session of a node
	OpLevel   Op = 132 // allow records of a level
	OpFound   Op = 133 // begin a cluster with data that no record has
)

// operation is a row of the table: what is to be known of an operation besides what its
// type does. A number without a row is one of a later release.
type operation struct {
	name  string
	scope scope
	level uint64 // of a cluster, from which on it may be sent
	sent  sending
	takes need
	body  func() Body // how it is read and applied
}

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
	OpBloom:      {"bloom", ofNames, firstLevel, always, newContents, func() Body { return new(MakeBloom) }},
	OpAdd:        {"add", ofPart, firstLevel, always, growth, func() Body { return new(BloomAdd) }},
	OpBloomChunk: {"bloom chunk", ofPart, firstLevel, always, nothing, func() Body { return new(BloomChunk) }},

	OpCuckoo:         {"cuckoo", ofNames, firstLevel, always, newContents, func() Body { return new(MakeCuckoo) }},
	OpInsert:         {"insert", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{} }},
	OpInsertNew:      {"insert new", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{New: true} }},
	OpInsertEach:     {"insert each", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: Each} }},
	OpInsertNewEach:  {"insert new each", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: Each, New: true} }},
	OpInsertFirst:    {"insert first", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: First} }},
	OpInsertNewFirst: {"insert new first", ofPart, firstLevel, always, growth, func() Body { return &CuckooInsert{Way: First, New: true} }},
	OpDelete:         {"delete", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooDelete) }},
	OpDeleteLazily:   {"delete lazily", ofPart, firstLevel, always, nothing, func() Body { return &CuckooDelete{Lazily: true} }},
	OpCompact:        {"compact", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooCompact) }},
	OpCompactPiece:   {"compact piece", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooCompactPiece) }},
	OpCuckooChunk:    {"cuckoo chunk", ofPart, firstLevel, always, nothing, func() Body { return new(CuckooChunk) }},

	OpBloomDump:  {"bloom dump", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpBloomDump} }},
	OpCuckooDump: {"cuckoo dump", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpCuckooDump} }},
	OpCountMin:   {"count min", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpCountMin} }},
	OpTopK:       {"topk", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpTopK} }},
	OpTDigest:    {"tdigest", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpTDigest} }},
	OpFilter:     {"filter", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpFilter} }},
	OpFilterLoad: {"filter load", ofNames, firstLevel, always, newContents, func() Body { return &Make{As: OpFilterLoad} }},
	OpStage:      {"stage", ofNames, firstLevel, always, newContents, func() Body { return new(Stage) }},
	OpReveal:     {"reveal", ofNames, firstLevel, always, nothing, func() Body { return new(Reveal) }},

	OpRemove:  {"remove", ofNames, firstLevel, always, nothing, func() Body { return new(Remove) }},
	OpRename:  {"rename", ofNames, firstLevel, always, nothing, func() Body { return new(Rename) }},
	OpExpire:  {"expire", ofNames, firstLevel, always, nothing, func() Body { return new(Expire) }},
	OpPersist: {"persist", ofNames, firstLevel, always, nothing, func() Body { return new(Persist) }},
	OpEvict:   {"evict", ofNames, firstLevel, always, nothing, func() Body { return new(Evict) }},
	OpFlush:   {"flush", ofNames, firstLevel, always, nothing, func() Body { return new(Flush) }},
	OpSeed:    {"seed", ofNames, firstLevel, never, nothing, func() Body { return new(Seed) }},

	OpExpect:     {"expect", ofNames, firstLevel, always, nothing, func() Body { return new(Expect) }},
	OpExpectPart: {"expect part", ofPart, firstLevel, always, nothing, func() Body { return new(ExpectPart) }},
	OpBegin:      {"begin", ofNames, firstLevel, asMark, nothing, func() Body { return new(Begin) }},
	OpCommit:     {"commit", ofNames, firstLevel, asMark, nothing, func() Body { return new(Commit) }},
	OpRollback:   {"rollback", ofNames, firstLevel, asMark, nothing, func() Body { return new(Rollback) }},

	OpSet:       {"set", ofNames, firstLevel, always, newText, func() Body { return new(Set) }},
	OpAppend:    {"append", ofNames, firstLevel, always, newText, func() Body { return new(Append) }},
	OpSetRange:  {"set range", ofNames, firstLevel, always, newText, func() Body { return new(SetRange) }},
	OpIncrement: {"increment", ofNames, firstLevel, always, nothing, func() Body { return new(Increment) }},
	OpPiece:     {"piece", ofNames, firstLevel, never, nothing, func() Body { return new(Piece) }},
	OpSetMany:   {"set many", ofNames, firstLevel, always, newText, func() Body { return new(SetMany) }},
	OpTake:      {"take", ofNames, firstLevel, always, nothing, func() Body { return new(Take) }},
	OpTouch:     {"touch", ofNames, firstLevel, always, nothing, func() Body { return new(Touch) }},

	OpCountMinIncr:  {"count min incr", ofPart, firstLevel, always, nothing, func() Body { return new(CountMinIncr) }},
	OpCountMinChunk: {"count min chunk", ofPart, firstLevel, always, nothing, func() Body { return new(CountMinChunk) }},
	OpCountMinMerge: {"count min merge", ofNames, firstLevel, never, nothing, func() Body { return new(CountMinMerge) }},
	OpTopKIncr:      {"topk incr", ofPart, firstLevel, always, growth, func() Body { return new(TopKIncr) }},
	OpTopKChunk:     {"topk chunk", ofPart, firstLevel, always, nothing, func() Body { return new(TopKChunk) }},
	OpTDigestAdd:    {"tdigest add", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestAdd) }},
	OpTDigestChunk:  {"tdigest chunk", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestChunk) }},
	OpTDigestBegin:  {"tdigest begin", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestBegin) }},
	OpCompress:      {"compress", ofPart, firstLevel, always, nothing, func() Body { return new(TDigestCompress) }},
	OpTDigestMerge:  {"tdigest merge", ofNames, firstLevel, never, nothing, func() Body { return new(TDigestMerge) }},

	OpFilterAdd:     {"filter add", ofPart, firstLevel, always, growth, func() Body { return new(FilterAdd) }},
	OpFilterDelete:  {"filter delete", ofPart, firstLevel, always, nothing, func() Body { return new(FilterDelete) }},
	OpFilterAdvance: {"filter advance", ofPart, firstLevel, always, nothing, func() Body { return new(FilterAdvance) }},
	OpFilterClear:   {"filter clear", ofPart, firstLevel, always, nothing, func() Body { return new(FilterClear) }},
	OpFilterPiece:   {"filter piece", ofPart, firstLevel, always, nothing, func() Body { return new(FilterPiece) }},
	OpFilterUnion:   {"filter union", ofPart, firstLevel, always, nothing, func() Body { return new(FilterUnion) }},
	OpFilterGrow:    {"filter grow", ofPart, firstLevel, always, nothing, func() Body { return &FilterGrow{Equal: true} }},
	OpFilterFold:    {"filter fold", ofPart, firstLevel, always, nothing, func() Body { return new(FilterFold) }},
	OpFilterScale:   {"filter scale", ofPart, LevelShares, always, nothing, func() Body { return new(FilterGrow) }},

	OpShadow:       {"shadow", ofNames, firstLevel, never, newContents, func() Body { return new(ShadowOpen) }},
	OpShadowSeal:   {"shadow seal", ofNames, firstLevel, never, nothing, func() Body { return new(ShadowSeal) }},
	OpShadowSwap:   {"shadow swap", ofNames, firstLevel, never, nothing, func() Body { return new(ShadowSwap) }},
	OpShadowFeed:   {"shadow feed", ofPart, firstLevel, never, growth, func() Body { return new(ShadowFeed) }},
	OpShadowAdd:    {"shadow add", ofPart, firstLevel, never, growth, func() Body { return new(ShadowAdd) }},
	OpShadowBreak:  {"shadow break", ofPart, firstLevel, never, nothing, func() Body { return new(ShadowBreak) }},
	OpShadowMissed: {"shadow missed", ofPart, firstLevel, never, nothing, func() Body { return new(ShadowMissed) }},

	OpBirth:   {"birth", ofCluster, firstLevel, always, nothing, func() Body { return new(Birth) }},
	OpJoin:    {"join", ofCluster, firstLevel, always, nothing, func() Body { return new(Join) }},
	OpLeave:   {"leave", ofCluster, firstLevel, always, nothing, func() Body { return new(Leave) }},
	OpSession: {"session", ofCluster, firstLevel, always, nothing, func() Body { return new(Session) }},
	OpLevel:   {"level", ofCluster, firstLevel, always, nothing, func() Body { return new(Level) }},
	OpFound:   {"found", ofCluster, firstLevel, always, nothing, func() Body { return new(Found) }},
}

// String returns the name of an operation.
func (op Op) String() string { return operations[op].name }
