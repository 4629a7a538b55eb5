package ribbon

// width says how rows of one width are laid out. All of it is part of the file
// format but saved, few and spare, which are up to the builder. Overload and
// thresholds are the best of a simulation of a million keys: slots that stay
// empty cost space, and keys that are bumped cost a second lookup.
type width struct {
	bits     int    // coefficients of a row
	bucket   uint   // 2^bucket slots share a code
	bounds   uint64 // the first slot of a bucket that is kept, 16 bits for each code
	saved    int    // slots are fewer than keys by 1/1000 of this
	few      int    // up to so many keys, a layer has room for all of them
	spare    int    // for few keys, 1/spare more slots than keys, and bits more
	inserter func() band
}

// The codes of a bucket.
const (
	codeNone   = 0 // no key is kept
	codeLess   = 1 // keys from the higher bound on
	codeMore   = 2 // keys from the lower bound on
	codeAll    = 3 // all keys
	codeBits   = 2
	perCodes   = 64 / codeBits // codes in a word
	blockSlots = 64
)

// widths are the widths of rows by their number of words.
var widths = [...]width{
	1: {
		bits: 64, bucket: 7, bounds: bounds(128, 37, 15), saved: 50, few: 1024, spare: 16,
		inserter: func() band { return new(band64) },
	},
	2: {
		bits: 128, bucket: 9, bounds: bounds(512, 87, 41), saved: 35, few: 2048, spare: 32,
		inserter: func() band { return new(band128) },
	},
}

func bounds(none, less, more uint64) uint64 {
	return none<<(16*codeNone) | less<<(16*codeLess) | more<<(16*codeMore)
}

// words returns the number of words of coefficients.
func (w *width) words() int { return w.bits / 64 }

// bound returns the first slot of a bucket whose keys are kept.
func (w *width) bound(code uint64) uint64 { return w.bounds >> (16 * code & 63) & 0xffff }

// blocks returns how many blocks of slots a layer for n keys has.
func (w *width) blocks(n int) int {
	slots := n - int(int64(n)*int64(w.saved)/1000)
	if n <= w.few {
		slots = n + n/w.spare + w.bits
	}
	return max((slots+blockSlots/2)/blockSlots, w.words()+1)
}

// layer is one table of slots: a row reaches over some of them.
//
//	block    0            1                        narrow
//	cols   [ r words    ][ r words    ] ...      [ r+1 words    ] ...
//	          |
//	       word j has bit j of the 64 slots of the block
//	codes  2 bits for each bucket: which of the keys that begin in it are here
type layer struct {
	span
	cols  []uint64
	codes []uint64
}

// span is what a layer is beside its memory.
type span struct {
	starts uint64 // rows begin at slots below this, so that they end within the table
	narrow int    // blocks that have r columns; those behind have one more
}

// shape is the size of a layer.
type shape struct{ blocks, narrow int }

// colWords returns how many words the columns take.
func (s shape) colWords(r int) int { return s.blocks*r + s.blocks - s.narrow }

// words returns how many words the layer takes.
func (s shape) words(w *width, r int) int { return s.colWords(r) + codeWordsFor(s.blocks, w) }

// span returns what is the same in all layers of this shape.
func (s shape) span(w *width) span { return span{startsOf(s.blocks, w), s.narrow} }

// startsOf returns the number of slots that a row can begin at.
func startsOf(blocks int, w *width) uint64 { return uint64(blocks)*blockSlots - uint64(w.bits) }

// bucketsOf returns the number of buckets in so many blocks.
func bucketsOf(blocks int, w *width) uint64 { return (startsOf(blocks, w)-1)>>w.bucket + 1 }

// codeWordsFor returns how many words the codes of so many blocks take.
func codeWordsFor(blocks int, w *width) int {
	return int(bucketsOf(blocks, w)+perCodes-1) / perCodes
}

// newLayer returns the layer of shape s that lies at the start of words, and
// the rest of them.
func newLayer(s shape, r int, w *width, words []uint64) (layer, []uint64) {
	c, d := s.colWords(r), codeWordsFor(s.blocks, w)
	return layer{
		span:  s.span(w),
		cols:  words[:c:c],
		codes: words[c : c+d : c+d],
	}, words[c+d:]
}

// at returns where the columns of a block begin in a table of r columns.
func (s *span) at(block, r int) int { return block*r + max(0, block-s.narrow) }

// columns returns how many columns a block has in a table of r columns. It has
// no branches.
func (s *span) columns(block, r int) int {
	return r + int(uint64(int64(s.narrow)-1-int64(block))>>63)
}

// keeps reports whether keys that begin at start are in this layer. It has no
// branches.
func (l *layer) keeps(start uint64, w *width) bool {
	return w.keeps(start, codeOf(l.codes, start>>(w.bucket&63)))
}

// keeps reports whether a bucket with this code keeps the keys that begin at start.
func (w *width) keeps(start, code uint64) bool {
	return start&(1<<(w.bucket&63)-1) >= w.bound(code)
}

// codeOf returns the code of a bucket.
func codeOf(codes []uint64, bucket uint64) uint64 {
	return codes[bucket/perCodes] >> (bucket % perCodes * codeBits) & 3
}
