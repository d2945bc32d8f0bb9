/**
 * The terminal of a job in its pod: a shell in the build container. A file in the helper tells it that the end of the job has to wait. The manager creates and removes the
 * file by commands in the helper, because neither the job nor its image must matter for it.
 */
import { fault, type Clock, type Logger } from '@windlass/kit'
import type { Execution, Kube, ObjectRef, TerminalSize } from '@windlass/kube'
import { FILES, SHELLS } from '../../helper/shell-loop.ts'
import { TERMINAL_MARK } from '../../helper/wait-for-terminal.ts'
import { EXCHANGE_FOLDER } from '../../pod/containers.ts'
import type { Shell, Terminal } from '../../session/terminal.ts'
import { runInHelper } from './helper-command.ts'

export interface PodTerminalOptions {
  readonly kube: Pick<Kube, 'exec'>
  readonly pod: ObjectRef
  readonly jobId: number
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the job has ended. */
  readonly over: AbortSignal
}

/** Tries to change the mark, which take about half a minute. */
const MARK_TRIES = 8

/** GitLab has no message for the size of its screen. Without one, programs with a full screen do not work. */
const SIZE: TerminalSize = { columns: 80, rows: 24 }
/** Time to end the shell of a user who has left. Milliseconds. */
const HANG_UP_MS = 5_000

/** Begins the best shell of the image in the folder of the project. */
const BEGIN =
  'echo "$$" >"$1"; cd "$CI_PROJECT_DIR" 2>/dev/null; ' +
  `for shell in ${SHELLS.join(' ')}; do [ -x "$shell" ] && exec "$shell"; done; echo "shell not found" >&2; exit 1`
/** Ends the shell as the end of a connection does. The shell passes the signal on to its jobs. */
const HANG_UP = 'read -r pid <"$1" && kill -s HUP "$pid"'

/** Returns the words that begin the shell of a terminal, and those that end it. */
export function shellCommands(
  terminal: number,
  folder: string = EXCHANGE_FOLDER,
): { readonly begin: readonly string[]; readonly hangUp: readonly string[] } {
  const command = (script: string): string[] => ['sh', '-c', script, 'windlass', `${folder}/${FILES.terminalShell(terminal)}`]
  return { begin: command(BEGIN), hangUp: command(HANG_UP) }
}

export function openPodTerminal(options: PodTerminalOptions): Terminal {
  const { kube, pod, clock, log, over } = options
  /** The last change of the mark. The changes come one after the other. Never rejects. */
  let last: Promise<unknown> = Promise.resolve()
  /** Number of shells so far, and of those that are open. The former one of a user can still end when the next one begins. */
  let count = 0
  let open = 0

  /** Resolves to whether the mark is as wanted. */
  function mark(isOpen: boolean): Promise<boolean> {
    const command = isOpen ? ['touch', TERMINAL_MARK] : ['rm', '-rf', TERMINAL_MARK]
    const what = 'mark the terminal of the job'
    const marked = last.then(() => runInHelper({ ...options, what, command, tries: MARK_TRIES, signal: over }))
    last = marked
    return marked
  }

  /** Lets the job end if no other shell is open. */
  async function unmark(): Promise<void> {
    open -= 1
    if (open === 0) await mark(false)
  }

  /** Ends a shell. What it does not end is left to the end of the container. */
  async function hangUp(command: readonly string[]): Promise<void> {
    const signal = AbortSignal.any([over, AbortSignal.timeout(HANG_UP_MS)])
    try {
      const { stdout, stderr, exit } = await kube.exec(pod, { container: 'build', command, signal })
      stdout.resume()
      stderr.resume()
      await exit
    } catch (error) {
      log.debug({ err: error, job: options.jobId }, 'cannot end the shell of a terminal; it ends with the job')
    }
  }

  function shellOf({ stdin, stdout, stderr, exit }: Execution, endWith: readonly string[], stop: AbortController): Shell {
    let hasEnded = false
    const ended = exit.then(
      () => {
        hasEnded = true
      },
      () => undefined,
    )
    stderr.resume()
    return {
      input: stdin,
      output: stdout,
      async close() {
        // The result comes after the last output, at once.
        await Promise.race([ended, clock.sleep(0)])
        if (!hasEnded && !over.aborted) await hangUp(endWith)
        stop.abort(new DOMException('the terminal is closed', 'AbortError'))
        await unmark()
      },
    }
  }

  return {
    over,
    async open(signal) {
      const { begin: command, hangUp: endWith } = shellCommands(count)
      count += 1
      open += 1
      const stop = new AbortController()
      try {
        const isMarked = await mark(true)
        signal.throwIfAborted()
        if (!isMarked) throw fault('unavailable', { message: 'The helper of the job does not mark its terminal.' })
        const until = AbortSignal.any([over, stop.signal])
        const execution = await kube.exec(pod, { container: 'build', command, stdin: true, tty: true, signal: until })
        execution.resize(SIZE)
        return shellOf(execution, endWith, stop)
      } catch (error) {
        // The user does not wait for it.
        void unmark()
        throw error
      }
    },
    release: async () => void (await mark(false)),
  }
}
