//go:build !linux

package folder

// What is not asked of other systems.

func evict(string) {}

func free(string) (bytes uint64, known bool) { return 0, false }
