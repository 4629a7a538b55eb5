package web

// Who may ask: tokens, hosts, origins.

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// digest is what a secret is compared by: it takes the same time for every wrong one.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// is reports whether a secret is the one of d. An empty one never is.
func (d digest) is(secret string) bool {
	other := digestOf(secret)
	return secret != "" && subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

// localKey is the key of a context value: whether the client is on this machine.
type localKey struct{}

// WithLocal notes in the context of a connection of our own listeners whether its
// client is on this machine. In the mux of another program the address of the request
// decides.
func WithLocal(ctx context.Context, local bool) context.Context {
	return context.WithValue(ctx, localKey{}, local)
}

// isLocal reports whether a request comes from this machine.
func isLocal(r *http.Request) bool {
	if local, ok := r.Context().Value(localKey{}).(bool); ok {
		return local
	}
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && addr.Addr().Unmap().IsLoopback()
}

// locked reports whether clients must authenticate.
func (h *Handler) locked() bool { return h.Engine != nil && !h.Engine.Users.Open() }

// protect refuses a client of another machine while nothing protects the data: neither
// a password nor a certificate of the client's.
func (h *Handler) protect(r *http.Request) error {
	if !h.Protected || h.locked() || isLocal(r) || r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return nil
	}
	return problem{http.StatusForbidden, "protected", "the server runs in protected mode: no password is set, so other machines need the token. " +
		"Set --http-token or --password, or turn protected mode off (--protected-mode=false) if the network is trusted."}
}

// shared allows a page of another site to read a copy of a filter, if its origin is one of those
// that may. It reports false if that is not so, or the page asks for something else.
func (h *Handler) shared(head http.Header, r *http.Request) bool {
	asked := *r
	if asked.Method = http.MethodGet; len(h.Origins) == 0 {
		return false
	}
	_, pattern := h.mux.Handler(&asked)
	if !slices.ContainsFunc(newsRoutes, func(n route) bool { return pattern == n.method+" "+n.path }) {
		return false
	}
	head.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(h.Origins, "*") && !slices.ContainsFunc(h.Origins, func(own string) bool { return strings.EqualFold(own, origin) }) {
		return false
	}
	head.Set("Access-Control-Allow-Origin", origin)
	head.Set("Access-Control-Allow-Methods", http.MethodGet)
	head.Set("Access-Control-Allow-Headers", "Authorization, If-None-Match")
	head.Set("Access-Control-Expose-Headers", "ETag")
	head.Set("Access-Control-Max-Age", "600")
	head.Set("Cross-Origin-Resource-Policy", "cross-origin")
	return true
}

// checkHost refuses a name under which nobody should reach the server. A page of
// another site can give its own name the address of this machine; then its scripts
// are of the same origin, and only the name gives them away. Another program that
// mounts the handler knows its own names, so there only given ones are asked for.
func (h *Handler) checkHost(r *http.Request) error {
	if _, ours := r.Context().Value(localKey{}).(bool); !ours && len(h.Hosts) == 0 {
		return nil
	}
	host := hostOf(r.Host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(h.Hosts, "*") ||
		slices.ContainsFunc(h.Hosts, func(own string) bool { return strings.EqualFold(own, host) }) {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	return problem{http.StatusMisdirectedRequest, "unknown_host", "the server does not go by this name. " +
		"Allow it with --http-hosts, or send the token or a user."}
}

// hostOf returns the name of a Host header, without the port, in lower case.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// identify finds the user of a request, and makes the session of the call accordingly. A
// request without credentials is what a connection is that has not sent AUTH.
func (c *call) identify() error {
	h, r := c.h, c.r
	if h.Engine == nil {
		return problem{http.StatusServiceUnavailable, "no_server", "this is the page alone: there is no server behind it"}
	}
	kind, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	user, password, basic := r.BasicAuth()
	switch {
	case strings.EqualFold(kind, "bearer"), basic && user == "":
		if basic {
			value = password // a browser asks for a name and a password
		}
		if !h.token.is(strings.TrimSpace(value)) {
			return problem{http.StatusUnauthorized, "unauthorized", "the token is wrong"}
		}
		c.open()
		h.Engine.Users.Trust(&c.session.Client)
		c.known, c.trusted = true, true
	case basic:
		c.open()
		if _, err := c.do("AUTH", user, password); err != nil {
			return err
		}
		c.known = h.Engine.Users.Proven(&c.session.Client)
	case kind != "":
		return problem{http.StatusUnauthorized, "unauthorized", "give a token (Authorization: Bearer) or a user (Authorization: Basic)"}
	default:
		c.open()
	}
	if c.known {
		return nil
	}
	if err := h.protect(r); err != nil {
		return err
	}
	return h.checkHost(r)
}

// authorize refuses a request that may not change anything, and one that a browser
// sends on behalf of another site.
func (c *call) authorize() error {
	h := c.h
	if !h.Admin {
		return problem{http.StatusForbidden, "read_only", "this server's HTTP is read-only: start it with --http-admin to change data here"}
	}
	if !c.known && (h.Token != "" || h.locked()) {
		return problem{http.StatusUnauthorized, "unauthorized", "changes need the token (Authorization: Bearer) or a user (Authorization: Basic)"}
	}
	if err := h.origin.Check(c.r); err != nil {
		return problem{http.StatusForbidden, "cross_origin", "a page of another site may not change anything here"}
	}
	return c.checkType()
}

// checkType asks for JSON: no form of another site can send that.
func (c *call) checkType() error {
	if c.r.Method == http.MethodDelete {
		return nil // forms do not have it
	}
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem{http.StatusUnsupportedMediaType, "not_json", "send Content-Type: application/json"}
	}
	return nil
}
