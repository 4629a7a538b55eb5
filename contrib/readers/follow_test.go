package readers

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/follow"
)

// step is a published folder, in the order in which a follower meets them, and what it is then.
type step struct {
	Dir     string `json:"dir"`
	Error   string `json:"error"` // the code of the update
	Changed bool   `json:"changed"`
	Version uint64 `json:"version"`
	Has     string `json:"has"`   // a key that the copy has
	Lacks   string `json:"lacks"` // one that it has not
}

var followed = []step{
	{Dir: "first", Changed: true, Version: 1, Has: "a0", Lacks: "b0"},
	{Dir: "first", Version: 1, Has: "a0", Lacks: "b0"},
	{Dir: "more", Changed: true, Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "cut", Error: "corrupt", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "tampered", Error: "corrupt", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "stranger", Error: "untrusted", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "unsigned", Error: "untrusted", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "first", Error: "older", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "nothing", Error: "source", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "swapped", Error: "corrupt", Version: 2, Has: "b0", Lacks: "c0"},
	{Dir: "patchless", Changed: true, Version: 3, Has: "c0", Lacks: "d0"},
	{Dir: "larger", Changed: true, Version: 4, Has: "d0", Lacks: "a0"},
}

// putFolders writes the folders of the steps, the steps, and the key that they are signed with.
func putFolders(t *testing.T, dir string) {
	t.Helper()
	good := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	at := func(name string) string { return filepath.Join(dir, name) }
	like := func(to, from string) {
		if err := os.CopyFS(at(to), os.DirFS(at(from))); err != nil {
			t.Fatal(err)
		}
	}
	f := bloom.New(20_000, 1e-6)
	publish := func(to string, prefix string, key ed25519.PrivateKey) {
		for i := range 100 {
			f.AddString(fmt.Sprint(prefix, i))
		}
		data, err := f.MarshalBinary()
		if err == nil {
			_, err = follow.Publish(at(to), "a \"name\", é", data, follow.PublishConfig{Key: key, Unsigned: key == nil})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// change changes the one file of a folder with an ending that is not in another.
	change := func(in, ending, unlike string, edit func([]byte) []byte) {
		files, err := filepath.Glob(at(in) + "/*" + ending)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if _, err := os.Stat(filepath.Join(at(unlike), filepath.Base(path))); err == nil && unlike != "" {
				continue
			}
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, edit(data), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	publish("first", "a", good)
	like("more", "first")
	publish("more", "b", good)
	like("cut", "more")
	change("cut", "index.json", "", func(b []byte) []byte { return b[:len(b)/2] })
	like("tampered", "more")
	change("tampered", "index.json", "", func(b []byte) []byte { return bytes.Replace(b, []byte(`"version": 2`), []byte(`"version": 3`), 1) })
	for _, to := range []string{"stranger", "unsigned", "swapped", "patchless"} {
		like(to, "more")
	}
	publish("stranger", "c", other)
	publish("unsigned", "c", nil)
	publish("swapped", "c", good)
	whole, err := os.ReadFile(filepath.Join(at("first"), "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	change("swapped", ".patch", "more", func([]byte) []byte { return nil })
	change("swapped", ".bft", "more", func([]byte) []byte { return whole }) // no filter at all
	publish("patchless", "c", good)
	change("patchless", ".patch", "more", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	like("larger", "patchless")
	f = bloom.New(50_000, 1e-6)
	publish("larger", "d", good)

	der, err := x509.MarshalPKIXPublicKey(good.Public())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	steps, err := json.Marshal(followed)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "steps.json", string(steps))
}

// source serves a folder with tags, and notes what was asked for.
type source struct {
	dir string

	// mu guards asked.
	mu    sync.Mutex
	asked []string
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name))); err == nil {
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
	}
	what := filepath.Ext(name)
	if r.Header.Get("If-None-Match") != "" {
		what += "?"
	}
	s.mu.Lock()
	s.asked = append(s.asked, strings.SplitN(name, "/", 2)[0]+what) // before the answer, which the next question may follow at once
	s.mu.Unlock()
	http.ServeFileFS(w, r, os.DirFS(s.dir), name)
}

// followFolders has a reader go through the steps, and asks that it took patches where it could.
func followFolders(t *testing.T, dir string, read func(url string)) {
	t.Helper()
	putFolders(t, dir)
	s := &source{dir: dir}
	server := httptest.NewServer(s)
	defer server.Close()
	read(server.URL)
	s.mu.Lock()
	defer s.mu.Unlock()
	want := []string{
		"first.json", "first.bft", "first.json?", "more.json?", "more.patch", "cut.json?", "tampered.json?", "stranger.json?", "unsigned.json?", "first.json?",
		"nothing.json?", "swapped.json?", "swapped.patch", "swapped.bft", "patchless.json?", "patchless.patch", "patchless.bft", "larger.json?", "larger.bft",
	}
	got := slices.DeleteFunc(s.asked, func(a string) bool { return a == "steps.json.json" || a == "key.pem.pem" })
	if !slices.Equal(got[:min(len(got), len(want))], want) { // what is behind them are questions of other followers
		t.Errorf("it has asked for\n%q, want\n%q", got, want)
	}
}
