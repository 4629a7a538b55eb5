package folder

// A folder in memory, for tests.

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

var _ Files = (*Memory)(nil)

// Memory keeps files in memory. The zero value is ready to use.
//
// Safe for concurrent use.
type Memory struct {
	// mu guards what follows, and the data of all files.
	mu     sync.Mutex
	files  map[string]*memoryFile
	locked bool
}

type memoryFile struct {
	memory *Memory
	data   []byte
}

// Create implements Files.
func (m *Memory) Create(name string) (File, error) {
	f := &memoryFile{memory: m}
	m.put(name, f)
	return f, nil
}

// Put makes a file of data.
func (m *Memory) Put(name string, data []byte) {
	m.put(name, &memoryFile{memory: m, data: bytes.Clone(data)})
}

func (m *Memory) put(name string, f *memoryFile) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = make(map[string]*memoryFile)
	}
	m.files[name] = f
}

// Append implements Files.
func (m *Memory) Append(name string) (File, error) { return m.find("append", name) }

// Open implements Files.
func (m *Memory) Open(name string) (Reader, error) {
	f, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	return memoryReader{bytes.NewReader(m.Bytes(name)), int64(len(f.data))}, nil
}

func (m *Memory) find(op, name string) (*memoryFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

// List implements Files.
func (m *Memory) List() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files)), nil
}

// Rename implements Files.
func (m *Memory) Rename(from, to string) error {
	f, err := m.find("rename", from)
	if err != nil {
		return err
	}
	m.put(to, f)
	return m.Remove(from)
}

// Remove implements Files.
func (m *Memory) Remove(name string) error {
	if _, err := m.find("remove", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

// Sync implements Files.
func (m *Memory) Sync() error { return nil }

// Lock implements Files.
func (m *Memory) Lock() (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locked {
		return nil, fmt.Errorf("%w", ErrLocked)
	}
	m.locked = true
	return closerFunc(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.locked = false
		return nil
	}), nil
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

// Copy returns another folder with the same files.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Memory{}
	for name, f := range m.files {
		c.Put(name, f.data)
	}
	return c
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	f.data = f.data[:min(size, int64(len(f.data)))]
	return nil
}

func (f *memoryFile) Sync() error  { return nil }
func (f *memoryFile) Close() error { return nil }

type memoryReader struct {
	*bytes.Reader
	size int64
}

func (r memoryReader) Size() int64 { return r.size }
func (memoryReader) Close() error  { return nil }

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
