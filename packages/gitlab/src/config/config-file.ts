/** The file of the configuration: its place, reading and changes. */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fault, hasCode, openSerial, writePrivateFile } from '@windlass/kit'
import { readConfigText, type Finding } from './read.ts'
import type { RunnerConfig } from './schema.ts'

/** Returns the default path: `/etc/gitlab-runner/config.toml` for root, and a file below the home folder for others. */
export function defaultConfigFile(env: Readonly<Record<string, string | undefined>>): string {
  if (env['CONFIG_FILE'] !== undefined && env['CONFIG_FILE'] !== '') return env['CONFIG_FILE']
  if (process.getuid?.() === 0) return '/etc/gitlab-runner/config.toml'
  return join(env['HOME'] ?? '.', '.gitlab-runner', 'config.toml')
}

export interface LoadedConfig {
  readonly config: RunnerConfig
  readonly text: string
  /** Warnings. */
  readonly findings: readonly Finding[]
}

/** Reads the file. Throws `file-not-found`, and `config-invalid` with each error and its line. */
export function loadConfig(file: string): LoadedConfig {
  const text = readConfigFile(file)
  if (text === undefined) throw fault('file-not-found', { message: `${file} does not exist.` })
  const { config, findings } = readConfigText(text)
  if (config !== undefined) return { config, text, findings }
  throw fault('config-invalid', {
    message: `${file} is not valid.`,
    problems: findings
      .filter(({ severity }) => severity === 'error')
      .map(({ line, key, message }) => ({ path: key, line, message })),
  })
}

/** Returns the text of the file; undefined if it does not exist. Throws `file-not-found` if it cannot be read. */
export function readConfigFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw fault('file-not-found', {
      message: `${file} cannot be read: ${error instanceof Error ? error.message : 'unknown reason'}.`,
    })
  }
}

const serial = openSerial()

/** Changes the text of the file, which is written whole or not at all, for the user alone. Creates the folder. Throws system errors. */
export function changeConfigFile(file: string, change: (text: string) => string): Promise<void> {
  return serial.run(file, async () => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writePrivateFile(file, change(readConfigFile(file) ?? ''), { replace: true })
  })
}
