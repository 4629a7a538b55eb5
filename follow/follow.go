package follow

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/memory"
)

// Config describes what is followed, and how.
type Config struct {
	_ struct{}

	// Address is where the folder is, https://…, http://… or a folder of this machine; or where
	// servers are that have the filter, redis://user:password@host:port,host:port, or rediss://
	// for TLS: the first that answers is asked.
	Address string
	// Filter is the name of the filter in the folder, "" if there is one only; or its key on
	// a server.
	Filter string
	// File is where the copy is kept on disk, as a filter that other programs can read; ""
	// keeps it in memory only. With it a restart needs no network. What was known of the
	// copy is in File.follow beside it.
	File string
	// Every is how often the folder is asked for something new, give or take a tenth. 0
	// means a minute, a negative duration only when Update is called. A server says at once
	// what is new, and is asked anew once in that time; 0 means 10 seconds.
	Every time.Duration
	// Key is the public key that versions must be signed with; nil asks for no signature.
	Key ed25519.PublicKey
	// Older takes versions that are older than the copy. Without it they are refused: whoever
	// can change the folder could bring back a filter that lacks what was added since.
	Older bool
	// Hasher is for a filter that was made with a secret key or a function.
	Hasher hashing.Hasher
	// Limits bounds the size of the filter, also while its source makes it grow; without it the
	// memory of the machine does. A new version is in memory beside the old one, and a filter that
	// grows takes its size a third time.
	Limits codec.Limits
	// Name is what a server is told of who follows, with the version and the age of the copy;
	// its page and FILTER.FOLLOWERS show it. "" tells nothing.
	Name string
	// TLS is for servers at rediss://; nil means the authorities of this machine.
	TLS *tls.Config
	// Client sends the requests; nil means one that does not follow redirects from https to
	// http.
	Client *http.Client
	// Changed, if there is one, is called after a new version has taken the place of the old
	// one. It must not call Close.
	Changed func(Version)
}

// Version identifies a version of a filter.
type Version struct {
	// Number grows with every change. That of a server's filter counts how often the copy
	// has changed.
	Number uint64 `json:"version"`
	// Made is when it was published.
	Made time.Time `json:"made"`
	// Sum is the SHA-256 of the plain encoding, in hex.
	Sum string `json:"sum"`
}

// Filter is a copy of a filter that is published elsewhere. It answers like any filter, without
// locks.
//
// Safe for concurrent use.
type Filter struct {
	config Config
	from   source
	server *server // instead of from, if a server is followed
	live   atomic.Pointer[edition]

	updating chan struct{} // of one place; who has it may use what follows
	tag      string        // of the index that was seen last
	name     string        // of the filter, once it is known
	kept     state         // what File.follow has
	found    *edition      // a file that may be a copy, until the index is here
	saved    time.Time     // when a copy from a server was written to disk
	saving   time.Duration // how long that took

	busy    atomic.Int64 // nanoseconds that the last news from a server have kept us busy
	seen    atomic.Pointer[outcome]
	end     context.CancelFunc
	stopped sync.WaitGroup
}

// edition is a version that answers.
type edition struct {
	bloomery.View
	data    []byte
	version Version
}

// outcome is how the last update went.
type outcome struct {
	checked time.Time // when the copy was known to be the newest
	err     error
}

// Open returns a copy of a filter and keeps it up to date until Close. It returns once there is
// a copy: the one on disk, or else what it downloads. If there is a copy on disk, a source
// that cannot be reached is no error: see Err. ctx bounds Open, not what comes after.
func Open(ctx context.Context, c Config) (*Filter, error) {
	f, err := prepare(c)
	if err != nil {
		return nil, fmt.Errorf("follow: %w", err)
	}
	if _, err := f.Update(ctx); err != nil && f.live.Load() == nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	f.end = end
	if c.Every >= 0 {
		f.stopped.Go(func() { f.run(life) })
	}
	return f, nil
}

