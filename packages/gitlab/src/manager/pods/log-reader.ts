/** Reads the log of a job in its pod, from an offset and over as many connections as it takes. */
import { backoffMs, isAbort, type Clock, type Logger } from '@windlass/kit'
import type { Kube, ObjectRef } from '@windlass/kube'
import { decodeFrames, type Frame } from '../../helper/job-log.ts'
import { FILES } from '../../helper/shell-loop.ts'
import { EXCHANGE_FOLDER } from '../../pod/containers.ts'

export interface LogReaderOptions {
  readonly kube: Pick<Kube, 'exec'>
  readonly pod: ObjectRef
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const LOG_FILE = `${EXCHANGE_FOLDER}/${FILES.log}`
/** Wait before a connection is opened again. Milliseconds. */
const BACKOFF = { baseMs: 100, maxMs: 10_000 }

/** The log is not what the helper writes. */
export class DamagedLog extends Error {
  override readonly name = 'DamagedLog'
}

/**
 * Yields the frames of the log. Ends when the signal is aborted, or when the caller stops after the last frame. Throws `DamagedLog` if the job has written
 * something else into its file.
 */
export async function* readJobLog({ kube, pod, clock, log, signal }: LogReaderOptions): AsyncGenerator<readonly Frame[]> {
  /** Bytes of complete frames. */
  let offset = 0
  for (let failures = 0; !signal.aborted;) {
    let rest = Buffer.alloc(0)
    try {
      // A program that starts in a millisecond: a node with many jobs has no time for a second Node in each of them.
      const command = ['tail', `--bytes=+${offset + 1}`, '--follow=name', '--retry', '--sleep-interval=0.05', LOG_FILE]
      const { stdout, stderr, exit } = await kube.exec(pod, { container: 'helper', command, signal })
      exit.catch(() => undefined)
      stderr.resume()
      stderr.on('error', () => undefined)
      for await (const chunk of stdout) {
        // Streams of the cluster have bytes.
        const bytes = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
        const { frames, length } = decoded(bytes)
        rest = Buffer.from(bytes.subarray(length))
        offset += length
        failures = 0
        if (frames.length > 0) yield frames
      }
    } catch (error) {
      if (error instanceof DamagedLog) throw error
      if (signal.aborted || isAbort(error)) return
      log.debug({ err: error, pod: pod.name, offset }, 'cannot read the log of the job; trying again')
    }
    failures += 1
    await clock.sleep(backoffMs(BACKOFF, failures), signal).catch(() => undefined)
  }
}

function decoded(bytes: Buffer): ReturnType<typeof decodeFrames> {
  try {
    return decodeFrames(bytes)
  } catch (error) {
    throw new DamagedLog(error instanceof Error ? error.message : 'the log of the job is damaged', { cause: error })
  }
}
