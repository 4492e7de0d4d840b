# Stops a run in an orderly way. $1: its folder. Interrupts are ignored by what a shell starts in the background.
kill -TERM "$(cat "$1/pid")"
