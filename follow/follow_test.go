package follow_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/codec/file"
	"github.com/bloomery/bloomery/follow"
)

// encoded returns a filter of the keys 0 to n-1.
func encoded(tb testing.TB, capacity, n int) []byte {
	tb.Helper()
	f, err := bloom.Config{Capacity: capacity, ErrorRate: 0.01}.New()
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		f.AddString(fmt.Sprint("key", i))
	}
	data, err := f.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// published publishes a filter, which must work.
func published(tb testing.TB, dir string, data []byte, c follow.PublishConfig) follow.Published {
	tb.Helper()
	p, err := follow.Publish(dir, "keys", data, c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// opened opens a copy that is updated by hand.
func opened(tb testing.TB, c follow.Config) *follow.Filter {
	tb.Helper()
	c.Every = -1
	f, err := follow.Open(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	})
	return f
}

func updated(tb testing.TB, f *follow.Filter) bool {
	tb.Helper()
	changed, err := f.Update(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return changed
}

// is reports whether a copy is just this encoding.
func is(tb testing.TB, f *follow.Filter, data []byte) bool {
	tb.Helper()
	got, err := f.View().MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Equal(got, data)
}

// counted is a file server that counts what it sends.
type counted struct {
	*httptest.Server
	sent  atomic.Int64
	calls atomic.Int64
}

func (c *counted) ServeHTTP(dir string) http.HandlerFunc {
	files := http.FileServer(http.Dir(dir))
	return func(w http.ResponseWriter, r *http.Request) {
		c.calls.Add(1)
		if data, err := os.ReadFile(filepath.Join(dir, r.URL.Path)); err == nil { // as most servers do
			w.Header().Set("ETag", fmt.Sprintf(`"%x"`, len(data)*31+int(data[len(data)/2])*7+int(data[len(data)-3])))
		}
		files.ServeHTTP(&counter{w, &c.sent}, r)
	}
}

type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

func served(tb testing.TB, dir string) *counted {
	tb.Helper()
	c := &counted{}
	c.Server = httptest.NewServer(c.ServeHTTP(dir))
	tb.Cleanup(c.Close)
	return c
}

// TestFollow publishes versions one after the other: copies that come often get patches, one
// that was away for all of them the cheaper of both, and each is the published filter.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	server := served(t, dir)
	first := encoded(t, 100_000, 50_000)
	published(t, dir, first, follow.PublishConfig{})
	near, away := opened(t, follow.Config{Address: server.URL}), opened(t, follow.Config{Address: server.URL + "/index.json", Filter: "keys"})
	if !is(t, near, first) || near.Version().Number != 1 {
		t.Fatal("the first version is another filter")
	}
	for i := 1; i <= 5; i++ {
		data := encoded(t, 100_000, 50_000+100*i)
		p := published(t, dir, data, follow.PublishConfig{})
		if p.Version != uint64(i+1) || !p.Changed || p.Patch == 0 || p.Patch > p.Whole/20 {
			t.Errorf("published %+v", p)
		}
		server.sent.Store(0)
		if !updated(t, near) || !is(t, near, data) || near.Version().Number != p.Version {
			t.Fatalf("version %d is not that of the source", p.Version)
		}
		if sent := server.sent.Load(); sent > int64(p.Patch)+4096 {
			t.Errorf("%d bytes were sent for a patch of %d", sent, p.Patch)
		}
	}
	server.sent.Store(0)
	if !updated(t, away) || away.Version() != near.Version() || server.sent.Load() > 20_000 {
		t.Errorf("%v by %d bytes, want %v by patches", away.Version(), server.sent.Load(), near.Version())
	}
	server.sent.Store(0)
	if updated(t, away) || server.sent.Load() > 0 {
		t.Errorf("nothing is new, yet %d bytes were sent", server.sent.Load())
	}
	published(t, dir, encoded(t, 200_000, 10), follow.PublishConfig{}) // of another size
	if !updated(t, away) || !is(t, away, encoded(t, 200_000, 10)) || !away.ContainsString("key9") {
		t.Error("a filter of another size was not taken")
	}
	if away.Age() > time.Minute || away.Err() != nil {
		t.Error(away.Age(), away.Err())
	}
}

// TestPublishAgain publishes what is published already, with and without a key, and looks at
// which files stay.
func TestPublishAgain(t *testing.T) {
	dir := t.TempDir()
	one, two, three := encoded(t, 10_000, 5000), encoded(t, 10_000, 5010), encoded(t, 10_000, 5020)
	published(t, dir, one, follow.PublishConfig{})
	if p := published(t, dir, one, follow.PublishConfig{}); p.Changed || p.Version != 1 {
		t.Errorf("the same again: %+v", p)
	}
	public, private, _ := ed25519.GenerateKey(nil)
	published(t, dir, one, follow.PublishConfig{Key: private})
	opened(t, follow.Config{Address: dir, Key: public})
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Publish(dir, "keys", two, follow.PublishConfig{}); !errors.Is(err, follow.ErrUntrusted) {
		t.Errorf("a signed filter was published without a key: %v", err)
	}
	file := must(filepath.Glob(filepath.Join(dir, "*.bft")))[0]
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := published(t, dir, one, follow.PublishConfig{Unsigned: true}); !p.Mended || p.Signed {
		t.Errorf("a damaged file was left: %+v", p)
	}
	opened(t, follow.Config{Address: dir})
	published(t, dir, two, follow.PublishConfig{Patches: 1})
	published(t, dir, three, follow.PublishConfig{Patches: 1})
	published(t, dir, one, follow.PublishConfig{Patches: 1})
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, strings.SplitAfterN(e.Name(), ".", 3)[0]+filepath.Ext(e.Name()))
	}
	if got := strings.Join(names, " "); got != "index..json keys..bft keys..patch keys..patch keys..bft mine..txt" {
		t.Errorf("the folder has %s", got) // two versions, and what is not ours
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: filepath.Join(dir, "index.json")}); !errors.Is(err, bloomery.ErrParameter) || !strings.Contains(err.Error(), "index.json is a file: publish it into a folder") {
		t.Errorf("a file as the address: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Publish(dir, "keys", one, follow.PublishConfig{}); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a damaged index was replaced: %v", err)
	}
	for _, name := range []string{"", "a\nb", strings.Repeat("x", 201), "\xff"} {
		if _, err := follow.Publish(t.TempDir(), name, one, follow.PublishConfig{}); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := follow.Publish(t.TempDir(), "x", one[:100], follow.PublishConfig{}); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("half a filter: %v", err)
	}
}

