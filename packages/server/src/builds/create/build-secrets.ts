/** Encryption at rest for the secrets of a build: its secret variables, and the values that steps export as secret. */
import { z } from 'zod'
import { MASK } from '@windlass/protocol'
import { buildPlace, eventPlace, type Place } from '../../secrets/places.ts'
import type { Vault } from '../../secrets/vault.ts'
import type { Tx } from '../../store/store.ts'

interface Owner {
  readonly id: string
  readonly account_id: string
}

const Values = z.record(z.string(), z.string())

/** Seals all secret variables as one record. Returns null if there are none. */
export async function sealSecrets(
  vault: Vault,
  tx: Tx,
  { build, secrets }: { build: Owner; secrets: Readonly<Record<string, string>> },
): Promise<string | null> {
  if (Object.keys(secrets).length === 0) return null
  return (await vault.sealer(tx)).seal(buildPlace(build), JSON.stringify(secrets))
}

export function openSecrets(vault: Vault, build: Owner, sealed: string | null): Record<string, string> {
  return sealed === null ? {} : Values.parse(JSON.parse(vault.open(buildPlace(build), sealed)))
}

const Exports = z.array(z.looseObject({ name: z.string(), value: z.string(), secret: z.boolean() }))
type Event = Record<string, unknown>

const Sealed = z.object({ members: z.array(z.string()), outputs: z.array(z.string()) }).partial()

/** Applies `change` to the secret values of an event: exports marked as secret, and the members and outputs that `sealed` names. */
function mapSecrets(event: Event, change: (value: string) => string): Event {
  const changed = { ...event }
  const exports = Exports.safeParse(event['exports'])
  if (exports.success && exports.data.some(({ secret }) => secret))
    changed['exports'] = exports.data.map((entry) => (entry.secret ? { ...entry, value: change(entry.value) } : entry))
  const sealed = Sealed.safeParse(event['sealed'])
  for (const field of ['members', 'outputs'] as const) {
    const names = sealed.data?.[field] ?? []
    const values = Values.safeParse(event[field])
    if (!values.success || names.length === 0) continue
    const entries = Object.entries(values.data).map(([name, value]) => [name, names.includes(name) ? change(value) : value])
    changed[field] = Object.fromEntries(entries)
  }
  return changed
}

/** Returns the event in its stored form, with secret values sealed. */
export async function sealValues(vault: Vault, tx: Tx, build: Owner, event: Event): Promise<Event> {
  // Most events have no secrets and do not need the key.
  if (!holdsSecret(event)) return event
  const sealer = await vault.sealer(tx)
  return mapSecrets(event, (value) => sealer.seal(eventPlace(build), value))
}

function holdsSecret(event: Event): boolean {
  let found = false
  mapSecrets(event, (value) => {
    found = true
    return value
  })
  return found
}

export function openValues(vault: Vault, build: Owner, event: Event): Event {
  return mapSecrets(event, (value) => vault.open(eventPlace(build), value))
}

/** Applies `change` to the sealed values in the stored data of an event. */
export function changeSealedValues(build: Owner, data: string, change: (place: Place, sealed: string) => string): string {
  return JSON.stringify(mapSecrets(StoredEvent.parse(JSON.parse(data)), (value) => change(eventPlace(build), value)))
}

const StoredEvent = z.record(z.string(), z.unknown())

/** Returns the event for display, with secret values masked. */
export function maskValues(event: Event): Event {
  return mapSecrets(event, () => MASK)
}
