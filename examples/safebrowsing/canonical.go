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
// it, with its path or a folder above that. The first is the whole address.
func expressions(address string) ([]string, error) {
	host, file, query, err := canonical(address)
	if err != nil {
		return nil, err
	}
	var all []string
	for range 5 {
		if query != "" {
			all = append(all, host+file+"?"+query)
		}
		all = append(all, host+file)
		if folder := file[:strings.LastIndexByte(file, '/')+1]; folder != file {
			all = append(all, host+folder)
		}
		if strings.Count(file, "/") > 1 {
			all = append(all, host+"/")
		}
		_, above, _ := strings.Cut(host, ".")
		if !strings.Contains(above, ".") || strings.Trim(host, "0123456789.:") == "" { // or it is an address of a machine
			break
		}
		host = above
	}
	return all, nil
}

// canonical takes an address apart, so that nobody escapes by writing one otherwise: host in
// lower case, path without dots, double slashes and escapes; no user, port and fragment.
func canonical(address string) (host, file, query string, err error) {
	u, err := url.Parse(strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(strings.TrimSpace(address)))
	if err != nil {
		return "", "", "", err
	}
	if host = strings.Trim(strings.ToLower(u.Hostname()), "."); host == "" {
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
