package main

// A release made with commands that only pretend: the test binary takes the place of
// go, of git and of the program that is built.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	pretend := map[string]func([]string) error{"go": pretendGo, "git": pretendGit, "host": pretendProgram, "packaging": func([]string) error { main(); return nil }}[filepath.Base(os.Args[0])]
	if pretend == nil {
		os.Exit(m.Run())
	}
	if err := pretend(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// tinyProgram returns a file that has nothing of a program but what Go records in
// it: archives of a whole one take long.
func tinyProgram() ([]byte, error) {
	const frame = "0123456789abcdef" // around the list of modules
	deps := ""
	for _, name := range []string{"two", "six", "one", "ten", "five", "four"} {
		deps += "dep\texample.org/" + name + "\tv1.2.3\t\n"
	}
	info := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	for _, text := range []string{"go1.26.8", frame + "path\texample.org/program\nmod\texample.org/program\t(devel)\t\n" + deps + frame} {
		info = append(binary.AppendUvarint(info, uint64(len(text))), text...)
	}
	const start = 128
	var b bytes.Buffer
	header := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	size := uint64(start + len(info))
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Vaddr: 1 << 12, Filesz: size, Memsz: size, Align: 16}
	err := errors.Join(binary.Write(&b, binary.LittleEndian, header), binary.Write(&b, binary.LittleEndian, segment))
	b.Write(make([]byte, start-b.Len()))
	b.Write(info)
	return b.Bytes(), err
}

// note appends a line to the file of what was run.
func note(line string) error {
	f, err := os.OpenFile(os.Getenv("PRETEND_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

func pretendGit(args []string) error {
	if os.Getenv("PRETEND_FAIL") == args[0] {
		return errors.New("no commit")
	}
	switch args[0] {
	case "log":
		fmt.Println("1794775859")
	case "rev-parse":
		fmt.Println("c0ffee")
	default:
		return fmt.Errorf("git %q", args)
	}
	return nil
}

func pretendGo(args []string) error {
	line := strings.Join(args, " ")
	if os.Getenv("PRETEND_FAIL") == args[0] {
		return errors.New("not this time")
	}
	switch args[0] {
	case "build":
		line = strings.Join([]string{"CGO_ENABLED=" + os.Getenv("CGO_ENABLED"), os.Getenv("GOOS") + "/" + os.Getenv("GOARCH"), line}, " ")
		name := args[slices.Index(args, "-o")+1]
		if os.Getenv("PRETEND_FAIL") == filepath.Base(name) {
			return errors.New("it does not compile")
		}
		program, err := tinyProgram()
		if filepath.Base(name) == "host" { // it is run
			program, err = os.ReadFile(must(os.Executable()))
		}
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, program, 0o700)); err != nil {
			return err
		}
	case "run":
		dir := args[len(args)-1]
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "index.html"), []byte("page"), 0o600)); err != nil {
			return err
		}
	case "list":
		fmt.Printf("example.org/one v1.2.3\t%s\n", os.Getenv("PRETEND_MODULE"))
	case "env":
		fmt.Println(os.Getenv("PRETEND_MODULE"))
	case "tool":
		line = strings.Join([]string{os.Getenv("PACKAGE_ARCH"), os.Getenv("PACKAGE_VERSION"), os.Getenv("SOURCE_DATE_EPOCH"), "[" + os.Getenv("GOOS") + os.Getenv("GOARCH") + "]", line}, " ")
		if _, err := os.Stat(os.Getenv("BINARY")); err != nil {
			return err
		}
		manual, err := os.Stat(filepath.Join(os.Getenv("STAGE"), "man.gz", "bloomery.1.gz"))
		if err != nil {
			return err
		}
		line = fmt.Sprint(manual.ModTime().Unix(), " ", line)
		if strings.Contains(os.Getenv("PRETEND_FAIL"), args[slices.Index(args, "--packager")+1]) {
			return errors.New("no package")
		}
		target := args[slices.Index(args, "--target")+1]
		if err := os.WriteFile(target+os.Getenv("PACKAGE_ARCH")+"."+args[slices.Index(args, "--packager")+1], nil, 0o600); err != nil {
			return err
		}
	}
	for _, dir := range []string{os.Getenv("STAGE"), filepath.Dir(filepath.Dir(args[len(args)-2]))} {
		if filepath.IsAbs(dir) {
			line = strings.ReplaceAll(line, dir, "STAGE")
		}
	}
	return note(line)
}

