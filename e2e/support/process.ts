import { type ChildProcess, execFile, type ExecFileOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A real service that a suite started. Its end is the suite's business: `await using` or `stop()`. */
export type Service = {
  readonly pid: number
  /** What it said so far on both streams, the last 64 KiB. */
  log(): string
  /** Asks it to end by `signal` and waits; after ten seconds it is killed. Safe to call twice. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code when it has ended; null when a signal ended it. */
  ended(): Promise<number | null>
}

export type ServiceOptions = {
  command: string
  args: string[]
  cwd?: string
  env?: Record<string, string>
  /** True as soon as the service can be used; it is asked every 20 ms. */
  ready: (log: string) => boolean | Promise<boolean>
  /** How long it may take until then. Default 20 s. */
  readyMs?: number
}

const LOG_LIMIT = 65_536

/**
 * Starts a program and waits until it is ready. It runs below `setpriv --pdeathsig`, so that it ends with the process
 * that started it even when that one is killed. Throws with the program's own last words when it ends or stays silent.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { command, args, cwd, env, ready, readyMs = 20_000 } = options
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
  })
  let log = ''
  const keep = (chunk: Buffer): void => {
    log = (log + chunk.toString('utf8')).slice(-LOG_LIMIT)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  await once(child, 'spawn')
  const service: Service = {
    pid: child.pid ?? 0,
    log: () => log,
    stop: (signal) => stop(child, signal ?? 'SIGTERM'),
    signal: (name) => void child.kill(name),
    async ended() {
      if (!hasEnded(child)) await once(child, 'exit')
      return child.exitCode
    },
  }
  const giveUpAt = performance.now() + readyMs
  while (!(await ready(log))) {
    if (hasEnded(child)) throw new Error(`${command} ended before it was ready: ${log.slice(-2_000)}`)
    if (performance.now() > giveUpAt) {
      await service.stop('SIGKILL')
      throw new Error(`${command} was not ready after ${readyMs} ms: ${log.slice(-2_000)}`)
    }
    await sleep(20)
  }
  return service
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return
  const exit = once(child, 'exit')
  child.kill(signal)
  const killer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exit
  clearTimeout(killer)
}

/** Runs a program to its end, `input` on its stdin, and returns what it printed; throws with its error output when it fails. */
export async function runProgram(
  command: string,
  args: string[],
  { input = '', ...options }: ExecFileOptions & { input?: string } = {},
): Promise<string> {
  const running = run(command, args, { maxBuffer: 64 * 1024 * 1024, ...options, encoding: 'utf8' })
  running.child.stdin?.on('error', () => undefined).end(input)
  return (await running).stdout.trim()
}

/** A TCP port that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('the kernel gave no port')
  return address.port
}
