#!/bin/sh
# Installs CQE from this checkout on Debian 12 or 13, or upgrades it: sudo deploy/install.sh [OPTION]
#   --split    web server, worker and queue as units of their own, instead of all in one
#   --web      a host of several, with a web server (docs/scaling.md)
#   --worker   a host of several, with a worker
# Program: /opt/cqe. Data: /var/lib/cqe. Settings and master key: /etc/cqe.env. Command: /usr/local/sbin/cqe.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
settings=/etc/cqe.env
say() { printf 'install: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }
install_packages() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }

case ${1:-} in
    '') units=cqe ;;
    --split) units='cqe-queue cqe-web cqe-worker' ;;
    --web) units='cqe-web cqe-metrics' ;;
    --worker) units='cqe-worker' ;;
    *) fail "unknown option $1: use --split, --web, --worker or nothing" ;;
esac
grep -q '^CQE_METRICS_LISTEN=.' "$settings" 2>/dev/null || units=${units% cqe-metrics}
[ "$(id -u)" = 0 ] || fail "run it as root"
case ${1:-} in
    --web | --worker)
        for name in CQE_DATABASE_URL CQE_REDIS_URL CQE_STORAGE_URL CQE_MASTER_KEYS; do
            grep -q "^$name=." "$settings" 2>/dev/null ||
                fail "set $name in $settings first, the same on every host (docs/scaling.md)"
        done
        ;;
esac

say "packages of Debian"
apt-get update -qq
install_packages python3 python3-venv ca-certificates
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "Python 3.11 or later is needed"

say "user cqe, program in /opt/cqe"
id cqe >/dev/null 2>&1 ||
    useradd --system --home-dir /var/lib/cqe --shell /usr/sbin/nologin --user-group cqe
install -d -m 700 -o cqe -g cqe /var/lib/cqe
# A new Python of the system replaces the old environment.
[ -x /opt/cqe/bin/python ] && /opt/cqe/bin/python -c '' || python3 -m venv --clear /opt/cqe
# From a copy: building leaves files next to the sources.
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
cp -RL "$here/app" "$here/clients" "$here/migrations" "$here/wsgi.py" "$here/worker.py" "$here/setup.cfg" \
    "$here/pyproject.toml" "$here/README.md" "$here/LICENSE" "$here/NOTICE" "$here/requirements.txt" "$sources"
cd "$sources"
/opt/cqe/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements.txt
/opt/cqe/bin/pip install -q --disable-pip-version-check --no-deps --no-build-isolation \
    --force-reinstall . ./clients/python

say "settings in $settings"
if [ ! -e "$settings" ]; then
    (umask 077 && cat >"$settings" <<SETTINGS
# Settings of CQE, see docs/settings.md; apply changes with: systemctl restart $units
# Encrypts stored secrets. Backups contain it on request only (--with-keys): keep a copy elsewhere.
CQE_MASTER_KEYS=k1:$(head -c 32 /dev/urandom | base64)
# Behind a TLS proxy on this machine (docs/proxy.md):
#CQE_PUBLIC_URL=https://cqe.example.com
#CQE_TRUSTED_PROXIES=127.0.0.1/32
SETTINGS
    )
fi
cat >/usr/local/sbin/cqe <<'COMMAND'
#!/bin/sh
# Runs a command of CQE with the settings of the service, as its user: cqe doctor, cqe keys list …
# The file is read as systemd reads it, not as a script: a value may contain & and $.
[ -r /etc/cqe.env ] || { echo "cqe: /etc/cqe.env cannot be read: run this command as root" >&2; exit 1; }
export CQE_DATA_DIR=/var/lib/cqe
while IFS= read -r line || [ -n "$line" ]; do
    value=${line#*=}
    case $value in \"*\" | \'*\') value=${value#?}; value=${value%?} ;; esac
    case $line in [A-Z]*=*) export "${line%%=*}=$value" ;; esac
done </etc/cqe.env
cd /var/lib/cqe && exec setpriv --reuid=cqe --regid=cqe --init-groups /opt/cqe/bin/cqe "$@"
COMMAND
chmod 755 /usr/local/sbin/cqe

if [ "${1:-}" = --split ]; then
    if apt-cache show valkey-server >/dev/null 2>&1; then queue=valkey; else queue=redis; fi
    install_packages "$queue-server"
    # The package starts a server of its own, which CQE does not use.
    systemctl disable --now "$queue-server" || :
    grep -q '^CQE_REDIS_URL=' "$settings" ||
        echo 'CQE_REDIS_URL=unix:///run/cqe-queue/queue.sock?db=0' >>"$settings"
fi
say "units: $units"
for unit in $units; do
    install -m 644 "$here/deploy/$unit.service" /etc/systemd/system/
done
# Of several hosts, one upgrades the tables once, and not each at its start (docs/upgrading.md).
[ "${1:-}" != --web ] || sed -i '/^ExecStartPre=/d' /etc/systemd/system/cqe-web.service
[ "${1:-}" != --split ] ||
    sed -i "s#/usr/bin/valkey-server#/usr/bin/$queue-server#" /etc/systemd/system/cqe-queue.service
systemctl daemon-reload
for unit in $units; do
    systemctl enable -q "$unit"
    systemctl restart "$unit"
done

[ "$units" = cqe-worker ] || say "done: http://127.0.0.1:8000/health answers within a few seconds"
say "keep a copy of $settings elsewhere: without its master key stored secrets cannot be decrypted"
case ${1:-} in --web | --worker) say "once for all hosts: cqe db upgrade (docs/scaling.md)" ;; esac
if [ "$units" = cqe ]; then
    say "first key and password: cat /var/lib/cqe/first-key.txt; store them, then delete the file"
else
    say "first key and password: cqe keys create --name admin --scopes '*'; cqe users create admin --role admin"
fi
