package lines_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collect returns all records of in, as strings.
func collect(t *testing.T, in *lines.Input, workers int) ([]string, error) {
	t.Helper()
	var got []string
	err := lines.Process(t.Context(), in, workers, func(b *lines.Batch, sum *int) error {
		*sum = len(b.Records)
		return nil
	}, func(b *lines.Batch, sum *int) error {
		if *sum != len(b.Records) {
			t.Errorf("a batch of %d records came with the scratch of another, %d", len(b.Records), *sum)
		}
		for _, r := range b.Records {
			got = append(got, string(r))
		}
		if all := b.Span(0, len(b.Records)); !bytes.Equal(all, b.Data) {
			t.Errorf("Span of all is %q, Data %q", all, b.Data)
		}
		return nil
	})
	return got, err
}

func TestRecords(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		text string
		zero bool
		want []string
	}{
		{"", false, nil},
		{"\n", false, []string{""}},
		{"a", false, []string{"a"}},
		{"a\n", false, []string{"a"}},
		{"a\nb", false, []string{"a", "b"}},
		{"a\n\nb\n", false, []string{"a", "", "b"}},
		{"\x00\xff\n", false, []string{"\x00\xff"}},
		{"a\nb\x00c", true, []string{"a\nb", "c"}},
		{"\x00\x00", true, []string{"", ""}},
		{long + "\n" + long, false, []string{long, long}},
		{"a\n" + long + "\nb", false, []string{"a", long, "b"}},
		{"\x1f", false, []string{"\x1f"}},
		{"P*", false, []string{"P*"}},
		{"\x28\xb5\nx", false, []string{"\x28\xb5", "x"}},
	} {
		for _, block := range []int{1, 2, 7, 64, 0} {
			for name, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.text),
				"bytes": iotest.OneByteReader(strings.NewReader(c.text)),
				"eof":   iotest.DataErrReader(strings.NewReader(c.text)),
			} {
				got, err := collect(t, &lines.Input{Stdin: r, Zero: c.zero, Block: block}, 2)
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%q, blocks of %d, %s: %q, %v, want %q", c.text, block, name, got, err, c.want)
				}
			}
		}
	}
}

// TestOrder reads many random lines with workers that take their time.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	var want []string
	for i := range 20_000 {
		line := fmt.Sprint(i, " ", strings.Repeat("y", random.IntN(60)))
		want = append(want, line)
		text.WriteString(line + "\n")
	}
	for _, workers := range []int{0, 1, 3, 8} {
		in := &lines.Input{Stdin: bytes.NewReader(text.Bytes()), Block: 4096}
		got, err := collect(t, in, workers)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d workers: %d lines, %v, want %d in order", workers, len(got), err, len(want))
		}
		if in.Done() != int64(text.Len()) {
			t.Errorf("Done() = %d, want %d", in.Done(), text.Len())
		}
	}
}

func packed(t *testing.T, format, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	switch format {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zstd":
		z, err := zstd.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return []byte(text)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestCompressedAsItComes reads compressed text in whole and byte by byte: of one
// byte, behind frames to be skipped, and what only looks like such a frame.
func TestCompressedAsItComes(t *testing.T) {
	frame := func(first byte, length string) string {
		return string(first) + "\x2a\x4d\x18" + length + "\x00\x00\x00" + "any\n" + string(packed(t, "zstd", "a\nb"))
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"gzip of a byte":      {string(packed(t, "gzip", "a")), []string{"a"}},
		"zstd of a byte":      {string(packed(t, "zstd", "a")), []string{"a"}},
		"zstd of nothing":     {string(packed(t, "zstd", "")), nil},
		"the first skipped":   {frame('\x50', "\x04"), []string{"a", "b"}},
		"the last skipped":    {frame('\x5f', "\x04"), []string{"a", "b"}},
		"another first byte":  {"\x40\x2a\x4d\x18\nx", []string{"\x40\x2a\x4d\x18", "x"}},
		"another second byte": {"\x50\x2b\x4d\x18\nx", []string{"\x50\x2b\x4d\x18", "x"}},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text))} {
			got, err := collect(t, &lines.Input{Stdin: r}, 1)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
			}
		}
	}
}

