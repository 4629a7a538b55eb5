package demo

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// The data that examples use, by what it is: with -data full it is real.

// Paths returns n of the seven million paths of Debian's packages, from all over their list,
// which scripts/corpora.sh makes.
func Paths(ctx context.Context, n int) ([]string, error) {
	dir, err := corpora()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "paths.txt")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "fetching the paths of all Debian packages; this takes a minute")
		if err := command(ctx, filepath.Dir(dir), "sh", "scripts/corpora.sh"); err != nil {
			return nil, err
		}
	}
	all, err := Lines(file)
	if err != nil {
		return nil, err
	}
	some := make([]string, min(n, len(all)))
	for i := range some {
		some[i] = all[i*len(all)/len(some)]
	}
	return some, nil
}

// PackageNames returns the names of all npm packages.
func PackageNames(ctx context.Context) (names []string, err error) {
	err = npmJSON(ctx, "all-the-package-names@2.0.2578", "names.json", &names)
	return names, err
}

// Requested returns the names of objects, and a function that draws one of them: npm packages as
// often as they were downloaded in a month, or made-up objects by Zipf's law, with half of the
// requests for objects that are asked for once.
func Requested(ctx context.Context, o Options) (names []string, draw func(*rand.Rand) int, err error) {
	if o.Full {
		return downloads(ctx)
	}
	const popular, once = 100_000, 200_000
	names = make([]string, popular+once)
	for i := range names {
		names[i] = "/object/" + Count(i)
	}
	var zipf *rand.Zipf
	var last *rand.Rand
	return names, func(rng *rand.Rand) int {
		if rng != last { // a Zipf belongs to its source
			zipf, last = rand.NewZipf(rng, 1.05, 2, popular-1), rng
		}
		if rng.IntN(2) == 0 {
			return popular + rng.IntN(once)
		}
		return int(zipf.Uint64())
	}, nil
}

// downloads is Requested for npm packages.
func downloads(ctx context.Context) (names []string, draw func(*rand.Rand) int, err error) {
	var counts map[string]uint64
	if err := npmJSON(ctx, "download-counts@2.20260301.0", "counts.json", &counts); err != nil {
		return nil, nil, err
	}
	names = slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	until := make([]uint64, len(names)) // downloads of this and all before
	sum := uint64(0)
	for i, name := range names {
		sum += counts[name]
		until[i] = sum
	}
	return names, func(rng *rand.Rand) int {
		at := rng.Uint64N(sum)
		return sort.Search(len(until), func(i int) bool { return until[i] > at })
	}, nil
}

// URLs returns n addresses of pages in random order: paths of Debian's packages, whose first
// folders stand for the domain, or made-up ones.
func URLs(ctx context.Context, o Options, n int) (urls []string, err error) {
	if !o.Full {
		for i := range n {
			urls = append(urls, fmt.Sprintf("https://site-%d.example/%d.html", i%997, i))
		}
		return urls, nil
	}
	urls, err = Paths(ctx, n)
	for i, path := range urls {
		folders := strings.SplitN(path, "/", 5)
		urls[i] = "https://" + strings.Join(folders[:len(folders)-1], ".") + "/" + path
	}
	Shuffle(urls, 13)
	return urls, err
}

// UnsafePages returns addresses of pages that are unsafe and of some that are not, in random
// order: phishing sites and hosts of malware, and domains of mail services, or made-up ones.
func UnsafePages(ctx context.Context, o Options) (unsafe, clean []string, err error) {
	if !o.Full {
		for i := range 20_000 {
			clean = append(clean, fmt.Sprintf("https://www.site-%d.example.org/a/page.html?q=%d", i/10, i))
			if i < 5_000 {
				unsafe = append(unsafe, fmt.Sprintf("http://shop-%d.example/login/%d", i/3, i))
			}
		}
		Shuffle(unsafe, 9)
		return unsafe, clean, nil
	}
	hosts, err := unsafeHosts(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, host := range hosts {
		known[host] = true
		unsafe = append(unsafe, "http://"+host+"/")
	}
	domains, err := MailDomains(ctx)
	for i, domain := range domains {
		if !known[domain] {
			clean = append(clean, fmt.Sprintf("https://www.%s/inbox/%d.html?user=%d", domain, i%100, i))
		}
	}
	Shuffle(unsafe, 9)
	return unsafe, clean, err
}

// Shuffle puts a list into an order that is random, and the same for the same seed.
func Shuffle(list []string, seed uint64) {
	rand.New(rand.NewPCG(seed, seed+1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// MailDomains returns the domains of addresses that are made for one message.
func MailDomains(ctx context.Context) (domains []string, err error) {
	err = npmJSON(ctx, "disposable-email-domains@1.0.62", "index.json", &domains)
	return domains, err
}

// unsafeHosts returns phishing sites and hosts of malware.
func unsafeHosts(ctx context.Context) ([]string, error) {
	var phishing struct{ Blacklist []string }
	if err := npmJSON(ctx, "eth-phishing-detect@1.2.0", "src/config.json", &phishing); err != nil {
		return nil, err
	}
	top, err := Deb(ctx, "webext-ublock-origin-firefox", "usr/share/mozilla/extensions")
	if err != nil {
		return nil, err
	}
	lists, err := filepath.Glob(filepath.Join(top, "*", "*", "assets/thirdparties/urlhaus-filter/urlhaus-filter-online.txt"))
	if err != nil || len(lists) != 1 {
		return nil, fmt.Errorf("%d lists of URLhaus below %s", len(lists), top)
	}
	hosts, err := Lines(lists[0], "!", "|")
	return append(hosts, phishing.Blacklist...), err
}

// Passwords returns the word list of sqlmap, which is a zip file.
func Passwords(ctx context.Context) ([]string, error) {
	file, err := Deb(ctx, "sqlmap", "usr/share/sqlmap/data/txt/wordlist.tx_")
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	list, err := archive.Open("wordlist.txt")
	if err != nil {
		return nil, err
	}
	defer list.Close()
	text, err := io.ReadAll(list)
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }), err
}

// npmJSON reads a file of JSON of an npm package.
func npmJSON(ctx context.Context, name, file string, into any) error {
	path, err := NPM(ctx, name, file)
	if err != nil {
		return err
	}
	return JSON(path, into)
}
