# until_busy PID TICKS: returns when the process has used that much more CPU time (100 ticks: a second), or has ended. So what it
# was to do is under way, however slow the machine is.
ticks_of() { cut -d ' ' -f 14 "/proc/$1/stat" 2>/dev/null; }
until_busy() {
  from=$(ticks_of "$1")
  while now=$(ticks_of "$1") && [ -n "$now" ] && [ "$now" -lt $((from + $2)) ]; do sleep 0.05; done
}
# until_handled PID: returns when no signal waits for the process to take it.
until_handled() {
  while grep -q '^ShdPnd:[[:space:]]*0*[1-9a-f]' "/proc/$1/status" 2>/dev/null; do sleep 0.01; done
}
