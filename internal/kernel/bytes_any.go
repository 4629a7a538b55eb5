//go:build !(386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm) || purego

package kernel

func (b *Buckets) load(at uint64) uint64 { return goLoad(b.words, at) }
func (b *Buckets) store(at, x uint64)    { goStore(b.words, at, x) }
