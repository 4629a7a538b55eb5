package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Origin returns the list of where and when something was measured, and by
// which command.
func Origin(ctx context.Context, command string, started time.Time) string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"Command", "`" + command + "`"},
		{"Commit", Commit(ctx)},
		{"Date", started.UTC().Format("2006-01-02 15:04 MST")},
		{"Took", time.Since(started).Round(time.Second).String()},
		{"CPU", CPU()},
		{"Caches", caches()},
		{"Go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH},
		{"Transparent huge pages", hugePages()},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "- %s: %s\n", line[0], line[1])
		}
	}
	return b.String()
}

// Commit returns the commit that was measured. Documents and results do not
// count as changes.
func Commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	id := strings.TrimSpace(string(out))
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ":/", ":(top,exclude)docs", ":(top,exclude)bench/results").Output()
	if err != nil || len(changed) > 0 {
		id += ", with changes"
	}
	return id
}

// CPU names the processor: hypervisors hide the model behind a family name,
// so family and model numbers are named as well.
func CPU() string {
	field := map[string]string{}
	for line := range strings.Lines(read("/proc/cpuinfo")) {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); ok && field[name] == "" {
			field[name] = strings.TrimSpace(value)
		}
	}
	if field["model name"] == "" {
		return fmt.Sprintf("%s, %d cores", runtime.GOARCH, runtime.NumCPU())
	}
	return fmt.Sprintf("%s (family %s, model %s, stepping %s), %d cores",
		field["model name"], field["cpu family"], field["model"], field["stepping"], runtime.NumCPU())
}

func caches() string {
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*/size")
	var all []string
	for _, file := range files {
		dir := filepath.Dir(file)
		if kind := read(filepath.Join(dir, "type")); kind != "Instruction" {
			all = append(all, "L"+read(filepath.Join(dir, "level"))+" "+read(file))
		}
	}
	return strings.Join(all, ", ")
}

// hugePages returns the setting in use, which the kernel puts in brackets.
func hugePages() string {
	_, rest, _ := strings.Cut(read("/sys/kernel/mm/transparent_hugepage/enabled"), "[")
	setting, _, _ := strings.Cut(rest, "]")
	return setting
}

func read(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
