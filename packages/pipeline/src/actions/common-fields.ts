/** Fields that several step types share. */
import type { Field } from '../language/shape.ts'
import { either, optionalText, record, text } from '../language/shape.ts'
import type { Shape } from '../language/shape.ts'
import type { Entry } from '../syntax/tree.ts'

export const workingDirectory: Field = {
  shape: text,
  aliases: ['working-directory'],
  about: 'Absolute path, relative path, or `${{step}}`. Default: the folder of `main_clone`, or the shared volume.',
}

export const credentials: Field = {
  shape: record({
    username: { shape: text, required: true, about: 'User name.' },
    password: { shape: text, required: true, about: 'Password or token; use a variable.' },
  }),
  about: 'Used instead of the credentials of the integration.',
}

export const commandLine: Shape = either({ kind: 'list', of: optionalText }, text)

/** A list of `NAME=VALUE`, or a mapping. */
export const environment: Shape = either(
  { kind: 'list', of: text, hint: 'Write a list of NAME=VALUE entries, or a mapping of names to values.' },
  { kind: 'map', of: { kind: 'plain' } },
)

export const variablesField: Field = {
  shape: { kind: 'list', of: text },
  aliases: ['composition-variables'],
  about: 'List of `NAME=VALUE` for `${NAME}` in the compose document; not passed to containers.',
}

export const registryContexts: Field = {
  shape: { kind: 'list', of: text },
  about: 'Registry integrations for pulling images.',
}

/** Renames a field unless the step also has the new name. */
export function renameField(entries: Map<string, Entry>, from: string, to: string): void {
  const entry = entries.get(from)
  if (entry === undefined || entries.has(to)) return
  entries.delete(from)
  entries.set(to, { ...entry, key: to })
}
