/** Stream lengths in events. The server waits for announced bytes, so they must survive this process. */
import type { Journal } from '@windlass/journal'
import { MAX_SPOOLED, serviceStream, stepStream, type EngineEvent, type Heartbeat } from '@windlass/protocol'

/**
 * Returns the stream lengths of a step that is ending, once the bytes are on the disk: the process may be killed after it sends the event with the
 * lengths. Throws if the disk failed.
 */
export async function lengthsOf(
  journal: Pick<Journal<EngineEvent>, 'extent' | 'flushed'>,
  step: string,
): Promise<Record<string, number>> {
  const names = [stepStream(step), serviceStream(step)]
  await Promise.all(names.map((name) => journal.flushed(name)))
  // Later output of services may only be in memory.
  const lengths = names.map((name): [string, number] => [name, journal.extent(name).written])
  return Object.fromEntries(lengths.filter(([, bytes]) => bytes > 0))
}

/**
 * Returns the written lengths of the streams that the server does not have completely, so that a server that loses this engine knows how much is
 * missing. If there are too many streams, only those with the most waiting bytes are named and the others are counted.
 */
export function spooledOf(journal: Pick<Journal<EngineEvent>, 'extent' | 'waiting'>): Pick<Heartbeat, 'spooled' | 'others'> {
  const waiting = journal.waiting().toSorted((a, b) => b.bytes - a.bytes)
  const named = waiting.slice(0, MAX_SPOOLED)
  const spooled = Object.fromEntries(named.map(({ stream }) => [stream, journal.extent(stream).written]))
  return { spooled, ...(waiting.length > named.length && { others: waiting.length - named.length }) }
}

/**
 * Returns the event as it can be sent: no announced length exceeds what the spool has. The spool may have less if its disk failed or another process
 * wrote it, and an event that waits for lost bytes would block all later ones.
 */
export function keptEvent(journal: Pick<Journal<EngineEvent>, 'extent'>, event: EngineEvent): EngineEvent {
  if (event.type === 'step.finished' && event.streams !== undefined) {
    const lengths = Object.entries(event.streams)
    const streams = lengths.map(([name, bytes]): [string, number] => [name, Math.min(bytes, journal.extent(name).bytes)])
    return { ...event, streams: Object.fromEntries(streams) }
  }
  if (event.type !== 'attempt.finished') return event
  const totals = Object.entries(event.streams).map(([name, total]): [string, typeof total] => {
    const { bytes } = journal.extent(name)
    return [name, total.bytes <= bytes ? total : { bytes, sha256: '' }]
  })
  return { ...event, streams: Object.fromEntries(totals) }
}
