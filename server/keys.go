package server

// The file of secret keys.

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/bloomery/bloomery/hashing"
)

// keyBytes is the length of a secret key.
const keyBytes = 16

// readKeys reads a file of secret keys, lines such as
//
//	users = 000102030405060708090a0b0c0d0e0f
//
// with an id and 16 bytes in hexadecimal digits; empty lines and lines that begin
// with # are passed over. A file that others than its owner can read is refused.
// The errors name the line and never show a key.
func readKeys(name string) (map[string]hashing.Hasher, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("server: keys: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("server: keys: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("server: keys: %s has mode %04o, which lets others read it: chmod 600 %s", name, mode, name)
	}
	keys := map[string]hashing.Hasher{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, digits, ok := strings.Cut(line, "=")
		id = strings.TrimSpace(id)
		key, err := hex.DecodeString(strings.TrimSpace(digits))
		switch {
		case !ok || id == "" || len(id) > 64:
			return nil, fmt.Errorf("server: keys: %s, line %d: want an id of 1 to 64 bytes, = and 32 hexadecimal digits", name, n)
		case err != nil || len(key) != keyBytes:
			return nil, fmt.Errorf("server: keys: %s, line %d: the key of %q is not 32 hexadecimal digits", name, n, id)
		}
		if _, twice := keys[id]; twice {
			return nil, fmt.Errorf("server: keys: %s, line %d: %q is there twice", name, n, id)
		}
		keys[id] = hashing.Keyed([keyBytes]byte(key))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("server: keys: %s cannot be read to its end", name)
	}
	return keys, nil
}
