# Removes what a run left. $1: its folder.
rm -rf "$1"
