/**
 * Reads events that exceed limits. A refused event would block all later ones, and every further attempt would send it again. Therefore invalid
 * parts are dropped, and the rest is accepted with a note of what is missing.
 */
import { z } from 'zod'
import { EngineEvent } from './events.ts'

/** An event as the server accepts it. `refused` describes the parts that were dropped. */
export type TakenEvent = EngineEvent & { readonly refused?: string }

/** The fields that every event has. */
const Numbered = z.looseObject({ seq: z.int().positive(), at: z.int().nonnegative().catch(0), type: z.string() })
type Numbered = z.output<typeof Numbered>

/** Fields that may be truncated because they are only displayed. A truncated name or value would be a different one. */
const CLIPPED = new Set<PropertyKey>(['message', 'hint'])
/** Dropping one part may reveal another invalid one. */
const MAX_ROUNDS = 4
const MAX_NOTE = 1000

/** One event of a batch, without its invalid parts. Only a value without a sequence number is refused. */
export const AnyTakenEvent: z.ZodType<TakenEvent> = z.union([EngineEvent, Numbered.transform(takeEvent)])

/** Returns the event without its invalid parts, or a notice if nothing valid is left. */
function takeEvent(value: Numbered): TakenEvent {
  const left: Numbered = structuredClone(value)
  const refused: string[] = []
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const parsed = EngineEvent.safeParse(left)
    if (parsed.success) return refused.length === 0 ? parsed.data : { ...parsed.data, refused: noteOf(value, refused) }
    for (const issue of parsed.error.issues) refused.push(...leaveOut(left, issue))
    for (const [field, content] of Object.entries(left))
      if (Array.isArray(content)) left[field] = content.filter((one) => one !== undefined)
  }
  return withoutContent(value, noteOf(value, refused))
}

/** Returns the event without its content: only the fact that the step or attempt ended. Other events become a notice. */
export function withoutContent(value: Numbered, refused: string): TakenEvent {
  const { seq, at, type, step, streams } = value
  const common = { seq, at }
  const bare =
    type === 'step.finished'
      ? { ...pick(value, ['type', 'step', 'try', 'status', 'reason', 'exitCode', 'streams']), members: {}, exports: [] }
      : type === 'attempt.finished'
        ? { type, outcome: pick(asRecord(value['outcome']), ['status', 'reason', 'step']), streams }
        : undefined
  const parsed = EngineEvent.safeParse({ ...common, ...bare })
  if (parsed.success) return { ...parsed.data, refused }
  const ofStep = typeof step === 'string' && step.length > 0 && step.length <= 150 ? { step } : {}
  return { ...common, type: 'notice', level: 'warning', ...ofStep, message: refused }
}

/** Removes the part that an issue is about. Returns the paths of what it removed. */
function leaveOut(event: Numbered, { path, code, ...issue }: z.core.$ZodIssue): string[] {
  const [field, entry] = path
  const last = path.at(-1)
  if (field === undefined || last === undefined) return []
  if (field === 'sealed') {
    // Without the names, secret values would be stored unencrypted.
    Object.assign(event, { sealed: undefined, members: {}, outputs: {} })
    return [path.join('.'), 'members', 'outputs']
  }
  const holder = path.slice(0, -1).reduce<unknown>((at, key) => asRecord(at)[String(key)] ?? asArray(at)[Number(key)], event)
  const value = asRecord(holder)[String(last)]
  const maximum = 'maximum' in issue ? Number(issue.maximum) : 0
  if (code === 'too_big' && typeof value === 'string' && CLIPPED.has(last)) {
    asRecord(holder)[String(last)] = value.slice(0, maximum)
    return []
  }
  const content = event[String(field)]
  if (code === 'too_big' && path.length === 1 && Array.isArray(content)) content.length = maximum
  else if (entry === undefined) delete event[String(field)]
  else if (Array.isArray(content)) content[Number(entry)] = undefined
  else delete asRecord(content)[String(entry)]
  return [path.join('.')]
}

function noteOf({ type, step }: Numbered, refused: readonly string[]): string {
  const what = typeof step === 'string' ? `${type} of step "${step.slice(0, 150)}"` : type
  const paths = [...new Set(refused)]
  const places = paths.length === 0 ? 'all of it' : paths.slice(0, 10).join(', ') + (paths.length > 10 ? ', …' : '')
  return `The server dropped parts of ${what} because they are not valid or too large: ${places}.`.slice(0, MAX_NOTE)
}

function pick(from: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]]))
}

/** Returns the same object, so that it can be changed, or an empty one for any other value. */
function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
