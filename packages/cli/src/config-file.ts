/** The file of contexts: which servers this user knows, and the key for each. Readable by its owner only. */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { parse, stringify } from 'yaml'
import { z } from 'zod'

const ServerContext = z.object({
  name: z.string().min(1),
  url: z.url(),
  apiKey: z.string().optional(),
  /** PEM file of further certificate authorities. */
  caFile: z.string().optional(),
})
/** A server as this user knows it. */
export type ServerContext = z.infer<typeof ServerContext>

const ConfigFile = z.object({ current: z.string().optional(), contexts: z.array(ServerContext).default([]) })
export type ConfigFile = z.infer<typeof ConfigFile>

/** Reads the file; no file is the same as one without contexts. Throws `config-invalid`. */
export function readConfigFile(path: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return { contexts: [] }
    throw fault('config-invalid', { message: `${path} cannot be read.`, hint: 'Check its owner and permissions.' }, error)
  }
  const parsed = ConfigFile.safeParse(parseYaml(text, path))
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => ({ file: path, path: issue.path.join('.'), message: issue.message }))
  throw fault('config-invalid', {
    message: `${path} is not a file of contexts.`,
    problems,
    hint: 'Repair it, or delete it and log in again.',
  })
}

function parseYaml(text: string, path: string): unknown {
  try {
    return parse(text) ?? {}
  } catch (error) {
    throw fault('config-invalid', { message: `${path} is not YAML.`, hint: 'Repair it, or delete it and log in again.' }, error)
  }
}

/** Writes the file whole or not at all, with mode 0600. */
export function writeConfigFile(path: string, config: ConfigFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, stringify(config), { mode: 0o600 })
  chmodSync(part, 0o600)
  renameSync(part, path)
}

/** Adds the context, or replaces the one of the same name; makes it the current one when asked. */
export function saveContext(path: string, context: ServerContext, options: { use: boolean }): void {
  const config = readConfigFile(path)
  const others = config.contexts.filter(({ name }) => name !== context.name)
  const current = options.use || config.current === undefined ? context.name : config.current
  writeConfigFile(path, { current, contexts: [...others, context] })
}

/** The context in use; undefined when there is none. Throws `config-invalid` when `current` names one that is not there. */
export function currentContext(config: ConfigFile): ServerContext | undefined {
  if (config.current === undefined) return undefined
  const found = config.contexts.find(({ name }) => name === config.current)
  if (found === undefined)
    throw fault('config-invalid', {
      message: `The current context '${config.current}' does not exist.`,
      hint: 'Choose one with `windlass auth use NAME`.',
    })
  return found
}