// TestFaults cuts and corrupts what a server sends at every byte of an update: the copy stays
// what it was or becomes what is published, and an update without a fault takes it.
func TestFaults(t *testing.T) {
	old, data := encoded(t, 300, 100), encoded(t, 300, 110)
	dir := t.TempDir()
	published(t, dir, old, follow.PublishConfig{})
	before := contents(t, dir)
	published(t, dir, data, follow.PublishConfig{})
	after := contents(t, dir)
	whole := maps.Clone(after) // without patches
	maps.DeleteFunc(whole, func(name string, _ []byte) bool { return strings.HasSuffix(name, ".patch") })
	for _, files := range []map[string][]byte{after, whole} {
		for _, cut := range []bool{true, false} {
			for at := 0; ; at++ {
				net := &network{files: before, fault: -1}
				f := opened(t, follow.Config{Address: "http://folder", Client: &http.Client{Transport: net}})
				*net = network{files: files, fault: at, cut: cut}
				_, err := f.Update(t.Context())
				if err != nil && !is(t, f, old) {
					t.Fatalf("byte %d: %v, and the copy is half new", at, err)
				}
				if err == nil && !is(t, f, data) {
					t.Fatalf("byte %d: no error, and the copy is not what is published", at)
				}
				over := net.sent <= at
				net.fault = -1
				if _, err := f.Update(t.Context()); err != nil || !is(t, f, data) || f.Err() != nil {
					t.Fatalf("byte %d: after the fault the copy is not up to date: %v", at, f.Err())
				}
				if over {
					break
				}
			}
		}
	}
}

