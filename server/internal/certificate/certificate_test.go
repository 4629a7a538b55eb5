package certificate

import (
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestDoubts asks for what is said of certificates that are not valid now.
func TestDoubts(t *testing.T) {
	now := time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)
	from := func(year int) *x509.Certificate {
		return &x509.Certificate{NotBefore: now.AddDate(year, 0, 0), NotAfter: now.AddDate(year+1, 0, 0)}
	}
	for _, tt := range []struct {
		all  []*x509.Certificate
		want string
	}{
		{[]*x509.Certificate{from(0)}, ""},
		{[]*x509.Certificate{from(-1)}, ""}, // until now
		{[]*x509.Certificate{from(2), from(-5), from(0)}, ""},
		{[]*x509.Certificate{from(2)}, "is not valid before 2032-06-01T00:00:00Z"},
		{[]*x509.Certificate{from(-3)}, "expired at 2028-06-01T00:00:00Z"},
		{[]*x509.Certificate{from(-3), from(2)}, "expired at 2028-06-01T00:00:00Z"},
	} {
		var l Loaded
		l.doubt("tls-cert", "file", now, tt.all...)
		if got := errors.Join(l.Doubts...); tt.want == "" && got != nil || tt.want != "" && (got == nil || !strings.HasSuffix(got.Error(), tt.want)) {
			t.Errorf("%v, want %q", got, tt.want)
		}
	}
}
