// Tests of the memory of dedupe, and of streams through it.

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// watched is a process, and what it writes to standard error.
func watched(t *testing.T, args ...string) (cmd *exec.Cmd, errOut *bytes.Buffer) {
	t.Helper()
	cmd, errOut = process(t, args...), new(bytes.Buffer)
	cmd.Stderr = errOut
	return cmd, errOut
}

// numberedLines writes lines that all differ.
func numberedLines(t *testing.T, n int) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	var line []byte
	for i := range n { // millions of them: Fprintf would take most of the time
		line = append(strconv.AppendInt(line[:0], int64(i), 10), ": a line of the usual length\n"...)
		_, _ = w.Write(line)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestDedupeKeepsItsMemory asks the system how much the whole process took, the
// change from hashes to a filter and spills included.
func TestDedupeKeepsItsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes memory of its own")
	}
	// late is what the collector may be behind by on a busy machine: 3% were seen with fifteen
	// programs for each processor, three times in a row.
	const limit, late = 64_000_000, 64_000_000 / 16
	for _, c := range []struct {
		lines int
		args  []string
		fits  string // shows that memory sufficed
	}{
		{2_500_000, []string{"dedupe", "--json", "--max-memory", "64M"}, `"spilled":0,`},
		{3_000_000, []string{"dedupe", "--json", "--max-memory", "64M", "--rate", "1e-6"}, `"filter":false`},
		{1_200_000, []string{"dedupe", "--json", "--max-memory", "64M", "--exact"}, `"spilled":0,`},
	} {
		args := append(c.args, numberedLines(t, c.lines))
		// Where the collector has to wait for a processor the peak is higher, and where
		// whoever looks has to, it is not seen: what is not bounded is too high every time.
		peak, errOut := dedupePeak(t, args)
		for tries := 1; (peak > limit || peak < limit/2) && tries < 3; tries++ {
			peak, errOut = dedupePeak(t, args)
		}
		if peak > limit+late || peak < limit/2 {
			t.Errorf("%q took %d bytes, want at most %d", c.args, peak, limit)
		}
		if strings.Contains(errOut, c.fits) {
			t.Errorf("%q: memory sufficed: %s", c.args, errOut)
		}
	}
}

// dedupePeak runs a command and returns the most memory that it had, and what it wrote
// to standard error.
func dedupePeak(t *testing.T, args []string) (most int, said string) {
	t.Helper()
	cmd, errOut := watched(t, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=16") // more of them hold more lines
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := make(chan int)
	go func() { peak <- peakOf(cmd.Process.Pid) }()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%q: %v, %s", args, err, errOut)
	}
	return <-peak, errOut.String()
}

// peakOf follows a process to its end and returns the most memory that it had.
// What wait returns for that is the parent's, if that is more.
func peakOf(pid int) (peak int) {
	for {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, behind, ok := strings.Cut(string(data), "VmHWM:")
		if err != nil || !ok { // it has ended
			return peak
		}
		fields := strings.Fields(behind)
		kilobytes, err := strconv.Atoi(fields[0])
		if err != nil {
			return 0
		}
		peak = max(peak, kilobytes*1024)
		time.Sleep(time.Millisecond)
	}
}

// TestDedupeStreams asks for a line before the next one is written.
func TestDedupeStreams(t *testing.T) {
	cmd, errOut := watched(t, "dedupe", "-q")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	for i := range 3 {
		fmt.Fprintf(in, "same\n%d\n", i)
		for want := range strings.Lines([]string{"same\n0\n", "1\n", "2\n"}[i]) {
			if got, err := r.ReadString('\n'); err != nil || got != want {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || errOut.Len() > 0 {
		t.Errorf("end: %v, %s", err, errOut)
	}
}

// TestDedupeOnAClosedPipe has a reader that goes away: no message, exit 141.
func TestDedupeOnAClosedPipe(t *testing.T) {
	name := numberedLines(t, 100_000)
	for _, args := range [][]string{{"dedupe"}, {"dedupe", "-q", "--exact", "--seen-memory", "256KiB", "--temp", t.TempDir()}} {
		cmd, errOut := watched(t, append(args, name)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if code := exitOf(t, cmd.Wait()); code != exitPipe || errOut.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, want %d and nothing", args, code, errOut, exitPipe)
		}
	}
}

// TestDedupeInterrupted stops in the middle: neither a state nor a temporary
// folder is left behind, and an old state is as it was.
func TestDedupeInterrupted(t *testing.T) {
	data, err := os.ReadFile(numberedLines(t, 50_000))
	if err != nil {
		t.Fatal(err)
	}
	for flag, args := range map[string][]string{
		"--state": {"--seen-memory", "64KiB", "--rate", "1e-6", "--state", "state"}, "-o": {"-o", "out"},
		"--temp": {"--seen-memory", "256KiB", "--temp", "."}, "--exact": {"--seen-memory", "256KiB", "--exact", "--temp", "."},
	} {
		dir := t.TempDir()
		cmd, errOut := watched(t, append([]string{"dedupe", "-q"}, args...)...)
		cmd.Dir = dir
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := exitOf(t, cmd.Wait()); code != exitInterrupted || errOut.String() != "bloomery: interrupted\n" {
			t.Errorf("%s: exit code %d, %q, want %d", flag, code, errOut, exitInterrupted)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", flag, left, err)
		}
	}
}

// TestDedupeUnderUlimit limits the addresses of the process: dedupe runs within them, or says before it begins what it needs.
func TestDedupeUnderUlimit(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes addresses without end")
	}
	file := numberedLines(t, 1000)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "bloomery")); err != nil { // by this name TestMain knows the command
		t.Fatal(err)
	}
	for _, c := range []struct {
		left uint64 // of addresses, in KiB
		args []string
		fits bool
	}{
		{2 << 20, nil, true},
		{2 << 20, []string{"--max-memory", "128M"}, true},
		{2 << 20, []string{"--max-memory", "4G"}, false},
		{2 << 20, []string{"--rate", "1%"}, true},
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append(append([]string{"-c", fmt.Sprintf(`ulimit -v %d && PATH=$0 && exec bloomery dedupe -q "$@"`, c.left+mappedBefore), bin}, c.args...), file)...)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		err := cmd.Run()
		if c.fits && (err != nil || !bytes.Equal(out.Bytes(), want)) {
			t.Errorf("%q with %d KiB: %v, %d bytes, %s", c.args, c.left, err, out.Len(), errOut.String())
		}
		if !c.fits && (err == nil || !strings.HasPrefix(errOut.String(), "bloomery: dedupe: ulimit -v leaves ") || !strings.Contains(errOut.String(), "\nhint: ulimit -v has to be at least ")) {
			t.Errorf("%q with %d KiB: %v, %s", c.args, c.left, err, errOut.String())
		}
	}
}

// mappedBefore is about how many KiB of addresses the program has mapped before it does something.
const mappedBefore = 2 << 20
