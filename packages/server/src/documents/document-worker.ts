/** Program of the process that handles documents one at a time. It keeps no state between documents and can be ended at any time. */
import { writeFileSync } from 'node:fs'
import module from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { isFault, type FaultCode, type FaultDetails } from '@windlass/kit'
import { JOBS, type JobName } from './document-jobs.ts'

export interface Order {
  readonly job: JobName
  readonly input: unknown
}

/** Results are JSON text, because a string is copied between processes as one block of memory. */
export type Reply =
  | { readonly ready: true }
  | { readonly cpuMs: number; readonly json: string }
  | { readonly cpuMs: number; readonly fault: FaultCode; readonly details: FaultDetails }
  | { readonly cpuMs: number; readonly error: string }

const LESS_PRIORITY = 10
const LEAST_PRIORITY = 19

// The event loop of the server takes precedence if there are few CPUs.
setPriority(Math.min(LEAST_PRIORITY, getPriority() + LESS_PRIORITY))
if (process.platform === 'linux') {
  // If the container runs out of memory, the kernel ends this process and not the server (proc_pid_oom_score_adj(5)).
  writeFileSync('/proc/self/oom_score_adj', '1000')
  // A process that V8 aborts leaves no document in a core file (core(5)).
  writeFileSync('/proc/self/coredump_filter', '0')
}
process.on('message', (order: Order) => process.send?.(answer(order)))
process.on('disconnect', () => process.exit())
process.send?.({ ready: true } satisfies Reply)
// The process is killed in the end, and Node writes its compiled code only when a process exits by itself. Node 20 has no compile cache.
module.flushCompileCache?.()

function answer({ job, input }: Order): Reply {
  const before = process.threadCpuUsage()
  const cpuMs = (): number => {
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }
  try {
    const work = JOBS[job] as (input: unknown) => unknown
    const json = JSON.stringify(work(input))
    return { cpuMs: cpuMs(), json }
  } catch (error) {
    if (isFault(error)) return { cpuMs: cpuMs(), fault: error.code, details: { ...error.details, message: error.message } }
    return { cpuMs: cpuMs(), error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
