package server

// A check of the files that a configuration names.

import (
	"fmt"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// CheckFiles reads the files that a configuration names as New would, certificates,
// secret keys and users, and returns the first error that New would return for them,
// or that of Check. It opens nothing else and changes nothing.
func (c Config) CheckFiles() error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	if c.KeysFile != "" {
		if _, err := readKeys(c.KeysFile); err != nil {
			return err
		}
	}
	if c.ACLFile != "" {
		data, err := readUsers(c.ACLFile)
		if err == nil {
			err = engine.NewTable(command.All()).CheckUsers(c.ACLFile, data)
		}
		if err != nil {
			return fmt.Errorf("server: acl-file: %w", err)
		}
	}
	_, err = c.loadTLS(time.Now())
	return err
}
