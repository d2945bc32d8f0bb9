/** A template of a runner, from which a registration takes what its command line does not give. */
import { fault } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { parse, TomlError, type TomlTable, type TomlValue } from 'smol-toml'

/** Reads a template. Returns its only runner without a token, which never comes from a template. Throws `config-invalid`. */
export function readTemplate(text: string, file: string): TomlTable {
  const { runners } = parseTemplate(text, file)
  const [runner] = Array.isArray(runners) ? runners : []
  if (!Array.isArray(runners) || runners.length !== 1 || !isTable(runner))
    throw fault('config-invalid', {
      message: `${file} must have exactly one [[runners]], and has ${Array.isArray(runners) ? runners.length : 0}.`,
    })
  const { token: _, ...rest } = runner
  return rest
}

function parseTemplate(text: string, file: string): TomlTable {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason] = error.message.split('\n')
    throw fault('config-invalid', { message: `${file}, line ${error.line}: ${reason}.` })
  }
}

/** Merges a runner with a template. What the runner has wins, unless it is empty. */
export function mergeTemplate(runner: TomlTable, template: TomlTable): TomlTable {
  const merged: TomlTable = { ...template }
  for (const [key, value] of Object.entries(runner)) {
    const below = template[key]
    if (isTable(value) && isTable(below)) merged[key] = mergeTemplate(value, below)
    else if (!isEmpty(value) || below === undefined) merged[key] = value
  }
  return merged
}

function isTable(value: TomlValue | undefined): value is TomlTable {
  return isRecord(value) && !(value instanceof Date)
}

function isEmpty(value: TomlValue): boolean {
  return value === '' || value === 0 || value === false || (Array.isArray(value) && value.length === 0)
}
