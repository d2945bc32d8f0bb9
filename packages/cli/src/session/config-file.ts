/** The configuration file: the user's contexts, each a server and a key. Only the owner can read it. */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import { writePrivateFile } from '@windlass/kit/private-file'
import { hasCode } from '@windlass/kit/system-error'
import { parse, stringify } from 'yaml'
import { z } from 'zod'

const ServerContext = z.object({
  name: z.string().min(1),
  url: z.url(),
  apiKey: z.string().optional(),
  /** PEM file of additional certificate authorities. */
  caFile: z.string().optional(),
})
/** A named server with the user's key. */
export type ServerContext = z.infer<typeof ServerContext>

const ConfigFile = z.object({ current: z.string().optional(), contexts: z.array(ServerContext).default([]) })
export type ConfigFile = z.infer<typeof ConfigFile>

/** Reads the file. A missing file is a file without contexts. Throws `config-invalid`. */
export function readConfigFile(path: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { contexts: [] }
    throw fault('config-invalid', { message: `${path} cannot be read.`, hint: 'Check its owner and permissions.' }, error)
  }
  const value = parseYaml(text, path)
  const parsed = ConfigFile.safeParse(value)
  if (parsed.success) return parsed.data
  // The other command line has an object here.
  if (isRecord(value) && isRecord(value['contexts']))
    throw fault('config-invalid', {
      message: `${path} is a file of the codefresh command line.`,
      hint: 'Set WINDLASS_CONFIG to another file; CFCONFIG can stay as it is.',
    })
  const problems = parsed.error.issues.map((issue) => ({ file: path, path: issue.path.join('.'), message: issue.message }))
  throw fault('config-invalid', {
    message: `${path} is not a valid configuration file.`,
    problems,
    hint: 'Fix it, or delete it and log in again.',
  })
}

function parseYaml(text: string, path: string): unknown {
  try {
    return parse(text) ?? {}
  } catch (error) {
    throw fault(
      'config-invalid',
      { message: `${path} is not valid YAML.`, hint: 'Fix it, or delete it and log in again.' },
      error,
    )
  }
}

/** Writes the file atomically, with mode 0600, and syncs it to disk. It may have the only copy of a key. */
export function writeConfigFile(path: string, config: ConfigFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writePrivateFile(path, stringify(config), { replace: true })
}

/** Adds or replaces the context with this name, and makes it the current one if requested. */
export function saveContext(path: string, context: ServerContext, options: { use: boolean }): void {
  const config = readConfigFile(path)
  const others = config.contexts.filter(({ name }) => name !== context.name)
  const current = options.use || config.current === undefined ? context.name : config.current
  writeConfigFile(path, { current, contexts: [...others, context] })
}

/** Returns the current context, if any. Throws `config-invalid` if `current` names one that does not exist. */
export function currentContext(config: ConfigFile): ServerContext | undefined {
  if (config.current === undefined) return undefined
  const found = config.contexts.find(({ name }) => name === config.current)
  if (found === undefined)
    throw fault('config-invalid', {
      message: `The current context "${config.current}" does not exist.`,
      hint: 'Choose one with `windlass auth use NAME`.',
    })
  return found
}
