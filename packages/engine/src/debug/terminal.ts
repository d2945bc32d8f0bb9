/** A terminal in a container: output is masked and recorded, input goes to the process unchanged. */
import type { Duplex } from 'node:stream'
import type { Clock } from '@windlass/kit'
import type { TerminalShape } from '@windlass/protocol'
import type { Docker } from '../docker/docker.ts'
import type { Exec, TerminalSize } from '../docker/execs.ts'
import { Masker, type Automaton } from '../output/mask.ts'
import type { StepOutput } from '../output/step-output.ts'
import { BIN_PATH } from '../attempt/paths.ts'

/** A static shell that does not depend on the image. */
export const STATIC_SHELL = `${BIN_PATH}/busybox`

export interface Terminal {
  /** Masked output for one reader. Ends with the process. Unread output blocks the process. */
  readonly output: AsyncIterable<Buffer>
  write(bytes: Uint8Array): void
  resize(size: TerminalSize): Promise<void>
  /** Exit code of the shell or command, once all output was read. Rejects if the daemon is lost. */
  readonly ended: Promise<number>
}

export interface TerminalOptions {
  readonly docker: Docker
  readonly clock: Clock
  /** A running container. */
  readonly container: string
  readonly shape: TerminalShape
  /** The preferred shell, if the image has it. */
  readonly shell: 'sh' | 'bash'
  readonly secrets: Automaton | undefined
  /** Records the output. Does its own masking. */
  readonly record: StepOutput
  /** Called for each input. */
  readonly onInput: () => void
}

/** Starts a shell, or the command of `shape`, in a container. Throws `docker-refused`. */
export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  const { docker, clock, container, shape } = options
  const shell = await findShell(docker, container, options.shell)
  const exec = await docker.execTerminal(container, {
    command: shape.command === undefined ? shell : [...shell, '-c', shape.command],
    environment: [`TERM=${shape.kind ?? 'xterm'}`],
  })
  await exec.resize(shape)
  const { promise: ended, resolve, reject } = Promise.withResolvers<number>()
  ended.catch(() => undefined)
  const output = show(exec.terminal, options, async () => {
    const code = await exitCodeOf(exec, clock)
    if (code === undefined) reject(new Error('the terminal connection was lost'))
    else resolve(code)
  })
  return {
    output,
    write(bytes) {
      options.onInput()
      exec.terminal.write(bytes)
    },
    resize: (size) => exec.resize(size),
    ended,
  }
}

/** How long the daemon may take to notice the end of a process after that of its output. Milliseconds. */
const EXIT_NEWS_MS = 5_000
const EXIT_POLL_MS = 50

/** Returns the exit code of a process whose output has ended. Undefined if it runs on, so that the connection was lost. */
async function exitCodeOf(exec: Exec, clock: Clock): Promise<number | undefined> {
  for (const until = clock.monotonic() + EXIT_NEWS_MS; ; await clock.sleep(EXIT_POLL_MS)) {
    const code = await exec.exitCode()
    if (code !== undefined || clock.monotonic() >= until) return code
  }
}

async function findShell(docker: Docker, container: string, wanted: 'sh' | 'bash'): Promise<readonly string[]> {
  const names = wanted === 'bash' ? ['bash', 'sh'] : ['sh']
  for (const name of names) {
    for (const folder of ['/bin', '/usr/bin', '/usr/local/bin'])
      if ((await docker.statFile(container, `${folder}/${name}`)) !== undefined) return [`${folder}/${name}`]
  }
  return [STATIC_SHELL, 'sh']
}

/** Bytes that may be the start of a secret are held back. Two of them are shown, so that users see what they type. */
const SHOWN_OF_SECRET = 2
const SHOWN_AFTER_MS = 20

async function* show(
  terminal: Duplex,
  { secrets, record, clock }: TerminalOptions,
  onEnd: () => Promise<void>,
): AsyncGenerator<Buffer> {
  const masker = new Masker(secrets)
  const pieces = terminal[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next: Promise<IteratorResult<Buffer>> = pieces.next()
      if (masker.isHolding && (await isLater(next, clock))) {
        const shown = masker.showHeld(SHOWN_OF_SECRET)
        if (shown.length > 0) yield shown
      }
      const { value, done } = await next
      if (done === true) break
      await record.write([{ source: 1, bytes: value }])
      const masked = masker.push(value)
      if (masked.length > 0) yield masked
    }
    const rest = masker.end()
    if (rest.length > 0) yield rest
  } catch {
    // A lost connection has no exit code, which `onEnd` reports.
  } finally {
    terminal.destroy()
    await record.end()
    await onEnd()
  }
}

/** Returns true if no more output arrives for a moment. */
async function isLater(next: Promise<unknown>, clock: Clock): Promise<boolean> {
  const over = new AbortController()
  const pause = clock.sleep(SHOWN_AFTER_MS, over.signal).then(
    () => true,
    () => false,
  )
  const came = next.then(
    () => false,
    () => false,
  )
  const isLate = await Promise.race([came, pause])
  over.abort()
  return isLate
}
