"""Uses a cluster with redis-py, as TestCluster and TestSpreadCluster say.

redis_cluster.py names|reads|writes|lookups KEYS HOST:PORT...

Lines of standard input ask for a round, lines of standard output, in JSON, answer.
"""

import json
import logging
import sys

import redis
from redis.cluster import ClusterNode, RedisCluster

# redis-py 4.3.4 cannot ask for the slots again without this, if the node it asks first
# is dead.
RedisCluster.__deepcopy__ = lambda self, memo: self
logging.getLogger("redis").setLevel(logging.CRITICAL)  # it logs every lost connection
mode, keys = sys.argv[1], int(sys.argv[2])
nodes = [ClusterNode(host, int(port)) for host, port in (addr.split(":") for addr in sys.argv[3:])]


def names():
    """What docs/cluster.md says about names and pipelines."""
    cluster = RedisCluster(startup_nodes=nodes)
    one = cluster.get_nodes()[0]
    single = redis.Redis(host=nodes[0].host, port=nodes[0].port)
    seen = {
        "scan_iter": sorted(k.decode() for k in cluster.scan_iter("key*", count=10)),
        "scan_iter of one node": sorted(k.decode() for k in cluster.scan_iter("key*", count=10, target_nodes=one)),
        "keys": sorted(k.decode() for k in cluster.keys("key*")),
        "scan_iter of a single client": sorted(k.decode() for k in single.scan_iter("key*", count=10)),
        "dbsize": cluster.dbsize() - single.dbsize(),
    }

    def run(pipe, *filters):
        for name in filters:
            pipe.execute_command("BF.ADD", name, "py")
        try:
            return [int(v) for v in pipe.execute()]
        except redis.RedisError as e:
            return str(e)

    seen["pipeline of two filters"] = run(single.pipeline(), "key0", "key1")
    seen["pipeline of a new filter"] = run(single.pipeline(), "new:py")
    seen["pipeline without a transaction"] = run(single.pipeline(transaction=False), "key0", "key1", "new:py")
    seen["pipeline of a cluster"] = run(cluster.pipeline(), "key0", "key1", "new:py")
    single.delete("new:py")
    return seen


def reads():
    """A read of the next key, with what docs/cluster.md says about redis-py."""
    return run("BF.EXISTS", "x")


def writes():
    """A write to the next key."""
    return run("BF.ADD", "py%d" % run.done)


def run(command, item):
    """A command about the next key."""
    if not run.clients:
        run.clients.append(RedisCluster(startup_nodes=nodes, cluster_error_retry_attempts=20))
    run.done += 1
    for again in (True, False):
        try:
            there = run.clients[0].execute_command(command, "key%d" % (run.done % keys), item)
            return {} if there or command == "BF.ADD" else {"error": "the item is not there"}
        except IndexError:
            # redis-py 4.3.4, once: it knew the nodes that are left as replicas only.
            if not again:
                raise
        except Exception as e:
            return {"error": repr(e)}


def lookups():
    """A read of every key."""
    if not lookups.clients:
        lookups.clients.append(RedisCluster(startup_nodes=nodes))
    try:
        for i in range(keys):
            if not lookups.clients[0].execute_command("BF.EXISTS", "key%d" % i, "x"):
                return {"error": "key%d does not have the item" % i}
        return {}
    except Exception as e:
        return {"error": repr(e)}


run.clients, run.done = [], 0
lookups.clients = []
for _ in sys.stdin:
    print(json.dumps({"names": names, "reads": reads, "writes": writes, "lookups": lookups}[mode]()), flush=True)
