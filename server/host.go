package server

// The server as commands see it.

import (
	"net"
	"os"

	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/status"
)

// host is the server as commands see it.
type host struct{ s *Server }

var _ engine.Host = host{}

// Sessions implements engine.Host.
func (h host) Sessions() []*engine.Session {
	conns := h.s.connections()
	all := make([]*engine.Session, len(conns))
	for i, c := range conns {
		all[i] = c.session
	}
	return all
}

// Shutdown implements engine.Host: the server ends as if it were asked to from
// outside.
func (h host) Shutdown() { h.s.requestEnd() }

// RewriteConfig implements engine.Host.
func (h host) RewriteConfig() error { return h.s.rewriteConfig() }

// Facts implements engine.Host.
func (h host) Facts() status.Server {
	s := h.s
	executable, _ := os.Executable()
	f := status.Server{
		Version: s.config.Version, Started: s.started, Port: port(s.Addr()),
		Accepted: s.accepted.Load(), Rejected: s.rejected.Load(),
		Unshaken: s.badHandshakes.Load(), CertificateExpires: s.certificateExpires(),
		BytesIn: s.pastIn.Load(), BytesOut: s.pastOut.Load(),
		Executable: executable, ConfigFile: s.config.File,
	}
	for _, c := range s.connections() {
		f.Clients++
		f.BytesIn += c.in.Load()
		f.BytesOut += c.out.Load()
	}
	return f
}

// port returns the port of an address, 0 if it has none.
func port(a net.Addr) int {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.Port
	}
	return 0
}