// contents returns the files of a folder.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, e := range must(os.ReadDir(dir)) {
		files["/"+e.Name()] = must(os.ReadFile(filepath.Join(dir, e.Name())))
	}
	return files
}

// network serves files to a client without a socket. It is cut, or changes a byte, behind so
// many bytes.
type network struct {
	files map[string][]byte
	fault int // -1 for none
	cut   bool
	sent  int
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	data, ok := n.files[r.URL.Path]
	if !ok {
		return &http.Response{StatusCode: http.StatusNotFound, Status: "404 Not Found", Body: http.NoBody}, nil
	}
	data = bytes.Clone(data)
	at := n.fault - n.sent
	n.sent += len(data)
	body := io.Reader(bytes.NewReader(data))
	if n.fault >= 0 && at >= 0 && at < len(data) {
		if n.cut {
			body = io.MultiReader(bytes.NewReader(data[:at]), iotest.ErrReader(io.ErrUnexpectedEOF))
		} else {
			data[at] ^= 1
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestOutage takes the source away: a copy on disk answers, says how old it is, and no older
// version takes its place.
func TestOutage(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "copy.bf")
	server := served(t, dir)
	old := encoded(t, 1000, 500)
	published(t, dir, old, follow.PublishConfig{})
	early := t.TempDir()
	if err := os.CopyFS(early, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	data := encoded(t, 1000, 600)
	published(t, dir, data, follow.PublishConfig{})
	f := opened(t, follow.Config{Address: server.URL, File: name})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := follow.Open(t.Context(), follow.Config{Address: server.URL}); err == nil {
		t.Error("opened without copy and source")
	}
	f = opened(t, follow.Config{Address: server.URL, File: name})
	if !is(t, f, data) || f.Err() == nil || f.Age() > time.Minute || f.Version().Number != 2 {
		t.Error("without its source the copy is another", f.Err(), f.Age(), f.Version())
	}
	if m := must(file.Map(name, codec.Config{})); !m.ContainsString("key599") {
		t.Error("other programs cannot read the copy")
	}
	if _, err := f.Update(t.Context()); err == nil || f.Err() == nil {
		t.Error("there is no source and no error")
	}
	f = opened(t, follow.Config{Address: early, File: name})
	if !errors.Is(f.Err(), follow.ErrOlder) || !is(t, f, data) {
		t.Error("an older version was taken:", f.Err())
	}
	if err := os.Remove(name); err != nil { // the note stays
		t.Fatal(err)
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: early, File: name}); !errors.Is(err, follow.ErrOlder) {
		t.Error("an older version was taken for a copy that was lost:", err)
	}
	if f = opened(t, follow.Config{Address: early, File: name, Older: true}); !is(t, f, old) {
		t.Error("an older version was asked for and not taken:", f.Err())
	}
}

// TestOtherFilter follows another filter of the folder with the file of the first.
func TestOtherFilter(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "copy.bf")
	data := encoded(t, 1000, 500)
	published(t, dir, data, follow.PublishConfig{})
	opened(t, follow.Config{Address: dir, File: name})
	for i := range 3 { // a version that is higher
		must(follow.Publish(dir, "others", encoded(t, 1000, i), follow.PublishConfig{}))
	}
	f := opened(t, follow.Config{Address: dir, File: name, Filter: "others"})
	if !errors.Is(f.Err(), follow.ErrOther) || !is(t, f, data) {
		t.Errorf("the copy became one of another filter: %v", f.Err())
	}
}

// TestSignatures follows a folder that is signed, by another key, or not at all.
func TestSignatures(t *testing.T) {
	public, private, _ := ed25519.GenerateKey(nil)
	_, other, _ := ed25519.GenerateKey(nil)
	data := encoded(t, 1000, 500)
	for name, c := range map[string]struct {
		key  ed25519.PrivateKey
		want error
	}{"signed": {private, nil}, "unsigned": {nil, follow.ErrUntrusted}, "other": {other, follow.ErrUntrusted}} {
		dir := t.TempDir()
		published(t, dir, data, follow.PublishConfig{Key: c.key})
		f, err := follow.Open(t.Context(), follow.Config{Address: dir, Key: public, Every: -1})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if f != nil {
			published(t, dir, encoded(t, 1000, 501), follow.PublishConfig{Key: other})
			if _, err := f.Update(t.Context()); !errors.Is(err, follow.ErrUntrusted) || !is(t, f, data) {
				t.Errorf("a version of another key was taken: %v", err)
			}
		}
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: t.TempDir(), Key: public[:5]}); !errors.Is(err, bloomery.ErrParameter) {
		t.Error(err)
	}
}

