// Package certificate reads the files that TLS needs: a certificate, its private key, and the authorities
// that sign the certificates of clients. Its errors name the setting and the file.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Files are what TLS is made of: files in PEM form, and what is asked of the certificates of clients.
// CA may be "" if nothing is.
type Files struct {
	Cert, Key, CA string
	Clients       tls.ClientAuthType
}

// Loaded is the TLS configuration of new connections, as read from files.
type Loaded struct {
	Config *tls.Config
	// Expires is when the certificate expires, zero if that is not known.
	Expires time.Time
	// Doubts are reasons for which a reload does not put it in force, and a start
	// only warns: at a start there is nothing better, and the clock of a machine
	// may be wrong until it has reached its time server.
	Doubts []error
	// Warnings are for the log.
	Warnings []string
}

// Load makes the TLS of files, which read returns.
func (f Files) Load(now time.Time, read func(name string) ([]byte, error)) (*Loaded, error) {
	pair, err := f.pair(read)
	if err != nil {
		return nil, err
	}
	made := &Loaded{
		Expires: pair.Leaf.NotAfter,
		Config: &tls.Config{
			Certificates: []tls.Certificate{pair},
			MinVersion:   tls.VersionTLS12,
			// Replies are made whole before they are sent: small records
			// would only cost more of them.
			DynamicRecordSizingDisabled: true,
		},
	}
	made.doubt("tls-cert", f.Cert, now, pair.Leaf)
	if info, err := os.Stat(f.Key); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		made.Warnings = append(made.Warnings, fmt.Sprintf("%s has mode %04o, which lets every user read the private key: chmod 600 %s", f.Key, info.Mode().Perm(), f.Key))
	}
	if f.CA == "" {
		return made, nil
	}
	data, err := read(f.CA)
	if err != nil {
		return nil, fmt.Errorf("server: tls-ca: %w", err)
	}
	authorities, err := parseCertificates("tls-ca", f.CA, data)
	if err != nil {
		return nil, err
	}
	made.doubt("tls-ca", f.CA, now, authorities...)
	if f.Clients == tls.NoClientCert {
		return made, nil
	}
	made.Config.ClientCAs = x509.NewCertPool()
	for _, a := range authorities {
		made.Config.ClientCAs.AddCert(a)
	}
	made.Config.ClientAuth = f.Clients
	return made, nil
}

// doubt notes that none of these certificates is valid now.
func (l *Loaded) doubt(setting, file string, now time.Time, all ...*x509.Certificate) {
	valid := func(x *x509.Certificate) bool { return !now.Before(x.NotBefore) && !now.After(x.NotAfter) }
	if slices.ContainsFunc(all, valid) {
		return
	}
	text := "expired at " + all[0].NotAfter.UTC().Format(time.RFC3339)
	if now.Before(all[0].NotBefore) {
		text = "is not valid before " + all[0].NotBefore.UTC().Format(time.RFC3339)
	}
	l.Doubts = append(l.Doubts, fmt.Errorf("server: %s: %s: the certificate %s", setting, file, text))
}

// pair reads the certificate and its private key.
func (f Files) pair(read func(name string) ([]byte, error)) (tls.Certificate, error) {
	cert, err := read(f.Cert)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: tls-cert: %w", err)
	}
	if _, err := parseCertificates("tls-cert", f.Cert, cert); err != nil {
		return tls.Certificate{}, err
	}
	key, err := read(f.Key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("server: tls-key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // the certificate was read: it is the key
		return tls.Certificate{}, fmt.Errorf("server: tls-key: %s, for the certificate in %s: %s", f.Key, f.Cert, strings.TrimPrefix(err.Error(), "tls: "))
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
