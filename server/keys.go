package server

// The file of secret keys.

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/figures"
)

// keyBytes is the length of a secret key.
const keyBytes = 16

// secretKeys are the keys of a file by their ids, and the patterns of the names of
// filters that may have them.
type secretKeys struct {
	hashers map[string]hashing.Hasher
	names   map[string][]string
}

// readKeys reads a file of secret keys, lines such as
//
//	users ~users:* ~staff = 000102030405060708090a0b0c0d0e0f
//
// with an id, patterns of the names of filters that may have the key, and 16 bytes in
// hexadecimal digits, or @ and the name of a file that has them; empty lines and lines that begin with # are passed over. A file
// that others than its owner can read is refused. The errors name the line and never
// show a key.
func readKeys(name string) (keys secretKeys, err error) {
	f, err := os.Open(name)
	if err != nil {
		return keys, fmt.Errorf("server: keys: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return keys, fmt.Errorf("server: keys: %w", err)
	}
	if err := onlyOwner(name, info); err != nil {
		return keys, fmt.Errorf("server: keys: %w", err)
	}
	keys = secretKeys{map[string]hashing.Hasher{}, map[string][]string{}}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := keys.add(line); err != nil {
			return keys, fmt.Errorf("server: keys: %s, line %d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return keys, fmt.Errorf("server: keys: %s cannot be read to its end", name)
	}
	return keys, nil
}

// onlyOwner refuses a file that others than its owner can read. Its group may read one of root's:
// that is how a secret of the system reaches the user of the server, in Kubernetes for one.
func onlyOwner(name string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); openToOthers(mode, ofRoot(info), os.Geteuid() == 0) && runtime.GOOS != "windows" {
		return fmt.Errorf("%s has mode %04o, which lets others read it: chmod 600 %s", name, mode, name)
	}
	return nil
}

// openToOthers reports whether a mode lets too many read a secret.
func openToOthers(mode fs.FileMode, ofRoot, weAreRoot bool) bool {
	if ofRoot && !weAreRoot {
		return mode&0o037 != 0
	}
	return mode&0o077 != 0
}

var errKeyLine = errors.New("want an id of 1 to 64 bytes, patterns of names that begin with ~ or none, = and 32 hexadecimal digits, or @FILE")

// secretKey is the key behind the sign of a line: digits, or @ and the name of a file that has
// it, such as bloomery build --key-file reads.
func secretKey(text string) ([]byte, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		if key, ok := figures.Key([]byte(text), keyBytes); ok && len(text) != keyBytes {
			return key, nil
		}
		return nil, errors.New("want 32 hexadecimal digits, or @ and the name of a file with them or with the 16 bytes")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := onlyOwner(name, info); err != nil {
		return nil, err
	}
	return figures.ReadKey(name, f, keyBytes)
}

// add adds the key of a line.
func (k *secretKeys) add(line string) error {
	at := strings.LastIndexByte(line, '=') // a pattern may have one
	if at < 0 {
		return errKeyLine
	}
	words := strings.Fields(line[:at])
	if len(words) == 0 || len(words[0]) > 64 || words[0][0] == '~' {
		return errKeyLine
	}
	id := words[0]
	key, err := secretKey(strings.TrimSpace(line[at+1:]))
	if err != nil {
		return fmt.Errorf("the key of %q: %w", id, err)
	}
	if _, twice := k.hashers[id]; twice {
		return fmt.Errorf("%q is there twice", id)
	}
	for _, word := range words[1:] {
		pattern, ok := strings.CutPrefix(word, "~")
		if !ok || pattern == "" {
			return errKeyLine
		}
		k.names[id] = append(k.names[id], pattern)
	}
	k.hashers[id] = hashing.Keyed([keyBytes]byte(key))
	return nil
}
