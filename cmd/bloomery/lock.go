// The lock of a file that is read, changed and replaced.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/bloomery/bloomery/hashing"
)

// lockPoll is how often a lock that another process has is asked for.
const lockPoll = 20 * time.Millisecond

// errLocked means that another process has the lock.
var errLocked = errors.New("locked")

// lockFile takes the lock of a file that is read, changed and replaced, so that
// two commands at once do one after the other and none undoes the other. It
// waits, says so once, and ends with ctx. unlock gives the lock back.
//
// The lock is one of the system on a file beside it, which is removed with the
// lock: what a crash leaves is locked by nobody and serves the next. The file
// itself cannot carry it, since it is replaced, or is not there yet.
func (s *shell) lockFile(ctx context.Context, name string) (unlock func(), err error) {
	path := lockName(followed(name))
	for waiting := false; ; {
		f, err := tryLock(path)
		if err == nil {
			return func() {
				// Before the lock is gone, so that a process that waits sees that it
				// is another file; Windows removes closed files only.
				err := os.Remove(path)
				_ = f.Close()
				if err != nil && runtime.GOOS == "windows" {
					_ = os.Remove(path)
				}
			}, nil
		}
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("%s: lock: %w", name, cause(err))
		}
		if !waiting {
			s.say("%s: waiting for another bloomery that writes it", name)
			waiting = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// mostLockStem is how many bytes of a name its lock repeats; names have at most
// 255 bytes, on some encrypted disks 143.
const mostLockStem = 100

// lockName returns the name of the lock of a file.
func lockName(name string) string {
	dir, stem := filepath.Split(name)
	if len(stem) > mostLockStem {
		stem = fmt.Sprintf("bloomery-%016x", hashing.Hasher{}.HashString(stem))
	}
	return filepath.Join(dir, "."+stem+".lock")
}

// tryLock takes a lock or returns errLocked.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		if _, statErr := os.Stat(path); statErr == nil {
			return nil, fmt.Errorf("%w: %s belongs to another user", cause(err), path)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := lockHandle(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	// Whoever had the lock before may have removed the file: then it locks
	// nothing.
	have, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && os.SameFile(have, there) {
			return f, nil
		}
	}
	_ = f.Close()
	return nil, errLocked
}
