package bloomery_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bloomery/bloomery"

// commands is what every package of commands may import: none imports another, but filter its
// own rooms.
var commands = []string{
	"internal/redisbloom", "server/internal/acl", "server/internal/answer", "server/internal/bundle", "server/internal/catalog", "server/internal/contents", "server/internal/control", "server/internal/engine", "server/internal/following", "server/internal/glob", "server/internal/health", "server/internal/maker",
	"internal/rdb", "server/internal/refusal", "server/internal/scratch", "server/internal/session", "server/internal/shadow", "server/internal/staging", "server/internal/status", "server/internal/store", "server/internal/traits",
}

// rooms lists, for each package of the module, which others it may import.
// Arrows point down only: the picture is in docs/architecture.md.
var rooms = map[string][]string{
	// What both wings stand on.
	"":                    {}, // the vocabulary
	"internal/kernel":     {},
	"internal/regular":    {},
	"internal/memory":     {""},
	"internal/envelope":   {"", "hashing", "internal/memory", "internal/fields"},
	"internal/batches":    {},
	"internal/shards":     {""},
	"internal/news":       {""},
	"internal/far":        {"", "hashing", "internal/envelope", "internal/fields", "internal/shards"},
	"internal/fields":     {""},
	"internal/frozen":     {"internal/envelope"},
	"internal/golden":     {},
	"internal/ports":      {},
	"internal/murmur":     {},
	"internal/measuring":  {},
	"internal/figures":    {},
	"internal/resp":       {},
	"internal/rdb":        {},
	"internal/redisbloom": {"", "internal/kernel", "internal/memory", "internal/rdb"},

	// The library.
	"hashing":             {},
	"hashing/named":       {"", "hashing", "internal/murmur"},
	"sizing":              {""},
	"internal/question":   {"internal/figures", "sizing"},
	"bloom":               {"", "hashing", "sizing", "internal/kernel", "internal/memory", "internal/envelope", "internal/far", "internal/fields", "internal/shards"},
	"counting":            {"", "hashing", "sizing", "internal/kernel", "internal/memory", "internal/batches", "internal/envelope", "internal/frozen", "internal/fields"},
	"cuckoo":              {"", "hashing", "sizing", "internal/kernel", "internal/memory", "internal/batches", "internal/envelope", "internal/frozen", "internal/fields"},
	"quotient":            {"", "hashing", "sizing", "internal/memory", "internal/batches", "internal/envelope", "internal/frozen", "internal/fields"},
	"fuse":                {"", "hashing", "sizing", "internal/kernel", "internal/memory", "internal/envelope", "internal/far", "internal/shards", "internal/fields"},
	"ribbon":              {"", "hashing", "sizing", "internal/memory", "internal/envelope", "internal/far", "internal/shards", "internal/fields"},
	"exact":               {"", "hashing", "sizing", "ribbon", "internal/memory", "internal/envelope", "internal/shards", "internal/fields"},
	"compose":             {"", "hashing", "sizing", "bloom", "internal/kernel", "internal/memory", "internal/envelope", "internal/frozen", "internal/fields"},
	"filtertest":          {"", "hashing", "internal/measuring"},
	"codec":               {"", "hashing", "bloom", "counting", "cuckoo", "quotient", "fuse", "ribbon", "exact", "compose", "internal/envelope", "internal/far", "internal/memory"},
	"codec/file":          {"", "codec", "internal/regular"},
	"follow":              {"", "codec", "codec/file", "compose", "hashing", "internal/envelope", "internal/growth", "internal/memory", "internal/news", "internal/rdb", "internal/redisbloom", "internal/regular", "internal/resp"},
	"foreign/redisbloom":  {"", "internal/redisbloom"},
	"internal/growth":     {"", "bloom", "quotient"},
	"page/internal/calc":  {"", "internal/figures", "internal/question", "sizing"},
	"page/internal/teach": {"", "bloom", "compose", "counting", "cuckoo", "hashing", "internal/measuring", "internal/memory", "sizing"},
	"page":                {"internal/figures", "page/internal/calc", "page/internal/teach"},
	"page/browser":        {},
	"page/export":         {"page"},

	// Filters of other systems.
	"foreign":                      {"", "internal/memory"},
	"foreign/internal/textbook":    {""},
	"foreign/internal/compactsize": {},
	"foreign/internal/formattest":  {"", "foreign"},
	"foreign/guava":                {"", "foreign", "foreign/internal/textbook", "internal/murmur"},
	"foreign/dcso":                 {"", "foreign", "foreign/internal/textbook", "internal/memory"},
	"foreign/bitsandblooms":        {"", "foreign", "foreign/internal/textbook", "internal/murmur"},
	"foreign/leveldb":              {"", "foreign", "foreign/internal/textbook", "internal/murmur"},
	"foreign/rocksdb":              {"", "foreign", "foreign/internal/textbook", "internal/murmur"},
	"foreign/bip37":                {"", "foreign", "foreign/internal/compactsize", "foreign/internal/textbook", "internal/murmur"},
	"foreign/bip158":               {"", "foreign/internal/compactsize", "hashing"},
	"foreign/parquet":              {"", "bloom", "hashing/named"},
	"foreign/cassandra":            {"", "foreign", "internal/murmur"},

	// What people run.
	"server/internal/order":               {},
	"server/internal/wire":                {},
	"server/internal/catalog":             {"server/internal/order"},
	"server/internal/placement":           {},
	"server/internal/effort":              {"", "bloom", "compose", "cuckoo", "quotient", "sizing", "internal/redisbloom", "internal/envelope"},
	"server/internal/roster":              {"", "server/internal/placement", "server/internal/wire"},
	"server/internal/contents":            {"", "bloom", "codec", "compose", "hashing", "quotient", "sizing", "internal/redisbloom", "internal/envelope", "internal/frozen", "internal/growth", "internal/memory", "server/internal/catalog", "server/internal/effort", "server/internal/keyring", "server/internal/order", "server/internal/wire"},
	"server/internal/following":           {"codec", "internal/news", "internal/redisbloom", "server/internal/catalog", "server/internal/contents"},
	"server/internal/shadow":              {"", "codec", "hashing", "server/internal/catalog", "server/internal/contents", "server/internal/roster"},
	"server/internal/store":               {"", "codec", "internal/redisbloom", "internal/envelope", "server/internal/catalog", "server/internal/contents", "server/internal/effort", "server/internal/following", "server/internal/placement", "server/internal/roster", "server/internal/shadow", "server/internal/wire"},
	"server/internal/keyring":             {"hashing"},
	"server/internal/status":              {},
	"server/internal/door":                {"server/internal/contents", "server/internal/status", "server/internal/store"},
	"server/internal/folder":              {"", "internal/regular"},
	"server/internal/folder/powercut":     {"server/internal/folder"},
	"server/internal/snapshot":            {"", "server/internal/catalog", "server/internal/contents", "server/internal/folder", "server/internal/order", "server/internal/placement", "server/internal/roster", "server/internal/status", "server/internal/store", "server/internal/wire"},
	"server/internal/door/local":          {"", "server/internal/catalog", "server/internal/contents", "server/internal/door", "server/internal/folder", "server/internal/order", "server/internal/snapshot", "server/internal/status", "server/internal/store"},
	"server/internal/peers":               {},
	"server/internal/door/cluster":        {"", "server/internal/catalog", "server/internal/contents", "server/internal/door", "server/internal/door/cluster/balance", "server/internal/door/cluster/claims", "server/internal/door/cluster/heartbeat", "server/internal/door/cluster/journal", "server/internal/door/cluster/messages", "server/internal/folder", "server/internal/order", "server/internal/peers", "server/internal/placement", "server/internal/roster", "server/internal/snapshot", "server/internal/status", "server/internal/store", "server/internal/wire"},
	"server/internal/door/cluster/memlog": {},
	"server/internal/door/cluster/nats":   {"", "server/internal/door/cluster", "server/internal/folder"},
	"server/internal/glob":                {},
	"server/internal/acl":                 {"server/internal/glob"},
	"server/internal/session":             {"internal/redisbloom", "server/internal/acl"},
	"server/internal/health":              {"", "internal/measuring", "sizing", "server/internal/status"},
	"server/internal/answer":              {"", "server/internal/wire"},
	"server/internal/traits":              {"server/internal/acl", "server/internal/answer"},
	"server/internal/budget":              {"server/internal/contents", "server/internal/door", "server/internal/store"},
	"server/internal/cost":                {"server/internal/acl", "server/internal/catalog", "server/internal/contents", "server/internal/effort", "server/internal/session", "server/internal/store"},
	"server/internal/refusal":             {"server/internal/answer", "server/internal/contents", "server/internal/door"},
	"server/internal/control":             {"server/internal/answer", "server/internal/door", "server/internal/refusal", "server/internal/status"},
	"server/internal/gate":                {"server/internal/order", "server/internal/session"},
	"server/internal/scratch":             {"internal/redisbloom", "server/internal/answer", "server/internal/contents", "server/internal/routes", "server/internal/shadow", "server/internal/store"},
	"server/internal/sweep":               {"server/internal/contents", "server/internal/door", "server/internal/gate", "server/internal/session", "server/internal/store"},
	"server/internal/checkup":             {"", "server/internal/catalog", "server/internal/contents", "server/internal/health", "server/internal/status", "server/internal/store"},
	"server/internal/routes":              {""},
	"server/internal/staging":             {"", "internal/redisbloom", "server/internal/answer", "server/internal/catalog", "server/internal/contents", "server/internal/door", "server/internal/routes", "server/internal/shadow", "server/internal/store"},
	"server/internal/engine":              {"", "hashing", "internal/news", "server/internal/acl", "server/internal/answer", "server/internal/budget", "server/internal/catalog", "server/internal/checkup", "server/internal/contents", "server/internal/control", "server/internal/cost", "server/internal/door", "server/internal/following", "server/internal/gate", "server/internal/glob", "server/internal/health", "server/internal/keyring", "internal/rdb", "server/internal/placement", "server/internal/refusal", "server/internal/roster", "server/internal/scratch", "server/internal/session", "server/internal/shadow", "server/internal/staging", "server/internal/status", "server/internal/store", "server/internal/sweep", "server/internal/traits"},
	"server/internal/bundle":              {"server/internal/answer", "server/internal/catalog", "server/internal/contents", "server/internal/door", "server/internal/engine", "server/internal/health", "server/internal/refusal", "server/internal/routes", "server/internal/scratch", "server/internal/shadow", "server/internal/store"},
	"server/internal/maker":               {"server/internal/answer", "server/internal/catalog", "server/internal/engine", "server/internal/store"},
	"server/internal/blueprint":           {"", "bloom", "codec", "compose", "counting", "cuckoo", "hashing", "internal/figures", "quotient", "sizing", "server/internal/answer", "server/internal/contents", "server/internal/store"},
	"server/internal/filters":             {"", "server/internal/answer", "server/internal/catalog", "server/internal/contents", "server/internal/engine", "server/internal/refusal", "server/internal/store"},
	"server/internal/command/bf":          commands,
	"server/internal/command/cf":          commands,
	"server/internal/command/filter":      append([]string{"", "bloom", "codec", "compose", "hashing", "internal/news", "sizing", "server/internal/blueprint", "server/internal/command/filter/advise", "server/internal/command/filter/rebuild", "server/internal/command/filter/resize", "server/internal/command/filter/where", "server/internal/effort", "server/internal/filters"}, commands...),
	"server/internal/command/cms":         append([]string{""}, commands...),
	"server/internal/command/topk":        commands,
	"server/internal/command/tdigest":     append([]string{""}, commands...),
	"server/internal/command/keys":        commands,
	"server/internal/command/text":        commands,
	"server/internal/command/connection":  commands,
	"server/internal/command/admin":       append([]string{"internal/figures", "server/internal/placement"}, commands...),
	"server/internal/command/acl":         commands,

	"server/internal/certificate":            {},
	"server/internal/door/cluster/balance":   {"server/internal/placement", "server/internal/roster", "server/internal/store"},
	"server/internal/door/cluster/claims":    {"", "server/internal/door/cluster/heartbeat", "server/internal/door/cluster/messages", "server/internal/folder", "server/internal/roster", "server/internal/snapshot", "server/internal/wire"},
	"server/internal/door/cluster/heartbeat": {"", "server/internal/roster", "server/internal/snapshot", "server/internal/wire"},
	"server/internal/door/cluster/journal":   {"", "server/internal/door/cluster/messages", "server/internal/folder", "server/internal/store"},
	"server/internal/door/cluster/messages":  {"", "server/internal/roster", "server/internal/store", "server/internal/wire"},
	"server/internal/command/filter/advise":  append([]string{"codec", "internal/question", "sizing", "server/internal/blueprint"}, commands...),
	"server/internal/command/filter/rebuild": append([]string{"codec", "hashing", "server/internal/blueprint", "server/internal/filters"}, commands...),
	"server/internal/command/filter/resize":  append([]string{"", "server/internal/blueprint", "server/internal/filters"}, commands...),
	"server/internal/command/filter/where":   append([]string{"", "hashing", "server/internal/filters"}, commands...),

	"server/internal/command": {
		"server/internal/engine", "server/internal/traits",
		"server/internal/command/bf", "server/internal/command/cf", "server/internal/command/cms", "server/internal/command/topk",
		"server/internal/command/tdigest", "server/internal/command/filter", "server/internal/command/keys", "server/internal/command/text",
		"server/internal/command/connection", "server/internal/command/admin", "server/internal/command/acl",
	},
	"server/internal/command/commandtest": {
		"", "codec", "compose", "hashing", "internal/envelope", "internal/news", "internal/redisbloom", "server/internal/answer", "server/internal/command", "server/internal/door/local", "server/internal/engine", "server/internal/folder",
		"server/internal/session", "server/internal/status", "server/internal/store",
	},
	"server/internal/web/metrics":     {"server/internal/engine", "server/internal/health", "server/internal/session", "server/internal/status"},
	"server/internal/command/gendocs": {"server/internal/command"},
	"server/internal/web":             {"codec", "internal/envelope", "internal/figures", "internal/news", "page", "server/internal/answer", "server/internal/engine"},
	"server": {
		"", "codec/file", "hashing", "internal/figures", "internal/memory", "internal/regular", "internal/resp",
		"server/internal/answer", "server/internal/certificate", "server/internal/command", "server/internal/engine", "server/internal/door", "server/internal/door/local", "server/internal/refusal", "server/internal/session", "server/internal/status", "server/internal/store", "server/internal/traits",
		"server/internal/door/cluster", "server/internal/door/cluster/claims", "server/internal/door/cluster/nats", "server/internal/folder", "server/internal/peers",
		"server/internal/web", "server/internal/web/metrics",
	},
	"server/datadir":               {"", "server/internal/door/cluster", "server/internal/door/cluster/claims", "server/internal/door/cluster/nats", "server/internal/door/local", "server/internal/folder", "server/internal/store"},
	"cmd/bloomery/internal/lines":  {"internal/kernel"},
	"cmd/bloomery/internal/dedupe": {"", "hashing", "bloom", "compose", "sizing", "internal/kernel", "internal/memory", "cmd/bloomery/internal/lines"},
	"cmd/bloomery": {
		"foreign", "foreign/bip158", "foreign/bip37", "foreign/bitsandblooms", "foreign/cassandra", "foreign/dcso", "foreign/guava", "foreign/leveldb", "foreign/parquet", "foreign/rocksdb",
		"", "hashing", "hashing/named", "sizing", "bloom", "quotient", "fuse", "ribbon", "exact", "compose", "codec", "codec/file", "follow",
		"internal/figures", "internal/question", "internal/memory", "internal/shards", "internal/resp", "page/export", "server", "server/datadir", "cmd/bloomery/internal/lines", "cmd/bloomery/internal/dedupe",
		"internal/regular",
	},
	"examples/internal/demo":   {},
	"examples/internal/served": {"internal/resp", "server"},

	"examples/adcap":        {"compose", "examples/internal/demo"},
	"examples/cdn":          {"", "codec", "contrib/admission", "counting", "examples/internal/demo"},
	"examples/crawler":      {"", "compose", "hashing", "examples/internal/demo", "examples/internal/served"},
	"examples/literature":   {"", "bloom", "counting", "hashing", "examples/internal/demo"},
	"examples/messages":     {"bloom", "compose", "examples/internal/demo"},
	"examples/revocation":   {"exact", "hashing", "examples/internal/demo"},
	"examples/router":       {"bloom", "examples/internal/demo", "examples/internal/served"},
	"examples/safebrowsing": {"bloom", "follow", "examples/internal/demo"},
	"examples/spell":        {"exact", "hashing", "ribbon", "examples/internal/demo"},
	"examples/usernames":    {"bloom", "hashing", "ribbon", "examples/internal/demo"},

	"examples/blocklist": {"bloom", "examples/internal/demo"},
	"examples/diskcache": {"bloom", "hashing", "ribbon", "examples/internal/demo"},
	"examples/fraud":     {"compose", "counting", "examples/internal/demo"},
	"examples/mail":      {"cuckoo", "hashing", "ribbon", "examples/internal/demo"},
	"examples/malware":   {"bloom", "compose", "cuckoo", "examples/internal/demo"},
	"examples/packets":   {"bloom", "counting", "examples/internal/demo"},
	"examples/recommend": {"bloom", "examples/internal/demo", "examples/internal/served"},
	"examples/spv":       {"foreign/bip158", "foreign/bip37", "examples/internal/demo"},

	"examples/attack":   {"hashing", "bloom", "counting", "compose"},
	"examples/embedded": {"server"},
	"examples/hello":    {"bloom"},
	"examples/tour":     {"", "bloom", "codec", "codec/file", "compose", "cuckoo", "fuse", "hashing"},
	"contrib/admission": {"compose", "hashing"},
	"contrib/packaging": {},
	"contrib/platforms": {},
	"contrib/readers":   {}, // tests alone
	"examples/words":    {"bloom"},

	"contrib/readers/browser": {},
}

