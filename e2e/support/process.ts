import { type ChildProcess, execFile, type ExecFileOptions, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A real service that a suite started. The suite must stop it: `await using` or `stop()`. */
export type Service = {
  readonly pid: number
  /** The output so far on both streams, the last 64 KiB. */
  log(): string
  /** Sends `signal` and waits; after ten seconds the process is killed. Safe to call twice. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code when it has ended, or null if a signal ended it. */
  ended(): Promise<number | null>
}

export type ServiceOptions = {
  command: string
  args: string[]
  cwd?: string
  env?: Record<string, string>
  /** Returns true when the service can be used. Polled every 20 ms. */
  ready: (log: string) => boolean | Promise<boolean>
}

const LOG_LIMIT = 65_536
/** Time in which a busy machine starts a service. Milliseconds. */
const READY_MS = 120_000

/**
 * Starts a program and waits until it is ready. It runs below `setpriv --pdeathsig`, so that it ends with the process that started it even if that
 * process is killed. Throws with the last output of the program if it exits or does not become ready.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { command, args, cwd, env, ready } = options
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
  const giveUpAt = performance.now() + READY_MS
  while (!(await ready(log))) {
    if (hasEnded(child)) throw new Error(`${command} ended before it was ready: ${log.slice(-2_000)}`)
    if (performance.now() > giveUpAt) {
      await service.stop('SIGKILL')
      throw new Error(`${command} was not ready after ${READY_MS} ms: ${log.slice(-2_000)}`)
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

/** Runs a program to its end, with `input` on its stdin, and returns its output. Throws with its error output if it fails. */
export async function runProgram(
  command: string,
  args: string[],
  { input = '', ...options }: ExecFileOptions & { input?: string } = {},
): Promise<string> {
  const running = run(command, args, { maxBuffer: 64 * 1024 * 1024, ...options, encoding: 'utf8' })
  running.child.stdin?.on('error', () => undefined).end(input)
  return (await running).stdout.trim()
}

/** Ports below those that the kernel gives to connections and to `listen(0)`, and below node ports of Kubernetes. */
const PORTS = { first: 20_000, end: 30_000 } as const
/** Contains a file per port with the id of the process that reserved it. */
const RESERVED_PORTS = join(tmpdir(), `windlass-test-ports-${process.getuid?.() ?? 'all'}`)

/**
 * Returns a free TCP port that is reserved for this process, so that no other test gets it before the caller listens. The kernel would give a port
 * of its own range to the next process that asks.
 */
export async function freePort(): Promise<number> {
  mkdirSync(RESERVED_PORTS, { recursive: true })
  for (let n = 0; n < 1_000; n += 1) {
    const port = randomInt(PORTS.first, PORTS.end)
    if (reserve(port) && (await canListen(port))) return port
  }
  throw new Error(`no free port from ${PORTS.first} to ${PORTS.end}`)
}

/** Returns false if a running process has reserved the port. */
function reserve(port: number): boolean {
  const path = join(RESERVED_PORTS, String(port))
  if (isRunning(readOwner(path))) return false
  rmSync(path, { force: true })
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

function readOwner(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function isRunning(pid: number | undefined): boolean {
  if (pid === undefined) return false
  try {
    // A process that is writing its number has written nothing so far.
    return pid === 0 || process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns true if no process of this machine listens on the TCP port. */
export async function canListen(port: number): Promise<boolean> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<boolean>()
  server.once('error', () => resolve(false))
  server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)))
  return promise
}
