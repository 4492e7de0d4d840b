# Debian packages with apt, from the mirror that this machine is configured with (or WAYKEEPER_DEBIAN_MIRROR), without
# touching the machine's own lists: it need not know the suites, nor other architectures.
# To be sourced by bash; CACHE is the folder where the lists are kept.

# The mirror: the first one that /etc/apt names for Debian itself.
mirror() {
    local uri=${WAYKEEPER_DEBIAN_MIRROR:-}
    [ -z "$uri" ] || { echo "$uri"; return; }
    uri=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs: *//p' | grep -m1 '/debian/*$') ||
        uri=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
            sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' | grep -m1 '/debian/*$') ||
        { echo "no Debian mirror in /etc/apt: name one in WAYKEEPER_DEBIAN_MIRROR" >&2; exit 1; }
    echo "$uri"
}

# apt with lists of its own: apt_with TYPE SUITE COMMAND...
# TYPE is deb or deb-src, for this machine's architecture, or deb:ARCHITECTURE; packages are then PACKAGE:ARCHITECTURE.
apt_with() {
    local type=${1%%:*} architecture=${1#"${1%%:*}"} suite=$2 lists=$CACHE/apt/${1/:/-}-$2; shift 2
    architecture=${architecture#:}
    if [ ! -e "$lists/done" ]; then
        mkdir -p "$lists/parts" "$lists/lists/partial"
        echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg${architecture:+ arch=$architecture}]" \
            "$(mirror) $suite main" > "$lists/parts/rig.list"
        apt_lists "$lists" "$architecture" apt-get update -qq
        touch "$lists/done"
    fi
    apt_lists "$lists" "$architecture" "$@"
}
apt_lists() {
    local lists=$1 architecture=$2 program=$3; shift 3
    "$program" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$lists/parts" -o Dir::State::lists="$lists/lists" \
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
        ${architecture:+-o "APT::Architectures::=$architecture"} "$@"
}
