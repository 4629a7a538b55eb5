package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec/file"
)

// webFolder is a folder with a filter of some words, as a plain file server has it.
func webFolder(t *testing.T) (dir string, f *bloom.Filter) {
	t.Helper()
	dir, f = t.TempDir(), bloom.New(200_000, 0.01)
	for i := range 200_000 {
		f.AddString(fmt.Sprint("word ", i))
	}
	if err := file.WriteFile(filepath.Join(dir, "words.bf"), f); err != nil {
		t.Fatal(err)
	}
	return dir, f
}

// checked runs check with arguments and lines, and returns what it prints.
func checked(t *testing.T, lines string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	root := newRoot(nil)
	root.SetArgs(append([]string{"check"}, args...))
	root.SetIn(strings.NewReader(lines))
	root.SetOut(&out)
	root.SetErr(&errOut)
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// TestCheckAddress asks a filter on a plain file server: 64 bytes a value, verified or not, in
// batches, and with the lines in their order.
func TestCheckAddress(t *testing.T) {
	dir, _ := webFolder(t)
	var requests, sent atomic.Int64
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(&counted{w, &sent}, r)
	}))
	defer server.Close()
	address := server.URL + "/words.bf"
	out, said, err := checked(t, "", address, "word 7", "nobody", "word 199999")
	if err != nil || out != "word 7\nword 199999\n" || !strings.Contains(said, "not verified by checksums") {
		t.Errorf("%q, %q, %v", out, said, err)
	}
	if n, size := requests.Load(), sent.Load(); n > 4 || size > 64+3*64 {
		t.Errorf("%d requests, %d bytes for 3 values", n, size)
	}
	out, said, err = checked(t, "", "--verify", address, "word 7")
	if err != nil || out != "word 7\n" || !strings.Contains(said, ", verified") {
		t.Errorf("verified: %q, %q, %v", out, said, err)
	}
	var lines, want strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, "word %d\nnothing %d\n", i, i)
		fmt.Fprintf(&want, "word %d\n", i)
	}
	out, _, err = checked(t, lines.String(), address)
	local, _, localErr := checked(t, lines.String(), filepath.Join(dir, "words.bf"))
	if err != nil || localErr != nil || out != local || len(out) < want.Len() {
		t.Errorf("%d bytes of lines, %d of the file here: %v, %v", len(out), len(local), err, localErr)
	}
	if _, _, err := checked(t, "", address, "certainly absent"); !errors.Is(err, errNo) {
		t.Errorf("an absent value: %v", err)
	}
}

// counted counts the bytes of a body.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// TestCheckAddressRefuses names what is wrong with a server, or with what it has.
func TestCheckAddressRefuses(t *testing.T) {
	dir, f := webFolder(t)
	data, err := f.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"text.txt": []byte("alice\nbob\n"), "short.bf": data[:100], "empty": {}} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	damaged := bytes.Clone(data)
	for i := 64; i < len(data)-64; i++ {
		damaged[i] ^= 1
	}
	if err := os.WriteFile(filepath.Join(dir, "damaged.bf"), damaged, 0o644); err != nil {
		t.Fatal(err)
	}
	stuck := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("/whole.bf", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
	mux.HandleFunc("/stuck.bf", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stuck:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/other.bf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 5-68/1000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(data[5:69])
	})
	mux.HandleFunc("/cut.bf", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-63/1000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(data[:5])
	})
	mux.HandleFunc("/changing.bf", editions(data, "ETag", `"%d"`))
	mux.HandleFunc("/dated.bf", editions(data, "Last-Modified", "Mon, 16 Nov 2026 00:00:%02d GMT"))
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(stuck)
	for _, c := range []struct {
		name, say string
		code      int
		args      []string
	}{
		{"/absent.bf", "the server answers 404 Not Found", exitUsage, nil},
		{"/whole.bf", "it knows no range requests", exitUsage, nil},
		{"/other.bf", "another part", exitUsage, nil},
		{"/cut.bf", "the answer ends after 5 bytes of 64", exitUsage, nil},
		{"/changing.bf", "was replaced while it was read", exitUsage, nil},
		{"/dated.bf", "was replaced while it was read", exitUsage, nil},
		{"/stuck.bf", "no answer within 20ms", exitUsage, []string{"--timeout", "20ms"}},
		{"/text.txt", "not a bloomery filter: it looks like text", exitBad, nil},
		{"/empty", "not a bloomery filter: the file is empty", exitBad, nil},
		{"/short.bf", "data ends", exitBad, nil},
		{"/damaged.bf", "checksum is", exitBad, []string{"--verify"}},
	} {
		_, _, err := checked(t, "", append(c.args, server.URL+c.name, "word 7")...)
		if err == nil || !strings.Contains(err.Error(), c.say) || strings.Count(err.Error(), c.name) != 1 || exitCode(err) != c.code {
			t.Errorf("%s: %v, exit code %d, want %q and %d", c.name, err, exitCode(err), c.say, c.code)
		}
	}
	for _, address := range []string{"https://", "http://%zz"} {
		if _, _, err := checked(t, "", address, "word 7"); err == nil || !strings.Contains(err.Error(), "address") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, _, err := checked(t, "", "--verify", "--no-verify", server.URL, "word 7"); err == nil {
		t.Error("--verify and --no-verify together are not refused")
	}
	gone := httptest.NewServer(mux)
	gone.Close()
	if _, _, err := checked(t, "", gone.URL+"/words.bf", "word 7"); err == nil || !strings.Contains(err.Error(), "/words.bf: ") {
		t.Errorf("a server that is gone: %v", err)
	}
}

// editions serves a file that is another one each time, by a header.
func editions(data []byte, header, format string) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(header, fmt.Sprintf(format, n.Add(1)))
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))))
	}
}
