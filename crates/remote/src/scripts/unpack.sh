# Makes the folder of a run from an archive on the standard input. $1: the cache; $2: the run.
cd "$1/runs" || exit 3
umask 077
mkdir "$2" && cd "$2" || exit 3
if ! tar -x -o -f -; then
    cd .. && rm -rf "$2"
    exit 3
fi
