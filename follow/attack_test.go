package follow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/follow"
)

// answering is a server that answers everything alike.
type answering func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestNothingChanged follows a server that says of everything that it has not changed, also
// when nobody asked.
func TestNothingChanged(t *testing.T) {
	client := &http.Client{Transport: answering(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNotModified, Status: "304 Not Modified", Body: http.NoBody}, nil
	})}
	if f, err := follow.Open(t.Context(), follow.Config{Address: "http://folder", Client: client}); err == nil {
		t.Errorf("opened %v without a copy", f)
	}
}

// TestLargePatches follows folders whose patches would take much memory: they are not taken,
// the filter is.
func TestLargePatches(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "copy.bf")
	one, two := encoded(t, 20_000, 100), encoded(t, 20_000, 200)
	published(t, dir, one, follow.PublishConfig{})
	f := opened(t, follow.Config{Address: dir, File: name})
	published(t, dir, two, follow.PublishConfig{})
	index := filepath.Join(dir, "index.json")
	good := string(must(os.ReadFile(index)))
	var x map[string]any
	if err := json.Unmarshal([]byte(good), &x); err != nil {
		t.Fatal(err)
	}
	e := x["filters"].(map[string]any)["keys"].(map[string]any)
	whole := e["whole"].(map[string]any)
	size := whole["bytes"]
	whole["bytes"] = uint64(1 << 49)
	if err := os.WriteFile(index, must(json.Marshal(x)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Update(t.Context()); !errors.Is(err, bloomery.ErrCorrupt) || !is(t, f, one) {
		t.Errorf("a filter of half a petabyte: %v", err)
	}
	// Patches through a version that is a hundred times as large.
	large := encoded(t, 2_000_000, 1)
	out := must(codec.Diff(one, large))
	back := must(codec.Diff(large, two))
	whole["bytes"] = size
	var patches []any
	for i, p := range [][]byte{out, back} {
		file := fmt.Sprintf("bomb%d.patch", i)
		if err := os.WriteFile(filepath.Join(dir, file), p, 0o600); err != nil {
			t.Fatal(err)
		}
		sums := []string{f.Version().Sum, strings.Repeat("ab", 32), e["sum"].(string)}
		patches = append(patches, map[string]any{"from": sums[i], "to": sums[i+1], "file": file, "bytes": len(p)})
	}
	e["patches"] = patches
	if err := os.WriteFile(index, must(json.Marshal(x)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Update(t.Context()); err != nil || !is(t, f, two) {
		t.Errorf("with patches that lead astray: %v", err)
	}
}

// TestKilledBetween leaves what a process leaves that is killed between the writing of a copy
// and of its note, and offers an older version.
func TestKilledBetween(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "copy.bf")
	one, two := encoded(t, 1000, 100), encoded(t, 1000, 200)
	published(t, dir, one, follow.PublishConfig{})
	stale := t.TempDir()
	if err := os.CopyFS(stale, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	opened(t, follow.Config{Address: dir, File: name})
	published(t, dir, two, follow.PublishConfig{})
	// The note is written first, and then the copy.
	ended, end := context.WithCancel(t.Context())
	f := opened(t, follow.Config{Address: dir, File: name, Changed: func(follow.Version) { end() }})
	<-ended.Done()
	v := f.Version()
	for _, file := range [][]byte{one, two} {
		note := must(json.Marshal(map[string]any{"version": 1, "made": v.Made, "sum": sum(t, one), "filter": "keys", "checked": time.Now(), "coming": v}))
		if err := errors.Join(os.WriteFile(name, file, 0o600), os.WriteFile(name+".follow", note, 0o600)); err != nil {
			t.Fatal(err)
		}
		f := opened(t, follow.Config{Address: stale, File: name})
		if !errors.Is(f.Err(), follow.ErrOlder) || !is(t, f, file) {
			t.Errorf("an older version was taken: %v", f.Err())
		}
	}
}

// sum returns the sum of an encoding, as a folder has it.
func sum(t *testing.T, data []byte) string {
	t.Helper()
	dir := t.TempDir()
	published(t, dir, data, follow.PublishConfig{})
	return opened(t, follow.Config{Address: dir}).Version().Sum
}

// TestNoteFails follows with a note that cannot be written, and with files that are not ours.
func TestNoteFails(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "copy.bf")
	published(t, dir, encoded(t, 1000, 100), follow.PublishConfig{})
	if err := os.MkdirAll(filepath.Join(name+".follow", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Open(t.Context(), follow.Config{Address: dir, File: name}); err == nil {
		t.Error("opened without a note")
	}
	name = filepath.Join(t.TempDir(), "copy.bf")
	opened(t, follow.Config{Address: dir, File: name})
	for _, file := range []string{name, name + ".follow"} {
		if err := os.WriteFile(file, []byte("diary"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := follow.Open(t.Context(), follow.Config{Address: dir, File: name}); !errors.Is(err, follow.ErrOther) || string(must(os.ReadFile(file))) != "diary" {
			t.Errorf("%s was replaced: %v", filepath.Base(file), err)
		}
	}
}

// TestRemoved removes the file of a copy: it comes back.
func TestRemoved(t *testing.T) {
	dir, name := t.TempDir(), filepath.Join(t.TempDir(), "copy.bf")
	published(t, dir, encoded(t, 1000, 100), follow.PublishConfig{})
	f := opened(t, follow.Config{Address: dir, File: name})
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if updated(t, f); !is(t, f, must(os.ReadFile(name))) {
		t.Error("the copy was not written again")
	}
}

// TestIndexLengths publishes again and again: indexes that follow each other are not of the
// same length.
func TestIndexLengths(t *testing.T) {
	dir, before := t.TempDir(), int64(0)
	for i := range 12 {
		published(t, dir, encoded(t, 1000, i), follow.PublishConfig{Patches: -1})
		size := must(os.Stat(filepath.Join(dir, "index.json"))).Size()
		if size == before {
			t.Errorf("version %d has an index of %d bytes, as the one before", i+1, size)
		}
		before = size
	}
}

// TestUpdateEnds asks for an update while another one waits for a silent server.
func TestUpdateEnds(t *testing.T) {
	asked := make(chan struct{}, 10)
	silent := false
	dir := t.TempDir()
	published(t, dir, encoded(t, 1000, 100), follow.PublishConfig{})
	net := &network{files: contents(t, dir), fault: -1}
	f := opened(t, follow.Config{Address: "http://folder", Client: &http.Client{Transport: answering(func(r *http.Request) (*http.Response, error) {
		if !silent {
			return net.RoundTrip(r)
		}
		asked <- struct{}{}
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}})
	silent = true
	long, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		_, _ = f.Update(long)
		close(ended)
	}()
	<-asked
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Update(short); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	end()
	<-ended
}

// TestKilledPublish asks that the next Publish removes what one left that was killed before it
// wrote the index, and nothing else.
func TestKilledPublish(t *testing.T) {
	dir := t.TempDir()
	published(t, dir, encoded(t, 20_000, 100), follow.PublishConfig{})
	left := []string{"keys.2.0123abcd.bft", "keys.2.0123abcd-0123abcd.patch", "keys.2.0123abcd.bft.0.bloomery.tmp"}
	others := []string{"keys.3.0123abcd.bft", "keys.2.0123abcd.bft.txt", "other.2.0123abcd.bft", "keys.2.0123abcg.bft", "notes"}
	for _, name := range append(slices.Clone(left), others...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published(t, dir, encoded(t, 20_000, 200), follow.PublishConfig{})
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s stays", name)
		}
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is removed: %v", name, err)
		}
	}
	if f := opened(t, follow.Config{Address: dir}); !is(t, f, encoded(t, 20_000, 200)) {
		t.Error("the version that was published is not there")
	}
}
