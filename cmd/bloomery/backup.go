// The command backup: a data folder as one tar file.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/server/datadir"
)

func newBackup() *cobra.Command {
	var to string
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "backup DIR -o FILE",
		Short: "Copy a data folder to one file, also while the server runs",
		Long: `backup writes everything that a start needs to one tar file: the last snapshot
and the log behind it. The server may be running; what is written meanwhile is
in the copy or not, and a log that ends in the middle of a record is cut off
there at the next start.

A file that exists is replaced only with --overwrite. The backup is read back
before it gets its name: every checksum is compared, and everything that a start
needs must be there. What goes to standard output cannot be read back: check it
after unpacking, with bloomery doctor.

To restore, unpack the file into an empty folder and start a server on it:

  mkdir restored && tar -xf backup.tar -C restored
  bloomery doctor restored --repair && bloomery serve --dir restored`,
		Example: `  bloomery backup bloomery-data -o backup.tar
  bloomery backup bloomery-data -o - | zstd > backup.tar.zst`,
		Args: between(1, 1, "a data folder"),
	}
	newShell(cmd, func(ctx context.Context, s *shell, args []string) error {
		return runBackup(ctx, s, args[0], to, overwrite)
	}).bindSummary(cmd)
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write; - is standard output")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace FILE if it exists")
	requireOutput(cmd)
	return cmd
}

// backupJSON is what backup prints with --json.
type backupJSON struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func runBackup(ctx context.Context, s *shell, dir, to string, overwrite bool) error {
	if _, err := os.Stat(dir); err != nil {
		return pathless(dir, err)
	}
	if to == "-" {
		if err := s.checkOutput(to, overwrite); err != nil {
			return err
		}
		_, err := writeBackup(dir, s.data(ctx))
		return err
	}
	// Beside its place, so that a backup is there whole or not at all.
	target := followed(to)
	switch info, err := os.Lstat(target); {
	case err != nil: // nothing is there, or creating the file shows why not
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: is not a regular file", to) // a device would be replaced for all
	case !overwrite:
		return fileExists(to)
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".bloomery-backup-*")
	if err != nil {
		return err
	}
	bytes, err := writeBackup(dir, until(ctx, f))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = abandon(ctx, func() (struct{}, error) { return struct{}{}, datadir.CheckBackup(f, bytes) })
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = place(f.Name(), target, overwrite)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := syncFolder(filepath.Dir(target)); err != nil {
		return err
	}
	if s.asJSON {
		return s.print(backupJSON{to, bytes})
	}
	s.say("%s: %s, read back and checked", to, plural(uint64(bytes), "byte"))
	return nil
}

// place gives a file its name. Without overwrite nothing is replaced, not even
// what has come into being meanwhile.
func place(from, to string, overwrite bool) error {
	if overwrite {
		return os.Rename(from, to)
	}
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return fileExists(to)
	}
	return os.Rename(from, to) // a file system without links
}

func fileExists(name string) error {
	return hinted{fmt.Errorf("%s: %w", name, errExists), "--overwrite replaces it"}
}

// writeBackup writes the files of a folder to w as a tar file.
func writeBackup(dir string, w io.Writer) (bytes int64, err error) {
	counted := &countingWriter{w: w}
	err = datadir.Backup(dir, counted)
	if errors.Is(err, datadir.ErrNoData) {
		err = notData(dir, err)
	}
	return counted.n, about("", err)
}

// countingWriter counts what is written through it.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
