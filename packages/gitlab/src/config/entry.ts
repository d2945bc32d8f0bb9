/** The entry of a new runner in the configuration. */
import { TomlDate, type TomlTable } from 'smol-toml'
import type { RegisteredRunner } from '../coordinator/registration.ts'
import { mergeTemplate } from './template.ts'

export type EntryValue = string | number | boolean | readonly string[]

export interface NewEntry {
  readonly name: string
  readonly url: string
  readonly registered: RegisteredRunner
  /** Epoch milliseconds. */
  readonly now: number
  /** Further keys of the runner, and those of `[runners.kubernetes]`. */
  readonly keys: Readonly<Record<string, EntryValue>>
  readonly kubernetes: Readonly<Record<string, EntryValue>>
  /** Keys of `[runners.cache]`. */
  readonly cache?: TomlTable
}

/** Returns the entry. What the template has fills what the registration left open. */
export function newEntry(entry: NewEntry, template: TomlTable = {}): TomlTable {
  const { name, url, registered, now, keys, kubernetes, cache = {} } = entry
  const { id, token, tokenExpiresAt } = registered
  return mergeTemplate(
    {
      name,
      url,
      ...(id !== 0 && { id }),
      token,
      token_obtained_at: new TomlDate(withoutFraction(now)),
      ...(tokenExpiresAt !== undefined && { token_expires_at: new TomlDate(new Date(tokenExpiresAt)) }),
      executor: 'kubernetes',
      ...copied(keys),
      kubernetes: copied(kubernetes),
      ...(Object.keys(cache).length > 0 && { cache }),
    },
    template,
  )
}

/** Returns a time in whole seconds, as the file has them. */
export function withoutFraction(ms: number): Date {
  return new Date(Math.floor(ms / 1_000) * 1_000)
}

function copied(values: Readonly<Record<string, EntryValue>>): TomlTable {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, typeof value === 'object' ? [...value] : value]))
}
