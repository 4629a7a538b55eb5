package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/snapshot"
)

// encode returns the file of a manifest.
func encode(tb testing.TB, m *snapshot.Manifest) []byte {
	tb.Helper()
	files := &folder.Memory{}
	if err := m.Write(files); err != nil {
		tb.Fatal(err)
	}
	return files.Bytes(folder.ManifestTemp)
}

// decode decodes the file of a manifest.
func decode(data []byte) (*snapshot.Manifest, error) {
	files := &folder.Memory{}
	files.Put(folder.Manifest, data)
	return snapshot.Read(files)
}

// clustered is a manifest of version 2 with all that it can hold.
func clustered() *snapshot.Manifest {
	return &snapshot.Manifest{
		Version: snapshot.Version2, Number: 7, Last: 40, Next: 9, Saved: 1_700_000_000_000, Seeded: true, Seed: 0xfeed,
		Cluster: 0x0123456789abcdef, Node: 3,
		Lanes: []snapshot.Lane{
			{Seq: 100, High: 140, State: []byte("members and senders")}, {Seq: 5, High: 5}, {Seq: 1 << 40, High: 1<<40 + 8, State: bytes.Repeat([]byte{7}, 300)},
		},
		Items: []snapshot.Item{
			{ID: 1, Kind: catalog.Bloom, Name: "users", File: 2, Size: 4096, Lane: 2, Position: 1<<40 + 8, Version: 900},
			{ID: 4, Kind: catalog.Filter, Name: "parts", Deadline: 1_800_000_000_000, File: 3, Size: 64, Lane: 1, Position: 5, Version: 1},
			{ID: 5, Kind: catalog.FilterPart, Deadline: 1_800_000_000_000, File: 3, Size: 64, Lane: 2, Position: 1<<40 + 1},
			{ID: 9, Kind: catalog.String, Name: "text", File: 3, Size: 50, Position: 100},
			{ID: 40, Kind: catalog.Cuckoo, Gone: true, Name: "gone", Lane: 1, Position: 5},
		},
	}
}

// spread is a manifest of version 3 with all that it can hold.
func spread() *snapshot.Manifest {
	m := clustered()
	m.Version, m.Held, m.Fetched = snapshot.Version3, []roster.Held{{Shard: 0, Since: 1}, {Shard: 1023, Since: 1 << 40}}, true
	m.Items[0].Shard, m.Items[1].Shard, m.Items[2].Shard = 1023, 1023, 0
	m.Items[1] = snapshot.Item{ID: 4, Kind: catalog.Filter, Name: "parts", Deadline: 1_800_000_000_000, Shard: 1023, Elsewhere: true, About: []byte("about")}
	return m
}

// TestManifest3 asks that all of a manifest with shards comes back.
func TestManifest3(t *testing.T) {
	want := spread()
	got, err := decode(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	got.Lanes[1].State = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("came back as %+v\nwant %+v", got, want)
	}
	if len(got.Files()) != 2 || got.Files()[3] != 114 || got.Items[1].InFile() || got.Items[4].InFile() || !got.Items[0].InFile() {
		t.Errorf("files %v", got.Files())
	}
}

// TestManifest3Golden reads a file as the first release with version 3 wrote it, and
// writes the same bytes.
func TestManifest3Golden(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "manifest3", folder.Manifest))
	if err != nil {
		t.Fatal(err)
	}
	m, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encode(t, m), data) || !bytes.Equal(encode(t, spread()), data) {
		t.Error("this release writes other bytes")
	}
}

