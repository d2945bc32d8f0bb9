/** Runs a program together with those that it starts, such as the helpers of git, so that none of them is left when it ends. */
import { spawn } from 'node:child_process'

/** The last bytes of messages are kept. */
const MAX_ERRORS = 65_536

export interface GroupCommand {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly input?: string | Buffer | undefined
  /** Bytes of its output. More end it. */
  readonly maxBytes: number
  /** Milliseconds. */
  readonly timeoutMs: number
  /** Its abort ends all processes. */
  readonly signal: AbortSignal
}

export interface GroupEnd {
  /** Undefined if a signal ended the program. */
  readonly code: number | undefined
  /** The limit that ended it. */
  readonly limit: 'time' | 'output' | undefined
  readonly output: Buffer
  readonly errors: string
}

/** Resolves when the program and all that have its output have ended. Throws the reason of the signal, and the error of a program that does not start. */
export async function runGroup(
  program: string,
  args: readonly string[],
  { folder, env, input, maxBytes, timeoutMs, signal }: GroupCommand,
): Promise<GroupEnd> {
  signal.throwIfAborted()
  // Detached processes are a group of their own, whose id is that of the first one.
  const child = spawn(program, [...args], { cwd: folder, env: { ...env }, detached: true, stdio: 'pipe' })
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  child.once('error', reject)
  child.once('close', (code) => resolve(code ?? undefined))
  let limit: GroupEnd['limit']
  const end = (why?: GroupEnd['limit']): void => {
    limit ??= why
    if (child.pid !== undefined) killGroup(child.pid)
  }
  const output: Buffer[] = []
  let bytes = 0
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) end('output')
    else output.push(chunk)
  })
  let errors = Buffer.alloc(0)
  child.stderr.on('data', (chunk: Buffer) => {
    errors = Buffer.concat([errors, chunk]).subarray(-MAX_ERRORS)
  })
  // A program that fails before it has read its input closes it.
  child.stdin.on('error', () => undefined).end(input)
  const onAbort = (): void => end()
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => end('time'), timeoutMs)
  try {
    const code = await promise
    signal.throwIfAborted()
    return { code, limit, output: Buffer.concat(output), errors: errors.toString('utf8') }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

function killGroup(id: number): void {
  try {
    process.kill(-id, 'SIGKILL')
  } catch {
    // All of its processes have ended.
  }
}
