// Sessions at a terminal, from testdata/script.

package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts in testdata/script: each is a session at a
// terminal, with what must come out.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", noSleep)
			env.Setenv("MUTANT", os.Getenv("MUTANT")) // of bench/cmd/mutants
			var many strings.Builder
			for i := range 300 {
				fmt.Fprintf(&many, "line%d\n", i)
			}
			// The archive cannot hold the other bytes.
			for name, data := range map[string]string{
				"zero.bin": "alice\x00bob", "noend.txt": "zoe\nalice", "many.txt": many.String(),
				"words.gz": gzipped("alice\nbob\n"), "words.zst": zstandard("alice\nbob\n"),
				"words.bz2": bzipped, "words.xz": "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F", "crlf.txt": "alice\r\nzoe\r\n",
				"da-Filter.db": "\x00\x00\x00\x05\x00\x00\x00\x02\x84\x42\x21\x06\x00\x01\x04\x00\x00\xa6\x02\x20\x04\x00\xc0\x08", // of Cassandra 5.0, with the texts 0 to 4
			} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(data), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    scriptExits,
			"damage":   scriptDamage,
			"truncate": scriptTruncate,
		},
	})
}

// scriptExits runs a command that must end with an exit code: exits 3 command.
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("the command does not exit with %s: %v", args[0], err)
	}
	if got := exit.ExitCode(); got != toInt(ts, args[0]) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// scriptDamage flips a bit of a file: damage file offset.
func scriptDamage(ts *testscript.TestScript, _ bool, args []string) {
	name, n := ts.MkAbs(args[0]), toInt(ts, args[1])
	data, err := os.ReadFile(name)
	ts.Check(err)
	data[n] ^= 0x10
	ts.Check(os.WriteFile(name, data, 0o600))
}

// scriptTruncate cuts a file off: truncate file size.
func scriptTruncate(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(toInt(ts, args[1]))))
}

func toInt(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	ts.Check(err)
	return n
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // to memory
	_ = w.Close()
	return b.String()
}

// bzipped is "alice\nbob\n", compressed by bzip2: the standard library only reads
// it.
const bzipped = "BZh91AY&SY\xc6\xcc\rd\x00\x00\x01A\x00\x00\x10:$\xa0\x001\x0c\b \xd1\x9a\x8b\x91\x92\x01\xe2\xeeH\xa7\n\x12\x18\xd9\x81\xac\x80"

func zstandard(text string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // there are no options
	}
	return string(w.EncodeAll([]byte(text), nil))
}
