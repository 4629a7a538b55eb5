package kernel

// Ahead asks for the memory of slots of a fuse filter before they are read. It
// changes nothing but the time that takes: package fuse says where slots are,
// and where it says so otherwise than this, answers are right all the same.
type Ahead struct {
	Table  *byte  // the array
	Scale  uint   // a slot has 1<<Scale bytes
	Starts uint64 // slots that a key can start in
	Length uint64 // slots of a segment
	Four   bool   // slots of a key instead of three
}

// CanPrefetch reports whether Ahead does anything here.
func CanPrefetch() bool { return hasAVX2 || hasAVX512 }

// Prefetch asks for the slots of the keys with these hashes, which are few:
// what is not read soon is gone again.
func (a *Ahead) Prefetch(hs []uint64) {
	if !CanPrefetch() || len(hs) == 0 {
		return
	}
	if a.Four {
		ahead4BMI2(a.Table, uint64(a.Scale), a.Starts, a.Length, &hs[0], len(hs))
		return
	}
	ahead3BMI2(a.Table, uint64(a.Scale), a.Starts, a.Length, &hs[0], len(hs))
}
