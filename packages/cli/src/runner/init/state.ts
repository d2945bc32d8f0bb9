/**
 * How far an installation has come: one file for each, beside the file of contexts, readable by its owner only. It holds choices, names and
 * marks; never a key, a token or a value somebody gave.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { z } from 'zod'
import { STEPS, type StepName } from './plan.ts'

const Mark = z.object({
  status: z.enum(['begun', 'done', 'skipped', 'failed']),
  message: z.string().optional(),
  /** The server was told of its end. */
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
  /** Fingerprint of everything that was asked for, to see that a later command line asks for something else. */
  wishes: z.string(),
  /** Id of the record that the server keeps. */
  installationId: z.string().optional(),
  agentId: z.string().optional(),
  startedAt: z.number(),
  marks: z.partialRecord(z.enum(STEPS), Mark),
})
export type InstallState = z.infer<typeof InstallState>

/** Folder of the files, beside the file of contexts. */
export function stateFolder(configFile: string): string {
  return join(dirname(configFile), 'installations')
}

function pathOf(folder: string, { context, namespace }: { context: string; namespace: string }): string {
  const readable = `${context}_${namespace}`.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 80)
  return join(folder, `${readable}-${fingerprint([context, namespace]).slice(0, 8)}.json`)
}

/** SHA-256 of a value. */
export function fingerprint(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** Installations that have not come to their end, the latest first. A file that cannot be read is told, not guessed at. */
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
      { message: `${path} is not the state of an installation.`, hint: 'Delete it to begin anew.' },
      error,
    )
  }
}

/** Writes the state whole or not at all, with mode 0600. */
export function saveState(folder: string, state: InstallState): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = pathOf(folder, state)
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
  chmodSync(part, 0o600)
  renameSync(part, path)
}

export function removeState(folder: string, state: InstallState): void {
  rmSync(pathOf(folder, state), { force: true })
}

const MARKS: Readonly<Record<Mark['status'] | 'pending', string>> = {
  done: '✓',
  skipped: '⤳',
  failed: '✘',
  begun: '◼',
  pending: '◼',
}

/** One line for each step: its mark and title, and why it was left out or failed. */
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
