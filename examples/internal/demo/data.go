package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Deb returns the path of a file of a Debian package, which is downloaded, and not installed,
// if it is not there yet. It needs Debian or a relative, and that apt-get update was run.
func Deb(ctx context.Context, name, file string) (string, error) {
	return fetch(ctx, "deb/"+name, file, func(dir string) error {
		if err := command(ctx, dir, "apt-get", "download", name); err != nil {
			return err
		}
		archive, err := only(dir)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(archive) }()
		return command(ctx, dir, "dpkg-deb", "-x", archive, dir)
	})
}

// DebLines is Deb for a file of text: it returns the lines.
func DebLines(ctx context.Context, name, file string) ([]string, error) {
	path, err := Deb(ctx, name, file)
	if err != nil {
		return nil, err
	}
	return Lines(path)
}

// NPM returns the path of a file of an npm package, given as name@version, which is downloaded,
// and not installed, if it is not there yet. It needs npm and tar.
func NPM(ctx context.Context, name, file string) (string, error) {
	return fetch(ctx, "npm/"+name, file, func(dir string) error {
		if err := command(ctx, dir, "npm", "pack", "--silent", name); err != nil {
			return err
		}
		archive, err := only(dir)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(archive) }()
		return command(ctx, dir, "tar", "-xzf", archive, "-C", dir, "--strip-components=1")
	})
}

// Lines returns the lines of a file, without empty ones and those that begin with one of the
// given signs of a comment.
func Lines(file string, comments ...string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []string
next:
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		for _, c := range comments {
			if strings.HasPrefix(line, c) {
				continue next
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// JSON reads a file of JSON.
func JSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// fetch returns the path of a file in a folder of corpora, which get fills if it is not there:
// another name until it is complete.
func fetch(ctx context.Context, folder, file string, get func(dir string) error) (string, error) {
	root, err := corpora()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, filepath.FromSlash(folder))
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "fetching %s\n", folder)
		if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
			return "", err
		}
		part, err := os.MkdirTemp(filepath.Dir(dir), ".part-")
		if err != nil {
			return "", err
		}
		defer func() { _ = os.RemoveAll(part) }()
		if err := errors.Join(get(part), ctx.Err(), os.Chmod(part, 0o777)); err != nil {
			return "", err
		}
		if err := os.Rename(part, dir); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, filepath.FromSlash(file))
	_, err = os.Stat(path)
	return path, err
}

// only returns the path of the file in a folder that has one.
func only(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("%d files came, want one package", len(files))
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, files[0].Name()), nil
}

// corpora returns the folder of real data, which git ignores: beside the go.mod that is above
// the working directory.
func corpora() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.Join(at, "corpora"), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not below a go.mod: real data is kept beside one", dir)
		}
	}
}

// command runs a program in a folder. Its output is part of the error if it fails, and dropped
// if it does not.
func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
