import type { FakeJob } from './fake-coordinator.ts'

/** Returns the output of a stream in the trace of a job, by default that of the job itself (01), without times and marks. */
export function traceLines({ trace }: Pick<FakeJob, 'trace'>, stream = 1): string[] {
  const mark = ` ${stream.toString(16).padStart(2, '0')}O`
  return trace
    .toString()
    .split('\n')
    .flatMap((line) => {
      const at = line.indexOf(' ')
      const isOwn = at > 0 && line.startsWith(mark, at) && ' +'.includes(line[at + mark.length] ?? 'x')
      return isOwn ? [line.slice(at + mark.length + 1)] : []
    })
}
