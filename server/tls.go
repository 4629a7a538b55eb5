package server

// Certificates, and the TLS that new connections begin with.

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/bloomery/bloomery/internal/regular"
	"github.com/bloomery/bloomery/server/internal/certificate"
)

// clientAuth are the values of Config.TLSAuthClients, and how a setting has them.
var clientAuth = []word[tls.ClientAuthType]{{"no", tls.NoClientCert}, {"optional", tls.VerifyClientCertIfGiven}, {"yes", tls.RequireAndVerifyClientCert}}

// hasTLS reports whether connections can have TLS.
func (c *Config) hasTLS() bool { return c.TLS != nil || c.TLSCert != "" }

// loadTLS reads the certificates of c, nil if it has none. Errors name the file.
func (c *Config) loadTLS(now time.Time) (*certificate.Loaded, error) {
	switch {
	case !c.hasTLS():
		return nil, nil
	case c.TLS != nil:
		return &certificate.Loaded{Config: c.TLS.Clone()}, nil
	}
	files := certificate.Files{Cert: c.TLSCert, Key: c.TLSKey, CA: c.TLSCA, Clients: c.TLSAuthClients}
	return files.Load(now, func(name string) ([]byte, error) { return readRegular(name, maxPEM, "certificates") })
}

// maxPEM bounds a file of certificates or of a key.
const maxPEM = 1 << 20

// checkTLS reports settings of TLS that do not go together. It opens nothing.
func (c *Config) checkTLS() error {
	files := c.TLSCert != "" || c.TLSKey != "" || c.TLSCA != "" || c.TLSAuthClients != tls.NoClientCert
	switch {
	case !slices.ContainsFunc(clientAuth, func(w word[tls.ClientAuthType]) bool { return w.value == c.TLSAuthClients }):
		return fmt.Errorf("server: tls-auth-clients: %v is not NoClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert", c.TLSAuthClients)
	case c.TLS != nil && files:
		return errors.New("server: tls: Config.TLS and settings of TLS exclude each other")
	case c.TLSCert != "" && c.TLSKey == "":
		return errors.New("server: tls-cert needs tls-key, the file of its private key")
	case c.TLSCert == "" && files:
		return errors.New("server: tls-key, tls-ca and tls-auth-clients need tls-cert, the file of the certificate")
	case c.TLSAuthClients != tls.NoClientCert && c.TLSCA == "":
		return fmt.Errorf("server: tls-auth-clients %s needs tls-ca, the file of the authorities that sign the certificates of clients", written(clientAuth, c.TLSAuthClients))
	}
	return nil
}

// readRegular reads a file of something that is never longer than most bytes.
func readRegular(name string, most uint64, of string) ([]byte, error) {
	data, err := regular.ReadFile(name, most)
	switch {
	case errors.Is(err, regular.Err):
		return nil, fmt.Errorf("%s is %w", name, regular.Err)
	case errors.Is(err, regular.ErrLong):
		return nil, fmt.Errorf("%s has more than %d bytes, and so more than a file of %s can have", name, most, of)
	}
	return data, err
}

// startTLS puts the first certificates in force, if there are any.
func (s *Server) startTLS(made *certificate.Loaded) {
	if made == nil {
		return
	}
	for _, doubt := range made.Doubts {
		s.log.Error("clients that verify certificates will not connect", "error", doubt)
	}
	s.useTLS(made)
}

// reloadTLS reads the certificates again.
func (s *Server) reloadTLS() (apply func(), err error) {
	made, err := s.config.loadTLS(time.Now())
	switch {
	case err != nil:
		return nil, err
	case made == nil || s.config.TLS != nil:
		return func() {}, nil
	case len(made.Doubts) > 0:
		return nil, errors.Join(made.Doubts...)
	}
	return func() { s.useTLS(made) }, nil
}

func (s *Server) useTLS(made *certificate.Loaded) {
	for _, w := range made.Warnings {
		s.log.Warn(w)
	}
	s.certificates.Store(made)
}

// tlsConfig returns what a connection that begins now has, nil if there is no TLS.
// Connections that are there keep theirs.
func (s *Server) tlsConfig() *tls.Config {
	if c := s.certificates.Load(); c != nil {
		return c.Config
	}
	return nil
}

// certificateExpires returns when the certificate in force does, zero if there is
// none or if it is that of the program that carries the server.
func (s *Server) certificateExpires() time.Time {
	if c := s.certificates.Load(); c != nil {
		return c.Expires
	}
	return time.Time{}
}

// tlsListener is a listener whose connections have the TLS that is in force when
// they begin. The first read does their handshake.
type tlsListener struct {
	net.Listener
	server *Server
}

// Accept implements net.Listener.
func (l tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(nc, l.server.tlsConfig()), nil
}
