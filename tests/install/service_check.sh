#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run by debian_root.py as a service of a Debian that systemd has booted, with the older packages installed: starts, asks,
# reloads, upgrades, stops and purges pirx-server, and writes /root/service_check.log, which ends in "exit 0" if all is well.
exec > /root/service_check.log 2>&1
trap 'code=$?; set +x; echo "exit $code"; systemctl --no-block poweroff --force' EXIT
set -ex

server=http://127.0.0.1:8100/v1/db
not() { if "$@"; then return 1; fi; } # "! command" alone fails nothing
pid() { systemctl show -P MainPID pirx-server; }
look_up() {
  for ((i = 0; i < 300; i++)); do
    if pirx deploy /root/deployment.json --force --server "$1"; then break; fi
    sleep 0.2
  done
  pirx get /root/deployment.json --key bob -q | grep -x Rome
}

install -d -o pirx -g pirx -m 0750 /var/lib/pirx
install -o pirx -g pirx -m 0640 /root/cities.pirx /var/lib/pirx/
cat > /etc/pirx/server.json << END
{"listen": "127.0.0.1:8100", "databases": [
  {"name": "download", "file": "/var/lib/pirx/cities.pirx", "protocol": "download"},
  {"name": "spiral", "file": "/var/lib/pirx/cities.pirx", "protocol": "spiral", "prepared": "/var/lib/pirx/spiral.prepared"},
  {"name": "goldberg", "file": "/var/lib/pirx/cities.pirx", "coordinate": 1}
]}
END
not systemctl is-enabled pirx-server
not systemctl is-active pirx-server

systemctl start pirx-server
look_up $server/download
look_up $server/spiral
ls -l /var/lib/pirx
main=$(pid)
grep -x 'CapEff:.0*' "/proc/$main/status"
grep -x 'CapBnd:.0*' "/proc/$main/status"
grep -x 'NoNewPrivs:.1' "/proc/$main/status"
grep -x 'Seccomp:.2' "/proc/$main/status"

systemctl reload pirx-server
for ((i = 0; i < 300; i++)); do
  if journalctl -u pirx-server -o cat | grep -c '"event":"epoch_unchanged"' | grep -x 3; then break; fi
  sleep 0.2
done
((i < 300))
[ "$(pid)" = "$main" ]

# An upgrade starts the new program.
dpkg -i /packages/new/pirx_*.deb /packages/new/pirx-server_*.deb
[ "$(pid)" != "$main" ]
look_up $server/download

systemctl stop pirx-server
[ "$(systemctl show -P Result pirx-server)" = success ]

# Without its database it ends, and is not started for ever.
systemctl start pirx-server
rm /var/lib/pirx/cities.pirx
systemctl restart pirx-server || true
for ((i = 0; i < 300; i++)); do
  if [ "$(systemctl show -P ActiveState pirx-server)" = failed ]; then break; fi
  sleep 0.5
done
((i < 300))
systemctl reset-failed pirx-server

install -o pirx -g pirx -m 0640 /root/cities.pirx /var/lib/pirx/
systemctl start pirx-server
main=$(pid)
dpkg --purge pirx-server
not systemctl is-active pirx-server
[ ! -e "/proc/$main" ]