// TestWindow reads zstd that asks for the memory of zstd --long, and refuses what
// asks for more.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		window byte
		want   error
	}{{0x88, nil}, {0x89, lines.ErrCorrupt}, {0x90, lines.ErrCorrupt}, {0xff, lines.ErrCorrupt}} {
		text := "\x28\xb5\x2f\xfd\x00" + string([]byte{c.window}) + "\x11\x00\x00a\n"
		got, err := collect(t, &lines.Input{Stdin: strings.NewReader(text)}, 1)
		if !errors.Is(err, c.want) || err == nil && !slices.Equal(got, []string{"a"}) {
			t.Errorf("window %#x: %q, %v, want %v", c.window, got, err, c.want)
		}
	}
}

// reads counts the reads of a reader.
type reads struct {
	r io.Reader
	n int
}

func (r *reads) Read(p []byte) (int, error) {
	r.n++
	return r.r.Read(p)
}

// TestReads asks for reads of whole blocks.
func TestReads(t *testing.T) {
	text := strings.Repeat("some line\n", 10_000)
	for block, most := range map[int]int{0: 4, -1: 4, 1 << 10: 110} {
		r := &reads{r: strings.NewReader(text)}
		got, err := collect(t, &lines.Input{Stdin: r, Block: block}, 1)
		if err != nil || len(got) != 10_000 || r.n > most {
			t.Errorf("blocks of %d: %d lines in %d reads, %v, want up to %d reads", block, len(got), r.n, err, most)
		}
	}
}

// idle is a reader that brings nothing and does not end.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestIdleReader(t *testing.T) {
	for _, text := range []string{"", "a\nline"} {
		_, err := collect(t, &lines.Input{Stdin: io.MultiReader(strings.NewReader(text), idle{})}, 1)
		if !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%q and then nothing: %v, want %v", text, err, io.ErrNoProgress)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	var files, want []string
	var size int64
	text := strings.Repeat("some line\n", 5000) + "no end"
	for i, format := range []string{"plain", "gzip", "zstd", "plain"} {
		name := filepath.Join(dir, strconv.Itoa(i))
		data := packed(t, format, text)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
		size += int64(len(data))
		want = append(want, strings.Split(text, "\n")...)
	}
	in := &lines.Input{Files: files}
	if got := in.Total(); got != size {
		t.Errorf("Total() = %d, want %d", got, size)
	}
	if got, err := collect(t, in, 2); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d lines, %v, want %d", len(got), err, len(want))
	}
	if got := in.Done(); got != size {
		t.Errorf("Done() = %d, want %d", got, size)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := (&lines.Input{Stdin: f}).Total(); got != int64(len(text)) {
		t.Errorf("Total() with a file as standard input = %d, want %d", got, len(text))
	}
	in = &lines.Input{Files: []string{files[1], "-", files[1]}, Stdin: bytes.NewReader(append(packed(t, "gzip", "one\n"), packed(t, "gzip", "two\n")...))}
	if got := in.Total(); got != 0 {
		t.Errorf("Total() with a pipe = %d, want 0", got)
	}
	got, err := collect(t, in, 1)
	if n := 5001; err != nil || len(got) != 2*n+2 || got[n] != "one" || got[n+1] != "two" {
		t.Errorf("gzip, standard input, gzip: %d lines, %v", len(got), err)
	}
}

