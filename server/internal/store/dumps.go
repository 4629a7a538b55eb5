package store

// Dumps of RedisBloom, which are loaded in pieces.

import "github.com/bloomery/bloomery/server/internal/catalog"

// dumps is the table of dumps: the operation that makes contents from the header of one, and the
// body of a piece of it, which ends at a position.
var dumps = map[catalog.Kind]struct {
	make  Op
	piece func(position int64, data []byte) Body
	grows bool // a piece may make them grow, by its length at most
}{
	catalog.Bloom:    {make: OpBloomDump, piece: func(position int64, data []byte) Body { return &BloomChunk{Position: position, Data: data} }},
	catalog.Cuckoo:   {make: OpCuckooDump, piece: func(position int64, data []byte) Body { return &CuckooChunk{Position: position, Data: data} }},
	catalog.CountMin: {make: OpCountMin, piece: func(position int64, data []byte) Body { return &CountMinChunk{Position: position, Cells: data} }},
	catalog.TopK:     {make: OpTopK, piece: func(position int64, data []byte) Body { return &TopKChunk{Position: position, Data: data} }, grows: true},
	catalog.TDigest:  {make: OpTDigest, piece: func(_ int64, data []byte) Body { return &TDigestChunk{Nodes: data} }},
	catalog.Filter:   {make: OpFilterLoad},
	catalog.Layers:   {make: OpLayers},
}

// DumpPiece returns the body that stores a piece of a dump, which ends at a position, in
// contents of a kind, and by how many bytes that may make them grow.
func DumpPiece(k catalog.Kind, position int64, data []byte) (b Body, growth uint64) {
	if dumps[k].grows {
		growth = uint64(len(data))
	}
	return dumps[k].piece(position, data), growth
}
