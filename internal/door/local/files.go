package local

import (
	"bytes"
	"io"
	"sync"
)

// Files is where logs are kept.
type Files interface {
	// Create makes an empty file, or empties one that is there.
	Create(name string) (File, error)
}

// File is a file that is only appended to.
type File interface {
	io.Writer
	// Sync returns when what was written is durable.
	Sync() error
	io.Closer
}

// Memory keeps files in memory. The zero value is ready to use.
//
// Safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	files map[string]*memoryFile
}

type memoryFile struct {
	memory *Memory
	data   []byte
}

// Create implements Files.
func (m *Memory) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = make(map[string]*memoryFile)
	}
	f := &memoryFile{memory: m}
	m.files[name] = f
	return f, nil
}

// Bytes returns what the file of a name holds.
func (m *Memory) Bytes(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[name]; f != nil {
		return bytes.Clone(f.data)
	}
	return nil
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *memoryFile) Sync() error  { return nil }
func (f *memoryFile) Close() error { return nil }

// Discard is Files that keep nothing: the log of a server whose data may be
// lost with it.
type Discard struct{}

// Create implements Files.
func (Discard) Create(string) (File, error) { return discardFile{}, nil }

type discardFile struct{}

func (discardFile) Write(p []byte) (int, error) { return len(p), nil }
func (discardFile) Sync() error                 { return nil }
func (discardFile) Close() error                { return nil }
