/** Values of a build that must not be readable at rest: its secret variables, and what steps export as secret. */
import { z } from 'zod'
import { MASK } from '../secrets/mask.ts'
import type { Vault } from '../secrets/vault.ts'

interface Owner {
  readonly id: string
  readonly account_id: string
}

const Values = z.record(z.string(), z.string())

/** One sealed record of all secret variables; null when there are none. */
export function sealSecrets(vault: Vault, build: Owner, secrets: Readonly<Record<string, string>>): string | null {
  return Object.keys(secrets).length === 0 ? null : vault.seal(`${build.account_id}/${build.id}/secrets`, JSON.stringify(secrets))
}

export function openSecrets(vault: Vault, build: Owner, sealed: string | null): Record<string, string> {
  return sealed === null ? {} : Values.parse(JSON.parse(vault.open(`${build.account_id}/${build.id}/secrets`, sealed)))
}

const Exports = z.array(z.looseObject({ name: z.string(), value: z.string(), secret: z.boolean() }))
type Event = Record<string, unknown>

function mapSecretExports(event: Event, change: (value: string) => string): Event {
  const exports = Exports.safeParse(event['exports'])
  if (!exports.success || !exports.data.some(({ secret }) => secret)) return event
  return { ...event, exports: exports.data.map((entry) => (entry.secret ? { ...entry, value: change(entry.value) } : entry)) }
}

/** An event as it is stored: values exported as secret are sealed. */
export function sealExports(vault: Vault, build: Owner, event: Event): Event {
  return mapSecretExports(event, (value) => vault.seal(`${build.account_id}/${build.id}/exports`, value))
}

export function openExports(vault: Vault, build: Owner, event: Event): Event {
  return mapSecretExports(event, (value) => vault.open(`${build.account_id}/${build.id}/exports`, value))
}

/** An event as it is shown. */
export function maskExports(event: Event): Event {
  return mapSecretExports(event, () => MASK)
}
