/**
 * Passes the output of a container on without losing any. When a container ends, its daemon waits two seconds until its output was read, and drops the rest
 * (`handleContainerExit` in daemon/monitor.go of moby). So a container whose output cannot be passed on is paused: it does not end meanwhile.
 */
import type { Clock } from '@windlass/kit'
import { refusalStatus, type Attachment } from '../docker/containers.ts'
import type { OutputPart } from '../docker/demux.ts'
import type { Docker } from '../docker/docker.ts'

export interface Passing {
  readonly docker: Pick<Docker, 'pauseContainer' | 'unpauseContainer'>
  readonly clock: Clock
  readonly id: string
  readonly attachment: Attachment
  /** Takes output in order. The container stands still while it waits. */
  readonly write: (parts: readonly OutputPart[]) => Promise<void>
}

type Output = readonly OutputPart[]

/** How long output may wait before its container is paused: a small part of the two seconds. Milliseconds. */
const PATIENCE_MS = 250
/** Output that is kept in memory until the daemon has answered. More than the daemon and the connection hold of a container that has ended. Bytes. */
const MAX_HELD_BYTES = 33_554_432

/** Resolves at the end of the output, when all of it was taken. Rejects with the error of `write`, and closes the attachment then. */
export async function passOn(passing: Passing): Promise<void> {
  const { attachment, clock, write } = passing
  const chunks = attachment.output[Symbol.asyncIterator]()
  try {
    for (let chunk = await chunks.next(); chunk.done !== true;) {
      const written = write(chunk.value)
      chunk = (await isDone(written, clock)) ? await chunks.next() : await holdBack(passing, chunks, written)
    }
  } finally {
    attachment.close()
  }
}

async function isDone(written: Promise<void>, clock: Clock): Promise<boolean> {
  const over = new AbortController()
  const late = clock.sleep(PATIENCE_MS, over.signal).then(
    () => false,
    () => false,
  )
  try {
    return await Promise.race([written.then(() => true), late])
  } finally {
    over.abort()
  }
}

/** Pauses the container until what is being written was taken, and what was read until the daemon has answered. Returns what comes next. */
async function holdBack(
  { docker, id, write }: Passing,
  chunks: AsyncIterator<Output>,
  written: Promise<void>,
): Promise<IteratorResult<Output>> {
  written.catch(() => undefined)
  const held: Output[] = []
  let bytes = 0
  let hold: Hold | undefined
  const answered = pause(docker, id).then((answer) => {
    hold = answer
  })
  let next: Promise<IteratorResult<Output>> | undefined
  try {
    // The daemon answers after two seconds for a container that is ending, and its output has to be read in that time.
    while ((hold === undefined || hold === 'ended') && bytes < MAX_HELD_BYTES) {
      next ??= chunks.next()
      next.catch(() => undefined)
      const chunk = await (hold === undefined ? Promise.race([next, answered]) : next)
      if (chunk === undefined) continue
      if (chunk.done === true) break
      next = undefined
      held.push(chunk.value)
      bytes += chunk.value.reduce((sum, part) => sum + part.bytes.length, 0)
    }
    await answered
    await written
    for (const output of held) await write(output)
  } finally {
    // A container that is being stopped has to get its signals.
    await answered
    if (hold === 'paused') await docker.unpauseContainer(id)
  }
  return next ?? chunks.next()
}

/** `refused`: this daemon cannot pause containers, and the container is blocked once the buffers on the way are full. */
type Hold = 'paused' | 'ended' | 'refused'

async function pause(docker: Passing['docker'], id: string): Promise<Hold> {
  try {
    await docker.pauseContainer(id)
    return 'paused'
  } catch (error) {
    const status = refusalStatus(error)
    return status === 404 || status === 409 ? 'ended' : 'refused'
  }
}
