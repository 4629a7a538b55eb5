package main

import (
	"fmt"
	"math"
	"os"

	"github.com/spf13/pflag"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
)

// inputFlags say how input is cut into records.
type inputFlags struct {
	zero    bool
	maxLine number[int64]
}

func (o *inputFlags) bind(f *pflag.FlagSet) {
	o.maxLine = sizeFlag("64MiB")
	f.BoolVarP(&o.zero, "null", "0", false, "records end with NUL, not with a newline")
	f.Var(&o.maxLine, "max-line", "longest line that is read")
}

// input returns the input that the files are, for the flags.
func (o *inputFlags) input(s *shell, files []string) *lines.Input {
	return &lines.Input{Files: files, Stdin: s.in, Zero: o.zero, MaxLine: int(min(o.maxLine.value, math.MaxInt))}
}

// separator is what stands behind a record of the output.
func (o *inputFlags) separator() byte {
	if o.zero {
		return 0
	}
	return '\n'
}

// keyFlags say how keys are hashed.
type keyFlags struct {
	file string
}

func (o *keyFlags) bind(f *pflag.FlagSet) {
	f.StringVar(&o.file, "key-file", "", "`FILE` with the 16 secret bytes of a keyed hash")
}

// keySize is the length of a key of SipHash.
const keySize = 16

// hasher returns the hasher with the key, or the usual one. The key is in a
// file, since arguments and the environment can be seen by others.
func (o *keyFlags) hasher() (hashing.Hasher, error) {
	if o.file == "" {
		return hashing.Hasher{}, nil
	}
	data, err := os.ReadFile(o.file)
	if err != nil {
		return hashing.Hasher{}, fmt.Errorf("--key-file: %w", err)
	}
	if len(data) != keySize {
		return hashing.Hasher{}, hinted{
			fmt.Errorf("--key-file: %s has %d bytes, want %d", o.file, len(data), keySize),
			"make a new one with: head -c 16 /dev/urandom > new.key",
		}
	}
	return hashing.Keyed([keySize]byte(data)), nil
}
