package follow

// Hangup ends the connection to a server, as an idle one may be ended at any time.
func (f *Filter) Hangup() { f.server.hangUp() }