func pretendProgram(args []string) error {
	if args[0] == "man" {
		switch os.Getenv("PRETEND_FAIL") {
		case "man":
			return errors.New("no manual")
		case "nothing":
			return nil
		}
		dir := args[slices.Index(args, "--dir")+1]
		return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "bloomery.1"), []byte("manual"), 0o600))
	}
	if os.Getenv("PRETEND_FAIL") == args[1] {
		return errors.New("no completion")
	}
	fmt.Println(strings.Join(args, " "))
	return nil
}

// pretending returns a release for some targets and the file of what is run for it.
func pretending(t *testing.T, targets ...target) (r *release, log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands are found by links")
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	for _, name := range []string{"bin", "module", "root/contrib/systemd", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go", "git"} {
		if err := os.Symlink(self, filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"module/LICENSE", "root/LICENSE", "root/README.md", "root/contrib/systemd/bloomery.service"} {
		write(t, filepath.Join(dir, name), "text of "+name, 0o600, when)
	}
	write(t, filepath.Join(dir, "root/CHANGELOG.md"), "# Changelog\n\n## 1.2.3 (unreleased)\n\nNews.\n\n## 1.2.2\n\nOld.\n", 0o600, when)
	image, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "root/Dockerfile"), string(image), 0o600, when)
	if err := os.CopyFS(filepath.Join(dir, "root/contrib/helm/bloomery"), os.DirFS("../helm/bloomery")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("PRETEND_LOG", log)
	t.Setenv("PRETEND_MODULE", filepath.Join(dir, "module"))
	t.Setenv("SOURCE_DATE_EPOCH", "")
	write(t, filepath.Join(dir, "dist", "old"), "of the last release", 0o600, when)
	return &release{root: filepath.Join(dir, "root"), out: filepath.Join(dir, "dist"), version: "1.2.3", targets: targets}, log
}