// library packages may import these modules and nothing else from outside.
var libraryModules = []string{"github.com/zeebo/xxh3", "golang.org/x/sys"}

// roomModules are further modules that one room may import, so that only its
// users download them; docs/adr has the decision for each.
var roomModules = map[string][]string{
	"hashing/named": {
		"github.com/cespare/xxhash/v2", "github.com/dgryski/go-farm", "github.com/go-faster/city",
		"golang.org/x/crypto", "lukechampine.com/blake3",
	},
}

// keptTo are modules that only some rooms may import, though they are applications:
// docs/adr has the decision for each.
var keptTo = map[string][]string{
	"github.com/prometheus": {"server/internal/web/metrics"},
	"github.com/nats-io":    {"server/internal/door/cluster/nats"},
}

// forbidden packages of the standard library: a library does not open files,
// talk to networks or write logs behind its user's back.
var forbidden = []string{"os", "net", "log", "log/slog", "os/exec", "net/http", "syscall"}

// exceptions are the packages of the standard library that a room may import
// all the same: files are what codec/file is for, and what tests compare with.
var exceptions = map[string][]string{"codec/file": {"os"}, "follow": {"net", "net/http", "os"}, "internal/regular": {"os"}, "internal/golden": {"os"}, "internal/ports": {"net"}}

