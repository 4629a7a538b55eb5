package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bloomery/bloomery/server/internal/session"
)

// userFile is the file of users as ACL LOAD and ACL SAVE use it.
func (s *Server) userFile() session.UserFile {
	name := s.config.ACLFile
	return session.UserFile{
		Name:  name,
		Read:  func() ([]byte, error) { return readUsers(name) },
		Write: func(data []byte) error { return replaceFile(name, data) },
	}
}

// maxUsers bounds the file of users: a million lines are less.
const maxUsers = 256 << 20

// readUsers reads the file of users.
func readUsers(name string) ([]byte, error) {
	data, err := readRegular(name, maxUsers, "users")
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = fmt.Errorf("%s: %w", name, p.Err)
	}
	return data, err
}

// errOpens is that files of a reload would let clients in without a password. A file that is
// being written is short, and may lack the line that keeps them out.
var errOpens = errors.New("clients that need a password now would need none: if that is meant, restart the server")

// reloadUsers reads the file of users again.
func (s *Server) reloadUsers() (apply func(), err error) {
	apply, opens, err := s.readUsers()
	if err == nil && opens {
		return nil, fmt.Errorf("server: acl-file: %s: %w", s.config.ACLFile, errOpens)
	}
	return apply, err
}

// readUsers reads the file of users. The error names the line that is wrong.
func (s *Server) readUsers() (apply func(), opens bool, err error) {
	name := s.config.ACLFile
	if name == "" {
		return func() {}, false, nil
	}
	apply, opens, err = s.engine.ReadUsers()
	if err != nil {
		return nil, false, fmt.Errorf("server: acl-file: %w", err)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		s.log.Warn("the file of users can be read by others: chmod 600", "file", name, "mode", info.Mode().Perm().String())
	}
	return apply, opens, nil
}

// replaceFile puts data into the place of a file that only its owner may read: all of
// it or nothing, also if the machine crashes meanwhile. A symbolic link stays one.
func replaceFile(name string, data []byte) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is what matters
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder puts the names of a folder on the disk, where the system can do that.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // it is only read
	return d.Sync()
}
