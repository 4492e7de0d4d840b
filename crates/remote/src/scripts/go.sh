# The run itself. Before it stand: run, tree, program, and the arguments of this script are the command's.
trap "" HUP
cd "$tree" || exit
WAYKEEPER_PROGRESS=$run/progress
export WAYKEEPER_PROGRESS
echo $$ > "$run/supervisor"
"$program" "$@" </dev/null >"$run/stdout" 2>"$run/stderr" &
echo $! > "$run/pid.part" && mv "$run/pid.part" "$run/pid"
wait $!
echo $? > "$run/status.part" && mv "$run/status.part" "$run/status"
