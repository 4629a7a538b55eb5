package sizing

import (
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
)

const (
	// FuseShardKeys is how many keys a binary fuse filter has in one shard at
	// most: lookups that must choose a shard take 1.3 times as long.
	FuseShardKeys = 1 << 27
	// MinFuseLog makes a segment a cache line of 8-bit fingerprints at least.
	MinFuseLog = 6
	// MaxFuseLog3 is the longest segment that hashes have bits for, if a key
	// has 3 slots.
	MaxFuseLog3 = 18
	// MaxFuseLog4 is MaxFuseLog3 for 4 slots.
	MaxFuseLog4 = 15
)

// Fuse is the size of a binary fuse filter: shards of about the same size, and the
// width of the fingerprints in their slots.
//
// Safe for concurrent use.
type Fuse struct {
	Shard  FuseShard
	Shards uint // binary logarithm of their number
	Width  int  // bits of a fingerprint: 8, 16 or 32
}

// FuseSize returns the size of a binary fuse filter for n keys at rate p, with the
// narrowest fingerprints that keep it. Arity is 3 or 4. The error wraps ErrParameter.
func FuseSize(n uint64, p float64, arity int) (Fuse, error) {
	if arity != 3 && arity != 4 {
		return Fuse{}, refuse("fuse", bloomery.ErrParameter, "arity %d is neither 3 nor 4", arity)
	}
	f := Fuse{Width: 8}
	for f.Rate() > p && f.Width < 32 {
		f.Width *= 2
	}
	if !(p < 1 && f.Rate() <= p) {
		return Fuse{}, refuse("fuse", bloomery.ErrParameter, "rate %v is not between %.2g and 1", p, Fuse{Width: 32}.Rate())
	}
	if n > FuseShardKeys {
		f.Shards = uint(bits.Len64((n - 1) / FuseShardKeys))
	}
	f.Shard = FuseShardSize(n>>f.Shards, arity)
	return f, nil
}

// Bits returns the size of the arrays, within a part in a thousand: shards differ a
// little in size.
func (f Fuse) Bits() uint64 { return f.Shard.Slots() << f.Shards * uint64(max(f.Width, 0)) }

// Rate returns the false positive rate, which is the same at any number of keys: 1
// for fingerprints of no bits or fewer.
func (f Fuse) Rate() float64 { return math.Ldexp(1, -max(f.Width, 0)) }

// FuseShard is the size of a shard of a binary fuse filter. One without segments
// holds no keys.
//
// Safe for concurrent use.
type FuseShard struct {
	Arity    int  // slots of a key, 3 or 4, in neighbouring segments
	Log      uint // binary logarithm of the slots of a segment
	Segments int
}

// Slots returns the number of slots, each of which has a fingerprint.
func (s FuseShard) Slots() uint64 { return uint64(s.Segments) << s.Log }

// FuseShardSize returns the size that a shard of n different keys takes at the first
// try of its build; later ones, if that fails, may take more. Arity is 3 or 4.
func FuseShardSize(n uint64, arity int) FuseShard {
	s := FuseShard{Arity: arity}
	if n == 0 {
		return s
	}
	rows := &fuse3
	if arity == 4 {
		rows = &fuse4
	}
	i := min(bits.Len64(n)-1, len(rows)-2)
	a, b := rows[i], rows[i+1]
	// Between two rows, by proportion: whole numbers, the same on every CPU.
	part := min(n-1<<i, 1<<i) << 10 >> i // of 1024
	perKey := a.slots - (a.slots-b.slots)*part>>10
	s.Log = a.log
	length := uint64(1) << s.Log
	hi, lo := bits.Mul64(n, perKey)
	slots := hi<<54 | lo>>10
	s.Segments = max(int((slots+length/2)/length), arity)
	return s
}

// fuseRow says what 2^i keys take, in row i: found by simulation, as about the
// least with which nine of ten builds succeed at once. Longer segments fail
// less for two keys that have all slots in common, shorter ones for the
// number of segments, which the build begins at the ends of.
type fuseRow struct {
	log   uint   // of the length of a segment
	slots uint64 // for 1024 keys
}

var fuse3 = [...]fuseRow{
	{6, 4096},  // 2^0
	{6, 4096},  // 2^1
	{6, 4096},  // 2^2
	{6, 4096},  // 2^3
	{6, 4096},  // 2^4
	{6, 4096},  // 2^5
	{6, 3072},  // 2^6
	{6, 1600},  // 2^7
	{6, 1540},  // 2^8
	{6, 1500},  // 2^9
	{7, 1424},  // 2^10
	{7, 1360},  // 2^11
	{8, 1344},  // 2^12
	{8, 1290},  // 2^13
	{9, 1256},  // 2^14
	{9, 1236},  // 2^15
	{10, 1208}, // 2^16
	{11, 1190}, // 2^17
	{11, 1182}, // 2^18
	{12, 1164}, // 2^19
	{13, 1153}, // 2^20
	{13, 1151}, // 2^21
	{14, 1147}, // 2^22
	{14, 1144}, // 2^23
	{14, 1142}, // 2^24
	{15, 1140}, // 2^25
	{16, 1140}, // 2^26
	{16, 1140}, // 2^27
	{16, 1140}, // 2^28
}

var fuse4 = [...]fuseRow{
	{6, 4096},  // 2^0
	{6, 4096},  // 2^1
	{6, 4096},  // 2^2
	{6, 4096},  // 2^3
	{6, 4096},  // 2^4
	{6, 4096},  // 2^5
	{6, 4096},  // 2^6
	{6, 2048},  // 2^7
	{6, 1540},  // 2^8
	{6, 1540},  // 2^9
	{6, 1412},  // 2^10
	{6, 1334},  // 2^11
	{7, 1292},  // 2^12
	{8, 1252},  // 2^13
	{9, 1218},  // 2^14
	{9, 1174},  // 2^15
	{10, 1156}, // 2^16
	{11, 1138}, // 2^17
	{11, 1118}, // 2^18
	{12, 1108}, // 2^19
	{13, 1097}, // 2^20
	{13, 1088}, // 2^21
	{14, 1080}, // 2^22
	{14, 1075}, // 2^23
	{14, 1073}, // 2^24
	{15, 1071}, // 2^25
	{15, 1070}, // 2^26
	{15, 1070}, // 2^27
	{15, 1070}, // 2^28
}
