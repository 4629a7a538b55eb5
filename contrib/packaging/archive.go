package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// file is a file of an archive: its name there, where it is, and its mode.
type file struct {
	name, path string
	mode       int64
}

// create makes a file by a function, and leaves none if that fails.
func create(name string, write func(io.Writer) error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// writeTar writes files into a tar with gzip, all in one folder.
func writeTar(name, folder string, files []file, when time.Time) error {
	return create(name, func(w io.Writer) error {
		zipped, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // a level that there is
		t := tar.NewWriter(zipped)
		for _, f := range files {
			data, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			h := &tar.Header{
				Typeflag: tar.TypeReg, Name: folder + "/" + f.name, Size: int64(len(data)), Mode: f.mode, ModTime: when,
				Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
			}
			if err := t.WriteHeader(h); err != nil {
				return err
			}
			if _, err := t.Write(data); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), zipped.Close())
	})
}

// writeZip writes files into a zip, all in one folder.
func writeZip(name, folder string, files []file, when time.Time) error {
	return create(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, f := range files {
			data, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: when}
			h.SetMode(os.FileMode(f.mode))
			part, err := z.CreateHeader(h)
			if err != nil {
				return err
			}
			if _, err := part.Write(data); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// sumsName is the file of checksums, in the form of sha256sum.
const sumsName = "SHA256SUMS"

// writeSums writes the checksums of all files of a folder.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Name() == sumsName {
			continue
		}
		sum, err := checksum(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsName), []byte(b.String()), 0o644)
}

// checksum returns the SHA-256 of a file in hexadecimal digits.
func checksum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
