/** The process of `windlass up`, recorded in a file in its data folder. */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { defined, parseProcessStat, systemClock, writePrivateFile } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { z } from 'zod'
import type { Invocation, Values } from '../../command.ts'
import { resolveLogs } from './advertise.ts'
import { noteIfSlow } from './note-if-slow.ts'
import type { upOptions } from './options.ts'

const UpProcess = z.object({
  pid: z.int().positive(),
  startedAt: z.string(),
  url: z.string(),
  /** Address on which it listens. */
  host: z.string().default('127.0.0.1'),
  advertised: z.string().optional(),
  adminKey: z.string(),
})
type Parsed = z.infer<typeof UpProcess>
export type UpProcess = Omit<Parsed, 'advertised'> & { readonly advertised: string | undefined }

const READY_MS = 60_000
const STOP_MS = 20_000
const POLL_MS = 50

function fileOf(dataDir: string): string {
  return join(dataDir, 'up.json')
}

/** Records that this process serves the folder. */
export function writeProcess(dataDir: string, found: Omit<UpProcess, 'startedAt'>): void {
  const text = `${JSON.stringify({ ...found, startedAt: startTimeOf(found.pid) ?? '' })}\n`
  writePrivateFile(fileOf(dataDir), text, { replace: true })
}

export function removeProcess(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true })
}

/** Returns the live process that serves the folder, if any. */
export function readProcess(dataDir: string): UpProcess | undefined {
  let text: string
  try {
    text = readFileSync(fileOf(dataDir), 'utf8')
  } catch {
    return undefined
  }
  const parsed = UpProcess.safeParse(JSON.parse(text))
  return parsed.success && isAlive(parsed.data) ? { ...parsed.data, advertised: parsed.data.advertised } : undefined
}

/** Returns true if the process with this pid is still the one that wrote the file. */
function isAlive({ pid, startedAt }: Pick<UpProcess, 'pid' | 'startedAt'>): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  return (startTimeOf(pid) ?? '') === startedAt
}

/** Returns the kernel's start time of a process; undefined on systems without `/proc`, and for a zombie. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
    return stat?.state === 'Z' ? undefined : stat?.startTicks
  } catch {
    return undefined
  }
}

/**
 * Starts the same command in the background and resolves when it is ready. Notes that it waits if this takes longer than two seconds. Throws `unavailable` with
 * its error if it exits, and if it needs more than a minute.
 */
export async function startDetached(
  { options, settings, out }: Invocation<Values<typeof upOptions>>,
  dataDir: string,
): Promise<UpProcess> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const logFile = join(dataDir, 'up.log')
  const output = openSync(logFile, 'w', 0o600)
  const argv = ['up', '--data', dataDir]
  if (options.port !== undefined) argv.push('--port', String(options.port))
  if (options.host !== undefined) argv.push('--host', options.host)
  if (options.advertise !== undefined) argv.push('--advertise', options.advertise)
  const logs = resolveLogs(options.logs)
  if (logs !== undefined) argv.push('--logs', logs)
  // The URL may contain a password, which the command line would expose.
  const env = { ...settings.environment, ...defined({ WINDLASS_POSTGRES: options.postgres }) }
  // This program again, from its sources or as a bundle.
  const [, program = ''] = process.argv
  const child = spawn(process.execPath, [program, ...argv], { detached: true, stdio: ['ignore', output, output], env, cwd: '/' })
  closeSync(output)
  child.unref()
  let ended = false
  child.once('exit', () => (ended = true))
  child.once('error', () => (ended = true))
  const untilReady = async (): Promise<UpProcess | undefined> => {
    const until = systemClock.monotonic() + READY_MS
    for (; systemClock.monotonic() < until && !ended; await systemClock.sleep(POLL_MS)) {
      const found = readProcess(dataDir)
      if (found !== undefined && found.pid === child.pid) return found
    }
    return undefined
  }
  const started = await noteIfSlow(systemClock, untilReady(), () =>
    out.note(`Waiting for the server. Its output is in ${logFile}.`),
  )
  if (started !== undefined) return started
  if (!ended)
    throw fault('unavailable', {
      message: `The server is still starting after ${READY_MS / 1000} s. It goes on in the background.`,
      hint: `Its output is in ${logFile}. Repeat the command when it has started.`,
    })
  throw fault('unavailable', {
    message: `The server did not start: ${firstError(logFile)}`,
    hint: `Its output is in ${logFile}.`,
  })
}

function firstError(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').split('\n')
  return lines.find((line) => line.startsWith('error: '))?.slice('error: '.length) ?? 'it printed no error.'
}

/** Stops the process that serves the folder and waits until it exits. Resolves to the process, if there was one. */
export async function stopProcess(dataDir: string): Promise<UpProcess | undefined> {
  const found = readProcess(dataDir)
  if (found === undefined) return undefined
  process.kill(found.pid, 'SIGTERM')
  for (const until = systemClock.monotonic() + STOP_MS; isAlive(found); await systemClock.sleep(POLL_MS)) {
    if (systemClock.monotonic() < until) continue
    process.kill(found.pid, 'SIGKILL')
    break
  }
  removeProcess(dataDir)
  return found
}
