/**
 * The progress of an installation: one file each, next to the configuration file, readable only by its owner. It contains choices, names and
 * marks, but no keys, tokens or values.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { DRAFT_SUFFIX, writePrivateFile } from '@windlass/kit/private-file'
import { z } from 'zod'
import { STEPS, type StepName } from './plan.ts'

const Mark = z.object({
  status: z.enum(['begun', 'done', 'skipped', 'failed']),
  message: z.string().optional(),
  /** True if the end of the step was reported to the server. */
  told: z.boolean().optional(),
})
export type Mark = z.infer<typeof Mark>

export const InstallState = z.object({
  url: z.string(),
  context: z.string(),
  namespace: z.string(),
  agentName: z.string(),
  runtimeName: z.string(),
  makeDefault: z.boolean(),
  monitor: z.boolean(),
  demo: z.enum(['run', 'create', 'none']),
  /** Fingerprint of all settings, to detect that a later command line has other settings. */
  wishes: z.string(),
  /** Id of the installation record on the server. */
  installationId: z.string().optional(),
  agentId: z.string().optional(),
  startedAt: z.number(),
  marks: z.partialRecord(z.enum(STEPS), Mark),
})
export type InstallState = z.infer<typeof InstallState>

/** Returns the folder of the state files, next to the configuration file. */
export function stateFolder(configFile: string): string {
  return join(dirname(configFile), 'installations')
}

function pathOf(folder: string, { context, namespace }: { context: string; namespace: string }): string {
  const readable = `${context}_${namespace}`.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 80)
  return join(folder, `${readable}-${fingerprint([context, namespace]).slice(0, 8)}.json`)
}

/** Returns the SHA-256 of a value. */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** Returns the unfinished installations, latest first. Throws `config-invalid` for an unreadable file. */
export function listStates(folder: string): InstallState[] {
  const names = namesIn(folder).filter((name) => name.endsWith('.json'))
  const states = names.map((name) => readState(join(folder, name)))
  return states.toSorted((a, b) => b.startedAt - a.startedAt)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readState(path: string): InstallState {
  try {
    return InstallState.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    throw fault(
      'config-invalid',
      { message: `${path} is not a valid installation state.`, hint: 'Delete it to start over.' },
      error,
    )
  }
}

/** Writes the state atomically, with mode 0600. */
export function saveState(folder: string, state: InstallState): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writePrivateFile(pathOf(folder, state), `${JSON.stringify(state, null, 2)}\n`, { replace: true })
}

/** Deletes the state, and what a process that was killed during `saveState` left of it. */
export function removeState(folder: string, state: InstallState): void {
  const own = basename(pathOf(folder, state))
  const drafts = namesIn(folder).filter((name) => name.startsWith(`${own}.`) && name.endsWith(DRAFT_SUFFIX))
  for (const name of [own, ...drafts]) rmSync(join(folder, name), { force: true })
}

const MARKS: Readonly<Record<Mark['status'] | 'pending', string>> = {
  done: '✓',
  skipped: '⤳',
  failed: '✘',
  begun: '◼',
  pending: '◼',
}

/** Returns one line per step: mark, title, and why it was skipped or failed. */
export function markLines(
  steps: readonly { name: StepName; title: string; skipped?: string }[],
  marks: InstallState['marks'],
): string[] {
  return steps.map(({ name, title, skipped }) => {
    const mark = skipped === undefined ? marks[name] : { status: 'skipped' as const, message: skipped }
    const why = mark?.message === undefined ? '' : ` (${mark.message.split('\n')[0]})`
    return `${MARKS[mark?.status ?? 'pending']} ${title}${why}`
  })
}
