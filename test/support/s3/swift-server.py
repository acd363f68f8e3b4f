"""
A real S3 server for tests: OpenStack Swift with its S3 interface, all of it in one process on loopback.

Usage: /usr/bin/python3 swift-server.py FOLDER KEY SECRET
Prints the port it listens on, and ends when its standard input does.
"""

import eventlet

eventlet.monkey_patch()

import logging
import os
import sys
import time
from configparser import ConfigParser

STORAGE = ("account", "container", "object")
DEVICE = "disk"


def main(folder, key, secret):
    devices = os.path.join(folder, "devices")
    os.makedirs(os.path.join(devices, DEVICE))
    write(
        os.path.join(folder, "swift.conf"),
        {
            "swift-hash": {"swift_hash_path_suffix": "tests"},
            "storage-policy:0": {"name": "single", "default": "yes"},
        },
    )
    # Swift reads its folder while it is imported.
    from swift.common import storage_policy, utils

    utils.set_swift_dir(folder)
    storage_policy.reload_storage_policies()

    settings = {
        "swift_dir": folder,
        "devices": devices,
        "mount_check": "false",
        "log_level": "CRITICAL",
        "log_address": "/nowhere",
    }
    for kind in STORAGE:
        socket = eventlet.listen(("127.0.0.1", 0))
        build_ring(folder, kind, socket.getsockname()[1])
        file = os.path.join(folder, kind + ".conf")
        app = "app:%s-server" % kind
        write(
            file,
            {
                "DEFAULT": settings,
                "pipeline:main": {"pipeline": "%s-server" % kind},
                app: {"use": "egg:swift#%s" % kind},
            },
        )
        eventlet.spawn(serve, socket, load(file))

    file = os.path.join(folder, "proxy.conf")
    write(file, proxy(settings, key, secret))
    front_socket = eventlet.listen(("127.0.0.1", 0))
    front = load(file)
    cache = Cache()

    def app(environ, start_response):
        environ["swift.cache"] = cache
        return front(environ, start_response)

    eventlet.spawn(serve, front_socket, app)
    print(front_socket.getsockname()[1], flush=True)
    wait_for_end_of_input()


def write(file, sections):
    config = ConfigParser(interpolation=None)
    config.read_dict(sections)
    with open(file, "w") as out:
        config.write(out)


def build_ring(folder, kind, port):
    from swift.common.ring import RingBuilder

    builder = RingBuilder(part_power=1, replicas=1, min_part_hours=0)
    address = {"ip": "127.0.0.1", "port": port}
    behind = {"replication_ip": "127.0.0.1", "replication_port": port}
    place = {"id": 0, "region": 1, "zone": 1, "weight": 1, "device": DEVICE, "meta": ""}
    builder.add_dev({**address, **behind, **place})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, kind + ".ring.gz"))


def proxy(settings, key, secret):
    filters = ("catch_errors", "gatekeeper", "bulk", "s3api", "tempauth", "slo", "dlo")
    sections = {
        "DEFAULT": settings,
        "pipeline:main": {"pipeline": " ".join(filters + ("proxy-server",))},
        "app:proxy-server": {
            "use": "egg:swift#proxy",
            "account_autocreate": "true",
            "allow_account_management": "true",
        },
    }
    for name in filters:
        sections["filter:" + name] = {"use": "egg:swift#" + name}
    sections["filter:s3api"]["location"] = "us-east-1"
    # The key is account:user; here both are in its name.
    sections["filter:tempauth"]["user_" + key.replace(":", "_")] = secret + " .admin"
    return sections


def load(file):
    from swift.common.wsgi import loadapp

    return loadapp(file)


def serve(socket, app):
    from swift.common.wsgi import SwiftHttpProtocol

    quiet = logging.getLogger("quiet")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    eventlet.wsgi.server(socket, app, log=quiet, protocol=SwiftHttpProtocol, log_output=False, debug=False)


class Cache:
    """What memcached would do."""

    def __init__(self):
        self.values = {}

    def get(self, key, *_, **__):
        value, until = self.values.get(key, (None, 0))
        return value if until == 0 or until > time.time() else None

    def set(self, key, value, serialize=True, time=0, **_):
        self.values[key] = (value, time and now() + time)

    def delete(self, key, **_):
        self.values.pop(key, None)

    def incr(self, key, delta=1, time=0, **_):
        value = int(self.get(key) or 0) + int(delta)
        self.set(key, value, time=time)
        return value

    def decr(self, key, delta=1, time=0, **_):
        return self.incr(key, -delta, time)

    def set_multi(self, mapping, server_key, serialize=True, time=0, **_):
        for key, value in mapping.items():
            self.set((server_key, key), value, time=time)

    def get_multi(self, keys, server_key, **_):
        return [self.get((server_key, key)) for key in keys]


def now():
    return time.time()


def wait_for_end_of_input():
    # A plain read would hold up the servers.
    eventlet.hubs.trampoline(0, read=True)


if __name__ == "__main__":
    import eventlet.wsgi

    main(*sys.argv[1:])
