/** When images and volumes were used last, from events of the Docker daemon. */

/** An image by id or name, or a volume by name. */
export interface Use {
  readonly kind: 'image' | 'volume'
  readonly name: string
  /** Epoch seconds. */
  readonly at: number
}

/** Actions of events that count as uses; the others report removals. */
export const USE_ACTIONS = ['create', 'mount', 'pull', 'tag', 'load', 'import'] as const

/** Returns the uses in a line of `docker events --format '{{json .}}'`; none for other events and for invalid lines. */
export function usesOf(line: string): Use[] {
  const event = parseEvent(line)
  if (event === undefined || !USE_ACTIONS.some((action) => action === event.action)) return []
  const { type, id, attributes, at } = event
  if (type === 'volume') return [{ kind: 'volume', name: id, at }]
  const names = type === 'container' ? [attributes['image']] : type === 'image' ? [id, attributes['name']] : []
  return names.flatMap((name) => (typeof name === 'string' && name !== '' ? [{ kind: 'image', name, at }] : []))
}

/** Returns a line for a use, in the format of the daemon's events. */
export function lineOf({ kind, name, at }: Use): string {
  return kind === 'volume'
    ? JSON.stringify({ Type: 'volume', Action: 'mount', Actor: { ID: name }, time: at })
    : JSON.stringify({ Type: 'container', Action: 'create', Actor: { ID: '', Attributes: { image: name } }, time: at })
}

/** The last use of each image and volume. */
export class UseHistory {
  readonly #last = new Map<string, Use>()

  add(uses: readonly Use[]): void {
    for (const use of uses) {
      const key = `${use.kind} ${use.name}`
      if ((this.#last.get(key)?.at ?? -Infinity) < use.at) this.#last.set(key, use)
    }
  }

  all(): Use[] {
    return [...this.#last.values()]
  }

  /** Returns names of a kind that were used at `since` (epoch seconds) or later. */
  since(kind: Use['kind'], since: number): ReadonlySet<string> {
    return new Set(this.all().flatMap((use) => (use.kind === kind && use.at >= since ? [use.name] : [])))
  }
}

interface Event {
  readonly type: unknown
  readonly action: unknown
  readonly id: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly at: number
}

function parseEvent(line: string): Event | undefined {
  const event = asRecord(parseJson(line))
  const actor = asRecord(event?.['Actor'])
  const at = event?.['time']
  if (event === undefined || typeof at !== 'number') return undefined
  const id = actor?.['ID']
  const attributes = asRecord(actor?.['Attributes']) ?? {}
  return { type: event['Type'], action: event['Action'], id: typeof id === 'string' ? id : '', attributes, at }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
