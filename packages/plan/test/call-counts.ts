import { Session } from 'node:inspector/promises'

/**
 * Counts the calls of functions by their names while `work` runs. Unlike CPU time, the counts are the same on every machine.
 * The debugger counts them, so the code under test runs as it is.
 */
export async function callCounts(names: readonly string[], work: () => void): Promise<Record<string, number>> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    await session.post('Profiler.stopPreciseCoverage')
    const functions = result.flatMap((script) => script.functions)
    return Object.fromEntries(
      names.map((name) => [
        name,
        functions
          .filter(({ functionName }) => functionName === name)
          .reduce((sum, { ranges: [whole] }) => sum + (whole?.count ?? 0), 0),
      ]),
    )
  } finally {
    session.disconnect()
  }
}