// TestRelease makes a release of two targets.
func TestRelease(t *testing.T) {
	r, log := pretending(t, target{"linux", "arm64"}, target{"windows", "amd64"})
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r.key = private
	if err := r.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode().Perm()&^0o644 != 0 {
			t.Errorf("%s has the mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	want := "RELEASE_NOTES.md SHA256SUMS SHA256SUMS.sig arm64.deb arm64.rpm bloomery-chart-1.2.3.tgz bloomery-release.pub bloomery.rb " +
		"bloomery_1.2.3_image.tar bloomery_1.2.3_linux_arm64.cdx.json bloomery_1.2.3_linux_arm64.tar.gz bloomery_1.2.3_page.tar.gz " +
		"bloomery_1.2.3_windows_amd64.cdx.json bloomery_1.2.3_windows_amd64.zip"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the release has\n%s, want\n%s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) != 0 {
		t.Errorf("%q is left", left)
	}
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	wantRun := []string{
		"CGO_ENABLED=0 linux/arm64 build -trimpath -buildvcs=false -pgo=cmd/bloomery/default.pgo -ldflags -s -w -buildid= -X main.version=v1.2.3 -X main.commit=c0ffee -o STAGE/linux_arm64/bloomery ./cmd/bloomery",
		"CGO_ENABLED=0 windows/amd64 build -trimpath -buildvcs=false -pgo=cmd/bloomery/default.pgo -ldflags -s -w -buildid= -X main.version=v1.2.3 -X main.commit=c0ffee -o STAGE/windows_amd64/bloomery.exe ./cmd/bloomery",
		"CGO_ENABLED=0 " + runtime.GOOS + "/" + runtime.GOARCH + " build -trimpath -buildvcs=false -o ",
		"list -m -f {{.Path}} {{.Version}}\t{{.Dir}} example.org/five example.org/four example.org/one example.org/six example.org/ten example.org/two",
		"env GOROOT",
		"1794775859 arm64 1.2.3 1794775859 [] tool -modfile=contrib/packaging/tools.mod nfpm package --config contrib/packaging/nfpm.yaml --packager deb --target ",
		"1794775859 arm64 1.2.3 1794775859 [] tool -modfile=contrib/packaging/tools.mod nfpm package --config contrib/packaging/nfpm.yaml --packager rpm --target ",
		"run ./cmd/bloomery page export ",
	}
	lines := strings.Split(strings.TrimSpace(string(ran)), "\n")
	if len(lines) != len(wantRun) {
		t.Fatalf("these were run:\n%s", ran)
	}
	for i, w := range wantRun {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("command %d is\n%s, want\n%s", i, lines[i], w)
		}
	}
	checkSigned(t, r.out, public)
	checkContents(t, filepath.Join(r.out, "bloomery_1.2.3_linux_arm64.tar.gz"), r.when)
	data, err := os.ReadFile(filepath.Join(r.out, "bloomery_1.2.3_linux_arm64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(data, &b); err != nil || b.Metadata.Component.Version != "v1.2.3" || len(b.Metadata.Component.Hashes[0].Content) != 64 || !strings.Contains(string(data), "\n  \"specVersion\"") {
		t.Errorf("the bill is %v, %s", err, data)
	}
}

// checkSigned asks for the signature of the checksums, and for checksums of all other files.
func checkSigned(t *testing.T, dir string, public ed25519.PublicKey) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return data
	}
	sums := read(sumsName)
	if !ed25519.Verify(public, sums, read(signatureName)) {
		t.Error("the signature does not hold")
	}
	if n := bytes.Count(sums, []byte("\n")); n != 11 || bytes.Contains(sums, []byte(signatureName)) {
		t.Errorf("there are %d checksums:\n%s", n, sums)
	}
	if got := string(read("RELEASE_NOTES.md")); got != "News.\n" {
		t.Errorf("the notes are %q", got)
	}
	sum, err := checksum(filepath.Join(dir, "bloomery_1.2.3_linux_arm64.tar.gz"))
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`version "1.2.3"`, "  on_linux do\n    on_arm do\n      url \"https://github.com/bloomery/bloomery/releases/download/v1.2.3/bloomery_1.2.3_linux_arm64.tar.gz\"\n      sha256 \"" + sum + "\"\n    end\n  end\n",
	} {
		if got := string(read("bloomery.rb")); !strings.Contains(got, want) || strings.Contains(got, "on_macos") {
			t.Errorf("the formula does not have %q:\n%s", want, got)
		}
	}
}

