package command

import "strconv"

// timeCmd is TIME.
var timeCmd = Command{
	Name: "time", Arity: 1, Flags: Fast | Loading | Stale, Categories: []string{"fast"}, Group: groupServer,
	Since: "2.6.0", Complexity: "O(1)", Summary: "Returns seconds and microseconds since 1970.",
	run: func(_ *Engine, s *Session, c *Call) {
		micros := s.now.UnixMicro()
		c.answer(array(bulk(strconv.FormatInt(micros/1e6, 10)), bulk(strconv.FormatInt(micros%1e6, 10))))
	},
}

// waitCmd is WAIT numreplicas timeout. There are no replicas, so there is
// nothing to wait for.
var waitCmd = Command{
	Name: "wait", Arity: 3, Flags: 0, Categories: []string{"slow", "connection"}, Group: groupGeneric,
	Since: "3.0.0", Syntax: "numreplicas timeout", Complexity: "O(1)", Summary: "Returns 0: there are no replicas.",
	run: func(_ *Engine, _ *Session, c *Call) {
		_, ok := parseInt(c.Args[1])
		timeout, ok2 := parseInt(c.Args[2])
		switch {
		case !ok:
			c.answer(fail(textInteger))
		case !ok2:
			c.answer(fail("ERR timeout is not an integer or out of range"))
		case timeout < 0:
			c.answer(fail("ERR timeout is negative"))
		default:
			c.answer(integer(0))
		}
	},
}

// clusterCmd is CLUSTER, all of whose subcommands say that there is no cluster.
var clusterCmd = Command{
	Name: "cluster", Arity: -2, Group: groupCluster, Since: "3.0.0", Syntax: "subcommand", Summary: "Tells of the cluster; there is none.",
	Categories: []string{"slow"},
	Subcommands: []Command{
		noCluster("info"), noCluster("slots"), noCluster("shards"), noCluster("nodes"), noCluster("myid"), noCluster("keyslot"),
	},
}

func noCluster(name string) Command {
	return Command{
		Name: name, Arity: -2, Flags: Loading | Stale, Categories: []string{"slow"}, Complexity: "O(1)",
		Summary: "Refused: cluster support is disabled.",
		run:     func(_ *Engine, _ *Session, c *Call) { c.answer(fail(textCluster)) },
	}
}

// readOnlyCmd is READONLY.
var readOnlyCmd = withoutCluster("readonly")

// readWriteCmd is READWRITE.
var readWriteCmd = withoutCluster("readwrite")

func withoutCluster(name string) Command {
	return Command{
		Name: name, Arity: 1, Flags: Fast | Loading | Stale, Categories: []string{"fast", "connection"}, Group: groupCluster,
		Since: "3.0.0", Complexity: "O(1)", Summary: "Refused: cluster support is disabled.",
		run: func(_ *Engine, _ *Session, c *Call) { c.answer(fail(textCluster)) },
	}
}

// memoryCmd is MEMORY USAGE key [SAMPLES count].
var memoryCmd = Command{
	Name: "memory", Arity: -2, Group: groupServer, Since: "4.0.0", Syntax: "subcommand", Summary: "Tells of memory.",
	Categories: []string{"slow"},
	Subcommands: []Command{{
		Name: "usage", Arity: -3, Flags: ReadOnly, Keys: Keys{2, 2, 1}, KeyFlags: keyRO, Categories: []string{"read", "slow"},
		Syntax: "key [SAMPLES count]", Complexity: "O(1)", Summary: "Returns the bytes that a key takes.",
		run: runMemoryUsage,
	}},
}
