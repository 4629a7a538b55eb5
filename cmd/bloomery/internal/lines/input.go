// Input, the files that are read.

package lines

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// The causes of errors beside those of the file system; errors name the file.
var (
	// ErrTooLong means that a record is longer than Input.MaxLine.
	ErrTooLong = errors.New("too long")
	// ErrCorrupt means that compressed data is corrupt or truncated.
	ErrCorrupt = errors.New("corrupt")
	// ErrFormat means that a file is compressed, or its text encoded, in a way that is
	// not read here.
	ErrFormat = errors.New("unknown format")
)

// Defaults of an Input. The block is small enough for the cache of a core and
// large enough that handing it round costs nothing beside its lines.
const (
	DefaultMaxLine = 64 << 20
	DefaultBlock   = 256 << 10
)

// Input says what is read, and how it is cut into records. It is read once.
type Input struct {
	// Files are read one after the other; "-" is Stdin, and so is no file at
	// all. The last record of a file ends with the file.
	Files []string
	// Stdin stands for standard input; nil means os.Stdin.
	Stdin io.Reader
	// Arguments says that Stdin has the arguments of a command.
	Arguments bool
	// Plain takes Stdin as it is: it is not compressed and has no mark, whatever it
	// begins with, and its errors are passed on as they are.
	Plain bool
	// Zero makes records end with NUL instead of a newline. They are raw.
	Zero bool
	// Raw takes the bytes of a file as they are. Otherwise they are text: a carriage
	// return in front of a newline, or at the end of the file, is not part of the line,
	// a byte order mark of UTF-8 is skipped, and UTF-16 is an error that wraps
	// ErrFormat. Set Key.Raw, too.
	Raw bool
	// Quoted is the delimiter of columns that may be in double quotes, as in CSV:
	// a newline within them does not end a record. Empty, quotes mean nothing.
	Quoted string
	// Header takes the first record of each file as a header: it is Batch.Header,
	// and not among the records.
	Header bool
	// Named is the key whose columns have names, which are looked up in the header
	// of each file; nil if there are none. A name that a header does not have is an
	// error that wraps ErrHeader. It needs Header.
	Named *Key
	// Second is a key of the same lines beside another, whose columns may have names as well;
	// nil if there is none. See Batch.Second.
	Second *Key
	// MaxLine is the length of the longest record that is read; 0 stands for
	// DefaultMaxLine. A longer one is an error that wraps ErrTooLong.
	MaxLine int
	// Block is how many bytes are read at once; 0 stands for DefaultBlock.
	Block int

	done atomic.Int64 // bytes of the files that were read
}

// Done returns how many bytes of the files were read so far, as they lie on the
// disk. It may be called meanwhile, from any goroutine.
func (in *Input) Done() int64 { return in.done.Load() }

// Total returns the size of all files, or 0 if it is not known, because one of
// them is not a regular file.
func (in *Input) Total() int64 {
	var total int64
	for _, name := range in.names() {
		info, err := in.stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

func (in *Input) stat(name string) (fs.FileInfo, error) {
	if name != stdinName {
		return os.Stat(name)
	}
	if f, ok := in.stdin().(*os.File); ok {
		return f.Stat()
	}
	return nil, fs.ErrInvalid
}

// stdinName stands for standard input.
const stdinName = "-"

func (in *Input) names() []string {
	if len(in.Files) == 0 {
		return []string{stdinName}
	}
	return in.Files
}

func (in *Input) stdin() io.Reader {
	if in.Stdin == nil {
		return os.Stdin
	}
	return in.Stdin
}

func (in *Input) separator() byte {
	if in.Zero {
		return 0
	}
	return '\n'
}

func (in *Input) maxLine() int {
	if in.MaxLine <= 0 {
		return DefaultMaxLine
	}
	return in.MaxLine
}

func (in *Input) block() int {
	if in.Block <= 0 {
		return DefaultBlock
	}
	return in.Block
}
