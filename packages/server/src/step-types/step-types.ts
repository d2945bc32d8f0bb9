/** Step types of the account and the built-in ones. Each version is stored as its manifest and can be replaced, like an image tag. */
import { defined, fault, newId } from '@windlass/kit'
import {
  BUILT_IN_STEP_TYPES,
  compareForLatest,
  isVersion,
  latestVersion,
  parseStepTypeName,
  readStepType,
} from '@windlass/pipeline'
import type { CatalogEntry, StepTypeManifest } from '@windlass/pipeline'
import type { StepTypeResource } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import type { StepTypeRow } from '../store/schema/schema.ts'
import type { Within } from '../store/store.ts'
import {
  deleteStepType,
  findStepType,
  listStepTypeHeads,
  listStepTypeVersions,
  saveStepType,
  type StepTypeHead,
} from '../store/pipelines/step-types.ts'

const MAX_VERSIONS = 500

export interface StepTypePut {
  readonly manifest: string
  /** `name` or `name:version` that the caller expects the manifest to have. */
  readonly name?: string | undefined
  readonly mustBeNew: boolean
}

/**
 * Creates or replaces a version of a step type. `within` runs in the same transaction. Throws `document-invalid` with the problems of the manifest,
 * `conflict` if it must be new but exists, and `request-invalid` if the manifest has another name.
 */
export async function putStepType(
  app: App,
  put: StepTypePut,
  within?: Within<StepTypeResource>,
): Promise<{ stepType: StepTypeResource; isNew: boolean }> {
  const manifest = await readManifest(app, put.manifest)
  const { name, version } = manifest
  if (put.name !== undefined && put.name !== name && put.name !== `${name}:${version}`)
    throw fault('request-invalid', {
      message: `The manifest is for the step type "${name}:${version}", not "${put.name}".`,
      hint: 'Change the name in the manifest or the name in the path.',
    })
  return app.store.write(async (tx) => {
    const versions = await listStepTypeVersions(tx.query, app.accountId, name)
    const before = versions.find((row) => row.version === version)
    if (before !== undefined && put.mustBeNew)
      throw fault('conflict', {
        message: `The step type "${name}:${version}" already exists.`,
        hint: 'Use another version, or replace the existing one.',
      })
    if (before === undefined && versions.length >= MAX_VERSIONS)
      throw fault('conflict', { message: `The step type "${name}" has ${MAX_VERSIONS} versions; delete some first.` })
    const now = app.clock.now()
    const row: StepTypeRow = {
      id: before?.id ?? newId(now),
      account_id: app.accountId,
      name,
      version,
      description: manifest.description.slice(0, 2000),
      manifest: put.manifest,
      created_at: before?.created_at ?? now,
      updated_at: now,
    }
    await saveStepType(tx, row)
    noteSubject(`step type ${name}:${version}`)
    const count = versions.length + (before === undefined ? 1 : 0)
    const stepType = { ...toStepType(row, count), manifest: row.manifest }
    await within?.(tx, stepType)
    return { stepType, isNew: before === undefined }
  })
}

async function readManifest(app: App, text: string): Promise<StepTypeManifest> {
  const { manifest, problems } = await app.documentPool.read('stepType', { text, file: 'step-type.yaml' }, text)
  if (manifest !== undefined) return manifest
  throw fault('document-invalid', {
    message: 'The manifest of the step type has errors.',
    problems: problems.map((problem) => ({ ...problem })),
  })
}

function toStepType(row: StepTypeHead, versions: number): StepTypeResource {
  return {
    name: row.name,
    version: row.version,
    description: row.description,
    builtIn: false,
    versions,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function toBuiltIn(entry: CatalogEntry, versions: number): StepTypeResource {
  const { manifest } = readStepType({ text: entry.text, file: entry.name })
  return {
    name: entry.name,
    version: entry.version,
    description: manifest?.description ?? '',
    builtIn: true,
    versions,
    createdAt: 0,
    updatedAt: 0,
  }
}

/** Lists all versions of every step type. Versions of the account replace built-in ones with the same name and version. */
async function listAll(app: App): Promise<StepTypeResource[]> {
  const own = (await listStepTypeHeads(app.store.query, app.accountId)).map((row) => toStepType(row, 0))
  const taken = new Set(own.map(({ name, version }) => `${name}:${version}`))
  const builtIn = BUILT_IN_STEP_TYPES.filter(({ name, version }) => !taken.has(`${name}:${version}`)).map((entry) =>
    toBuiltIn(entry, 0),
  )
  return [...own, ...builtIn]
}

/** Lists the latest version of each step type, by name. */
export async function listStepTypes(app: App, range: { after: string | undefined; limit: number }): Promise<StepTypeResource[]> {
  const byName = Map.groupBy(await listAll(app), ({ name }) => name)
  return [...byName.keys()]
    .toSorted()
    .filter((name) => range.after === undefined || name > range.after)
    .slice(0, range.limit)
    .flatMap((name) => latestOf(byName.get(name) ?? []) ?? [])
}

function latestOf(versions: readonly StepTypeResource[]): StepTypeResource | undefined {
  const latest = latestVersion(versions.map(({ version }) => version))
  const found = versions.find(({ version }) => version === latest)
  return found && { ...found, versions: versions.length }
}

/** Lists all versions of a step type, latest first. Throws `not-found`. */
export async function listVersions(app: App, name: string): Promise<StepTypeResource[]> {
  const versions = (await listAll(app)).filter((one) => one.name === name)
  if (versions.length === 0) throw fault('not-found', { message: `The step type "${name}" does not exist.` })
  return versions.toSorted((a, b) => compareForLatest(b.version, a.version)).map((one) => ({ ...one, versions: versions.length }))
}

/** Returns one version with its manifest; the latest if the name has no version. Throws `not-found`. */
export async function showStepType(app: App, written: string): Promise<StepTypeResource> {
  const asked = parseStepTypeName(written)
  const versions = await listVersions(app, asked.name)
  const found = asked.version === undefined ? latestOf(versions) : versions.find(({ version }) => version === asked.version)
  if (found === undefined) throw fault('not-found', { message: `The step type "${asked.name}" has no version ${asked.version}.` })
  const manifest = found.builtIn
    ? BUILT_IN_STEP_TYPES.find(({ name, version }) => name === found.name && version === found.version)?.text
    : (await findStepType(app.store.query, app.accountId, found))?.manifest
  return { ...found, ...defined({ manifest }) }
}

/** Deletes one version; builds that use it are not affected. Throws `not-found`, `request-invalid` without a version. */
export async function removeStepType(app: App, written: string): Promise<void> {
  const { name, version } = parseStepTypeName(written)
  if (version === undefined || !isVersion(version))
    throw fault('request-invalid', {
      message: `The version of the step type "${name}" to delete is missing.`,
      hint: `Specify one, such as ${name}:1.0.0.`,
    })
  await app.store.write(async (tx) => {
    const row = await findStepType(tx.query, app.accountId, { name, version })
    if (row === undefined) throw fault('not-found', { message: `The account has no step type "${name}:${version}".` })
    await deleteStepType(tx, row.id)
  })
}
