/** Identifies a process, so that another one can later check whether it still runs, although the system reuses process numbers. */
import { execFile } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { hostname, uptime } from 'node:os'
import { promisify } from 'node:util'
import { hasCode, parseProcessStat } from '@windlass/kit'
import { z } from 'zod'

const run = promisify(execFile)

const Identity = z.object({
  host: z.string(),
  /** Differs between machines, and between containers with different host names. */
  machine: z.string(),
  /** Id of this boot; empty when unknown. */
  boot: z.string(),
  /** PID namespace of `pid`. */
  space: z.string().default(''),
  pid: z.int().positive(),
  /** As the system prints it; empty if unknown. */
  startedAt: z.string(),
})
export type ProcessIdentity = z.infer<typeof Identity>

/** Parses an identity from JSON; undefined if the text is not one. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  try {
    return Identity.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** `unknown`: the process belongs to another machine or container, which cannot be checked from here, or its start time is unknown. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** Returns the identity of this process. */
export async function thisProcess(): Promise<ProcessIdentity> {
  const [place, startedAt] = await Promise.all([readPlace(), readStart(process.pid)])
  return { host: hostname(), ...place, pid: process.pid, startedAt: startedAt ?? '' }
}

/** Checks whether a process still runs. `since` is a time at which it ran, in epoch milliseconds. */
export async function livenessOf(other: ProcessIdentity, since: number, now: number): Promise<Liveness> {
  const here = await readPlace()
  // A boot id belongs to one machine. The host name may change with the network.
  const isThisBoot = here.boot !== '' && other.boot === here.boot
  if (!isThisBoot && other.machine !== here.machine) return 'unknown'
  if (other.boot !== here.boot) {
    if (other.boot === '' || here.boot === '') return 'unknown'
    // Another boot of a machine with this name is this machine only if the process ran before the current boot.
    return since < now - uptime() * 1000 ? 'dead' : 'unknown'
  }
  if (other.space !== here.space) return 'unknown'
  const startedAt = await readStart(other.pid)
  if (startedAt === undefined) return 'dead'
  if (startedAt === '' || other.startedAt === '') return 'unknown'
  return isSameStart(startedAt, other.startedAt) ? 'alive' : 'dead'
}

/** The age up to which an `unknown` owner counts as alive. The engine removes leftovers from a daemon at the same age. */
export const MAX_UNKNOWN_AGE_MS = 3 * 86_400_000

/** Maximum difference between two start times that `ps` reports for one process: it adds ticks to a boot time in whole seconds. */
const PS_ERROR_MS = 2_000

/** Compares two start times. Linux counts ticks, other systems print a date. */
function isSameStart(a: string, b: string): boolean {
  return a === b || (/[a-z]/i.test(a) && Math.abs(Date.parse(`${a} UTC`) - Date.parse(`${b} UTC`)) <= PS_ERROR_MS)
}

/** Returns false only if the system reports that no process has this number. */
function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !hasCode(error, 'ESRCH')
  }
}

async function readPlace(): Promise<Pick<ProcessIdentity, 'machine' | 'boot' | 'space'>> {
  const [id, boot, space] = await Promise.all([
    readText('/etc/machine-id'),
    readText('/proc/sys/kernel/random/boot_id'),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ])
  return { machine: `${hostname()} ${id}`.trim(), boot, space }
}

async function readText(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim()
}

/** Returns the start time of a process; undefined if no process has this number, empty if its start time is unknown. */
async function readStart(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readText(`/proc/${pid}/stat`)
    if (stat === '') return exists(pid) ? '' : undefined
    const { state, startTicks = '' } = parseProcessStat(stat) ?? {}
    return state === 'Z' ? undefined : startTicks
  }
  // Without these, `ps` uses the time zone and the language of the caller.
  const command = ['TZ=UTC', 'LC_ALL=C', 'ps', '-o', 'lstart=', '-p', String(pid)]
  const { stdout } = await run('env', command).catch(() => ({ stdout: '' }))
  return stdout.trim() !== '' || exists(pid) ? stdout.trim() : undefined
}