// TestStart asks for the marks that a caller separates files by.
func TestStart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("head\none\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var firsts []string
	var offset int64
	err := lines.Process(t.Context(), &lines.Input{Files: []string{name, name}, Block: 5}, 2, nil, func(b *lines.Batch, _ *struct{}) error {
		if b.First {
			firsts = append(firsts, string(b.Records[0]))
			offset = 0
		}
		if b.Offset != offset || b.Name != name {
			t.Errorf("a batch of %s begins at %d, want %s at %d", b.Name, b.Offset, name, offset)
		}
		offset += int64(len(b.Data))
		return nil
	})
	if want := []string{"head", "head"}; err != nil || !slices.Equal(firsts, want) {
		t.Errorf("files begin with %q, %v, want %q", firsts, err, want)
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("not quite random text 0123456789\n", 20_000)
	file := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	gz, zst := packed(t, "gzip", text), packed(t, "zstd", text)
	flipped := slices.Clone(gz)
	flipped[len(flipped)-6] ^= 1
	for _, c := range []struct {
		name string
		want error
		text string
	}{
		{filepath.Join(dir, "nothing"), fs.ErrNotExist, "no such file"},
		{dir, nil, "is a directory"},
		{file("cut.gz", gz[:len(gz)/2]), lines.ErrCorrupt, "truncated"},
		{file("head.gz", gz[:5]), lines.ErrCorrupt, "truncated"},
		{file("cut.zst", zst[:len(zst)/2]), lines.ErrCorrupt, "truncated"},
		{file("flipped.gz", flipped), lines.ErrCorrupt, "checksum"},
		{file("behind.gz", append(slices.Clone(gz), "garbage"...)), lines.ErrCorrupt, "gzip"},
	} {
		_, err := collect(t, &lines.Input{Files: []string{c.name}}, 2)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Count(err.Error(), c.name) != 1 {
			t.Errorf("%s: %v, want %v, %q and the name once", c.name, err, c.want, c.text)
		}
	}
	failure := errors.New("cable pulled")
	got, err := collect(t, &lines.Input{Stdin: io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(failure))}, 2)
	if !errors.Is(err, failure) || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("a reader that fails: %q, %v", got, err)
	}
}

func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"12345678\n12345678", true},
		{"12345678\r\n12345678\r", true},
		{"1\n123456789\n", false},
		{"1\n123456789", false},
		{strings.Repeat("x", 100_000), false},
	} {
		for _, block := range []int{1, 0} {
			_, err := collect(t, &lines.Input{Stdin: strings.NewReader(c.text), MaxLine: 8, Block: block}, 2)
			if c.ok && err != nil || !c.ok && !errors.Is(err, lines.ErrTooLong) {
				t.Errorf("%.20q in blocks of %d: %v, fine: %v", c.text, block, err, c.ok)
			}
		}
	}
	_, err := collect(t, &lines.Input{Stdin: strings.NewReader("1\n123456789"), MaxLine: 8}, 1)
	if want := "byte 2 has more than 8 bytes"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestStop ends early from every place. The reader that blocks for ever is let
