package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// popularity is the npm package whose counts.json has how often each npm
// package was downloaded: 3.8 million names of a real, steep curve.
const popularity = "download-counts@2.20260301.0"

// fetch downloads an npm package, which installs nothing and runs none of its
// scripts, and unpacks one of its files. It returns where the file is; one that
// is there already is not fetched again.
func fetch(ctx context.Context, folder, pkg, file string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(folder, "npm"))
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, strings.ReplaceAll(pkg, "@", "-"), file)
	if _, err := os.Stat(at); err == nil {
		return at, nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return "", err
	}
	pack := exec.CommandContext(ctx, "npm", "pack", "--silent", pkg)
	pack.Dir, pack.Stderr = dir, os.Stderr
	name, err := pack.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack %s: %w", pkg, err)
	}
	archive := strings.TrimSpace(string(name))
	unpack := exec.CommandContext(ctx, "tar", "-xzf", archive, "-C", filepath.Dir(at), "--strip-components=1", "package/"+file)
	unpack.Dir, unpack.Stderr = dir, os.Stderr
	if err := unpack.Run(); err != nil {
		return "", fmt.Errorf("tar of %s: %w", archive, err)
	}
	return at, os.Remove(filepath.Join(dir, archive))
}

// readCounts reads an object of names and numbers. It is one line of 96 MB, so
// it is read token by token.
func readCounts(r io.Reader) (names []string, counts []float64, err error) {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var count float64
		if err := d.Decode(&count); err != nil {
			return nil, nil, fmt.Errorf("count of %v: %w", key, err)
		}
		if count > 0 {
			names, counts = append(names, key.(string)), append(counts, count)
		}
	}
	return names, counts, nil
}
