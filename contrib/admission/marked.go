package admission

import (
	"io"
	"net/http"
	"strings"
)

// marked marks a response as private when its header is written: handlers set theirs until then.
type marked struct {
	http.ResponseWriter
	done bool
}

func (m *marked) mark() {
	if m.done {
		return
	}
	m.done = true
	h := m.Header()
	h.Set("Cache-Control", private(h.Values("Cache-Control")))
}

// private returns the directives of Cache-Control for a response that only its receiver may
// store: the given ones but those that allow a shared cache to.
func private(fields []string) string {
	kept := []string{"private"}
	for rest := strings.Join(fields, ","); rest != ""; {
		var field string
		field, rest = cutDirective(rest)
		field = strings.TrimSpace(field)
		name, _, _ := strings.Cut(strings.ToLower(field), "=")
		switch name {
		case "", "public", "s-maxage", "private", "proxy-revalidate":
		case "no-store":
			return field // stricter already
		default:
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, ", ")
}

// cutDirective returns the first directive, and what follows its comma. A list of names in
// quotes has commas, too.
func cutDirective(s string) (first, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// WriteHeader marks the response, unless it is about one to come.
func (m *marked) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		m.mark()
	}
	m.ResponseWriter.WriteHeader(status)
}

func (m *marked) Write(p []byte) (int, error) {
	m.mark()
	return m.ResponseWriter.Write(p)
}

// ReadFrom lets files go the short way that the server has for them.
func (m *marked) ReadFrom(r io.Reader) (int64, error) {
	m.mark()
	return io.Copy(m.ResponseWriter, r)
}

// Flush is for handlers that send a response in parts.
func (m *marked) Flush() {
	m.mark()
	_ = http.NewResponseController(m.ResponseWriter).Flush() // what cannot flush has no buffer to flush
}

// Unwrap is for http.ResponseController.
func (m *marked) Unwrap() http.ResponseWriter { return m.ResponseWriter }
