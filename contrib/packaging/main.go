package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxBinary bounds a stripped binary, in bytes. NATS, which keeps the log of a
// cluster, is 12 MB of it. For macOS and Windows it is a megabyte larger than for Linux.
const maxBinary = 40_000_000

// target is a system that binaries are made for.
type target struct{ os, arch string }

// String returns the target as it is part of file names.
func (t target) String() string { return t.os + "_" + t.arch }

// binary returns the name of the program.
func (t target) binary() string {
	if t.os == "windows" {
		return "bloomery.exe"
	}
	return "bloomery"
}

var targets = []target{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// parseTargets reads a list of targets.
func parseTargets(s string) (list []target, err error) {
	for word := range strings.SplitSeq(s, ",") {
		system, arch, _ := strings.Cut(word, "/")
		if !slices.Contains(targets, target{system, arch}) {
			return nil, fmt.Errorf("%q is not one of %v", word, targets)
		}
		list = append(list, target{system, arch})
	}
	return list, nil
}

func main() {
	var r release
	flag.StringVar(&r.root, "root", ".", "root of the repository")
	flag.StringVar(&r.out, "out", "dist", "folder for the result; what is in it is removed")
	flag.StringVar(&r.version, "version", "", "version of the release, without v: 1.2.3")
	flag.Func("targets", "only these, such as linux/amd64,linux/arm64; default all", func(s string) (err error) {
		r.targets, err = parseTargets(s)
		return err
	})
	flag.Func("key", "`FILE` of an Ed25519 private key, PEM, that signs the checksums", func(name string) (err error) {
		r.key, err = readKey(name)
		return err
	})
	image := flag.String("unpack", "", "unpack this `IMAGE` instead, for the processor -arch into the folder -out, which must be empty")
	arch := flag.String("arch", runtime.GOARCH, "processor of -unpack")
	flag.Parse()
	if *image != "" {
		if err := unpack(*image, *arch, r.out, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "packaging:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := r.make(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// release is one run of this program.
type release struct {
	root, out, version string
	targets            []target // all if it is nil

	key    ed25519.PrivateKey // signs it, unless it is nil
	commit string
	when   time.Time // of the commit: the time of all files
	stage  string    // a folder for what goes into archives
}

// versions are what archives, Debian and Red Hat all take.
var versions = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

func (r *release) make(ctx context.Context) (err error) {
	if !versions.MatchString(r.version) {
		return fmt.Errorf("version %q is not like 1.2.3 or 1.2.3-rc.1", r.version)
	}
	for _, path := range []*string{&r.root, &r.out} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if r.targets == nil {
		r.targets = targets
	}
	if r.when, err = r.commitTime(ctx); err != nil {
		return err
	}
	commit, err := r.run(ctx, r.root, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	r.commit = strings.TrimSpace(string(commit))
	if r.stage, err = os.MkdirTemp("", "bloomery-packaging-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.stage)) }()
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.build(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.documents(ctx); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.pack(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	for _, step := range []func() error{r.images, r.chart, r.writeFormula, func() error { return r.page(ctx) }} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := writeSums(r.out); err != nil {
		return err
	}
	return r.sign()
}

// page packs the calculator and the lessons as files for any web server.
func (r *release) page(ctx context.Context) error {
	dir := filepath.Join(r.stage, "page")
	if _, err := r.run(ctx, r.root, nil, "go", "run", "./cmd/bloomery", "page", "export", dir); err != nil {
		return err
	}
	files, err := filesOf(dir)
	if err != nil {
		return err
	}
	base := "bloomery_" + r.version + "_page"
	return writeTar(filepath.Join(r.out, base+".tar.gz"), base, files, r.when)
}

// commitTime returns the time of the commit, or what SOURCE_DATE_EPOCH says.
func (r *release) commitTime(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := r.run(ctx, r.root, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, err
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build compiles the program for a target: one file that needs nothing else, without
// the paths of this machine. The profile is named, so that no package is made without it. The linker gets the commit: what Go records by itself
// depends on how the repository was checked out.
func (r *release) build(ctx context.Context, t target) error {
	name := filepath.Join(r.stage, t.String(), t.binary())
	env := []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.arch}
	flags := "-s -w -buildid= -X main.version=v" + r.version + " -X main.commit=" + r.commit
	_, err := r.run(ctx, r.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-pgo=cmd/bloomery/default.pgo", "-ldflags", flags, "-o", name, "./cmd/bloomery")
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	fmt.Printf("%-14s %5.1f MB\n", t, float64(info.Size())/1e6)
	if info.Size() > maxBinary {
		return fmt.Errorf("the binary has %d bytes, more than %d", info.Size(), maxBinary)
	}
	return os.Chmod(name, 0o755)
}

// pack makes everything that a target has: its archive, its bill of materials, and
// packages.
func (r *release) pack(ctx context.Context, t target) error {
	binary := filepath.Join(r.stage, t.String(), t.binary())
	base := "bloomery_" + r.version + "_" + t.String()
	files, err := r.archiveFiles(t)
	if err != nil {
		return err
	}
	write := writeTar
	ending := ".tar.gz"
	if t.os == "windows" {
		write, ending = writeZip, ".zip"
	}
	if err := write(filepath.Join(r.out, base+ending), base, files, r.when); err != nil {
		return err
	}
	if err := writeBill(filepath.Join(r.out, base+".cdx.json"), binary, r.version, r.commit, r.when); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	for _, packager := range []string{"deb", "rpm"} {
		if err := r.nfpm(ctx, t, packager); err != nil {
			return fmt.Errorf("%s: %w", packager, err)
		}
	}
	return nil
}

// nfpm makes a package of what is in the stage. What it contains is in nfpm.yaml.
func (r *release) nfpm(ctx context.Context, t target, packager string) error {
	env := []string{
		"GOOS=", "GOARCH=", // the tool is for this machine
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.when.Unix(), 10),
		"PACKAGE_ARCH=" + t.arch, "PACKAGE_VERSION=" + r.version, "STAGE=" + r.stage, "ROOT=" + r.root,
		"BINARY=" + filepath.Join(r.stage, t.String(), t.binary()),
	}
	_, err := r.run(ctx, r.root, env, "go", "tool", "-modfile=contrib/packaging/tools.mod", "nfpm", "package",
		"--config", "contrib/packaging/nfpm.yaml", "--packager", packager, "--target", r.out+string(filepath.Separator))
	return err
}

// run runs a command in a folder, with more environment, and returns what it prints.
func (r *release) run(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s %s: %w: %s%s", name, args[0], err, out, exit.Stderr)
	}
	return out, err
}
