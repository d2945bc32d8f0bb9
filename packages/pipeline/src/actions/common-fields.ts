/** Fields that several step types have. */
import type { Field } from '../shape.ts'
import { either, optionalText, record, text } from '../shape.ts'
import type { Shape } from '../shape.ts'

export const workingDirectory: Field = {
  shape: text,
  aliases: ['working-directory'],
  about: 'Absolute, relative, or `${{step}}`; the folder of `main_clone`, else the shared volume by default.',
}

export const credentials: Field = {
  shape: record({
    username: { shape: text, required: true, about: 'User name.' },
    password: { shape: text, required: true, about: 'Password or token; use a variable.' },
  }),
  about: 'Used in place of the integration’s own.',
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
  about: 'List of `NAME=VALUE` for `${NAME}` in the compose document; not given to containers.',
}

export const registryContexts: Field = {
  shape: { kind: 'list', of: text },
  about: 'Registry integrations to pull images with.',
}
