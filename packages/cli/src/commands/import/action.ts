import { relative } from 'node:path'
import type { ApiClient } from '@windlass/client'
import { hideLogin, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { listManifests, type FolderManifest } from '@windlass/local/step-types'
import { MAX_BYTES } from '@windlass/local/yaml-files'
import { checkStepType, hasErrors } from '@windlass/pipeline'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { printable } from '../../format/printable.ts'
import { reservedStepType } from '../../input/reserved-step-type.ts'
import { openSession, orUndefined } from '../../session.ts'
import { catchInterrupts } from '../run/interrupt.ts'
import { openCatalog, type Catalog } from './catalog.ts'

/** Faults of one manifest. All others end the import. */
const OF_MANIFEST = ['document-invalid', 'document-too-expensive', 'conflict', 'request-invalid'] as const

interface ImportOptions {
  readonly dryRun: boolean
  readonly overwrite: boolean
}

interface Skipped {
  readonly file: string
  readonly reason: string
}

/** Runs `import step-types`. A manifest that cannot be used, or that the server refuses, does not affect the others. Exits with 1 if the server refuses one. */
export async function importStepTypes(invocation: Invocation<ImportOptions>): Promise<number> {
  using interrupts = catchInterrupts(systemClock)
  try {
    const source = { url: invocation.args[0] ?? '', environment: invocation.settings.environment, signal: interrupts.first }
    await using catalog = await openCatalog(source)
    return await importManifests(catalog, invocation, interrupts.first)
  } catch (error) {
    if (!interrupts.first.aborted) throw error
    return EXIT.interrupted
  }
}

async function importManifests(
  catalog: Catalog,
  { args: [source = ''], options, out, settings }: Invocation<ImportOptions>,
  signal: AbortSignal,
): Promise<number> {
  const manifests = listManifests(catalog.folder, { mustExist: true })
  if (manifests.length === 0)
    throw fault('file-not-found', {
      message: `${hideLogin(source)} contains no manifest of a step type.`,
      hint: 'A manifest is a YAML file with "kind: step-type".',
    })
  const { usable, skipped } = selectUsable(manifests, catalog.folder)
  for (const file of catalog.tooLarge) skipped.push({ file, reason: `it is larger than ${MAX_BYTES} bytes and is not read.` })
  const { client } = openSession(settings)
  let loaded = 0
  let refused = 0
  for (const { file, label, text } of usable) {
    signal.throwIfAborted()
    const result = await send(client, { label, manifest: text }, options)
    if ('done' in result) {
      loaded += 1
      out.line(`step-type/${label} ${result.done}`)
      continue
    }
    if (result.isRefused) refused += 1
    skipped.push({ file: relative(catalog.folder, file), reason: result.reason })
  }
  for (const { file, reason } of skipped)
    out.note(`${out.stderr.style.yellow('skipped:')} ${printable(file)}: ${printable(reason)}`)
  out.note(`${loaded} of ${manifests.length} step types ${options.dryRun ? 'can be loaded' : 'are on the server'}.`)
  return refused === 0 ? EXIT.success : EXIT.failed
}

interface Selection {
  readonly usable: readonly FolderManifest[]
  readonly skipped: Skipped[]
}

function selectUsable(manifests: readonly FolderManifest[], folder: string): Selection {
  const usable = new Map<string, FolderManifest>()
  const skipped: Skipped[] = []
  for (const manifest of manifests) {
    const first = usable.get(manifest.label)
    const reason =
      first === undefined
        ? reasonToSkip(manifest)
        : `${manifest.label} is also in ${printable(relative(folder, first.file))}, which is used.`
    if (reason === undefined) usable.set(manifest.label, manifest)
    else skipped.push({ file: relative(folder, manifest.file), reason })
  }
  return { usable: [...usable.values()], skipped }
}

function reasonToSkip({ file, text, label, entry, problem }: FolderManifest): string | undefined {
  const reserved = reservedStepType(entry?.name ?? label)
  if (reserved !== undefined) return reserved.reason
  if (problem !== undefined || entry === undefined) return `line ${problem?.line ?? 1}: ${problem?.message ?? 'invalid'}`
  const inside = checkStepType({ text, file }).problems.find((one) => hasErrors([one]))
  return inside && `line ${inside.line}: ${inside.message}`
}

interface Sent {
  /** `name:version`. */
  readonly label: string
  readonly manifest: string
}

/** What was done with a manifest, or why it was not sent or not accepted. `isRefused` is true if the server refused it. */
type Sending = { readonly done: string } | { readonly reason: string; readonly isRefused: boolean }

/** Creates or updates a version. Throws if the server does not answer. */
async function send({ stepTypes }: ApiClient, { label, manifest }: Sent, { dryRun, overwrite }: ImportOptions): Promise<Sending> {
  try {
    const before = await orUndefined(stepTypes.get(label))
    if (before?.manifest === manifest) return { done: 'unchanged' }
    if (before !== undefined && !overwrite)
      return { reason: `the server has another ${label}; --overwrite replaces it.`, isRefused: false }
    if (!dryRun) await stepTypes.put(label, { manifest })
    return { done: `${before === undefined ? 'created' : 'configured'}${dryRun ? ' (dry run)' : ''}` }
  } catch (error) {
    if (!isFault(error, ...OF_MANIFEST)) throw error
    return { reason: error.message, isRefused: true }
  }
}
