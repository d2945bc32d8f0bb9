/** What the kernel tells of a process in `/proc/PID/stat` (proc_pid_stat(5)). Times count in ticks of 10 ms, on every architecture that Node runs on. */
export interface ProcessStat {
  /** `Z` is a zombie. */
  readonly state: string
  /** User and system time of the process itself, without its children. Milliseconds. */
  readonly cpuMs: number
  /** Start in ticks since the boot. With the process id it names a process once and for all. */
  readonly startTicks: string
}

const TICK_MS = 10
/** Indexes after the name of the program, which stands in parentheses and may hold any character, also a closing parenthesis. */
const STATE = 0
const USER_TIME = 11
const SYSTEM_TIME = 12
const START_TIME = 19

/** Parses the text of `/proc/PID/stat`; undefined for a text without its fields, such as that of a process that has just ended. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const state = fields[STATE]
  const startTicks = fields[START_TIME]
  if (state === undefined || startTicks === undefined) return undefined
  return { state, startTicks, cpuMs: (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * TICK_MS }
}
