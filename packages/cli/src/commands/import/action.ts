import { relative } from 'node:path'
import type { ApiClient } from '@windlass/client'
import { hideLogin, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { listManifests, type FolderManifest, type ManifestProblem } from '@windlass/local/step-types'
import { MAX_BYTES } from '@windlass/local/yaml-files'
import { checkStepType, hasErrors } from '@windlass/pipeline'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { printable } from '../../format/printable.ts'
import type { Printer } from '../../printer.ts'
import { reservedStepType } from '../../input/reserved-step-type.ts'
import { openSession, orUndefined } from '../../session/session.ts'
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
  /** At least one. */
  readonly reasons: readonly string[]
  /** True for a type of Windlass itself, which needs no manifest. */
  readonly isIncluded?: true
}

/** Largest number of lines about one manifest. */
const MAX_SHOWN = 100

/** Runs `import step-types`. A manifest that cannot be used, or that the server refuses, does not affect the others. Exits with 1 if one is skipped that is needed, as `migrate` does. */
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
  const manifests = listManifests(catalog.folder, { hint: 'Check the path.' })
  if (manifests.length === 0)
    throw fault('file-not-found', {
      message: `${hideLogin(source)} contains no manifest of a step type.`,
      hint: 'A manifest is a YAML file with "kind: step-type".',
    })
  const { usable, skipped } = selectUsable(manifests, catalog.folder)
  for (const file of catalog.tooLarge) skipped.push({ file, reasons: [`it is larger than ${MAX_BYTES} bytes and is not read.`] })
  const { client } = openSession(settings)
  let loaded = 0
  for (const { file, label, text } of usable) {
    signal.throwIfAborted()
    const result = await send(client, { label, manifest: text }, options)
    if ('done' in result) {
      loaded += 1
      out.line(`step-type/${label} ${result.done}`)
      continue
    }
    skipped.push({ file: relative(catalog.folder, file), reasons: [result.reason] })
  }
  for (const one of skipped) printSkipped(out, one)
  const found = manifests.length + catalog.tooLarge.length
  const count = skipped.length === 0 ? '' : `, ${skipped.length} skipped`
  out.note(`${loaded} of ${found} step types ${options.dryRun ? 'can be loaded' : 'are on the server'}${count}.`)
  return skipped.every(({ isIncluded }) => isIncluded === true) ? EXIT.success : EXIT.failed
}

function printSkipped(out: Printer, { file, reasons }: Skipped): void {
  const mark = `${out.stderr.style.yellow('skipped:')} ${printable(file)}:`
  for (const reason of reasons.slice(0, MAX_SHOWN)) out.note(`${mark} ${printable(reason)}`)
  if (reasons.length > MAX_SHOWN)
    out.note(`${mark} ${reasons.length - MAX_SHOWN} more problems, which \`windlass validate\` shows.`)
}

interface Selection {
  readonly usable: readonly FolderManifest[]
  readonly skipped: Skipped[]
}

function selectUsable(manifests: readonly FolderManifest[], folder: string): Selection {
  const usable = new Map<string, FolderManifest>()
  const skipped: Skipped[] = []
  for (const manifest of manifests) {
    const reserved = reservedStepType(manifest.entry?.name ?? manifest.label)
    if (reserved !== undefined) {
      skipped.push({ file: relative(folder, manifest.file), reasons: [reserved.reason], isIncluded: true })
      continue
    }
    const first = usable.get(manifest.label)
    const reasons =
      first === undefined
        ? reasonsToSkip(manifest)
        : [`${manifest.label} is also in ${printable(relative(folder, first.file))}, which is used.`]
    if (reasons.length === 0) usable.set(manifest.label, manifest)
    else skipped.push({ file: relative(folder, manifest.file), reasons })
  }
  return { usable: [...usable.values()], skipped }
}

/** Returns every error of a manifest. Empty if it can be sent. */
function reasonsToSkip({ file, text, entry, problems }: FolderManifest): string[] {
  if (entry === undefined) return problems.map(toReason)
  return checkStepType({ text, file })
    .problems.filter((one) => hasErrors([one]))
    .map(toReason)
}

function toReason({ line, message, code, hint = '' }: ManifestProblem): string {
  return `line ${line}: ${message}${code === undefined ? '' : ` [${code}]`}${hint === '' ? '' : ` ${hint}`}`
}

interface Sent {
  /** `name:version`. */
  readonly label: string
  readonly manifest: string
}

/** What was done with a manifest, or why it was not sent or not accepted. */
type Sending = { readonly done: string } | { readonly reason: string }

/** Creates or updates a version. Throws if the server does not answer. */
async function send({ stepTypes }: ApiClient, { label, manifest }: Sent, { dryRun, overwrite }: ImportOptions): Promise<Sending> {
  try {
    const before = await orUndefined(stepTypes.get(label))
    if (before?.manifest === manifest) return { done: 'unchanged' }
    if (before !== undefined && !overwrite) return { reason: `the server has another ${label}; --overwrite replaces it.` }
    if (!dryRun) await stepTypes.put(label, { manifest })
    return { done: `${before === undefined ? 'created' : 'configured'}${dryRun ? ' (dry run)' : ''}` }
  } catch (error) {
    if (!isFault(error, ...OF_MANIFEST)) throw error
    return { reason: error.message }
  }
}
