/** A terminal in a container: what it shows is masked and recorded, what is typed goes to the process as it is. */
import type { Duplex } from 'node:stream'
import type { Clock } from '@windlass/kit'
import type { TerminalShape } from '@windlass/protocol'
import { BIN_PATH } from '../attempt/workspace.ts'
import type { Docker } from '../docker/docker.ts'
import type { TerminalSize } from '../docker/execs.ts'
import { Masker, type Automaton } from '../output/mask.ts'
import type { StepOutput } from '../output/step-output.ts'

/** A shell that needs nothing of the image. */
export const STATIC_SHELL = `${BIN_PATH}/busybox`

export interface Terminal {
  /** What it shows, as it comes; for one reader. Ends with the process; unread output holds the process up. */
  readonly output: AsyncIterable<Buffer>
  write(bytes: Uint8Array): void
  resize(size: TerminalSize): Promise<void>
  /** Exit code of the shell or the command, once all output was read. Rejects when the daemon is lost. */
  readonly ended: Promise<number>
}

export interface TerminalOptions {
  readonly docker: Docker
  readonly clock: Clock
  /** A container that runs. */
  readonly container: string
  readonly shape: TerminalShape
  /** The shell to use when the image has it. */
  readonly shell: 'sh' | 'bash'
  readonly secrets: Automaton | undefined
  /** Takes what was shown, for later; masks by itself. */
  readonly record: StepOutput
  /** Called for each key press. */
  readonly onInput: () => void
}

/** Starts a shell, or the command of `shape`, in a container. Throws `docker-refused`. */
export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  const { docker, container, shape } = options
  const shell = await findShell(docker, container, options.shell)
  const exec = await docker.execTerminal(container, {
    command: shape.command === undefined ? shell : [...shell, '-c', shape.command],
    environment: [`TERM=${shape.kind ?? 'xterm'}`],
  })
  await exec.resize(shape)
  const { promise: ended, resolve, reject } = Promise.withResolvers<number>()
  ended.catch(() => undefined)
  const output = show(exec.terminal, options, async () => {
    const code = await exec.exitCode()
    if (code === undefined) reject(new Error('the terminal broke off'))
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

async function findShell(docker: Docker, container: string, wanted: 'sh' | 'bash'): Promise<readonly string[]> {
  const names = wanted === 'bash' ? ['bash', 'sh'] : ['sh']
  for (const name of names) {
    for (const folder of ['/bin', '/usr/bin', '/usr/local/bin'])
      if ((await docker.statFile(container, `${folder}/${name}`)) !== undefined) return [`${folder}/${name}`]
  }
  return [STATIC_SHELL, 'sh']
}

/** The beginning of a secret is held back; a person who types must see the letter all the same, so two bytes of it are shown. */
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
    // A connection that broke shows in the exit code, which is not known then.
  } finally {
    terminal.destroy()
    await record.end()
    await onEnd()
  }
}

/** True when nothing more comes for a moment. */
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
