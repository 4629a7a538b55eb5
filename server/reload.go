package server

// Reload: certificates, secret keys and users, all or nothing.

import (
	"errors"
	"fmt"

	"github.com/bloomery/bloomery/hashing"
)

// reloadStep is a part of the configuration that can be read again.
//
// It returns what puts the new state in force, which cannot fail, or an error that
// names the file and the line. It changes nothing itself.
type reloadStep func() (apply func(), err error)

// reloadSteps lists what Reload reads again, in the order in which it is put in
// force.
func (s *Server) reloadSteps() []reloadStep {
	return []reloadStep{
		s.reloadTLS,
		s.reloadKeys,
		s.reloadUsers,
	}
}

// Reload reads the files of the configuration again: certificates (TLSCert, TLSKey,
// TLSCA), secret keys (KeysFile) and users (ACLFile). All of them are put in force, or,
// on an error, none: the error names each file that is not as it should be, and the
// server goes on as before. New connections get the new certificates; those that are
// there stay as they are. Only those of users who are not in the file any more are
// closed.
func (s *Server) Reload() error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	var errs []error
	var all []func()
	for _, read := range s.reloadSteps() {
		apply, err := read()
		errs = append(errs, err)
		all = append(all, apply)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, apply := range all {
		apply()
	}
	if expires := s.certificateExpires(); !expires.IsZero() {
		s.log.Info("reloaded", "certificate-expires", expires)
	} else {
		s.log.Info("reloaded")
	}
	return nil
}

// reloadKeys reads the secret keys again. Keys may come and go; filters that are
// there keep theirs. A key that changed under its id is refused: after the next
// start its filters could not be asked any more.
func (s *Server) reloadKeys() (apply func(), err error) {
	if s.config.KeysFile == "" {
		return func() {}, nil
	}
	keys, err := readKeys(s.config.KeysFile)
	if err != nil {
		return nil, err
	}
	for id, key := range keys.hashers {
		if before, ok := s.state.Key(id); ok && !sameKey(before, key) {
			return nil, fmt.Errorf("server: keys: %s: the key of %q is not the one in force: give another key another id", s.config.KeysFile, id)
		}
	}
	return func() {
		s.engine.SetSecretNames(keys.names) // first: a new key is nobody's meanwhile
		s.state.SetKeys(keys.hashers)
	}, nil
}

func sameKey(a, b hashing.Hasher) bool { return a.Kind() == b.Kind() && a.Check() == b.Check() }
