/** The commands `in-cluster apply-runtime` and `diff-runtime`, for the runtime specification in the chart values. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '@windlass/kit/json'
import type { ApiClient } from '@windlass/client'
import { RuntimeInput } from '@windlass/protocol'
import { readDocuments } from '../resources/documents.ts'
import { orUndefined } from '../session/session.ts'
import { retryUnreachable, requireAdmin, type CommandContext } from './context.ts'

export interface RuntimeDocument {
  readonly name: string
  readonly body: RuntimeInput
}

/** Reads the runtime documents of a folder. Throws `document-invalid` with positions. */
export function readRuntimes(folder: string): RuntimeDocument[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return files.flatMap((name) =>
    readDocuments({ name, text: readFileSync(join(folder, name), 'utf8') }, { name: undefined, runtime: undefined }).map(
      ({ name: runtime, body }) => ({ name: runtime, body: RuntimeInput.parse(body) }),
    ),
  )
}

/** Applies the specifications to the server. An unchanged one does not create a version. */
export async function applyRuntimes(context: CommandContext): Promise<void> {
  const admin = requireAdmin(context)
  for (const wanted of readRuntimes(context.config.RUNTIMES_DIR)) {
    const changes = await differences(admin, wanted)
    if (changes?.length === 0) {
      context.out.note(`runtime ${wanted.name}: unchanged`)
      continue
    }
    for (const change of changes ?? []) context.out.note(`  ${change}`)
    await admin.runtimes.put(wanted.name, wanted.body, { query: { description: 'values of the Helm chart' } })
    context.out.note(`runtime ${wanted.name}: ${changes === undefined ? 'created' : 'changed'}`)
  }
}

/** Prints the differences without applying them. Resolves to false if there are any. */
export async function reportRuntimes(context: CommandContext): Promise<boolean> {
  const admin = requireAdmin(context)
  let same = true
  for (const wanted of readRuntimes(context.config.RUNTIMES_DIR)) {
    const changes = await differences(admin, wanted)
    if (changes?.length === 0) {
      context.out.note(`runtime ${wanted.name}: equals the chart values`)
      continue
    }
    same = false
    context.out.note(
      `runtime ${wanted.name}: ${changes === undefined ? 'does not exist on the server' : 'differs on the server'}`,
    )
    for (const change of changes ?? []) context.out.note(`  ${change}`)
  }
  return same
}

/** Returns the changes that applying would make; undefined if the runtime does not exist. */
async function differences(admin: ApiClient, { name, body }: RuntimeDocument): Promise<string[] | undefined> {
  const current = await retryUnreachable(() => orUndefined(admin.runtimes.get(name)))
  if (current === undefined) return undefined
  const before = { agent: current.agent, type: current.type, spec: current.spec }
  return changesBetween(before, { agent: body.agent, type: body.type, spec: body.spec })
}

/** Returns the leaves in which two values differ, as `path: before -> after`. */
export function changesBetween(before: unknown, after: unknown, path = ''): string[] {
  if (isDeepStrictEqual(before, after)) return []
  if (!isRecord(before) || !isRecord(after)) return [`${path}: ${textOf(before)} -> ${textOf(after)}`]
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  return keys.flatMap((key) => changesBetween(before[key], after[key], path === '' ? key : `${path}.${key}`))
}

function textOf(value: unknown): string {
  return value === undefined ? '(none)' : JSON.stringify(value)
}
