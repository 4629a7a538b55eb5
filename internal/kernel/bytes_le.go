//go:build (386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm) && !purego

package kernel

import (
	"encoding/binary"
	"unsafe"
)

// load returns the 8 bytes from byte at on. Words lie in memory as they do in
// files, so it is one instruction.
func (b *Buckets) load(at uint64) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.words)), at))[:])
}

// store changes the 8 bytes from byte at on.
func (b *Buckets) store(at, x uint64) {
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.words)), at))[:], x)
}
