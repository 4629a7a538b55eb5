package bloomery

// Far is a filter that is asked where it lies, in a file or behind a network, and never read as
// a whole: a lookup reads the cache lines of its key, one for most kinds. Config.At of bloom, fuse
// and ribbon makes one, codec.Config.At one of any kind that can be asked so.
//
// Opening reads and checks the header, and the directory of the shards if there is one. A
// checksum covers a MiB of the array, so the answer to a lookup is not verified: a corrupt
// array can cause false negatives. VerifyHashes reads the MiB around each key, once.
//
// The filter must stay as it is while it is asked. Errors are those of the reader, or wrap
// ErrCorrupt.
//
// Safe for concurrent use.
type Far interface {
	// Hash returns the filter's hash of key.
	Hash(key []byte) uint64
	// Ask looks key up.
	Ask(key []byte) (Answer, error)
	// AskHash is Ask for a key whose hash is h.
	AskHash(h uint64) (Answer, error)
	// AskHashes sets dst[i] to the answer for hs[i]. Lines that lie within 64 KiB of each other
	// are read in one go of at most 4 MiB, and up to 8 reads are under way at once. It panics
	// if dst is shorter than hs. After an error dst means nothing.
	AskHashes(dst []Answer, hs []uint64) error
	// AskKeys is AskHashes for keys.
	AskKeys(dst []Answer, keys [][]byte) error

	// VerifyHashes reads the parts of the array that the answers for hs come from, a MiB at a
	// time, and checks them. What was checked is remembered, and answers that come from it
	// are verified from then on, as far as the reader returns the same bytes again.
	VerifyHashes(hs []uint64) error
	// Verify checks the whole array, a MiB at a time.
	Verify() error

	// Stats describes the filter by its header: it does not say how full it is.
	Stats() Stats
	// Reads returns how many reads there were so far, and of how many bytes.
	Reads() (reads, bytes uint64)
}

// Answer is what a Far knows of a key.
type Answer struct {
	// Found reports whether the key may be in the set. False is certain if Verified is true.
	Found bool
	// Verified reports whether all that was read for the answer agreed with its checksums.
	Verified bool
}
