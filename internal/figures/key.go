package figures

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
)

// ReadKey reads a secret key of so many bytes from a file of that name: the bytes as they are,
// or twice as many hexadecimal digits with a line end or none. The errors name the file and
// never show a key.
func ReadKey(name string, file io.Reader, size int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, int64(2*size+len("\r\n")+1))) // one more than a key has
	if err != nil {
		return nil, err
	}
	key, ok := Key(data, size)
	if !ok {
		return nil, fmt.Errorf("%s has neither %d bytes nor %d hexadecimal digits", name, size, 2*size)
	}
	return key, nil
}

// Key is ReadKey for what a file has; false if that is no key.
func Key(data []byte, size int) ([]byte, bool) {
	if len(data) == size {
		return data, true
	}
	digits := bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
	key := make([]byte, size)
	if len(digits) != 2*size {
		return nil, false
	}
	if _, err := hex.Decode(key, digits); err != nil {
		return nil, false
	}
	return key, true
}
