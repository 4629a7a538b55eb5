package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// expressions returns the ways in which a list may name an address: its host or a domain above
// it, with its path or a folder above that. Addresses are written in one way only, so that
// nobody escapes by writing one otherwise. The first is the whole address.
func expressions(address string) ([]string, error) {
	host, file, query, err := canonical(address)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, h := range hosts(host) {
		if query != "" {
			all = append(all, h+file+"?"+query)
		}
		all = append(all, h+file)
		if folder := file[:strings.LastIndexByte(file, '/')+1]; folder != file {
			all = append(all, h+folder)
		}
		if file != "/" && strings.Count(file, "/") > 1 {
			all = append(all, h+"/")
		}
	}
	return all, nil
}

// hosts returns a host and the domains above it, without the topmost.
func hosts(host string) []string {
	all := []string{host}
	if strings.Trim(host, "0123456789.:") == "" { // an address of a machine
		return all
	}
	for range 4 {
		_, above, ok := strings.Cut(host, ".")
		if !ok || !strings.Contains(above, ".") {
			break
		}
		host = above
		all = append(all, host)
	}
	return all
}

// canonical takes an address apart: host in lower case, path without dots, double slashes and
// escapes; no user, port and fragment.
func canonical(address string) (host, file, query string, err error) {
	address = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(strings.TrimSpace(address))
	u, err := url.Parse(address)
	if err != nil {
		return "", "", "", err
	}
	host = strings.Trim(strings.ToLower(u.Hostname()), ".")
	if host == "" {
		return "", "", "", fmt.Errorf("%q has no host", address)
	}
	file = u.Path
	for range 8 { // escapes of escapes
		plain, err := url.PathUnescape(file)
		if err != nil || plain == file {
			break
		}
		file = plain
	}
	cleaned := path.Clean("/" + file)
	if strings.HasSuffix(file, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return host, cleaned, u.RawQuery, nil
}

// digest returns the SHA-256 of an expression, in hex.
func digest(expression string) string {
	sum := sha256.Sum256([]byte(expression))
	return hex.EncodeToString(sum[:])
}
