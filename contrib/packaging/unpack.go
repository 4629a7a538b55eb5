package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// unpack writes the files of the image of one processor into a folder, and prints how it is run
// as lines for a shell. Every blob is checked by its digest.
func unpack(name, arch, dir string, out io.Writer) error {
	blobs, err := readLayout(name)
	if err != nil {
		return err
	}
	var outer, inner index
	if err := decode(blobs["index.json"], &outer); err != nil || len(outer.Manifests) != 1 {
		return fmt.Errorf("index.json: %d entries, %w", len(outer.Manifests), err)
	}
	if err := blobs.read(outer.Manifests[0], &inner); err != nil {
		return err
	}
	for _, d := range inner.Manifests {
		if d.Platform == nil || d.Platform.Architecture != arch {
			continue
		}
		var m manifest
		var c imageConfig
		if err := errors.Join(blobs.read(d, &m), blobs.read(m.Config, &c)); err != nil {
			return err
		}
		if c.Architecture != arch || len(m.Layers) != len(c.RootFS.DiffIDs) {
			return fmt.Errorf("the image of %s is for %s and has %d layers, %d are described", arch, c.Architecture, len(m.Layers), len(c.RootFS.DiffIDs))
		}
		for i, l := range m.Layers {
			if err := blobs.extract(l, c.RootFS.DiffIDs[i], dir); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(out, "user='%s'\nenvironment='%s'\ncommand='%s'\nhealth='%s'\n", c.Config.User, strings.Join(c.Config.Env, " "),
			strings.Join(append(c.Config.Entrypoint, c.Config.Cmd...), " "), strings.Join(c.Config.Healthcheck.Test[1:], " "))
		return err
	}
	return fmt.Errorf("%s has no image for %s", name, arch)
}

// layoutFiles are the files of a layout, by name.
type layoutFiles map[string][]byte

func readLayout(name string) (layoutFiles, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	all := layoutFiles{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if all[h.Name], err = io.ReadAll(io.LimitReader(r, 4*maxBinary)); err != nil {
			return nil, err
		}
	}
}

// blob returns the blob that a descriptor names.
func (l layoutFiles) blob(d descriptor) ([]byte, error) {
	data, ok := l["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if !ok || int64(len(data)) != d.Size || digestOf(data) != d.Digest {
		return nil, fmt.Errorf("the blob %s is missing or damaged", d.Digest)
	}
	return data, nil
}

func (l layoutFiles) read(d descriptor, v any) error {
	data, err := l.blob(d)
	if err != nil {
		return err
	}
	return decode(data, v)
}

// decode reads JSON, in which nothing may be unknown.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// extract writes the files of a layer into a folder.
func (l layoutFiles) extract(d descriptor, diff, dir string) error {
	data, err := l.blob(d)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(z, 4*maxBinary))
	if err != nil {
		return err
	}
	if digestOf(plain) != diff {
		return fmt.Errorf("the layer %s is not the one of the configuration", d.Digest)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // files are closed one by one
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractOne(root, h, r); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func extractOne(root *os.Root, h *tar.Header, r io.Reader) error {
	name := filepath.Clean(h.Name)
	mode := os.FileMode(h.Mode).Perm()
	if h.Typeflag == tar.TypeDir {
		if err := root.Mkdir(name, mode); err != nil {
			return err
		}
	} else {
		f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	if os.Getuid() != 0 {
		return nil // only root can give files away
	}
	return root.Lchown(name, h.Uid, h.Gid)
}