// go at the end, for the check of leaks.
func TestStop(t *testing.T) {
	stop := errors.New("stop")
	endless := func() (*io.PipeReader, *io.PipeWriter) {
		r, w := io.Pipe()
		go func() {
			for {
				if _, err := w.Write([]byte("line\nline\n")); err != nil {
					return
				}
			}
		}()
		return r, w
	}
	fails := func(*lines.Batch, *int) error { return stop }
	fine := func(*lines.Batch, *int) error { return nil }
	r, w := endless()
	if err := lines.Process(t.Context(), &lines.Input{Stdin: r}, 2, fails, fine); !errors.Is(err, stop) {
		t.Errorf("work fails: %v", err)
	}
	if err := lines.Process(t.Context(), &lines.Input{Stdin: r}, 2, fine, fails); !errors.Is(err, stop) {
		t.Errorf("emit fails: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := lines.Process(ctx, &lines.Input{Stdin: r}, 2, fine, fine); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	_ = w.CloseWithError(io.EOF)
	silent, w := io.Pipe()
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := lines.Process(ctx, &lines.Input{Stdin: silent}, 2, fine, fine); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled while a read blocks: %v", err)
	}
	_ = w.CloseWithError(io.EOF)
}

// TestAtOnce asks that a line on a pipe is handed on before the next arrives.
func TestAtOnce(t *testing.T) {
	r, w := io.Pipe()
	seen := make(chan string)
	done := make(chan error)
	go func() {
		done <- lines.Process(t.Context(), &lines.Input{Stdin: r}, 2, nil, func(b *lines.Batch, _ *int) error {
			seen <- string(b.Records[0])
			return nil
		})
	}()
	for _, line := range []string{"a", "", "second"} {
		if _, err := w.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
	_ = w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSteadyMemory(t *testing.T) {
	text := strings.Repeat("a line of some length\n", 200_000)
	run := func(n int) float64 {
		return testing.AllocsPerRun(3, func() {
			in := &lines.Input{Stdin: strings.NewReader(text[:n]), Block: 16 << 10}
			if err := lines.Process(t.Context(), in, 2, nil, func(*lines.Batch, *int) error { return nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	// Both have every slot in use; the longer input has 7 times the batches.
	if short, long := run(len(text)/8), run(len(text)); long > short+20 {
		t.Errorf("%v allocations for %d bytes, %v for %d", short, len(text)/8, long, len(text))
	}
}

// modelOf returns the records of a text, or that it is UTF-16.
func modelOf(text string, zero, raw bool) (records []string, is16 bool) {
	separator := "\n"
	if zero {
		separator, raw = "\x00", true
	}
	if !raw {
		var nuls string // where the first four bytes have them
		for i := range min(4, len(text)) {
			nuls += strconv.FormatBool(text[i] == 0)
		}
		if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") || nuls == "falsetruefalsetrue" || nuls == "truefalsetruefalse" {
			return nil, true
		}
		text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	}
	if text == "" {
		return nil, false
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, separator), separator) {
		if !raw {
			line = strings.TrimSuffix(line, "\r")
		}
		records = append(records, line)
	}
	return records, false
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), uint8(3), false, false)
	f.Add([]byte("\x1f\x8b"), uint8(1), true, false)
	f.Add([]byte("\xef\xbb\xbfa\r\nb\r\r\n\r\nc\rd\r"), uint8(5), false, false)
	f.Add([]byte("a\r\nb\r"), uint8(2), false, true)
	f.Add([]byte("a\x00\n\x00"), uint8(1), false, false)
	f.Fuzz(func(t *testing.T, data []byte, block uint8, zero, raw bool) {
		if bytes.HasPrefix(data, []byte("\x1f\x8b")) || bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) || len(data) > 3 && string(data[1:4]) == "\x2a\x4d\x18" {
			// Compressed: no panic, whatever comes out.
			_, _ = collect(t, &lines.Input{Stdin: bytes.NewReader(data), Zero: zero, Raw: raw}, 1)
			return
		}
		want, is16 := modelOf(string(data), zero, raw)
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data))} {
			got, err := collect(t, &lines.Input{Stdin: r, Zero: zero, Raw: raw, Block: int(block)}, 2)
			if is16 != errors.Is(err, lines.ErrFormat) || !is16 && (err != nil || !slices.Equal(got, want)) {
				t.Errorf("%q: %q, %v, want %q, or that it is UTF-16: %t", data, got, err, want, is16)
			}
		}
	})
}

func BenchmarkProcess(b *testing.B) {
	text := bytes.Repeat([]byte("a line of some 45 characters, as in a corpus\n"), 1<<20)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				err := lines.Process(b.Context(), &lines.Input{Stdin: bytes.NewReader(text)}, workers, nil, func(batch *lines.Batch, _ *int) error {
					n += len(batch.Records)
					return nil
				})
				if err != nil || n != 1<<20 {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.N)*(1<<20)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
