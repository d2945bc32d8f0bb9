/**
 * Log bytes that are lost: those in the spool of a lost attempt's engine that were never sent. Their number comes from the engine's last heartbeat,
 * so more may be missing.
 */
import {
  isTerminalStream,
  MAX_SPOOLED,
  MissingLog,
  SYSTEM_STREAM,
  serviceStream,
  stepStream,
  type Heartbeat,
} from '@windlass/protocol'
import { z } from 'zod'
import { defined } from '@windlass/kit/defined'
import { listRunningSteps } from '../../store/builds/events.ts'
import { findStreamEnds } from '../../store/builds/logs/streams.ts'
import { record, type BuildEdit } from '../lifecycle/edit.ts'

/** Name of stream -> bytes. The key `others`, which is not a valid stream name, has the number of streams that are not listed. */
const Spooled = z.record(z.string(), z.int())
const OTHERS = 'others'
/** Maximum number of streams that the feed lists for one attempt, because all are recorded in one transaction. */
const MAX_NAMED = 1000

/** Replaces what is stored about the spool with the state in the heartbeat. */
export function noteSpooled({ attempt }: BuildEdit, { spooled = {}, others = 0 }: Heartbeat): void {
  if (attempt === undefined) return
  const streams = Object.entries(spooled)
  const more = others + Math.max(0, streams.length - MAX_SPOOLED)
  const known = [...streams.slice(0, MAX_SPOOLED), ...(more > 0 ? [[OTHERS, more] as const] : [])]
  attempt.spooled = known.length === 0 ? null : JSON.stringify(Object.fromEntries(known))
}

/** Records the missing log of a lost attempt in the feed: one event per stream, and one for the streams beyond `MAX_NAMED`. */
export async function recordMissing(edit: BuildEdit): Promise<void> {
  const { attempt } = edit
  if (attempt === undefined || attempt.claim_key === null) return
  const { missing, others } = await findMissing(edit, attempt.spooled)
  if (missing.length > 0) attempt.missing = JSON.stringify(missing)
  for (const part of missing) {
    const step = part.stream === SYSTEM_STREAM ? undefined : part.stream.slice(stepStream('').length)
    const message = describeMissing(part, attempt.number)
    record(edit, { type: 'log.incomplete', data: { ...part, ...defined({ step }), message } })
  }
  if (others === 0) return
  const message = `The logs of ${others} more streams of attempt ${attempt.number} are incomplete.`
  record(edit, { type: 'log.incomplete', data: { others, message } })
}

/** Parses what `recordMissing` stored. Returns undefined if nothing is missing. */
export function readMissing(stored: string | null): MissingLog[] | undefined {
  return stored === null ? undefined : z.array(MissingLog).parse(JSON.parse(stored))
}

/** Returns the streams with the most missing bytes, sorted by name, and the number of further ones. */
async function findMissing(
  { tx, attempt, build }: BuildEdit,
  spooled: string | null,
): Promise<{ missing: MissingLog[]; others: number }> {
  const key = { buildId: build.id, attempt: attempt?.number ?? 0 }
  const ends = await findStreamEnds(tx.query, key)
  const known = new Map(Object.entries(spooled === null ? {} : Spooled.parse(JSON.parse(spooled))))
  const others = known.get(OTHERS) ?? 0
  known.delete(OTHERS)
  const running = await listRunningSteps(tx.query, key)
  // A running step may have written after the last heartbeat.
  const open = new Set(running.flatMap((step) => [stepStream(step), serviceStream(step)]))
  const names = new Set([...ends.keys(), ...known.keys()])
  const all = [...names]
    .filter((stream) => !isTerminalStream(stream))
    .map((stream) => {
      const from = ends.get(stream) ?? 0
      return { stream, from, atLeast: Math.max(0, (known.get(stream) ?? 0) - from) }
    })
    .filter(({ stream, atLeast }) => atLeast > 0 || open.has(stream))
    .toSorted((a, b) => b.atLeast - a.atLeast)
  const missing = all.slice(0, MAX_NAMED).toSorted((a, b) => (a.stream < b.stream ? -1 : 1))
  return { missing, others: others + all.length - missing.length }
}

function describeMissing({ from, atLeast }: MissingLog, attempt: number): string {
  const where = `The log of attempt ${attempt} is incomplete: it ends at byte ${from}`
  return atLeast > 0
    ? `${where}, and at least ${atLeast} bytes were lost with the engine.`
    : `${where}; output after that may be lost.`
}
