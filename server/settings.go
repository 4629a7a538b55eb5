package server

// The table of all settings.

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
	"github.com/bloomery/bloomery/server/internal/web/metrics"
)

// Setting describes one setting of a server. The table of all of them, Settings,
// is what flags, environment variables, the lines of a configuration file, CONFIG
// GET and the documentation are made from.
type Setting struct {
	// Name is that of the flag and of the line in the file: max-memory.
	Name string
	// Kind is what values look like.
	Kind Kind
	// Default is the value that bloomery serve starts with.
	Default string
	// Help describes it in a line.
	Help string
	// Redis is its name in CONFIG GET: that of Redis if it has the setting, too.
	Redis string
	// Live means that CONFIG SET changes it.
	Live bool
	// Secret means that its value must not be shown.
	Secret bool
	// File means that the value is the name of a file, which must be there; ""
	// means none.
	File bool
	// Values are the words that it takes, nil if there are too many to list.
	Values []string

	get func(*Config) string
	set func(*Config, string) error
}

// Get returns the value that c has, in the form that Set takes.
func (s Setting) Get(c *Config) string { return s.get(c) }

// Set sets the value in c, or returns what is wrong with it.
func (s Setting) Set(c *Config, value string) error { return s.set(c, value) }

// Env returns the environment variable of the setting: BLOOMERY_MAX_MEMORY.
func (s Setting) Env() string {
	return "BLOOMERY_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Settings returns the settings of a server, in the order of their documentation.
func Settings() []Setting {
	d := session.RedisBloomDefaults()
	return []Setting{
		listSetting("addr", "127.0.0.1:6379", "where clients connect: HOST:PORT (with TLS if there is a certificate), tls:HOST:PORT (always), plain:HOST:PORT (never) or unix:PATH, several with commas",
			func(c *Config) *[]string { return &c.Addr }),
		listSetting("http", "127.0.0.1:8379", "where HTTP is served (API, metrics, page): addresses as in --addr; \"\" for none", func(c *Config) *[]string { return &c.HTTP }),
		text("http-token", "", "token that HTTP requests can give instead of a user; better in BLOOMERY_HTTP_TOKEN or the file", func(c *Config) *string { return &c.HTTPToken }).secret(),
		boolSetting("http-admin", false, "allow HTTP requests that change something; without it HTTP is read-only", func(c *Config) *bool { return &c.HTTPAdmin }),
		boolSetting("http-debug", false, "serve profiles and traces of the process at /debug/pprof, to requests with the token", func(c *Config) *bool { return &c.HTTPDebug }),
		listSetting("http-hosts", "", "names under which HTTP requests without token and user may reach the server, besides localhost and addresses; * for all", func(c *Config) *[]string { return &c.HTTPHosts }),
		listSetting("http-origins", "", "origins of other sites, such as https://example.org, whose pages may read copies of filters over HTTP; * for all", func(c *Config) *[]string { return &c.HTTPOrigins }),
		text("tls-cert", "", "file of the certificate for TLS and its chain, PEM; read again on SIGHUP", func(c *Config) *string { return &c.TLSCert }).redis("tls-cert-file").file(),
		text("tls-key", "", "file of its private key, PEM", func(c *Config) *string { return &c.TLSKey }).redis("tls-key-file").file(),
		text("tls-ca", "", "file of the authorities that sign the certificates of clients, PEM", func(c *Config) *string { return &c.TLSCA }).redis("tls-ca-cert-file").file(),
		oneOf("tls-auth-clients", "ask clients for a certificate: no, optional (one that is given must be good) or yes",
			func(c *Config) *tls.ClientAuthType { return &c.TLSAuthClients }, clientAuth...),
		text("password", "", "password of the user default; better in BLOOMERY_PASSWORD or the file", func(c *Config) *string { return &c.Password }).
			redis("requirepass").live().secret(),
		text("acl-file", "", "file of users and their rights, lines as ACL LIST shows them; read at the start, by ACL LOAD and on SIGHUP", func(c *Config) *string { return &c.ACLFile }).
			redis("aclfile").file(),
		boolSetting("protected-mode", true, "without a password, refuse clients of other machines", func(c *Config) *bool { return &c.ProtectedMode }).redis("protected-mode"),
		text("dir", "bloomery-data", "folder for data, made if it is not there; \"\" keeps data in memory only", func(c *Config) *string { return &c.Dir }).redis("dir"),
		oneOf("fsync", "when writes are on disk: always, everysec or no", func(c *Config) *Fsync { return &c.Fsync },
			word[Fsync]{"always", Always}, word[Fsync]{"everysec", EverySecond}, word[Fsync]{"no", Never}).redis("appendfsync").live(),
		text("keys", "", "file of secret keys for FILTER.CREATE KEYED, lines of ID ~PATTERN = 32 hexadecimal digits or @FILE, mode 0600; filters whose names match may have the key", func(c *Config) *string { return &c.KeysFile }).file(),
		bytesSetting("max-memory", defaultMaxMemory(), "memory for data and for what clients have under way; commands that need more are refused",
			func(c *Config) *int64 { return &c.MaxMemory }).redis("maxmemory").live(),
		intSetting("max-clients", 10_000, "connections at once", func(c *Config) *int { return &c.MaxClients }).redis("maxclients").live(),
		bytesSetting("max-query", 512<<20, "size of one command", func(c *Config) *int { return &c.MaxQuery }).redis("client-query-buffer-limit"),
		intSetting("max-transaction", session.DefaultMaxTransaction, "words of the commands that a transaction may queue, keys that it may watch, and KiB of data that EXEC may touch",
			func(c *Config) *int { return &c.MaxTransaction }).redis("max-transaction").live(),
		durationSetting("idle-timeout", 0, "close clients that send nothing for so long; 0 for never", func(c *Config) *time.Duration { return &c.IdleTimeout }).
			redis("timeout").live(),
		durationSetting("write-timeout", time.Minute, "close clients that take nothing of their replies for so long, or stop in the middle of a command",
			func(c *Config) *time.Duration { return &c.WriteTimeout }),
		durationSetting("shutdown-timeout", 10*time.Second, "wait so long for clients to take their replies at shutdown",
			func(c *Config) *time.Duration { return &c.ShutdownTimeout }).redis("shutdown-timeout"),
		text("cluster", "", "name of the cluster that this server is a node of; \"\" for none", func(c *Config) *string { return &c.Cluster.Name }).ofCluster(),
		listSetting("join", "", "the 3 or 5 log nodes, which keep the streams, by their --cluster-addr, in the same order everywhere",
			func(c *Config) *[]string { return &c.Cluster.Join }).ofCluster(),
		text("cluster-addr", defaultClusterAddr, "where other nodes of the cluster connect, HOST:PORT; beyond this machine it needs a secret",
			func(c *Config) *string { return &c.Cluster.Addr }).ofCluster(),
		text("cluster-peer-addr", "", "where other nodes ask this one, HOST:PORT; \"\" for the host of --cluster-addr and its port plus 10000",
			func(c *Config) *string { return &c.Cluster.PeerAddr }).ofCluster(),
		text("cluster-announce", "", "HOST:PORT of this node in replies to clients; \"\" for the first of --addr",
			func(c *Config) *string { return &c.Cluster.Announce }).ofCluster(),
		text("cluster-secret-file", "", "file with the secret that all nodes of the cluster share, 32 characters or more, mode 0600; connections between them then have TLS", func(c *Config) *string { return &c.Cluster.SecretFile }).file().ofCluster(),
		text("cluster-tls-cert", "", "file of the certificate for connections between nodes, PEM; default one derived from the secret", func(c *Config) *string { return &c.Cluster.TLSCert }).file().ofCluster(),
		text("cluster-tls-key", "", "file of its private key, PEM", func(c *Config) *string { return &c.Cluster.TLSKey }).file().ofCluster(),
		text("cluster-tls-ca", "", "file of the authority that has signed the certificates of all nodes, PEM", func(c *Config) *string { return &c.Cluster.TLSCA }).file().ofCluster(),
		intSetting("lanes", defaultLanes, "streams for the contents of filters, 1 to 64; the first node of a cluster decides it, and it cannot be changed later",
			func(c *Config) *int { return &c.Cluster.Lanes }).ofCluster(),
		bytesSetting("lane-size", int64(defaultLaneSize), "how large a stream may grow; one that is full refuses writes until snapshots have made room",
			func(c *Config) *int64 { return &c.Cluster.LaneSize }).ofCluster(),
		bytesSetting("cluster-move-rate", int64(defaultMoveRate), "how many bytes of contents a second this node takes from others when contents move (cluster copies)",
			func(c *Config) *int64 { return &c.Cluster.MoveRate }).ofCluster(),
		text("nats", "", "URL of a NATS cluster with JetStream that keeps the streams; \"\" if the log nodes keep them", func(c *Config) *string { return &c.Cluster.NATS }).ofCluster(),
		durationSetting("cluster-timeout", defaultClusterTimeout, "how long a write waits for its acknowledgement before the reply is UNKNOWN: it may be kept or not",
			func(c *Config) *time.Duration { return &c.Cluster.Timeout }).ofCluster(),
		oneOf("cluster-protocol", "let clients see a cluster (CLUSTER SLOTS, cluster_enabled): on or off",
			func(c *Config) *bool { return &c.Cluster.HideFromClients }, word[bool]{"on", false}, word[bool]{"off", true}).ofCluster(),
		intSetting("metrics-filters", metrics.DefaultFilters, "filters that /metrics shows by name; the others are summed up",
			func(c *Config) *int { return &c.MetricsFilters }).redis("metrics-filters"),
		floatSetting("bf-error-rate", d.BloomError, "error rate of a BF that is created without one", func(c *Config) *float64 { return &c.Defaults.BloomError }).
			redis("bf-error-rate").live().positive(),
		defaultOf("bf-initial-size", d.BloomCapacity, "capacity of a BF that is created without one", func(d *Defaults) *int64 { return &d.BloomCapacity }).positive(),
		expansionOf("bf-expansion-factor", d.BloomExpansion, "growth of a BF that is created without one; 0 for none",
			func(d *Defaults) (*int64, *bool) { return &d.BloomExpansion, &d.BloomNonScaling }),
		defaultOf("cf-bucket-size", d.CuckooBucket, "bucket size of a CF that is created without one", func(d *Defaults) *int64 { return &d.CuckooBucket }).positive(),
		defaultOf("cf-initial-size", d.CuckooCapacity, "capacity of a CF that is created without one", func(d *Defaults) *int64 { return &d.CuckooCapacity }).positive(),
		defaultOf("cf-max-iterations", d.CuckooKicks, "kicks before a CF grows", func(d *Defaults) *int64 { return &d.CuckooKicks }).positive(),
		expansionOf("cf-expansion-factor", d.CuckooExpansion, "growth of a CF that is created without one; 0 for none",
			func(d *Defaults) (*int64, *bool) { return &d.CuckooExpansion, &d.CuckooNonScaling }),
		defaultOf("cf-max-expansions", d.CuckooMost, "sub-filters at which a CF takes no more items", func(d *Defaults) *int64 { return &d.CuckooMost }).positive(),
	}
}

func (s Setting) redis(name string) Setting {
	s.Redis = name
	return s
}

func (s Setting) live() Setting {
	s.Live = true
	return s
}

func (s Setting) secret() Setting {
	s.Secret = true
	return s
}

func (s Setting) file() Setting {
	s.File = true
	return s
}

// positive makes 0, which in a Config stands for the default, no value of the setting.
func (s Setting) positive() Setting {
	set := s.set
	s.set = func(c *Config, text string) error {
		before := *c
		err := set(c, text)
		if err == nil && s.get(c) == "0" {
			*c = before
			err = fmt.Errorf("%s is too small", text)
		}
		return err
	}
	return s
}

// ofCluster makes a setting of a field of Config.Cluster, which may be nil: to set one
// makes a Cluster, and never changes that of a copy of the configuration.
func (s Setting) ofCluster() Setting {
	get, set := s.get, s.set
	s.get = func(c *Config) string {
		if c.Cluster == nil {
			return s.Default
		}
		return get(c)
	}
	s.set = func(c *Config, value string) error {
		var own Cluster
		if c.Cluster != nil {
			own = *c.Cluster
		}
		err := set(&Config{Cluster: &own}, value)
		if err == nil {
			c.Cluster = &own
		}
		return err
	}
	return s
}

// parameters are the settings that CONFIG GET shows and CONFIG SET cannot change.
func (c *Config) parameters(ls []listener) map[string]string {
	p := map[string]string{}
	for _, s := range Settings() {
		if !s.Live {
			p[s.Redis] = redisValue(s, c)
		}
	}
	p["proto-max-bulk-len"] = p["client-query-buffer-limit"]
	p["port"], p["tls-port"] = "0", "0"
	var hosts []string
	for _, l := range ls {
		switch a := l.Addr().(type) {
		case *net.TCPAddr:
			hosts = append(hosts, a.IP.String())
			name := "port"
			if l.secure {
				name = "tls-port"
			}
			if p[name] == "0" {
				p[name] = strconv.Itoa(a.Port)
			}
		default:
			p["unixsocket"] = a.String()
		}
	}
	p["bind"] = strings.Join(hosts, " ")
	return p
}

// redisValue returns a value as CONFIG GET shows it: bytes and seconds as
// numbers, booleans as yes and no, secrets not at all.
func redisValue(s Setting, c *Config) string {
	v := s.Get(c)
	if s.Secret {
		return traits.Redacted(v)
	}
	switch s.Kind {
	case KindBytes:
		n, _ := figures.Size(v)
		return strconv.FormatInt(n, 10)
	case KindDuration:
		d, _ := figures.Duration(v)
		return strconv.FormatInt(int64(d/time.Second), 10)
	case KindBool:
		if v == "true" {
			return "yes"
		}
		return "no"
	}
	return v
}
