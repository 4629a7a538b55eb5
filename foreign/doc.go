// Package foreign has what the Bloom filters of other systems have in common: bits, a
// rule by which a key finds its bits, and a file that the other system reads.
//
// A program imports the package of a format:
//
//	guava          Guava's BloomFilter.writeTo
//	dcso           DCSO's bloom, plain and gzipped
//	bitsandblooms  bits-and-blooms for Go, binary and JSON
//	leveldb        LevelDB's filters
//	rocksdb        RocksDB's first full filters, which are Pebble's, too
//	cassandra      Cassandra's Filter.db, read only
//	bip37          Bitcoin's filterload
//
// Each has Open, which returns a [Bloom], and New, if filters of the format can be made
// here. Three formats are no such arrays and have types of their own: parquet, whose
// filter is a bloom.Split; bip158, Golomb-coded sets; redisbloom, chains and sketches.
//
// The bits of a filter are bound to the hash and the rule that set them. A filter of one
// format cannot become one of another, nor one of package bloom, without its keys. A
// program that exchanges no files does better with package bloom: its filters are faster
// and keep the rate that they are asked for. docs/formats.md has the formats side by
// side, with the rates that they promise and keep.
//
// None of the hashes has a secret: whoever chooses the keys can make them collide.
package foreign