// prepare returns a Filter with the copy on disk, if there is one.
func prepare(c Config) (*Filter, error) {
	if n := len(c.Key); n != 0 && n != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: the key has %d bytes, want %d", bloomery.ErrParameter, n, ed25519.PublicKeySize)
	}
	f := &Filter{config: c, updating: make(chan struct{}, 1)}
	var err error
	if isServer(c.Address) {
		f.server, err = newServer(c)
	} else {
		f.from, err = newSource(c.Address, c.Client)
	}
	if err != nil {
		return nil, err
	}
	f.seen.Store(&outcome{})
	return f, f.load()
}

// where is what is followed, without a password.
func (f *Filter) where() string {
	if f.server != nil {
		return f.server.String()
	}
	return f.from.String()
}

// Close stops updating. The copy still answers.
func (f *Filter) Close() error {
	f.end()
	f.stopped.Wait()
	f.updating <- struct{}{}
	defer func() { <-f.updating }()
	if f.server != nil {
		f.server.hangUp()
		return f.persist(true)
	}
	return f.noteLive()
}

// run updates the copy again and again.
func (f *Filter) run(ctx context.Context) {
	every := f.config.Every
	switch {
	case every != 0:
	case f.server != nil:
		every = 10 * time.Second
	default:
		every = time.Minute
	}
	retry := time.Second
	for {
		wait, block := every, time.Duration(0)
		if f.server != nil {
			wait, block = f.pause(every), every
		}
		if f.Err() != nil { // sooner at first, and then ever later
			wait = min(retry, every)
			retry *= 2
		} else {
			retry = time.Second
		}
		// Copies that were started together do not ask together.
		wait += time.Duration((rand.Float64() - 0.5) / 5 * float64(wait))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		f.updated(ctx, block) //nolint:errcheck // Err has it
	}
}

// Update asks the source whether there is something new and takes it. It reports whether the
// copy has changed. On error the old copy stays.
func (f *Filter) Update(ctx context.Context) (changed bool, err error) { return f.updated(ctx, 0) }

