/** Memory and processor time of processes, from /proc (proc(5)). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const CLOCK_TICKS_PER_SECOND = 100

/** Resident memory of a process, MiB. */
export async function rssMiB(pid: number): Promise<number> {
  return field(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS')
}

/** Highest resident memory so far, MiB. */
export async function peakRssMiB(pid: number): Promise<number> {
  return field(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmHWM')
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
}

/** User and system time of a process so far, seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND
}

/** Resident memory of a Node process that only waits, MiB: what no process of ours can be below. */
export async function bareNodeMiB(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], { stdio: 'ignore' })
  await sleep(1_500)
  try {
    return await rssMiB(child.pid ?? 0)
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}