// TestHostileIndex follows folders whose index lies.
func TestHostileIndex(t *testing.T) {
	dir := t.TempDir()
	data := encoded(t, 1000, 500)
	published(t, dir, data, follow.PublishConfig{})
	index := string(must(os.ReadFile(filepath.Join(dir, "index.json"))))
	for name, change := range map[string][2]string{
		"a file elsewhere": {`"file": "keys.`, `"file": "../keys.`},
		"huge":             {`"bytes": `, `"bytes": 9999999999`},
		"negative":         {`"bytes": `, `"bytes": -`},
		"later layout":     {`"bloomery": 1`, `"bloomery": 2`},
		"no version":       {`"version": 1`, `"version": 0`},
		"other version":    {`"version": 1`, `"version": 7`},
		"null":             {`"keys": {`, `"more": null, "keys": {`},
		"not JSON":         {`{`, `[`},
		"no filter":        {`"keys": {`, `"others": {`},
	} {
		if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(strings.Replace(index, change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := follow.Open(t.Context(), follow.Config{Address: dir, Filter: "keys"}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: dir, Limits: codec.Limits{Bytes: 500}}); !errors.Is(err, bloomery.ErrTooLarge) {
		t.Errorf("a filter over the limit: %v", err)
	}
	mine := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(mine, []byte("no filter"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: dir, File: mine}); err == nil || string(must(os.ReadFile(mine))) != "no filter" {
		t.Errorf("a file that is no filter was replaced: %v", err)
	}
	other := encoded(t, 500, 100)
	if err := os.WriteFile(mine, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: dir, File: mine}); err == nil || !bytes.Equal(must(os.ReadFile(mine)), other) {
		t.Errorf("a filter that is no copy was replaced: %v", err)
	}
	published(t, dir, encoded(t, 1000, 501), follow.PublishConfig{})
	if err := os.WriteFile(mine, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := opened(t, follow.Config{Address: dir, File: mine}); !f.ContainsString("key500") {
		t.Error("a copy without a note was not brought up to date")
	}
}

// TestRunning follows by itself: what is published is seen, and Changed called.
func TestRunning(t *testing.T) {
	dir := t.TempDir()
	published(t, dir, encoded(t, 1000, 500), follow.PublishConfig{})
	versions := make(chan follow.Version, 10)
	f, err := follow.Open(t.Context(), follow.Config{Address: dir, Every: time.Millisecond, Changed: func(v follow.Version) { versions <- v }})
	if err != nil {
		t.Fatal(err)
	}
	if v := <-versions; v.Number != 1 {
		t.Error(v)
	}
	published(t, dir, encoded(t, 1000, 600), follow.PublishConfig{})
	if v := <-versions; v.Number != 2 || !f.ContainsString("key599") {
		t.Error(v)
	}
	if err := f.Close(); err != nil || f.Err() != nil || !f.Contains([]byte("key1")) {
		t.Error(err, f.Err())
	}
}

// TestLookupsAllocateNothing asks a copy.
func TestLookupsAllocateNothing(t *testing.T) {
	dir := t.TempDir()
	published(t, dir, encoded(t, 1000, 500), follow.PublishConfig{})
	f := opened(t, follow.Config{Address: dir})
	key, found, hashes := "key1", make([]bool, 10), make([]uint64, 10)
	if n := testing.AllocsPerRun(100, func() {
		f.ContainsString(key)
		f.ContainsHash(7)
		f.ContainsHashes(found, hashes)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