// applications are the rooms that only our own programs use: they may import
// the standard library and the modules that programs need.
var applications = []string{"examples/", "contrib/", "cmd/", "server", "internal/resp", "page/browser", "page/export"}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestArrows(t *testing.T) {
	for _, p := range list(t) {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, known := rooms[room]
		if !known {
			t.Errorf("package %q is in no room: add it to the list and to docs/architecture.md", room)
			continue
		}
		for _, arrow := range allowed {
			shared := strings.HasPrefix(room, "server/internal/command/") && slices.Contains(commands, arrow)
			if !shared && !slices.Contains(p.Imports, strings.TrimSuffix(module+"/"+arrow, "/")) {
				t.Errorf("%q may import %q and does not: take the arrow away", room, arrow)
			}
		}
		application := slices.ContainsFunc(applications, func(prefix string) bool { return strings.HasPrefix(room, prefix) })
		for _, imported := range p.Imports {
			for prefix, only := range keptTo {
				if within(imported, []string{prefix}) && !slices.Contains(only, room) {
					t.Errorf("%q imports %q: only %q may", room, imported, only)
				}
			}
			switch own, ok := strings.CutPrefix(imported+"/", module+"/"); {
			case ok:
				if !slices.Contains(allowed, strings.TrimSuffix(own, "/")) {
					t.Errorf("%q imports %q: no arrow points there", room, imported)
				}
			case application:
			case isStandard(imported):
				if slices.Contains(forbidden, imported) && !slices.Contains(exceptions[room], imported) {
					t.Errorf("%q imports %q: a library must not", room, imported)
				}
			case !within(imported, libraryModules) && !within(imported, roomModules[room]):
				t.Errorf("%q imports %q: library packages have no such dependency", room, imported)
			}
		}
	}
}

// within reports whether a package belongs to one of the modules.
func within(path string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(path+"/", m+"/") })
}

// isStandard recognises packages of the standard library by their first element,
// which has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// TestPageNeedsNoServer asks that the page can be compiled for a browser, without anything
// of the server and without a network.
func TestPageNeedsNoServer(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/page")
	cmd.Env = append(cmd.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), module+"/sizing\n") {
		t.Fatalf("go list: %v: %s", err, out)
	}
	for p := range strings.Lines(string(out)) {
		p = strings.TrimSpace(p)
		if strings.HasPrefix(p, module+"/server") || p == "net" || p == "net/http" || p == "os/exec" {
			t.Errorf("the page brings %s along", p)
		}
	}
}

// list asks the go command for all packages of the module and their imports, those of the program under the names that
// they have without its profile.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-pgo=off", "-json=ImportPath,Imports,Standard", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 5 {
		t.Fatalf("go list names %d packages", len(packages))
	}
	return packages
}
