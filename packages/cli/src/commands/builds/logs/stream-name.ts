import { SYSTEM_STREAM } from '@windlass/protocol'

/** Returns the name of a stream for people: that of the step, `build` for the build itself; from the second attempt on with its number. */
export function streamName({ stream, attempt }: { readonly stream: string; readonly attempt: number }): string {
  const name = stream === SYSTEM_STREAM ? 'build' : stream.replace(/^step\//, '')
  return attempt > 1 ? `${name} (attempt ${attempt})` : name
}
