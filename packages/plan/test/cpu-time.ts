/** Milliseconds of processor time that `work` takes on this thread: unlike wall time, the same on a busy machine. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