// updated is Update, and waits so long for a server that has nothing new.
func (f *Filter) updated(ctx context.Context, block time.Duration) (changed bool, err error) {
	select {
	case f.updating <- struct{}{}:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	before := f.live.Load()
	began := time.Now()
	var age time.Duration
	if f.server != nil {
		err = f.updateFromServer(ctx, f.patience(block))
	} else {
		age, err = f.update(ctx)
	}
	live := f.live.Load()
	changed = live != before
	o := &outcome{checked: began.Add(-age)}
	if err == nil {
		f.seen.Store(o)
		if f.server != nil {
			err = f.persist(false)
		} else if changed {
			err = f.noteLive()
		} else {
			err = f.restore()
		}
	}
	if err != nil {
		err = fmt.Errorf("follow: %s: %w", f.where(), err)
		if o = (&outcome{checked: f.seen.Load().checked, err: err}); !errors.Is(err, context.Canceled) { // whoever asked has gone
			f.seen.Store(o)
		}
	}
	<-f.updating
	if changed && f.config.Changed != nil {
		f.config.Changed(live.version)
	}
	return changed, err
}

// update brings the copy up to date. It returns how old the answer of the source may be.
func (f *Filter) update(ctx context.Context) (age time.Duration, err error) {
	tag := f.tag
	if f.live.Load() == nil {
		tag = ""
	}
	data, a, err := readAll(ctx, f.from, indexName, tag, maxIndex)
	if errors.Is(err, errSame) && tag != "" {
		return a.age, nil
	}
	if err != nil {
		return 0, err
	}
	x, err := parseIndex(data)
	if err != nil {
		return 0, err
	}
	name, e, err := x.find(f.config.Filter)
	if err != nil {
		return 0, err
	}
	if err := e.verify(name, f.config.Key); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if of := f.kept.Filter; of != "" && of != name {
		return 0, fmt.Errorf("%w: %s is a copy of %s, not of %s", ErrOther, f.config.File, of, name)
	}
	if err := f.take(ctx, name, e); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	f.tag, f.name = a.tag, name
	return a.age, nil
}

// take makes the copy what an entry of the index says.
func (f *Filter) take(ctx context.Context, name string, e *entry) error {
	have, err := f.known(e)
	if err != nil {
		return err
	}
	newest := f.kept.floor() // also of a copy that was lost
	if have != nil && have.version.Sum == e.Sum && (e.Version >= newest.Number || f.config.Older) {
		if have.version != e.which() { // the file was there, or it was published anew
			f.live.Store(&edition{have.View, have.data, e.which()})
		}
		return nil
	}
	if e.Version < newest.Number && !f.config.Older {
		return fmt.Errorf("%w: version %d is published, the copy is of version %d", ErrOlder, e.Version, newest.Number)
	}
	if e.Version == newest.Number && newest.Sum != e.Sum && !f.config.Older {
		return fmt.Errorf("%w: version %d is published with another sum than before", ErrOlder, e.Version)
	}
	if limit := f.config.Limits.Bytes; limit > 0 && e.Bytes > limit {
		return fmt.Errorf("%w: the filter takes %d bytes, the limit is %d", bloomery.ErrTooLarge, e.Bytes, limit)
	}
	if err := memory.Fits(e.Bytes); err != nil {
		return err
	}
	data, err := f.fetch(ctx, e, have)
	if err != nil {
		return err
	}
	view, err := codec.Config{Hasher: f.config.Hasher, Limits: f.config.Limits}.View(data)
	if err != nil {
		return err
	}
	next := &edition{view, data, e.which()}
	if err := f.save(name, next); err != nil {
		return err
	}
	f.live.Store(next)
	return nil
}

func (e *entry) which() Version { return Version{e.Version, e.Made, e.Sum} }

// fetch returns the encoding of an entry: by patches if that takes fewer bytes, and if they
// lead nowhere the whole filter.
func (f *Filter) fetch(ctx context.Context, e *entry, have *edition) ([]byte, error) {
	if have != nil {
		if chain := e.chain(have.version.Sum); chain != nil {
			if data, err := f.patched(ctx, have.data, chain, e); err == nil && sumOf(data) == e.Sum {
				return data, nil
			} else if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	r, _, err := f.from.open(ctx, e.Whole.File, "")
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it was only read
	packed := io.LimitReader(r, int64(e.Whole.Bytes))
	data, err := io.ReadAll(io.LimitReader(codec.NewReader(packed), int64(e.Bytes)+1))
	if err != nil {
		return nil, err
	}
	if sum := sumOf(data); sum != e.Sum {
		return nil, fmt.Errorf("%w: %s has the sum %.16s…, the index says %.16s…", bloomery.ErrCorrupt, e.Whole.File, sum, e.Sum)
	}
	return data, nil
}

// patched returns what patches make of an encoding. Versions in between may be larger than
// both ends, but not by so much that a short patch fills the memory.
func (f *Filter) patched(ctx context.Context, data []byte, chain []patch, e *entry) ([]byte, error) {
	limits := codec.Limits{Bytes: 2 * max(uint64(len(data)), e.Bytes)}
	if most := f.config.Limits.Bytes; most > 0 {
		limits.Bytes = min(limits.Bytes, most)
	}
	for _, p := range chain {
		changes, _, err := readAll(ctx, f.from, p.File, "", p.Bytes)
		if err != nil {
			return nil, err
		}
		if data, err = (codec.Config{Limits: limits}).Patch(data, changes); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Err returns why the last update failed, nil if it did not.
func (f *Filter) Err() error { return f.seen.Load().err }

// Age is how long ago the copy was the newest version, as far as is known. A copy of age 5
// minutes has everything that was published more than 5 minutes ago.
func (f *Filter) Age() time.Duration {
	checked := f.seen.Load().checked
	// One of the two clocks stands still while the machine sleeps, the other may be set.
	return max(0, time.Since(checked), time.Now().Round(0).Sub(checked.Round(0)))
}

// Version returns which version the copy is.
func (f *Filter) Version() Version { return f.live.Load().version }
