/** `in-cluster apply-runtime` and `diff-runtime`: the specification of the chart's values, and that of the server. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Runtime, RuntimeInput, type Client } from '@windlass/protocol'
import { readDocuments } from '../resources/documents.ts'
import { orAbsent, pathOf, patiently, requireAdmin, type Place } from './place.ts'

export interface WantedRuntime {
  readonly name: string
  readonly body: RuntimeInput
}

/** The runtimes that the documents of a folder describe. Throws `document-invalid` with places. */
export function readRuntimes(folder: string): WantedRuntime[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return files.flatMap((name) =>
    readDocuments({ name, text: readFileSync(join(folder, name), 'utf8') }, { name: undefined, runtime: undefined }).map(
      ({ name: runtime, body }) => ({ name: runtime, body: RuntimeInput.parse(body) }),
    ),
  )
}

/** Hands the specifications to the server; one that is the same already makes no new version. */
export async function applyRuntimes(place: Place): Promise<void> {
  const admin = requireAdmin(place)
  for (const wanted of readRuntimes(place.config.RUNTIMES_DIR)) {
    const changes = await differences(admin, wanted)
    if (changes?.length === 0) {
      place.out.note(`runtime ${wanted.name}: unchanged`)
      continue
    }
    for (const change of changes ?? []) place.out.note(`  ${change}`)
    await admin.call('PUT', pathOf('runtimes', wanted.name), Runtime, {
      body: wanted.body,
      query: { description: 'values of the Helm chart' },
    })
    place.out.note(`runtime ${wanted.name}: ${changes === undefined ? 'created' : 'changed'}`)
  }
}

/** Prints what differs and changes nothing. Answers false when something does. */
export async function reportRuntimes(place: Place): Promise<boolean> {
  const admin = requireAdmin(place)
  let same = true
  for (const wanted of readRuntimes(place.config.RUNTIMES_DIR)) {
    const changes = await differences(admin, wanted)
    if (changes?.length === 0) {
      place.out.note(`runtime ${wanted.name}: as the values say`)
      continue
    }
    same = false
    place.out.note(`runtime ${wanted.name}: ${changes === undefined ? 'is not on the server' : 'was changed on the server'}`)
    for (const change of changes ?? []) place.out.note(`  ${change}`)
  }
  return same
}

/** Lines of what applying would change; undefined when there is no such runtime yet. */
async function differences(admin: Client, { name, body }: WantedRuntime): Promise<string[] | undefined> {
  const current = await patiently(() => orAbsent(admin.call('GET', pathOf('runtimes', name), Runtime)))
  if (current === undefined) return undefined
  const before = { agent: current.agent, type: current.type, spec: current.spec }
  return changesBetween(before, { agent: body.agent, type: body.type, spec: body.spec })
}

/** The leaves in which two values differ, as `path: before -> after`. */
export function changesBetween(before: unknown, after: unknown, path = ''): string[] {
  if (isDeepStrictEqual(before, after)) return []
  if (!isRecord(before) || !isRecord(after)) return [`${path}: ${textOf(before)} -> ${textOf(after)}`]
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  return keys.flatMap((key) => changesBetween(before[key], after[key], path === '' ? key : `${path}.${key}`))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return value === undefined ? '(nothing)' : JSON.stringify(value)
}
