/** Memory and processor time of processes, from /proc (proc(5)). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseProcessStat } from '@windlass/kit'

/** Unit of the kernel for processor times (USER_HZ, proc(5)). */
const TICKS_PER_SECOND = 100

/** Returns the resident memory of a process. MiB. */
export async function rssMiB(pid: number): Promise<number> {
  return field(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS')
}

/** Returns the highest resident memory so far. MiB. */
export async function peakRssMiB(pid: number): Promise<number> {
  return field(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmHWM')
}

/** Returns the resident memory of a process and its children. MiB. */
export async function familyRssMiB(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const pids = [pid, ...children.trim().split(' ').filter(Boolean).map(Number)]
  // A child may end in the meantime.
  const each = await Promise.all(pids.map((one) => rssMiB(one).catch(() => 0)))
  return each.reduce((sum, one) => sum + one, 0)
}

function field(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
}

/** Returns the user and system time of a process so far. Seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return (parseProcessStat(stat)?.cpuMs ?? Number.NaN) / 1000
}

/** Returns the processor time that all processes of this machine and the kernel have used so far. Seconds. */
export async function machineCpuSeconds(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
  // user, nice, system, idle, iowait, irq, softirq
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(/\s+/).slice(1).map(Number)
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND
}

/** Returns the resident memory of an idle Node process in MiB, the minimum for all processes of Windlass. */
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
