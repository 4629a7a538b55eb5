package server

// CONFIG REWRITE: settings back into the configuration file.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bloomery/bloomery/codec/file"
)

// rewriter is what CONFIG REWRITE remembers.
type rewriter struct {
	mu      sync.Mutex      // one at a time writes the file
	written map[string]bool // settings that are in the file by CONFIG REWRITE
}

// rewriteConfig writes the settings that CONFIG SET has changed since the start
// into the file that the server was started with: all of it or nothing. Other
// lines stay as they are, and so do values that came from flags or the
// environment.
func (s *Server) rewriteConfig() error {
	if s.config.File == "" {
		return errors.New("server: there is no configuration file")
	}
	s.rewrite.mu.Lock()
	defer s.rewrite.mu.Unlock()
	name, err := filepath.EvalSymlinks(s.config.File)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	now := s.inForce()
	var changed []string
	for _, setting := range Settings() {
		value := setting.Get(&now)
		if !setting.Live || value == setting.Get(&s.config) && !s.rewrite.written[setting.Name] {
			continue
		}
		if data, err = setLine(data, setting, value); err != nil {
			return fmt.Errorf("server: %s: %w", name, err)
		}
		changed = append(changed, setting.Name)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := file.WriteFile(name, bytes.NewReader(data)); err != nil {
		return err
	}
	if s.rewrite.written == nil {
		s.rewrite.written = map[string]bool{}
	}
	for _, name := range changed {
		s.rewrite.written[name] = true
	}
	return nil
}

// inForce returns the configuration with what CONFIG SET has changed.
func (s *Server) inForce() Config {
	c := s.config
	c.Password = s.settings.Password()
	c.Defaults = defaultsOf(*s.settings.Defaults())
	c.MaxMemory = s.engine.Budget.Max()
	c.MaxClients = int(s.settings.MaxClients.Load())
	c.MaxTransaction = int(s.settings.MaxTransaction.Load())
	if seconds := s.settings.Timeout.Load(); seconds != int64(c.IdleTimeout/time.Second) {
		c.IdleTimeout = time.Duration(seconds) * time.Second
	}
	if st := s.door.Status(); st.Kept {
		if mode, err := ParseFsync(st.Mode); err == nil {
			c.Fsync = mode
		}
	}
	return c
}

// setLine puts the value of a setting into a TOML file: into the line that has it,
// of which a comment behind the value is kept, or into a new one at the end.
func setLine(data []byte, s Setting, value string) ([]byte, error) {
	text := string(data)
	if strings.Contains(text, `"""`) || strings.Contains(text, "'''") {
		return nil, errors.New("the file has strings of several lines: change it by hand")
	}
	value, err := tomlValue(s.Kind, value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	var out strings.Builder
	found := false
	for line := range strings.Lines(text) {
		before, rest, ok := strings.Cut(line, "=")
		if !ok || strings.Trim(strings.TrimSpace(before), `"'`) != s.Name {
			out.WriteString(line)
			continue
		}
		found = true
		out.WriteString(before + "= " + value + behindValue(rest))
	}
	if !found {
		if text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteString("\n")
		}
		out.WriteString(s.Name + " = " + value + "\n")
	}
	return []byte(out.String()), nil
}

// behindValue returns what follows a value in its line: a comment, if there is
// one, and the end of the line.
func behindValue(rest string) string {
	trimmed := strings.TrimLeft(rest, " \t")
	end := 0
	if trimmed != "" && (trimmed[0] == '"' || trimmed[0] == '\'') {
		quote := trimmed[0]
		for end = 1; end < len(trimmed) && trimmed[end] != quote; end++ {
			if trimmed[end] == '\\' && quote == '"' {
				end++
			}
		}
	}
	end = min(end, len(trimmed))
	if i := strings.IndexByte(trimmed[end:], '#'); i >= 0 {
		return " " + trimmed[end+i:]
	}
	if strings.HasSuffix(rest, "\r\n") {
		return "\r\n"
	}
	if strings.HasSuffix(rest, "\n") {
		return "\n"
	}
	return ""
}

// tomlValue writes a value of some kind as TOML does.
func tomlValue(kind Kind, value string) (string, error) {
	if kind.bare() {
		return value, nil
	}
	if !utf8.ValidString(value) {
		return "", errors.New("a value that is no text cannot be in the file")
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}