// TestProgram runs the program as make does.
func TestProgram(t *testing.T) {
	r, log := pretending(t)
	name := filepath.Join(filepath.Dir(log), "bin", "packaging")
	if err := os.Symlink(must(os.Executable()), name); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"-version 1.2.3 -targets linux/arm64", "", 0},
		{"-version 1.2", "packaging: version \"1.2\" is not like 1.2.3", 1},
		{"-version 1.2.3 -targets plan9/arm", "\"plan9/arm\" is not one of", 2},
	} {
		cmd := exec.CommandContext(t.Context(), name, append([]string{"-root", r.root, "-out", r.out}, strings.Fields(c.args)...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		err := cmd.Run()
		code := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		if code != c.code || !strings.Contains(stderr.String(), c.want) || c.want == "" && stderr.Len() > 0 {
			t.Errorf("%s: exit %d, %q, want %d and %q", c.args, code, stderr.String(), c.code, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(r.out, "bloomery_1.2.3_linux_arm64.tar.gz")); err != nil {
		t.Error(err)
	}
}

// checkContents asks for the files of an archive of Linux.
func checkContents(t *testing.T, name string, at time.Time) {
	t.Helper()
	if at.Unix() != 1794775859 || at.Location() != time.UTC {
		t.Errorf("the time of the release is %v", at)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%o %s", h.Mode, strings.TrimPrefix(h.Name, "bloomery_1.2.3_linux_arm64/")))
		text, _ := io.ReadAll(r)
		switch filepath.Base(h.Name) {
		case "THIRD_PARTY_LICENSES":
			if s := string(text); !strings.HasPrefix(s, "The binaries of bloomery contain") || !strings.Contains(s, "\nGo: LICENSE\n\ntext of module/LICENSE\n") || !strings.Contains(s, "\nexample.org/one v1.2.3: LICENSE\n") {
				t.Errorf("licences are\n%s", s)
			}
		case "CHANGELOG.md":
			if !strings.Contains(string(text), "## 1.2.3 (2026-11-15)\n") {
				t.Errorf("the changelog is %q", text)
			}
		case "bloomery.fish":
			if string(text) != "completion fish\n" {
				t.Errorf("completions are %q", text)
			}
		}
	}
	want := []string{
		"644 CHANGELOG.md", "644 LICENSE", "644 README.md", "644 THIRD_PARTY_LICENSES", "755 bloomery", "644 bloomery.service",
		"644 completions/_bloomery", "644 completions/bloomery.bash", "644 completions/bloomery.fish", "644 completions/bloomery.ps1", "644 man/bloomery.1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
}

// TestReleaseFails has commands and files that fail.
func TestReleaseFails(t *testing.T) {
	for _, c := range []struct{ fail, missing, epoch, want string }{
		{fail: "bloomery", want: "linux_amd64: go build: exit status 3: it does not compile\n"},
		{fail: "host", want: "go build: exit status 3: it does not compile\n"},
		{fail: "fish", want: "completion: exit status 3: no completion\n"},
		{fail: "deb", want: "linux_amd64: deb: go tool: exit status 3: no package\n"},
		{fail: "rpm", want: "linux_amd64: rpm: go tool: exit status 3: no package\n"},
		{fail: "rev-parse", want: "git rev-parse: exit status 3: no commit\n"},
		{fail: "list", want: "go list: exit status 3: not this time\n"},
		{fail: "env", want: "go env: exit status 3: not this time\n"},
		{fail: "man", want: "host man: exit status 3: no manual\n"},
		{fail: "nothing", want: "/man: no such file or directory"},
		{missing: "tmp", want: "/tmp: no such file or directory"},
		{missing: "module/LICENSE", want: "Go has no licence in "},
		{missing: "root/README.md", want: "linux_amd64: open "},
		{missing: "root/CHANGELOG.md", want: "CHANGELOG.md: no such file"},
		{missing: "root/Dockerfile", want: "Dockerfile: no such file"},
		{missing: "root/contrib/helm/bloomery/Chart.yaml", want: "Chart.yaml: no such file"},
		{fail: "run", want: "go run: exit status 3: not this time\n"},
		{missing: "bin/git", want: "executable file not found"},
		{missing: "bin/go", want: "linux_amd64: exec: "},
		{epoch: "soon", want: "the time of the commit: "},
	} {
		t.Run(c.fail+c.missing+c.epoch, func(t *testing.T) {
			r, log := pretending(t, target{"linux", "amd64"})
			t.Setenv("PRETEND_FAIL", c.fail)
			t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
			if c.missing != "" {
				if err := os.Remove(filepath.Join(filepath.Dir(log), c.missing)); err != nil {
					t.Fatal(err)
				}
			}
			// Only what is of a target has its name.
			err := r.make(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.HasPrefix(c.want, "linux_") != strings.HasPrefix(err.Error(), "linux_") {
				t.Errorf("make() = %v, want %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) != 0 {
				t.Errorf("%q is left", left)
			}
			if _, err := os.Stat(filepath.Join(r.out, sumsName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there are checksums of a release that failed: %v", err)
			}
		})
	}
}
