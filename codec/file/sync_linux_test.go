package file

// A test that folders are really synced, which leaves no other trace.

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// A device cannot be synced, so the error shows that it was tried.
func TestFolderIsSynced(t *testing.T) {
	if err := (osDisk{}).syncFolder("/dev/null"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("syncFolder of a device: %v, want EINVAL", err)
	}
	if err := (osDisk{}).syncFolder("/nothing/here"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("syncFolder of nothing: %v, want ErrNotExist", err)
	}
}
