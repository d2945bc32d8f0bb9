/**
 * The program of the build container, for any POSIX shell: it runs the stages that the helper names in a pipe. It needs no program of the image besides the
 * shell. A stage has ended when its code is written, whatever processes it has left.
 */

/** Files of the folder that the containers share. */
export const FILES = {
  /** Named pipe with commands: `run N`, `stop`, `kill` and `end`. */
  commands: 'commands',
  /** Exists once the loop takes commands. */
  ready: 'ready',
  /** Output of all stages in the build container. */
  output: 'output',
  script: (stage: number): string => `stage-${stage}`,
  /** Exit code of a stage, with a line feed. */
  code: (stage: number): string => `code-${stage}`,
  log: 'job.log',
  /** Time of the last line of a service that is in the log. Nanoseconds since the epoch. */
  serviceEnd: (service: number): string => `service-${service}`,
  /** Exists once the job was canceled. */
  canceled: 'canceled',
  /** Process ID of the shell of a terminal, with a line feed. */
  terminalShell: (terminal: number): string => `terminal-shell-${terminal}`,
} as const

/** The loop. Its only argument is the shared folder. */
const SHELL_LOOP = `
exchange=$1
shell=$WINDLASS_SHELL
unset WINDLASS_SHELL
wrapper=0
# Signals every process of the container but this shell and the one that waits for the stage.
signal_all() {
  signal=$1
  found=" $$ "
  again=1
  while [ "$again" = 1 ]; do
    again=0
    for entry in /proc/[0-9]*/stat; do
      read -r line 2>/dev/null <"$entry" || continue
      pid=\${line%% *}
      case "$found" in *" $pid "*) continue ;; esac
      rest=\${line##*) }
      set -- $rest
      case "$found" in *" $2 "*) ;; *) continue ;; esac
      found="$found$pid "
      again=1
      [ "$pid" = "$wrapper" ] || kill -s "$signal" "$pid" 2>/dev/null
    done
  done
}
# Each look is a process, and where many jobs start at once the helper comes late. It gets the sources before it needs this shell.
looks=0
until [ -p "$exchange/${FILES.commands}" ]; do
  looks=$((looks + 1))
  pause=0.5
  [ "$looks" -gt 8 ] || pause=0.2
  [ "$looks" -gt 4 ] || pause=0.05
  sleep "$pause" 2>/dev/null || sleep 1 2>/dev/null || :
done
# Open for reading and writing, the pipe has no end when the helper closes it, and loses nothing.
exec 3<>"$exchange/${FILES.commands}"
: >"$exchange/${FILES.ready}"
while read -r command number <&3; do
  case "$command" in
    run)
      (
        "$shell" "$exchange/stage-$number" </dev/null >>"$exchange/${FILES.output}" 2>&1
        printf '%s\\n' "$?" >"$exchange/code-$number"
      ) 3<&- &
      wrapper=$!
      ;;
    stop) signal_all TERM ;;
    kill) signal_all KILL ;;
    end) exit 0 ;;
  esac
done
`

/** Places in which images have their shells. */
export const SHELLS = [
  '/usr/local/bin/bash',
  '/usr/bin/bash',
  '/bin/bash',
  '/usr/local/bin/sh',
  '/usr/bin/sh',
  '/bin/sh',
  '/busybox/sh',
] as const

/** Finds the best shell of the image, and continues with the loop in it. */
const SEARCH =
  `for shell in ${SHELLS.join(' ')}; do ` +
  '[ -x "$shell" ] && { WINDLASS_SHELL=$shell; export WINDLASS_SHELL; exec "$shell" -c "$1" windlass "$2"; }; ' +
  'done; echo "shell not found" >&2; exit 1'

/** Returns the words that run the loop in a container. */
export function loopCommand(exchangeFolder: string): readonly string[] {
  return ['sh', '-c', SEARCH, 'windlass', SHELL_LOOP, exchangeFolder]
}
