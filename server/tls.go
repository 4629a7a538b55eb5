package server

// Certificates, and the TLS that new connections begin with.

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// clientAuth are the values of Config.TLSAuthClients, and how a setting has them.
var clientAuth = []word[tls.ClientAuthType]{{"no", tls.NoClientCert}, {"optional", tls.VerifyClientCertIfGiven}, {"yes", tls.RequireAndVerifyClientCert}}

// maxPEM bounds a file of certificates or of a key.
const maxPEM = 1 << 20

// certificates is the TLS that is in force: what new connections begin with.
type certificates struct {
	config *tls.Config
	// expires is when the certificate does; it is zero for Config.TLS.
	expires time.Time
	// doubts are reasons for which a reload does not put it in force, and a start
	// only warns: at a start there is nothing better, and the clock of a machine
	// may be wrong until it has reached its time server.
	doubts []error
	// warnings are for the log.
	warnings []string
}

// hasTLS reports whether connections can have TLS.
func (c *Config) hasTLS() bool { return c.TLS != nil || c.TLSCert != "" }

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

// loadTLS reads the certificates of c, nil if it has none. Errors name the file.
func (c *Config) loadTLS(now time.Time) (*certificates, error) {
	if !c.hasTLS() {
		return nil, nil
	}
	if c.TLS != nil {
		return &certificates{config: c.TLS.Clone()}, nil
	}
	pair, err := loadPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, err
	}
	made := &certificates{
		expires: pair.Leaf.NotAfter,
		config: &tls.Config{
			Certificates: []tls.Certificate{pair},
			MinVersion:   tls.VersionTLS12,
			// Replies are made whole before they are sent: small records
			// would only cost more of them.
			DynamicRecordSizingDisabled: true,
		},
	}
	made.doubt("tls-cert", c.TLSCert, now, pair.Leaf)
	if info, err := os.Stat(c.TLSKey); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		made.warnings = append(made.warnings, fmt.Sprintf("%s has mode %04o, which lets every user read the private key: chmod 600 %s", c.TLSKey, info.Mode().Perm(), c.TLSKey))
	}
	if c.TLSCA == "" {
		return made, nil
	}
	data, err := readPEM("tls-ca", c.TLSCA)
	if err != nil {
		return nil, err
	}
	authorities, err := parseCertificates("tls-ca", c.TLSCA, data)
	if err != nil {
		return nil, err
	}
	made.doubt("tls-ca", c.TLSCA, now, authorities...)
	if c.TLSAuthClients == tls.NoClientCert {
		return made, nil
	}
	made.config.ClientCAs = x509.NewCertPool()
	for _, a := range authorities {
		made.config.ClientCAs.AddCert(a)
	}
	made.config.ClientAuth = c.TLSAuthClients
	return made, nil
}

// doubt notes that none of these certificates is valid now.
func (c *certificates) doubt(setting, file string, now time.Time, all ...*x509.Certificate) {
	valid := func(x *x509.Certificate) bool { return !now.Before(x.NotBefore) && !now.After(x.NotAfter) }
	if slices.ContainsFunc(all, valid) {
		return
	}
	text := "expired at " + all[0].NotAfter.UTC().Format(time.RFC3339)
	if now.Before(all[0].NotBefore) {
		text = "is not valid before " + all[0].NotBefore.UTC().Format(time.RFC3339)
	}
	c.doubts = append(c.doubts, fmt.Errorf("server: %s: %s: the certificate %s", setting, file, text))
}

// loadPair reads a certificate and its private key.
func loadPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := readPEM("tls-cert", certFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	if _, err := parseCertificates("tls-cert", certFile, cert); err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPEM("tls-key", keyFile)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // the certificate was read: it is the key
		return tls.Certificate{}, fmt.Errorf("server: tls-key: %s, for the certificate in %s: %s", keyFile, certFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return pair, nil
}

// parseCertificates returns all certificates of a file: there must be one, and none
// that cannot be read.
func parseCertificates(setting, name string, data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		x, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("server: %s: %s: certificate %d: %w", setting, name, len(all)+1, err)
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("server: %s: %s: there is no certificate in PEM form", setting, name)
	}
	return all, nil
}

// readPEM reads a small file.
func readPEM(setting, name string) ([]byte, error) {
	data, err := readRegular(name, maxPEM, "certificates")
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", setting, err)
	}
	return data, nil
}

// readRegular reads a file of something that is never longer than most bytes. It looks
// before it opens: to open a pipe can take for ever.
func readRegular(name string, most int64, of string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes, more than a file of %s can have", name, info.Size(), of)
	}
	return os.ReadFile(name)
}

// startTLS puts the first certificates in force, if there are any.
func (s *Server) startTLS(made *certificates) {
	if made == nil {
		return
	}
	for _, doubt := range made.doubts {
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
	case len(made.doubts) > 0:
		return nil, errors.Join(made.doubts...)
	}
	return func() { s.useTLS(made) }, nil
}

func (s *Server) useTLS(made *certificates) {
	for _, w := range made.warnings {
		s.log.Warn(w)
	}
	s.certificates.Store(made)
}

// tlsConfig returns what a connection that begins now has, nil if there is no TLS.
// Connections that are there keep theirs.
func (s *Server) tlsConfig() *tls.Config {
	if c := s.certificates.Load(); c != nil {
		return c.config
	}
	return nil
}

// certificateExpires returns when the certificate in force does, zero if there is
// none or if it is that of the program that carries the server.
func (s *Server) certificateExpires() time.Time {
	if c := s.certificates.Load(); c != nil {
		return c.expires
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
