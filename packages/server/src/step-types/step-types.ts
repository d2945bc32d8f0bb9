/** Step types of the account and those that come with the server: kept as their manifests, one for each version, replaceable like image tags. */
import { fault, newId } from '@windlass/kit'
import {
  BUILT_IN_STEP_TYPES,
  checkStepType,
  compareForLatest,
  isVersion,
  latestVersion,
  parseStepTypeName,
  readStepType,
} from '@windlass/pipeline'
import type { CatalogEntry, StepType as Manifest } from '@windlass/pipeline'
import type { StepType } from '@windlass/protocol'
import type { App } from '../app.ts'
import type { StepTypeRow } from '../store/schema.ts'
import {
  deleteStepType,
  findStepType,
  listStepTypeHeads,
  listStepTypeVersions,
  saveStepType,
  type StepTypeHead,
} from '../store/step-types.ts'

const MAX_VERSIONS = 500

export interface StepTypePut {
  readonly manifest: string
  /** What the caller says it replaces: `name` or `name:version`. */
  readonly name?: string | undefined
  readonly mustBeNew: boolean
}

/**
 * Creates a version of a step type, or replaces it. Throws `document-invalid` with the problems of the manifest, `conflict` when it must be new
 * and is not, `request-invalid` when it is another one than named.
 */
export async function putStepType(app: App, put: StepTypePut): Promise<{ stepType: StepType; isNew: boolean }> {
  const manifest = readManifest(put.manifest)
  const { name, version } = manifest
  if (put.name !== undefined && put.name !== name && put.name !== `${name}:${version}`)
    throw fault('request-invalid', { message: `The manifest is that of ${name}:${version}, not of ${put.name}.` })
  return app.store.write(async (tx) => {
    const versions = await listStepTypeVersions(tx.query, app.accountId, name)
    const before = versions.find((row) => row.version === version)
    if (before !== undefined && put.mustBeNew)
      throw fault('conflict', {
        message: `There is a step type ${name}:${version} already.`,
        hint: 'Give it another version, or replace it.',
      })
    if (before === undefined && versions.length >= MAX_VERSIONS)
      throw fault('conflict', { message: `The step type ${name} has ${MAX_VERSIONS} versions; delete some first.` })
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
    const count = versions.length + (before === undefined ? 1 : 0)
    return { stepType: { ...toStepType(row, count), manifest: row.manifest }, isNew: before === undefined }
  })
}

function readManifest(text: string): Manifest {
  const { manifest, problems } = checkStepType({ text, file: 'step-type.yaml' })
  if (manifest !== undefined) return manifest
  throw fault('document-invalid', {
    message: 'The manifest of the step type has errors.',
    problems: problems.map((problem) => ({ ...problem })),
  })
}

function toStepType(row: StepTypeHead, versions: number): StepType {
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

function toBuiltIn(entry: CatalogEntry, versions: number): StepType {
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

/** All versions of every step type, those of the account before built-in ones of the same name and version. */
async function listAll(app: App): Promise<StepType[]> {
  const own = (await listStepTypeHeads(app.store.query, app.accountId)).map((row) => toStepType(row, 0))
  const taken = new Set(own.map(({ name, version }) => `${name}:${version}`))
  const builtIn = BUILT_IN_STEP_TYPES.filter(({ name, version }) => !taken.has(`${name}:${version}`)).map((entry) =>
    toBuiltIn(entry, 0),
  )
  return [...own, ...builtIn]
}

/** The latest version of each step type, by name. */
export async function listStepTypes(app: App, range: { after: string | undefined; limit: number }): Promise<StepType[]> {
  const byName = Map.groupBy(await listAll(app), ({ name }) => name)
  return [...byName.keys()]
    .toSorted()
    .filter((name) => range.after === undefined || name > range.after)
    .slice(0, range.limit)
    .flatMap((name) => latestOf(byName.get(name) ?? []) ?? [])
}

function latestOf(versions: readonly StepType[]): StepType | undefined {
  const latest = latestVersion(versions.map(({ version }) => version))
  const found = versions.find(({ version }) => version === latest)
  return found && { ...found, versions: versions.length }
}

/** All versions of a step type, latest first. Throws `not-found`. */
export async function listVersions(app: App, name: string): Promise<StepType[]> {
  const versions = (await listAll(app)).filter((one) => one.name === name)
  if (versions.length === 0) throw fault('not-found', { message: `There is no step type ${name}.` })
  return versions.toSorted((a, b) => compareForLatest(b.version, a.version)).map((one) => ({ ...one, versions: versions.length }))
}

/** One version with its manifest; the latest when the name says none. Throws `not-found`. */
export async function showStepType(app: App, written: string): Promise<StepType> {
  const asked = parseStepTypeName(written)
  const versions = await listVersions(app, asked.name)
  const found = asked.version === undefined ? latestOf(versions) : versions.find(({ version }) => version === asked.version)
  if (found === undefined)
    throw fault('not-found', { message: `There is no version ${asked.version} of the step type ${asked.name}.` })
  const manifest = found.builtIn
    ? BUILT_IN_STEP_TYPES.find(({ name, version }) => name === found.name && version === found.version)?.text
    : (await findStepType(app.store.query, app.accountId, found))?.manifest
  return { ...found, ...(manifest !== undefined && { manifest }) }
}

/** Deletes one version; builds that use it keep what they have. Throws `not-found`, `request-invalid` without a version. */
export async function removeStepType(app: App, written: string): Promise<void> {
  const { name, version } = parseStepTypeName(written)
  if (version === undefined || !isVersion(version))
    throw fault('request-invalid', { message: `Which version of ${name}?`, hint: `Name one, such as ${name}:1.0.0.` })
  await app.store.write(async (tx) => {
    const row = await findStepType(tx.query, app.accountId, { name, version })
    if (row === undefined) throw fault('not-found', { message: `There is no step type ${name}:${version} of this account.` })
    await deleteStepType(tx, row.id)
  })
}
