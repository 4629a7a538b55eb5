//go:build !unix

package memory

// mapped returns memory of the heap: there is no other here.
func mapped(bytes int) ([]byte, error) { return Bytes(bytes), nil }

func unmapped([]byte) error { return nil }
