package server

// Reload: certificates, secret keys, users and settings, all or nothing.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/engine"
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
	_, err := s.reload(s.read)
	return err
}

// ReloadConfig is Reload, and puts the settings of c in force that are Live and differ from
// those that the server was started with or that were reloaded last: what CONFIG SET has
// changed meanwhile stays, unless c changes it, too. It returns the names of the other settings
// that differ: they need a restart. On an error nothing has changed.
func (s *Server) ReloadConfig(c Config) (restart []string, err error) {
	next, err := c.complete()
	if err != nil {
		return nil, err
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	return s.reload(next)
}

// reload puts a configuration in force. It is called with reloading held.
func (s *Server) reload(next Config) (restart []string, err error) {
	var errs []error
	var all []func()
	for _, read := range s.reloadSteps() {
		apply, err := read()
		errs = append(errs, err)
		all = append(all, apply)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if s.read.Password != "" && next.Password == "" {
		return nil, fmt.Errorf("server: reload: password: %w", errOpens)
	}
	changed, restart := s.differences(&next)
	if err := s.change(changed, &next); err != nil {
		return nil, err
	}
	for _, apply := range all {
		apply()
	}
	s.read = next
	var figures []any
	if len(changed) > 0 {
		figures = append(figures, "changed", names(changed))
	}
	if expires := s.certificateExpires(); !expires.IsZero() {
		figures = append(figures, "certificate-expires", expires)
	}
	s.log.Info("reloaded", figures...)
	if len(restart) > 0 {
		s.log.Warn("settings have changed that need a restart", "settings", strings.Join(restart, ","))
	}
	return restart, nil
}

// differences returns the settings that differ from what was read last and can be changed,
// and the names of those that differ from what the server was started with and cannot.
func (s *Server) differences(next *Config) (live []Setting, restart []string) {
	for _, setting := range Settings() {
		value := setting.Get(next)
		switch {
		case setting.Live && value != setting.Get(&s.read):
			live = append(live, setting)
		case !setting.Live && value != setting.Get(&s.config):
			restart = append(restart, setting.Name)
		}
	}
	return live, restart
}

// change puts settings in force as CONFIG SET does: all or none.
func (s *Server) change(settings []Setting, next *Config) error {
	if len(settings) == 0 {
		return nil
	}
	words := [][]byte{[]byte("CONFIG"), []byte("SET")}
	for _, setting := range settings {
		value := redisValue(setting, next)
		if setting.Secret {
			value = setting.Get(next)
		}
		words = append(words, []byte(setting.Redis), []byte(value))
	}
	session := s.httpSession("reload", "")
	defer s.engine.Close(session)
	s.engine.Users.Trust(&session.Client)
	var w engine.Workspace
	defer w.Reset()
	w.Add(words)
	if s.engine.Exec(session, &w, 0) == 0 {
		return errors.New("server: reload: the clients of the server are paused")
	}
	if reply := &w.Calls[0].Reply; reply.Failed() {
		return fmt.Errorf("server: reload: %s: %s", names(settings), strings.TrimPrefix(reply.Text, "ERR "))
	}
	return nil
}

func names(settings []Setting) string {
	var all []string
	for _, s := range settings {
		all = append(all, s.Name)
	}
	return strings.Join(all, ",")
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
		if before, ok := s.state.Keys().Hasher(id); ok && !sameKey(before, key) {
			return nil, fmt.Errorf("server: keys: %s: the key of %q is not the one in force: give another key another id", s.config.KeysFile, id)
		}
	}
	return func() {
		s.engine.SetSecretNames(keys.names) // first: a new key is nobody's meanwhile
		s.state.SetKeys(keys.hashers)
	}, nil
}

func sameKey(a, b hashing.Hasher) bool { return a.Kind() == b.Kind() && a.Check() == b.Check() }
