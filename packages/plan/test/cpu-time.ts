/** Returns the milliseconds of CPU time that `work` takes on this thread. Unlike wall time, it hardly changes on a busy machine. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

/** Expected limit of `growth`: linear work has about 8, quadratic work 64. A busy machine does not change the value that much. */
export const LINEAR = 24

/**
 * Returns how much more CPU time eight times the size takes; measures again, at most twice, while that is too much for linear work. The kernel counts in steps
 * of some milliseconds, so shorter work counts as eight.
 */
export function growth(size: number, work: (size: number) => void): number {
  // The first run is slower, so it is not measured.
  work(size)
  const usual = Math.max(8, Math.min(...[1, 2, 3].map(() => cpuMs(() => work(size)))))
  let grown = cpuMs(() => work(8 * size))
  for (let again = 0; again < 2 && grown / usual >= LINEAR; again += 1)
    grown = Math.min(
      grown,
      cpuMs(() => work(8 * size)),
    )
  return grown / usual
}
