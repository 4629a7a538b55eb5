package local

// A tar file of a folder, checked like the folder itself.

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// CheckArchive is Check for a tar file of a folder's files, size bytes of r.
func CheckArchive(r io.ReaderAt, size int64) error {
	a, err := OpenArchive(r, size)
	if err != nil {
		return err
	}
	return Check(a)
}

// OpenArchive returns a tar file of a folder's files, size bytes of r, as a folder.
func OpenArchive(r io.ReaderAt, size int64) (folder.Folder, error) {
	a := &archive{r: r, files: map[string]place{}}
	in := io.NewSectionReader(r, 0, size)
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, fmt.Errorf("local: archive: %w: %w", bloomery.ErrCorrupt, err)
		}
		off, err := in.Seek(0, io.SeekCurrent) // the body begins where Next has stopped reading
		if err != nil {
			return nil, err
		}
		a.files[h.Name] = place{off, h.Size}
	}
}

// archive is a tar file as a folder that is only read.
type archive struct {
	r     io.ReaderAt
	files map[string]place
}

type place struct{ off, size int64 }

// List implements Folder.
func (a *archive) List() ([]string, error) {
	return slices.Sorted(maps.Keys(a.files)), nil
}

// Open implements Folder.
func (a *archive) Open(name string) (folder.Reader, error) {
	p, ok := a.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return archived{io.NewSectionReader(a.r, p.off, p.size)}, nil
}

type archived struct{ *io.SectionReader }

func (archived) Close() error { return nil }
