package server

import "time"

// CheckFiles reads the files that a configuration names as New would, certificates
// and secret keys, and reports the first thing that is wrong with them. It opens
// nothing else and changes nothing.
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
	_, err = c.loadTLS(time.Now())
	return err
}