// TestManifest2 asks that all of a manifest comes back.
func TestManifest2(t *testing.T) {
	want := clustered()
	got, err := decode(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Lanes {
		if len(got.Lanes[i].State) == 0 {
			got.Lanes[i].State = nil
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("came back as %+v\nwant %+v", got, want)
	}
	if got.Names() != 4 || got.Find(5) == nil || got.Find(6) != nil || len(got.Files()) != 2 || got.Files()[3] != 178 {
		t.Errorf("%d names, files %v", got.Names(), got.Files())
	}
}

// TestManifest2Golden reads a file as the first release with version 2 wrote it, and
// writes the same bytes.
func TestManifest2Golden(t *testing.T) {
	name := filepath.Join("testdata", "manifest2", folder.Manifest)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if m.Cluster != clustered().Cluster || len(m.Items) != 5 || m.Items[0].Version != 900 || len(m.Lanes) != 3 {
		t.Errorf("came back as %+v", m)
	}
	if !bytes.Equal(encode(t, m), data) || !bytes.Equal(encode(t, clustered()), data) {
		t.Error("this release writes other bytes")
	}
}

// TestManifestIsChecked forges manifests whose frames are intact.
func TestManifestIsChecked(t *testing.T) {
	for name, forge := range map[string]func(m *snapshot.Manifest){
		"a position above what the lane must reach": func(m *snapshot.Manifest) { m.Items[1].Position = 6 },
		"a position below that of the lane":         func(m *snapshot.Manifest) { m.Items[1].Position = 4 },
		"a lane that must not reach its position":   func(m *snapshot.Manifest) { m.Lanes[1].High = 4 },
		"an id that was not given":                  func(m *snapshot.Manifest) { m.Last = 39 },
		"a file that was not made":                  func(m *snapshot.Manifest) { m.Next = 3 },
		"ids that are not in order":                 func(m *snapshot.Manifest) { slices.Reverse(m.Items) },
		"no lane": func(m *snapshot.Manifest) {
			m.Items, m.Lanes = nil, []snapshot.Lane{{Seq: 3, High: 2}}
		},
	} {
		m := clustered()
		forge(m)
		if _, err := decode(encode(t, m)); !errors.Is(err, bloomery.ErrCorrupt) || errors.Is(err, bloomery.ErrVersion) {
			t.Errorf("%s: %v, want %v", name, err, bloomery.ErrCorrupt)
		}
	}
}

// TestManifestEveryByteCounts changes every byte of a manifest, and cuts it anywhere.
func TestManifestEveryByteCounts(t *testing.T) {
	m := clustered()
	m.Lanes[2].State = m.Lanes[2].State[:100]
	data := encode(t, m)
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 0x10
		if _, err := decode(bad); !known(err) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := decode(data[:i]); !known(err) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

// laterManifest returns a manifest of version 1 with one name of a kind, and more bytes
// in its header.
func laterManifest(tb testing.TB, kind catalog.Kind, more []byte) []byte {
	tb.Helper()
	m := snapshot.Empty()
	m.Number, m.Next, m.Last = 1, 1, 1
	m.Items = []snapshot.Item{{ID: 1, Kind: kind, Name: "k", Gone: true}}
	data := encode(tb, m)
	n, err := folder.FrameLength(data)
	if err != nil {
		tb.Fatal(err)
	}
	n += folder.FrameHeader
	first := append(data[:n:n], more...)
	folder.SealFrame(first, folder.ManifestFrame, m.Number, 0)
	rest := slices.Clone(data[n:])
	folder.SealFrame(rest, folder.ManifestFrame, m.Number, uint64(len(first)))
	return append(first, rest...)
}

// TestLaterManifest asks that what a later release wrote is not called damage: kinds,
// and what the header holds.
func TestLaterManifest(t *testing.T) {
	for _, c := range []struct {
		kind catalog.Kind
		more []byte
		want error
	}{
		{catalog.Bloom, nil, nil},
		{catalog.Bloom, []byte{5}, nil}, // a seed
		{99, nil, bloomery.ErrVersion},
		{catalog.Bloom, []byte{5, 4}, bloomery.ErrVersion},             // of version 4
		{catalog.Bloom, []byte{5, 3, 1, 0, 0, 1}, bloomery.ErrCorrupt}, // without shards
		{catalog.Bloom, []byte{5, 3, 1, 0, 0, 1, 2, 0}, bloomery.ErrCorrupt},
		{catalog.Bloom, []byte{5, 3, 1, 0, 0, 1, 0, 2, 7, 1, 7, 1}, bloomery.ErrCorrupt}, // a shard twice
		{catalog.Bloom, []byte{5, 3, 1, 0, 0, 1, 0, 1, 0x80, 8, 1}, bloomery.ErrCorrupt}, // shard 1,024
		{catalog.Bloom, []byte{5, 3, 1, 0, 0, 1, 0, 1, 7, 0}, bloomery.ErrCorrupt},       // of no copy
		{catalog.Bloom, []byte{5, 3, 1, 0, 0, 1, 0, 0, 0}, bloomery.ErrVersion},
		{catalog.Bloom, []byte{5, 2, 1, 0, 0, 1, 0}, bloomery.ErrVersion},
		{catalog.Bloom, []byte{5, 2, 1, 0, 0, 0}, bloomery.ErrCorrupt}, // without a lane
		{catalog.Bloom, []byte{5, 2, 2, 0, 0, 1}, bloomery.ErrCorrupt},
		{catalog.Bloom, []byte{0x80}, bloomery.ErrCorrupt},
	} {
		_, err := decode(laterManifest(t, c.kind, c.more))
		if !errors.Is(err, c.want) || c.want == bloomery.ErrVersion && errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("kind %d, header with % x: %v, want %v", c.kind, c.more, err, c.want)
		}
	}
}

func known(err error) bool {
	return errors.Is(err, bloomery.ErrCorrupt) || errors.Is(err, bloomery.ErrVersion)
}

func FuzzManifest(f *testing.F) {
	f.Add(laterManifest(f, catalog.Bloom, []byte{5}))
	small := clustered()
	small.Lanes[2].State = nil
	f.Add(encode(f, small))
	f.Add(encode(f, spread()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := again(t, data); err != nil && !known(err) {
			t.Fatalf("error %v wraps neither cause", err)
		}
	})
}

// FuzzManifestFields is FuzzManifest behind the checksums: the bodies of the frames
// are anything, and the frames intact.
func FuzzManifestFields(f *testing.F) {
	for _, m := range []*snapshot.Manifest{clustered(), spread()} {
		m.Lanes[2].State = nil
		var bodies [][]byte
		for data := encode(f, m); len(data) > 0; {
			fr, err := folder.ParseFrame(data, folder.ManifestFrame)
			if err != nil {
				f.Fatal(err)
			}
			bodies = append(bodies, fr.Body)
			data = data[folder.FrameHeader+len(fr.Body):]
		}
		if len(bodies) != 5 {
			f.Fatalf("%d frames, want 5", len(bodies))
		}
		f.Add(bodies[0], bodies[1], bodies[2], bodies[3], bodies[4])
	}
	f.Fuzz(func(t *testing.T, header, a, b, c, items []byte) {
		var data []byte
		for _, body := range [][]byte{header, a, b, c, items} {
			frame := append(make([]byte, folder.FrameHeader), body...)
			folder.SealFrame(frame, folder.ManifestFrame, 7, uint64(len(data)))
			data = append(data, frame...)
		}
		if err := again(t, data); err != nil && !known(err) {
			t.Fatalf("error %v wraps neither cause", err)
		}
	})
}

// again decodes a manifest. What was taken must encode to what is taken again.
func again(t *testing.T, data []byte) error {
	m, err := decode(data)
	if err != nil {
		return err
	}
	once := encode(t, m)
	if m, err = decode(once); err != nil || !bytes.Equal(encode(t, m), once) {
		return fmt.Errorf("a manifest that was taken does not come back: %w", err)
	}
	return nil
}

func FuzzParts(f *testing.F) {
	f.Add([]byte{3, 2, 0, 'h', 'i'}, []byte{3, 2, 1, 'i'})
	f.Add([]byte{1, 200, 1, 0}, []byte{2, 100, 0, 'b', 'l', 'm', 'r', 'C', 'F'})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if err := snapshot.ReadParts(a, b); err != nil && !known(err) {
			t.Fatalf("error %v wraps neither cause", err)
		}
	})
}
