package envelope

import "hash/crc32"

// Sums are the checksums of a payload, one for each ChunkSize bytes.
type Sums []byte

// OpenSums returns the checksums in a table, of TableSize bytes, which it checks.
func OpenSums(table []byte) (Sums, error) { return openTable(table) }

// CheckChunk checks chunk i of the payload that the header is of. The error names its offset.
func (h Header) CheckChunk(s Sums, i uint64, data []byte) error {
	return h.checkChunk(s, int(i), crc32.Checksum(data, castagnoli))
}
